package allocpool.ring;

import java.nio.ByteBuffer;

/** A consumer that only reads: what the ring itself can do. */
public final class DrainConsumer extends RingConsumer {
    /**
     * Creates a consumer of a ring.
     *
     * @param ring the memory of the ring: a direct buffer, from {@code ap_realtime_memory}
     */
    public DrainConsumer(final ByteBuffer ring) {
        super(ring);
    }

    @Override
    protected void receive(final long[] sequences, final int count) {
        // Order and gaps are checked for every consumer.
    }
}
