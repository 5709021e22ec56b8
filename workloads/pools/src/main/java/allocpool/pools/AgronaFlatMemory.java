package allocpool.pools;

import allocpool.packets.FlatMemory;
import java.nio.ByteOrder;
import org.agrona.BufferUtil;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** Flat memory in one {@link UnsafeBuffer} off the heap. */
final class AgronaFlatMemory extends FlatMemory {
    /** The buffer is over a direct one of the JDK. */
    static final long MOST_BYTES = Integer.MAX_VALUE - ALIGNMENT;

    private final MutableDirectBuffer region;

    AgronaFlatMemory(final long bytes) {
        region = new UnsafeBuffer(BufferUtil.allocateDirectAligned((int) bytes, ALIGNMENT));
    }

    @Override
    protected void putByte(final long offset, final byte value) {
        region.putByte((int) offset, value);
    }

    @Override
    protected void putLong(final long offset, final long value) {
        region.putLong((int) offset, value, ByteOrder.BIG_ENDIAN);
    }

    @Override
    protected void putWord(final long offset, final long value) {
        region.putLong((int) offset, value, ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    protected byte getByte(final long offset) {
        return region.getByte((int) offset);
    }

    @Override
    protected long getLong(final long offset) {
        return region.getLong((int) offset, ByteOrder.BIG_ENDIAN);
    }

    @Override
    protected long getWord(final long offset) {
        return region.getLong((int) offset, ByteOrder.LITTLE_ENDIAN);
    }
}
