package allocpool.stream;

import com.hazelcast.jet.core.AbstractProcessor;
import com.hazelcast.jet.core.Watermark;

/**
 * One of several parallel sources: every {@code parallelism}-th event, never before it is due, as fast as the pipeline
 * takes them when late.
 *
 * <p>It says that a slide is over (a watermark) as soon as the clock and its own events are past it.
 */
final class Source extends AbstractProcessor {
    /** Events in one call: a cooperative processor must give its thread back soon. */
    private static final int BATCH = 1024;

    private final Events events;
    private final long originNs;
    private final long giveUpNs;
    private Books books;
    private long next;
    private int step;
    private long watermarkMs;

    /**
     * A source.
     *
     * @param events all of them
     * @param originNs when event 0 is due
     * @param giveUpNs when to stop if the pipeline is still behind
     */
    Source(final Events events, final long originNs, final long giveUpNs) {
        this.events = events;
        this.originNs = originNs;
        this.giveUpNs = giveUpNs;
    }

    @Override
    protected void init(final Context context) {
        books = Books.of(context);
        next = context.localProcessorIndex();
        step = context.localParallelism();
    }

    @Override
    public boolean complete() {
        final long nowNs = System.nanoTime() - originNs;
        if (nowNs > giveUpNs - originNs) {
            books.giveUp();
            return true;
        }
        for (int sent = 0; sent < BATCH; sent++) {
            final long dueNs = events.dueNs(next);
            final long reachedMs = Math.min(dueNs, nowNs) / 1_000_000;
            while (reachedMs >= watermarkMs + events.slideMs) {
                if (!tryEmit(new Watermark(watermarkMs + events.slideMs))) {
                    return false;
                }
                watermarkMs += events.slideMs;
            }
            if (dueNs > nowNs) {
                return false;
            }
            if (next >= events.total) {
                books.sourceEnded(System.nanoTime() - originNs - dueNs);
                return true;
            }
            if (!tryEmit(next)) {
                return false;
            }
            next += step;
        }
        return false;
    }
}
