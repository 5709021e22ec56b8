package allocpool.packets;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Flat memory in one direct buffer, reached through {@link VarHandle}s. */
final class DirectFlatMemory extends FlatMemory {
    /** One direct buffer holds less than 2^31 bytes. */
    private static final int MAX_SLOT_COUNT = (Integer.MAX_VALUE - ALIGNMENT) / STRIDE;

    private static final VarHandle INT =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONG =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private final ByteBuffer region;

    DirectFlatMemory(final int slotCount) {
        Sizes.requireAtMost("slot count of layout flat", slotCount, MAX_SLOT_COUNT);
        region = ByteBuffer.allocateDirect(slotCount * STRIDE + ALIGNMENT).alignedSlice(ALIGNMENT);
    }

    @Override
    protected void putByte(final int slot, final int offset, final byte value) {
        region.put(slot * STRIDE + offset, value);
    }

    @Override
    protected void putInt(final int slot, final int offset, final int value) {
        INT.set(region, slot * STRIDE + offset, value);
    }

    @Override
    protected void putLong(final int slot, final int offset, final long value) {
        LONG.set(region, slot * STRIDE + offset, value);
    }

    @Override
    protected byte getByte(final int slot, final int offset) {
        return region.get(slot * STRIDE + offset);
    }

    @Override
    protected int getInt(final int slot, final int offset) {
        return (int) INT.get(region, slot * STRIDE + offset);
    }

    @Override
    protected long getLong(final int slot, final int offset) {
        return (long) LONG.get(region, slot * STRIDE + offset);
    }
}
