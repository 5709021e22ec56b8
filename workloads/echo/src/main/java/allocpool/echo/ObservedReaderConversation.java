package allocpool.echo;

import java.io.IOException;
import java.io.Writer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * As ReaderConversation, with buffers of the size of the messages observed: the longest that any connection of the
 * server has sent so far. They start small; a connection whose buffers are shorter than that gets new ones as soon as
 * an echo is out and nothing more has come. They never shrink.
 */
final class ObservedReaderConversation extends ReaderConversation {
    /** Chars of the first buffers: the smallest size that the published study measured. */
    static final int FIRST = 256;

    private final AtomicInteger longest = new AtomicInteger(FIRST);

    ObservedReaderConversation(final int messageBytes, final ServerCounts counts) {
        super(0, messageBytes, counts);
    }

    @Override
    int size() {
        return longest.get();
    }

    @Override
    void write(final Writer out, final char[] window, final int length) throws IOException {
        int start = 0;
        for (int place = 0; place < length; place++) {
            if (window[place] == '\n') {
                final int message = place + 1 - start;
                if (message > longest.get()) {
                    longest.accumulateAndGet(message, Math::max);
                }
                start = place + 1;
            }
        }
        super.write(out, window, length);
    }
}
