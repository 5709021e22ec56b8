package allocpool.stream;

import com.hazelcast.jet.core.AbstractProcessor;
import com.hazelcast.jet.core.Watermark;

/**
 * The source, or one of several parallel ones: every {@code parallelism}-th event, never before it is due, as fast as
 * the pipeline takes them when late.
 *
 * <p>It says that a slide is over (a watermark) as soon as the clock and its own events are past it. Once in a trial it
 * may be held: then it does nothing for a while, and what was due in the meantime is late.
 */
final class Source extends AbstractProcessor {
    /** Events in one call: a cooperative processor must give its thread back soon. */
    private static final int BATCH = 1024;

    private final Events events;
    private final long originNs;
    private final long giveUpNs;
    private final Hiccup hiccup;
    private Counters counters;
    private long next;
    private int step;
    private long watermarkMs;
    /** Refused by the engine: it must be offered again before anything else, and before the end. */
    private Object refused;

    /**
     * A source.
     *
     * @param events all of them
     * @param originNs when event 0 is due
     * @param giveUpNs when to stop if the pipeline is still behind
     * @param hiccup when it is held
     */
    Source(final Events events, final long originNs, final long giveUpNs, final Hiccup hiccup) {
        this.events = events;
        this.originNs = originNs;
        this.giveUpNs = giveUpNs;
        this.hiccup = hiccup;
    }

    @Override
    protected void init(final Context context) {
        counters = Counters.of(context);
        next = context.localProcessorIndex();
        step = context.localParallelism();
    }

    @Override
    public boolean complete() {
        // The engine may have handed a refused watermark to some of its receivers. Who ends or goes on without offering
        // it again leaves the engine to believe that those have had what comes next, too, and they wait forever.
        if (refused != null && !emit(refused)) {
            return false;
        }
        final long nowNs = System.nanoTime() - originNs;
        if (nowNs > giveUpNs - originNs) {
            counters.giveUp();
            return true;
        }
        if (hiccup.holds(nowNs)) {
            return false;
        }
        for (int sent = 0; sent < BATCH; sent++) {
            final long dueNs = events.dueNs(next);
            final long reachedMs = Math.min(dueNs, nowNs) / 1_000_000;
            while (reachedMs >= watermarkMs + events.slideMs) {
                watermarkMs += events.slideMs;
                if (!emit(new Watermark(watermarkMs))) {
                    return false;
                }
            }
            if (dueNs > nowNs) {
                return false;
            }
            if (next >= events.total) {
                counters.sourceEnded(System.nanoTime() - originNs - dueNs);
                return true;
            }
            final Long event = next;
            next += step;
            if (!emit(event)) {
                return false;
            }
        }
        return false;
    }

    private boolean emit(final Object item) {
        refused = tryEmit(item) ? null : item;
        return refused == null;
    }
}
