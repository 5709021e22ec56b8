package allocpool.stream;

import com.hazelcast.jet.aggregate.AggregateOperation1;
import java.util.HashMap;
import java.util.Map;

/**
 * Sliding windows by key, out of counts by slide: a window takes in the newest slide and gives back the oldest.
 *
 * @param <A> what counts a key
 */
final class WindowStep<A> {
    private final Events events;
    private final long slides;
    private final AggregateOperation1<Long, A, Long> counting;
    private final Keys keys;
    private final A empty;
    private final Map<Long, Map<Long, A>> counts = new HashMap<>();
    private final Map<Long, A> window = new HashMap<>();
    private Map<Long, A> latest = new HashMap<>();
    private long latestSlide = -1;
    private long reachedMs;

    WindowStep(final Events events, final long windowMs, final AggregateOperation1<Long, A, Long> counting) {
        this.events = events;
        this.slides = windowMs / events.slideMs;
        this.counting = counting;
        this.keys = new Keys(events.keys);
        this.empty = counting.createFn().get();
    }

    /** Counts an event in its slide. */
    void accept(final Long event) {
        final long slide = events.timeMs(event) / events.slideMs;
        if (slide != latestSlide) {
            latest = counts.computeIfAbsent(slide, number -> new HashMap<>());
            latestSlide = slide;
        }
        final A count = latest.computeIfAbsent(keys.apply(event), key -> counting.createFn().get());
        counting.accumulateFn().accept(count, event);
    }

    /** How far the windows are, milliseconds after the origin. */
    long reachedMs() {
        return reachedMs;
    }

    /** Goes on by a slide: the results of the window that ends there. */
    Object[] advance() {
        final long slide = reachedMs / events.slideMs;
        reachedMs += events.slideMs;
        counts.getOrDefault(slide, Map.of()).forEach((key, count) -> counting.combineFn().accept(
                window.computeIfAbsent(key, none -> counting.createFn().get()), count));
        final Object[] results = new Object[window.size()];
        int filled = 0;
        for (final Map.Entry<Long, A> entry : window.entrySet()) {
            results[filled++] = new Result(reachedMs, entry.getKey(), counting.exportFn().apply(entry.getValue()));
        }
        final Map<Long, A> oldest = counts.remove(slide - slides + 1);
        if (oldest != null) {
            oldest.forEach((key, count) -> {
                final A rest = window.get(key);
                counting.deductFn().accept(rest, count);
                if (rest.equals(empty)) {
                    window.remove(key);
                }
            });
        }
        return results;
    }
}
