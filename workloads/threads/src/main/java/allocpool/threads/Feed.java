package allocpool.threads;

import allocpool.ring.RingConsumer;
import java.nio.ByteBuffer;
import java.util.function.LongConsumer;

/** Hands the ticks of one ring to the thread that it belongs to. */
final class Feed extends RingConsumer {
    private final LongConsumer receiver;
    private final Idle idle;
    private final Idle.Stop stop;
    private final boolean yields;

    /** {@code yields}: it lets others run while there is no tick. */
    Feed(final ByteBuffer ring, final LongConsumer receiver, final Idle.Stop stop, final boolean yields) {
        super(ring);
        this.receiver = receiver;
        this.stop = stop;
        this.yields = yields;
        idle = new Idle(stop);
    }

    @Override
    protected void receive(final long[] sequences, final int count) {
        idle.reset();
        for (int i = 0; i < count; i++) {
            receiver.accept(sequences[i]);
        }
    }

    @Override
    protected void rest() {
        if (yields) {
            idle.rest();
        } else {
            stop.check();
            super.rest();
        }
    }
}
