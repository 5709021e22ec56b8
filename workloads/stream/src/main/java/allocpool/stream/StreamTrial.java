package allocpool.stream;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.stream.LongStream;

/** One trial: a pipeline, its events, its counters. */
public final class StreamTrial implements AutoCloseable {
    private static final long START_NS = 500_000_000L;

    private final Engine engine;
    private final Events events;
    private final long warmupMs;
    private final long lengthMs;
    private final long patienceMs;
    private Counters counters;

    /**
     * Starts the engine.
     *
     * @param eventsPerSecond rate of all sources together
     * @param keys number of keys
     * @param windowMs length of a window, milliseconds; a multiple of the slide
     * @param slideMs time from window to window, milliseconds
     * @param aggregate {@code boxed} or {@code garbage_free}
     * @param threads cooperative threads, and processors of each kind
     * @param processors {@code cooperative}: Jet, they share the threads; {@code native}: Jet, each has a thread of its
     *     own; {@code platform}, {@code virtual}: no engine, each is a thread of this kind
     * @param sources parallel sources of Jet; threads without an engine have one each
     * @param hiccupFromMs when all sources of Jet are held once, milliseconds after the start
     * @param hiccupMs how long, milliseconds; 0: never
     * @param port for the member to listen at on loopback, 0 for a free one
     * @param warmupMs windows that end so long after the start are left out, milliseconds
     * @param lengthMs the last window ends so long after the start, milliseconds; a multiple of the slide
     * @param patienceMs how long after that a pipeline that is behind may go on, milliseconds
     */
    public StreamTrial(final long eventsPerSecond, final int keys, final long windowMs, final long slideMs,
            final String aggregate, final int threads, final String processors, final int sources,
            final long hiccupFromMs, final long hiccupMs, final int port,
            final long warmupMs, final long lengthMs, final long patienceMs) {
        this.events = new Events(eventsPerSecond, keys, windowMs, slideMs, lengthMs);
        this.warmupMs = warmupMs;
        this.lengthMs = lengthMs;
        this.patienceMs = patienceMs;
        this.engine = engineFor(processors, windowMs, aggregate, threads, sources,
                new Hiccup(hiccupFromMs, hiccupMs), port);
    }

    private Engine engineFor(final String processors, final long windowMs, final String aggregate, final int threads,
            final int sources, final Hiccup hiccup, final int port) {
        switch (processors) {
            case "cooperative":
            case "native":
                return new JetEngine(events, windowMs, aggregate, threads, sources, hiccup,
                        "cooperative".equals(processors), port);
            case "platform":
            case "virtual":
                return new ThreadsEngine(events, windowMs, aggregate, threads, "virtual".equals(processors));
            default:
                throw new IllegalArgumentException("no processors " + processors);
        }
    }

    /**
     * Starts the pipeline.
     *
     * @return when event 0 is due, nanoseconds of CLOCK_MONOTONIC
     */
    public long start() {
        final long originNs = System.nanoTime() + START_NS;
        counters = new Counters(events, originNs, warmupMs, lengthMs);
        engine.start(counters, originNs, originNs + (lengthMs + patienceMs) * 1_000_000);
        return originNs;
    }

    /** Waits until the last window is out, or the pipeline was given up. */
    public void join() {
        engine.join();
    }

    /**
     * Whether the sources stopped because the pipeline was too far behind.
     *
     * @return true when results are incomplete
     */
    public boolean hasGivenUp() {
        return counters.hasGivenUp();
    }

    /**
     * Compares what came out with what must have come out.
     *
     * @return the first difference, or an empty text
     */
    public String fault() {
        return counters.fault();
    }

    /**
     * Latencies of the measured windows, complete result sets.
     *
     * @return nanoseconds, in the order of the windows
     */
    public long[] latenciesNs() {
        return counters.latenciesNs();
    }

    /**
     * The same to the first result of each window, as it was published.
     *
     * @return nanoseconds, in the order of the windows
     */
    public long[] firstsNs() {
        return counters.firstsNs();
    }

    /**
     * How late the last event left its source, at the worst of the sources.
     *
     * @return nanoseconds
     */
    public long sourceLagNs() {
        return counters.sourceLagNs();
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
        return counters.results();
    }

    /**
     * Results of the measured windows.
     *
     * @return their number
     */
    public long measuredResults() {
        return counters.measuredResults();
    }

    /**
     * The histogram of the measured windows.
     *
     * @return HdrHistogram, compressed V2, in base64
     */
    public String encodedLatencies() {
        return counters.encodedLatencies();
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

    /** Ends whatever still runs, the member too. */
    @Override
    public void close() {
        engine.close();
    }
}
