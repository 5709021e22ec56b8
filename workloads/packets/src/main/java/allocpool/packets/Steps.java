package allocpool.packets;

import java.util.Arrays;
import java.util.List;

/**
 * The steps of the flat layouts, each a switch, so that what it buys can be measured. They are those of C++'s slab,
 * in the order of the ladder; {@code contiguous} is what makes memory flat, and so is always on.
 */
final class Steps {
    private static final String CONTIGUOUS = "contiguous";
    private static final String ONE_LINE = "one_line";
    private static final String STRIDE = "stride";
    private static final String PREFETCH = "prefetch";
    private static final List<String> ALL = Arrays.asList(CONTIGUOUS, ONE_LINE, STRIDE, PREFETCH);

    /** Header and parse result in one cache line, the rest of the buffer behind it or elsewhere. */
    final boolean oneLine;

    /** Headers spread over all sets of a cache, not 1024 bytes apart. */
    final boolean stride;

    /** What will be touched soon is read before. */
    final boolean prefetch;

    private Steps(final List<String> names) {
        oneLine = names.contains(ONE_LINE);
        stride = names.contains(STRIDE);
        prefetch = names.contains(PREFETCH);
    }

    /**
     * The steps with these names.
     *
     * @param names comma-separated; null: all
     * @throws IllegalArgumentException if there is another name, in one line that says which there are
     */
    static Steps named(final String names) {
        if (names == null) {
            return new Steps(ALL);
        }
        final List<String> asked = Arrays.asList(names.split(","));
        for (final String name : asked) {
            if (!ALL.contains(name)) {
                throw new IllegalArgumentException(
                        "unknown step '" + name + "', choose from: " + String.join(", ", ALL));
            }
        }
        return new Steps(asked);
    }
}
