package allocpool.echo;

import java.io.Flushable;
import java.io.IOException;
import java.net.Socket;

/**
 * What a thread does with its connection, from the first message to the last, through a window as long as the longest
 * message: what it reads goes behind what is there, and whole messages go back out of it.
 *
 * @param <W> what the window is: an array
 * @param <O> takes what is echoed
 */
abstract class Conversation<W, O extends Flushable> {
    /** Size of the buffers around the socket's streams. */
    final int buffer;
    final int messageBytes;
    private final Lines<W> lines;
    private final ServerCounts counts;

    Conversation(final Lines<W> lines, final int buffer, final int messageBytes, final ServerCounts counts) {
        this.lines = lines;
        this.buffer = buffer;
        this.messageBytes = messageBytes;
        this.counts = counts;
    }

    /**
     * Echoes until the client has sent its last message, or a message that is too long; an IOException ends it too.
     *
     * <p>It reads by itself: a method in between would lie on the stack of each thread that waits for its client, and
     * these stacks are measured.
     */
    abstract void hold(Socket socket) throws IOException;

    /** Writes the first places of a window. */
    abstract void write(O out, W window, int length) throws IOException;

    /**
     * Echoes the messages that became whole between two places and moves what is behind them to the start. Returns how
     * many places are filled then.
     */
    final int echo(final W window, final int from, final int to, final O out) throws IOException {
        final int whole = lines.afterLast(window, from, to);
        if (whole == 0) {
            return to;
        }
        write(out, window, whole);
        out.flush();
        counts.messages.add(lines.count(window, whole));
        System.arraycopy(window, whole, window, 0, to - whole);
        return to - whole;
    }

    /** The window is full and holds no whole message. */
    final void oversize() {
        counts.oversize.increment();
    }
}
