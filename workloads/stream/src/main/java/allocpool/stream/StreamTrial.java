package allocpool.stream;

import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.function.SupplierEx;
import com.hazelcast.jet.Job;
import com.hazelcast.jet.aggregate.AggregateOperation1;
import com.hazelcast.jet.core.DAG;
import com.hazelcast.jet.core.Edge;
import com.hazelcast.jet.core.Partitioner;
import com.hazelcast.jet.core.Processor;
import com.hazelcast.jet.core.SlidingWindowPolicy;
import com.hazelcast.jet.core.TimestampKind;
import com.hazelcast.jet.core.Vertex;
import com.hazelcast.jet.core.processor.Processors;
import com.hazelcast.jet.datamodel.KeyedWindowResult;
import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.stream.LongStream;

/**
 * One trial: a member, one job, its books. The job is the graph that Jet's planner makes of a keyed sliding window with
 * an aggregate, in two stages: sources, counts by slide, windows out of slides, one sink. Items are bare, without the
 * planner's wrapper that carries a time stamp, so that the aggregate is most of what allocates.
 */
public final class StreamTrial implements AutoCloseable {
    private static final long START_NS = 500_000_000L;

    private final HazelcastInstance member;
    private final int threads;
    private final boolean cooperative;
    private final String aggregate;
    private final Events events;
    private final SlidingWindowPolicy policy;
    private final long warmupMs;
    private final long lengthMs;
    private final long patienceMs;
    private Books books;
    private Job job;

    /**
     * Starts the member.
     *
     * @param eventsPerSecond rate of all sources together
     * @param keys number of keys
     * @param windowMs length of a window, milliseconds; a multiple of the slide
     * @param slideMs time from window to window, milliseconds
     * @param aggregate {@code boxed} or {@code garbage_free}
     * @param threads cooperative threads, and processors of each kind
     * @param cooperative whether the processors share them; each has a native thread of its own otherwise
     * @param port to listen at on loopback, 0 for a free one
     * @param warmupMs windows that end so long after the start are left out, milliseconds
     * @param lengthMs the last window ends so long after the start, milliseconds; a multiple of the slide
     * @param patienceMs how long after that a pipeline that is behind may go on, milliseconds
     */
    public StreamTrial(final long eventsPerSecond, final int keys, final long windowMs, final long slideMs,
            final String aggregate, final int threads, final boolean cooperative, final int port,
            final long warmupMs, final long lengthMs, final long patienceMs) {
        this.threads = threads;
        this.cooperative = cooperative;
        this.aggregate = aggregate;
        this.events = new Events(eventsPerSecond, keys, windowMs, slideMs, lengthMs);
        this.policy = SlidingWindowPolicy.slidingWinPolicy(windowMs, slideMs);
        this.warmupMs = warmupMs;
        this.lengthMs = lengthMs;
        this.patienceMs = patienceMs;
        this.member = Member.start(threads, port);
    }

    /**
     * Submits the job.
     *
     * @return when event 0 is due, nanoseconds of CLOCK_MONOTONIC
     */
    public long start() {
        final long originNs = System.nanoTime() + START_NS;
        books = new Books(events, originNs, warmupMs, lengthMs);
        member.getUserContext().put(Books.name(), books);
        job = member.getJet().newJob(graph(originNs, originNs + (lengthMs + patienceMs) * 1_000_000));
        return originNs;
    }

    private DAG graph(final long originNs, final long giveUpNs) {
        final Events all = events;
        final AggregateOperation1<Long, ?, Long> counting = Counting.named(aggregate);
        final Keys key = new Keys(events.keys);
        final DAG dag = new DAG();
        final Vertex source = vertex(dag, "source", () -> new Source(all, originNs, giveUpNs), threads);
        final Vertex slides = vertex(dag, "slides", Processors.accumulateByFrameP(
                List.of(key), List.of((Long event) -> all.timeMs(event)), TimestampKind.EVENT,
                policy.toTumblingByFrame(), counting.withIdentityFinish()), threads);
        final Vertex windows = vertex(dag, "windows", Processors.<Long, Object, Long, Result>combineToSlidingWindowP(
                policy, anyOf(counting),
                (startMs, endMs, of, count, early) -> new Result(endMs, of, count)), threads);
        final Vertex sink = vertex(dag, "sink", Sink::new, 1);
        return dag
                .edge(Edge.between(source, slides).partitioned(key, Partitioner.HASH_CODE))
                .edge(Edge.between(slides, windows).partitioned(
                        (KeyedWindowResult<Long, ?> partial) -> partial.getKey(), Partitioner.HASH_CODE))
                .edge(Edge.between(windows, sink));
    }

    @SuppressWarnings("unchecked") // the engine treats the accumulator as opaque
    private static AggregateOperation1<Long, Object, Long> anyOf(final AggregateOperation1<Long, ?, Long> counting) {
        return (AggregateOperation1<Long, Object, Long>) counting;
    }

    private Vertex vertex(final DAG dag, final String name, final SupplierEx<Processor> made, final int parallelism) {
        final SupplierEx<Processor> placed = cooperative ? made : () -> new NativeThread(made.get());
        return dag.newVertex(name, placed).localParallelism(parallelism);
    }

    /** Waits until the last window is out, or the pipeline was given up. */
    public void join() {
        job.join();
    }

    /**
     * Whether the sources stopped because the pipeline was too far behind.
     *
     * @return true when results are incomplete
     */
    public boolean hasGivenUp() {
        return books.hasGivenUp();
    }

    /**
     * Compares what came out with what must have come out.
     *
     * @return the first difference, or an empty text
     */
    public String fault() {
        return books.fault();
    }

    /**
     * Latencies of the measured windows, complete result sets.
     *
     * @return nanoseconds, in the order of the windows
     */
    public long[] latenciesNs() {
        return books.latenciesNs();
    }

    /**
     * The same to the first result of each window, as it was published.
     *
     * @return nanoseconds, in the order of the windows
     */
    public long[] firstsNs() {
        return books.firstsNs();
    }

    /**
     * How late the last event left its source, at the worst of the sources.
     *
     * @return nanoseconds
     */
    public long sourceLagNs() {
        return books.sourceLagNs();
    }

    /**
     * All events of the trial.
     *
     * @return their number, warm-up included
     */
    public long events() {
        return events.total;
    }

    /**
     * All results that were checked.
     *
     * @return their number, warm-up included
     */
    public long results() {
        return books.results();
    }

    /**
     * Results of the measured windows.
     *
     * @return their number
     */
    public long measuredResults() {
        return books.measuredResults();
    }

    /**
     * The histogram of the measured windows.
     *
     * @return HdrHistogram, compressed V2, in base64
     */
    public String encodedLatencies() {
        return books.encodedLatencies();
    }

    /**
     * Memory that the live threads have allocated so far.
     *
     * @return bytes
     */
    public static long allocatedBytes() {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final long[] bytes = threads.getThreadAllocatedBytes(threads.getAllThreadIds());
        return LongStream.of(bytes).filter(known -> known > 0).sum();
    }

    /**
     * A setting of the virtual machine as it took effect.
     *
     * @param name such as {@code ConcGCThreads}
     * @return its value
     */
    public static String vmOption(final String name) {
        return ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).getVMOption(name).getValue();
    }

    /** Ends the member at once. */
    @Override
    public void close() {
        member.getLifecycleService().terminate();
    }
}
