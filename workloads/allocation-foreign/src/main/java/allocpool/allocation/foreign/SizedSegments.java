package allocpool.allocation.foreign;

import allocpool.allocation.DirectMemory;
import allocpool.allocation.SizedBuffers;
import allocpool.allocation.Touch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Segments of any size, an arena for each: closed with its buffer, or left to the collector. */
public final class SizedSegments implements SizedBuffers {
    private static final ValueLayout.OfLong TAG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final DirectMemory memory = new DirectMemory();
    private final boolean closes;

    private SizedSegments(final boolean closes) {
        this.closes = closes;
    }

    /**
     * The segments of a technique.
     *
     * @param technique arena_confined or arena_auto
     * @return where they come from
     * @throws IllegalArgumentException no such technique; names those that there are
     */
    public static SizedSegments named(final String technique) {
        return switch (technique) {
            case "arena_confined" -> new SizedSegments(true);
            case "arena_auto" -> new SizedSegments(false);
            default -> throw new IllegalArgumentException(
                    "unknown technique '" + technique + "': choose one of arena_confined, arena_auto");
        };
    }

    @Override
    public Object obtain(final int bytes) {
        final Arena arena = closes ? Arena.ofConfined() : Arena.ofAuto();
        final MemorySegment segment = arena.allocate(bytes);
        for (long at = 0; at < bytes; at += Touch.PAGE_BYTES) {
            segment.set(ValueLayout.JAVA_BYTE, at, (byte) 1);
        }
        return new Buffer(arena, segment);
    }

    @Override
    public void release(final Object buffer) {
        if (closes) {
            ((Buffer) buffer).arena().close();
        }
    }

    @Override
    public void setTag(final Object buffer, final long tag) {
        ((Buffer) buffer).segment().set(TAG, 0, tag);
    }

    @Override
    public long tag(final Object buffer) {
        return ((Buffer) buffer).segment().get(TAG, 0);
    }

    @Override
    public int bytes(final Object buffer) {
        return (int) ((Buffer) buffer).segment().byteSize();
    }

    @Override
    public long keptBytes() {
        // The JVM keeps counters of what its collector must give back, not of what a program closes.
        return closes ? -1 : memory.usedBytes();
    }

    /** A segment with the arena that must be closed to free it. */
    private record Buffer(Arena arena, MemorySegment segment) {}
}
