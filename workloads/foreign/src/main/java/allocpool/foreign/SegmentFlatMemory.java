package allocpool.foreign;

import allocpool.packets.FlatMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Flat memory in one segment, which lives as long as the JVM, as a trial does. */
final class SegmentFlatMemory extends FlatMemory {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong WORD =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final MemorySegment region;

    SegmentFlatMemory(final long bytes) {
        region = Arena.global().allocate(bytes, ALIGNMENT);
    }

    @Override
    protected void putByte(final long offset, final byte value) {
        region.set(ValueLayout.JAVA_BYTE, offset, value);
    }

    @Override
    protected void putLong(final long offset, final long value) {
        region.set(LONG, offset, value);
    }

    @Override
    protected void putWord(final long offset, final long value) {
        region.set(WORD, offset, value);
    }

    @Override
    protected byte getByte(final long offset) {
        return region.get(ValueLayout.JAVA_BYTE, offset);
    }

    @Override
    protected long getLong(final long offset) {
        return region.get(LONG, offset);
    }

    @Override
    protected long getWord(final long offset) {
        return region.get(WORD, offset);
    }
}
