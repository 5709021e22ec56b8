package allocpool.stream;

import java.io.Serializable;

/** One window of a trial in which all sources are held, milliseconds after the origin. */
final class Hiccup implements Serializable {
    private static final long serialVersionUID = 1L;

    private final long fromNs;
    private final long toNs;

    Hiccup(final long fromMs, final long lengthMs) {
        this.fromNs = fromMs * 1_000_000;
        this.toNs = (fromMs + lengthMs) * 1_000_000;
    }

    /** Whether sources are held now, nanoseconds after the origin. */
    boolean holds(final long nowNs) {
        return nowNs >= fromNs && nowNs < toNs;
    }
}
