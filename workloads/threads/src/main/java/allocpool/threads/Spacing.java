package allocpool.threads;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * How far from each other the cells lie that threads exchange: two cache lines, for processors fetch them in pairs; or
 * side by side, for trials of what that costs. Cell {@code i} of an array is at {@link #at}{@code (i)}, and there is as
 * much before the first and behind the last one.
 */
enum Spacing {
    /** Each cell has two cache lines to itself. */
    APART(32),

    /** Cells share lines. */
    SIDE_BY_SIDE(1);

    /** In elements: enough for references of four bytes. */
    private final int step;

    Spacing(final int step) {
        this.step = step;
    }

    static Spacing of(final boolean padded) {
        return padded ? APART : SIDE_BY_SIDE;
    }

    int at(final int cell) {
        return (cell + 1) * step;
    }

    /** So many numbers, 0 at first. */
    AtomicLongArray numbers(final int cells) {
        return new AtomicLongArray(at(cells) + 1);
    }

    /** So many lists of messages, empty at first. */
    AtomicReferenceArray<Message> lists(final int cells) {
        return new AtomicReferenceArray<>(at(cells) + 1);
    }
}
