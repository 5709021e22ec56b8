package allocpool.packets;

import allocpool.ring.RingConsumer;
import java.nio.ByteBuffer;

/**
 * The packets workload in real time: each tick of the native source that is not lost is one packet, and the number of
 * the tick is the sequence number of the packet. So what is drawn for a packet does not depend on what was lost before.
 */
public final class RealtimeConsumer extends RingConsumer {
    private final Processor processor;

    /**
     * Creates a consumer.
     *
     * @param ring the memory of the ring: a direct buffer, from {@code ap_realtime_memory}
     * @param prologue the trial whose processor goes on in real time; what it received before stays in its queue and
     *     store, and its counts, checksum and audit are those of both
     */
    public RealtimeConsumer(final ByteBuffer ring, final BatchTrial prologue) {
        super(ring);
        processor = prologue.processor();
    }

    @Override
    protected void receive(final long[] ticks, final int count) {
        processor.receive(ticks, count);
    }
}
