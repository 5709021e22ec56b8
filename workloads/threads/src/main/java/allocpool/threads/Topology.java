package allocpool.threads;

import java.util.List;

/** Which thread does which part of the work. */
abstract class Topology {
    /** Packets that come one after the other belong to one flow: a train, as they come off the wire. */
    static final int TRAIN = 32;

    /** Messages that the queue between a receiver and a worker has room for. */
    static final int BETWEEN = 1024;

    /** Receives the packets of these numbers, all of them; returns when they are queued at their workers. */
    abstract void run(long from, long to);

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

    /** The end of a train that begins at {@code sequence} or before, but at most {@code to}. */
    static long trainEnd(final long sequence, final long to) {
        return Math.min(to, (sequence / TRAIN + 1) * TRAIN);
    }
}
