package allocpool.stream;

import java.io.Serializable;

/**
 * The events of a trial as arithmetic: event {@code n} is due at {@code n / eventsPerSecond} seconds after the origin
 * and has the key {@code n % keys}. So the count of every key in every window is known without running anything.
 */
final class Events implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final long NS_PER_S = 1_000_000_000L;
    private static final long NS_PER_MS = 1_000_000L;

    final int keys;
    final long slideMs;
    /** How many there are. */
    final long total;
    private final long eventsPerSecond;
    private final long windowMs;

    Events(final long eventsPerSecond, final int keys, final long windowMs, final long slideMs, final long lengthMs) {
        this.eventsPerSecond = eventsPerSecond;
        this.keys = keys;
        this.windowMs = windowMs;
        this.slideMs = slideMs;
        this.total = firstAt(lengthMs);
    }

    /** When event {@code n} is due, nanoseconds after the origin. */
    long dueNs(final long n) {
        return n / eventsPerSecond * NS_PER_S + n % eventsPerSecond * NS_PER_S / eventsPerSecond;
    }

    /** Event time of event {@code n}, milliseconds after the origin. */
    long timeMs(final long n) {
        return dueNs(n) / NS_PER_MS;
    }

    /** The first event at or after this time. */
    long firstAt(final long timeMs) {
        final long near = timeMs * eventsPerSecond / 1000;
        return timeMs(near) >= timeMs ? near : near + 1;
    }

    /** Events of {@code key} in the window that ends at {@code endMs}. */
    long expected(final long key, final long endMs) {
        return before(firstAt(endMs), key) - before(firstOf(endMs), key);
    }

    /** Keys that have an event in the window that ends at {@code endMs}. */
    long keysIn(final long endMs) {
        return Math.min(keys, firstAt(endMs) - firstOf(endMs));
    }

    private long firstOf(final long endMs) {
        return firstAt(Math.max(0, endMs - windowMs));
    }

    /** Events of {@code key} among the first {@code n}. */
    private long before(final long n, final long key) {
        return n <= key ? 0 : (n - key - 1) / keys + 1;
    }
}
