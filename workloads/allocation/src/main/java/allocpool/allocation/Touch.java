package allocpool.allocation;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** What is done with a buffer right after it was obtained. */
public enum Touch {
    /** Nothing: Java has zeroed it already, or not even that. */
    NONE,
    /** One byte is written to its start. */
    FIRST,
    /** One byte is written to every page. */
    PAGE,
    /** Every byte is set to zero. */
    ZERO;

    /** Bytes of a page. */
    public static final int PAGE_BYTES = 4096;

    /**
     * The policy of that name.
     *
     * @param name in lower case
     * @return the policy
     * @throws IllegalArgumentException no such policy; names those that there are
     */
    public static Touch named(final String name) {
        for (final Touch touch : values()) {
            if (touch.toString().equals(name)) {
                return touch;
            }
        }
        final String valid = Arrays.stream(values()).map(Touch::toString).collect(Collectors.joining(", "));
        throw new IllegalArgumentException("unknown touch '" + name + "': choose one of " + valid);
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
