package allocpool.echo;

/**
 * Finds the lines in a window of text: what has come of a connection's messages. One serves all connections, so that
 * none holds anything for it; a process has one kind of window, so the calls are inlined.
 *
 * @param <W> what the window is
 */
abstract class Lines<W> {
    /** The byte or char at a place. */
    abstract int at(W window, int place);

    /** The place after the last newline between two places, or 0. */
    final int afterLast(final W window, final int from, final int to) {
        int place = to;
        while (place > from && at(window, place - 1) != '\n') {
            place--;
        }
        return place > from ? place : 0;
    }

    /** How many lines end before a place. */
    final int count(final W window, final int to) {
        int lines = 0;
        for (int place = 0; place < to; place++) {
            lines += at(window, place) == '\n' ? 1 : 0;
        }
        return lines;
    }
}
