package allocpool.foreign;

import allocpool.packets.FlatMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Flat memory in one segment, which lives as long as the JVM, as a trial does. */
final class SegmentFlatMemory extends FlatMemory {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN);

    private final MemorySegment region;

    SegmentFlatMemory(final int slotCount) {
        region = Arena.global().allocate((long) slotCount * STRIDE, ALIGNMENT);
    }

    private static long at(final int slot, final int offset) {
        return (long) slot * STRIDE + offset;
    }

    @Override
    protected void putByte(final int slot, final int offset, final byte value) {
        region.set(ValueLayout.JAVA_BYTE, at(slot, offset), value);
    }

    @Override
    protected void putInt(final int slot, final int offset, final int value) {
        region.set(INT, at(slot, offset), value);
    }

    @Override
    protected void putLong(final int slot, final int offset, final long value) {
        region.set(LONG, at(slot, offset), value);
    }

    @Override
    protected byte getByte(final int slot, final int offset) {
        return region.get(ValueLayout.JAVA_BYTE, at(slot, offset));
    }

    @Override
    protected int getInt(final int slot, final int offset) {
        return region.get(INT, at(slot, offset));
    }

    @Override
    protected long getLong(final int slot, final int offset) {
        return region.get(LONG, at(slot, offset));
    }
}
