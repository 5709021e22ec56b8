package allocpool.pools;

import allocpool.packets.FlatMemory;
import java.nio.ByteOrder;
import org.agrona.BufferUtil;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/** Flat memory in one {@link UnsafeBuffer} off the heap. */
final class AgronaFlatMemory extends FlatMemory {
    private static final int MAX_SLOT_COUNT = (Integer.MAX_VALUE - ALIGNMENT) / STRIDE;

    private final MutableDirectBuffer region;

    AgronaFlatMemory(final int slotCount) {
        if (slotCount > MAX_SLOT_COUNT) {
            throw new IllegalArgumentException(
                    "slot count of layout agrona is " + slotCount + ", must be at most " + MAX_SLOT_COUNT);
        }
        region = new UnsafeBuffer(BufferUtil.allocateDirectAligned(slotCount * STRIDE, ALIGNMENT));
    }

    @Override
    protected void putByte(final int slot, final int offset, final byte value) {
        region.putByte(slot * STRIDE + offset, value);
    }

    @Override
    protected void putInt(final int slot, final int offset, final int value) {
        region.putInt(slot * STRIDE + offset, value, ByteOrder.BIG_ENDIAN);
    }

    @Override
    protected void putLong(final int slot, final int offset, final long value) {
        region.putLong(slot * STRIDE + offset, value, ByteOrder.BIG_ENDIAN);
    }

    @Override
    protected byte getByte(final int slot, final int offset) {
        return region.getByte(slot * STRIDE + offset);
    }

    @Override
    protected int getInt(final int slot, final int offset) {
        return region.getInt(slot * STRIDE + offset, ByteOrder.BIG_ENDIAN);
    }

    @Override
    protected long getLong(final int slot, final int offset) {
        return region.getLong(slot * STRIDE + offset, ByteOrder.BIG_ENDIAN);
    }
}
