package allocpool.ring;

import java.nio.ByteBuffer;

/** The producer's end of the ring in Java, with the protocol of the native source. Used by one thread. */
final class RingWriter {
    private final ByteBuffer ring;
    private final long capacity;
    private final int endOffset;
    private long pushed;
    private long limit;
    private int offset = RingLayout.SLOTS_OFFSET;

    RingWriter(final ByteBuffer ring, final int capacity) {
        this.ring = ring;
        this.capacity = capacity;
        endOffset = RingLayout.SLOTS_OFFSET + capacity * RingLayout.SLOT_BYTES;
        limit = capacity;
        for (int at = 0; at < endOffset; at += Long.BYTES) {
            RingLayout.soWord(ring, at, 0);
        }
        RingLayout.soWord(ring, RingLayout.LAYOUT_OFFSET, RingLayout.LAYOUT);
        RingLayout.soWord(ring, RingLayout.CAPACITY_OFFSET, capacity);
    }

    /** Memory for a ring. */
    static ByteBuffer memory(final int capacity) {
        final int bytes = RingLayout.SLOTS_OFFSET + capacity * RingLayout.SLOT_BYTES;
        return ByteBuffer.allocateDirect(bytes + 2 * RingLayout.STATE_OFFSET).alignedSlice(RingLayout.STATE_OFFSET);
    }

    /** Begins a run that waits for its consumer. */
    void begin(final double intervalNs, final long t0Ns, final long warmup) {
        RingLayout.soWord(ring, RingLayout.INTERVAL_OFFSET, Double.doubleToRawLongBits(intervalNs));
        RingLayout.soWord(ring, RingLayout.T0_OFFSET, t0Ns);
        RingLayout.soWord(ring, RingLayout.WARMUP_OFFSET, warmup);
        RingLayout.soWord(ring, RingLayout.STATE_OFFSET, RingLayout.WAITING);
    }

    /** Waits for the consumer and lets it go on. */
    void run() {
        while (RingLayout.laWord(ring, RingLayout.READY_OFFSET) == 0) {
            Thread.yield();
        }
        RingLayout.soWord(ring, RingLayout.STATE_OFFSET, RingLayout.RUNNING);
    }

    void finish() {
        RingLayout.soWord(ring, RingLayout.STATE_OFFSET, RingLayout.FINISHED);
    }

    /** Pushes a tick unless the ring is full. */
    boolean offer(final long tick) {
        if (pushed == limit) {
            limit = RingLayout.laWord(ring, RingLayout.CONSUMED_OFFSET) + capacity;
            if (pushed == limit) {
                return false;
            }
        }
        RingLayout.soWord(ring, offset, tick + 1);
        offset += RingLayout.SLOT_BYTES;
        if (offset == endOffset) {
            offset = RingLayout.SLOTS_OFFSET;
        }
        pushed++;
        return true;
    }

    long pushed() {
        return pushed;
    }
}
