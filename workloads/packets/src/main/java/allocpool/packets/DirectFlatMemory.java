package allocpool.packets;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Flat memory in one direct buffer, reached through {@link VarHandle}s. */
final class DirectFlatMemory extends FlatMemory {
    /** What makes room for an aligned start and end. */
    private static final int MARGIN = 2 * ALIGNMENT;

    /** One direct buffer holds less than 2^31 bytes. */
    static final long MOST_BYTES = Integer.MAX_VALUE - MARGIN;

    private static final VarHandle LONG =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle WORD =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final ByteBuffer region;

    DirectFlatMemory(final long bytes) {
        region = ByteBuffer.allocateDirect((int) bytes + MARGIN).alignedSlice(ALIGNMENT).limit((int) bytes);
    }

    @Override
    protected void putByte(final long offset, final byte value) {
        region.put((int) offset, value);
    }

    @Override
    protected void putLong(final long offset, final long value) {
        LONG.set(region, (int) offset, value);
    }

    @Override
    protected void putWord(final long offset, final long value) {
        WORD.set(region, (int) offset, value);
    }

    @Override
    protected byte getByte(final long offset) {
        return region.get((int) offset);
    }

    @Override
    protected long getLong(final long offset) {
        return (long) LONG.get(region, (int) offset);
    }

    @Override
    protected long getWord(final long offset) {
        return (long) WORD.get(region, (int) offset);
    }
}
