package allocpool.allocation.foreign;

import allocpool.allocation.BufferSource;
import allocpool.allocation.Touch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;

/** What all arenas have in common: their buffers are segments. */
public abstract class Segments implements BufferSource {
    private final long bytes;

    Segments(final long bytes) {
        this.bytes = bytes;
    }

    final long size() {
        return bytes;
    }

    /**
     * The segments of a technique.
     *
     * @param technique arena_confined, arena_auto or arena_slicing
     * @param bytes of each segment
     * @param slots segments of a round
     * @return where they come from
     * @throws IllegalArgumentException no such technique; names those that there are
     */
    public static Segments named(final String technique, final long bytes, final int slots) {
        return switch (technique) {
            case "arena_confined" -> new Confined(bytes, slots);
            case "arena_auto" -> new Auto(bytes);
            case "arena_slicing" -> new Slicing(bytes, slots);
            default -> throw new IllegalArgumentException("unknown technique '" + technique
                    + "': choose one of arena_confined, arena_auto, arena_slicing");
        };
    }

    @Override
    public final void touch(final Object buffer, final Touch touch) {
        final MemorySegment segment = (MemorySegment) buffer;
        switch (touch) {
            case FIRST -> segment.set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
            case PAGE -> {
                for (long at = 0; at < bytes; at += Touch.PAGE_BYTES) {
                    segment.set(ValueLayout.JAVA_BYTE, at, (byte) 1);
                }
            }
            case ZERO -> segment.fill((byte) 0);
            default -> { }
        }
    }

    @Override
    public final long address(final Object buffer) {
        return ((MemorySegment) buffer).address();
    }

    @Override
    public final long bytes(final Object buffer) {
        return ((MemorySegment) buffer).byteSize();
    }

    /** One confined arena for each buffer, closed when the buffer is released. */
    private static final class Confined extends Segments {
        private final Arena[] open;
        private int obtained;
        private int released;

        Confined(final long bytes, final int slots) {
            super(bytes);
            open = new Arena[slots];
        }

        @Override
        public Object obtain() {
            final Arena arena = Arena.ofConfined();
            open[obtained] = arena;
            obtained++;
            return arena.allocate(size());
        }

        @Override
        public void release(final Object buffer) {
            // A round gives its buffers back in the order in which it obtained them.
            open[released].close();
            open[released] = null;
            released++;
        }

        @Override
        public void releaseAll() {
            obtained = 0;
            released = 0;
        }
    }

    /** One automatic arena for each buffer, left to the collector. */
    private static final class Auto extends Segments {
        Auto(final long bytes) {
            super(bytes);
        }

        @Override
        public Object obtain() {
            return Arena.ofAuto().allocate(size());
        }

        @Override
        public void release(final Object buffer) {
            // Left to the collector.
        }
    }

    /** One confined arena for each round, cut into slices and closed at its end. */
    private static final class Slicing extends Segments {
        /** What {@link Arena#allocate(long)} aligns to on 64-bit systems is enough for any content. */
        private static final long ALIGNMENT = 16;

        private final int slots;
        private Arena arena;
        private SegmentAllocator slices;

        Slicing(final long bytes, final int slots) {
            super(bytes);
            this.slots = slots;
        }

        @Override
        public Object obtain() {
            if (arena == null) {
                arena = Arena.ofConfined();
                final long each = (size() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
                slices = SegmentAllocator.slicingAllocator(arena.allocate(each * slots, ALIGNMENT));
            }
            return slices.allocate(size(), ALIGNMENT);
        }

        @Override
        public void release(final Object buffer) {
            // All at once, at the end of the round.
        }

        @Override
        public void releaseAll() {
            arena.close();
            arena = null;
        }
    }
}
