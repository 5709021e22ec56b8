package allocpool.stream;

import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.jet.core.AbstractProcessor;
import com.hazelcast.jet.core.DAG;
import com.hazelcast.jet.core.Processor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import org.HdrHistogram.Histogram;

/**
 * What it takes to go from one piece of work to the next: parties that take turns, each of which does nothing but read
 * the clock, as tasklets on one cooperative thread of Jet, or as threads that wake the next and wait. On one processor,
 * if the thread that calls this was bound to one, as threads inherit that.
 *
 * <p>A switch is the interval from the end of one party's turn to the beginning of the next party's. It holds a reading
 * of the clock, which is what {@link #emptyNs} shows.
 */
public final class Switches {
    private static final String NAME = "allocpool.switches";
    private static final long HIGHEST_NS = 1_000_000_000L;
    private static final int READINGS = 100_000;

    private final Histogram intervals = new Histogram(HIGHEST_NS, 3);
    private final int parties;
    private final long turns;
    private final long unmeasured;
    private volatile int holder;
    private long taken;
    private int last = -1;
    private long endedNs;

    private Switches(final int parties, final long turns) {
        this.parties = parties;
        this.turns = turns;
        this.unmeasured = turns / 4;
    }

    /**
     * Lets parties take turns.
     *
     * @param way {@code tasklets}, {@code platform} or {@code virtual}
     * @param parties how many take turns, 2 or more
     * @param turns altogether; the first quarter is not measured
     * @return intervals between turns, nanoseconds: the 10th, 50th and 90th percentile
     * @throws InterruptedException while it waits for threads
     * @throws IllegalArgumentException no such way
     */
    public static long[] measure(final String way, final int parties, final long turns) throws InterruptedException {
        final Switches switches = new Switches(parties, turns);
        switch (way) {
            case "tasklets":
                switches.tasklets();
                break;
            case "platform":
                switches.threads(Thread::new);
                break;
            case "virtual":
                switches.threads(VirtualThreads.factory());
                break;
            default:
                throw new IllegalArgumentException("no way " + way + ": choose tasklets, platform, virtual");
        }
        return percentiles(switches.intervals);
    }

    /**
     * The same percentiles of intervals in which nothing happens: what reading the clock adds to a switch.
     *
     * @return nanoseconds
     */
    public static long[] emptyNs() {
        final Histogram empty = new Histogram(HIGHEST_NS, 3);
        for (int i = 0; i < READINGS; i++) {
            final long beginNs = System.nanoTime();
            empty.recordValue(Math.min(HIGHEST_NS, System.nanoTime() - beginNs));
        }
        return percentiles(empty);
    }

    private static long[] percentiles(final Histogram of) {
        return new long[] {of.getValueAtPercentile(10), of.getValueAtPercentile(50), of.getValueAtPercentile(90)};
    }

    /** One turn; false where there were enough. No two parties are in it at a time. */
    private boolean turn(final int party) {
        if (taken >= turns) {
            return false;
        }
        final long nowNs = System.nanoTime();
        if (taken++ > unmeasured && party != last) {
            intervals.recordValue(Math.min(HIGHEST_NS, nowNs - endedNs));
        }
        last = party;
        endedNs = System.nanoTime();
        return true;
    }

    private void tasklets() {
        final HazelcastInstance member = Member.start(1, 0);
        try {
            member.getUserContext().put(NAME, this);
            final DAG dag = new DAG();
            dag.newVertex("turns", Tasklet::new).localParallelism(parties);
            member.getJet().newJob(dag).join();
        } finally {
            member.getLifecycleService().terminate();
        }
    }

    private void threads(final ThreadFactory factory) throws InterruptedException {
        final Thread[] ring = new Thread[parties];
        for (int i = 0; i < parties; i++) {
            final int party = i;
            ring[i] = factory.newThread(() -> {
                boolean more = true;
                while (more) {
                    while (holder != party) {
                        LockSupport.park();
                    }
                    more = turn(party);
                    holder = (party + 1) % parties;
                    LockSupport.unpark(ring[holder]);
                }
            });
        }
        for (final Thread thread : ring) {
            thread.start();
        }
        for (final Thread thread : ring) {
            thread.join();
        }
    }

    /** A party on the cooperative thread. */
    private static final class Tasklet extends AbstractProcessor {
        private Switches switches;
        private int party;

        @Override
        protected void init(final Processor.Context context) {
            switches = (Switches) context.hazelcastInstance().getUserContext().get(NAME);
            party = context.localProcessorIndex();
        }

        @Override
        public boolean complete() {
            return !switches.turn(party);
        }
    }
}
