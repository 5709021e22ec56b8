package allocpool.threads;

import allocpool.ring.RingConsumer;
import java.nio.ByteBuffer;
import java.util.List;

/** Which thread does which part of the work. */
abstract class Topology {
    /** Packets that come one after the other belong to one flow: a train, as they come off the wire. */
    static final int TRAIN = 32;

    /** Messages that the queue between a receiver and a worker has room for. */
    static final int BETWEEN = 1024;

    /** Receives the packets of these numbers, all of them; returns when they are queued at their workers. */
    abstract void run(long from, long to);

    /**
     * Receives what a source ticks into these rings, until it has finished; returns who consumed each of them. The
     * number of a tick is that of its packet.
     *
     * @throws IllegalArgumentException if there are more or fewer rings than this has receivers
     */
    abstract List<RingConsumer> consume(List<ByteBuffer> rings, boolean yields);

    /** Of the packets that came as ticks, how many each ring of this was given. */
    abstract long[] ticked();

    /** Processes what is queued. */
    abstract void drain();

    /** One for each ring. */
    abstract List<Worker> workers();

    /** What all ways to the pool have counted. */
    abstract List<User> users();

    /** Messages that are on their way between threads, when these rest. */
    int between() {
        return 0;
    }

    /** Lets the threads go. */
    abstract void close();

    /** Throws {@link IllegalArgumentException} where there are other than {@code receivers} rings. */
    static void require(final List<ByteBuffer> rings, final int receivers) {
        if (rings.size() != receivers) {
            throw new IllegalArgumentException(
                    "the source has " + rings.size() + " rings: it must have " + receivers);
        }
    }

    /** The end of a train that begins at {@code sequence} or before, but at most {@code to}. */
    static long trainEnd(final long sequence, final long to) {
        return Math.min(to, (sequence / TRAIN + 1) * TRAIN);
    }
}
