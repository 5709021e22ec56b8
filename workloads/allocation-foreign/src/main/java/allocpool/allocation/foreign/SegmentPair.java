package allocpool.allocation.foreign;

import allocpool.allocation.BufferPair;
import allocpool.allocation.RandomPlaces;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Two native segments. */
public final class SegmentPair implements BufferPair {
    private final MemorySegment target;
    private final MemorySegment source;
    private final int bytes;

    /**
     * Segments of one size, all zeros.
     *
     * @param bytes size of each
     */
    public SegmentPair(final int bytes) {
        this.bytes = bytes;
        target = Arena.global().allocate(bytes);
        source = Arena.global().allocate(bytes);
    }

    @Override
    public void write(final long pass) {
        final int first = (int) pass;
        for (int i = 0; i < bytes; i++) {
            target.set(ValueLayout.JAVA_BYTE, i, (byte) (i + first));
        }
    }

    @Override
    public void writeAtRandom(final long pass) {
        final int first = (int) pass;
        long state = pass;
        for (int i = 0; i < bytes; i++) {
            state = RandomPlaces.next(state);
            target.set(ValueLayout.JAVA_BYTE, RandomPlaces.place(state, bytes), (byte) (i + first));
        }
    }

    @Override
    public void copy(final long pass) {
        source.set(ValueLayout.JAVA_BYTE, pass % bytes, (byte) (pass + 1));
        MemorySegment.copy(source, 0, target, 0, bytes);
    }

    @Override
    public byte at(final int index) {
        return target.get(ValueLayout.JAVA_BYTE, index);
    }

    @Override
    public void clear() {
        target.fill((byte) 0);
        source.fill((byte) 0);
    }
}
