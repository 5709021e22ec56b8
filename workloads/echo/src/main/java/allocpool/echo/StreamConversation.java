package allocpool.echo;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

/** Bytes through InputStream and OutputStream, with or without a buffer around each. */
final class StreamConversation implements Conversation {
    private final int buffer;
    private final int messageBytes;
    private final Counts counts;

    /** Buffers of so many bytes; 0 for none. */
    StreamConversation(final int buffer, final int messageBytes, final Counts counts) {
        this.buffer = buffer;
        this.messageBytes = messageBytes;
        this.counts = counts;
    }

    @Override
    public void hold(final Socket socket) throws IOException {
        final InputStream plainIn = socket.getInputStream();
        final OutputStream plainOut = socket.getOutputStream();
        final InputStream in = buffer == 0 ? plainIn : new BufferedInputStream(plainIn, buffer);
        final OutputStream out = buffer == 0 ? plainOut : new BufferedOutputStream(plainOut, buffer);
        final byte[] window = new byte[messageBytes];
        int filled = 0;
        while (filled < window.length) {
            final int count = in.read(window, filled, window.length - filled);
            if (count < 0) {
                return;
            }
            final int whole = afterLast(window, filled, filled + count);
            filled += count;
            if (whole > 0) {
                out.write(window, 0, whole);
                out.flush();
                counts.messages.add(messages(window, whole));
                filled -= whole;
                System.arraycopy(window, whole, window, 0, filled);
            }
        }
        counts.oversize.increment();
    }

    /** The place after the last newline between two places, or 0. */
    private static int afterLast(final byte[] window, final int from, final int to) {
        int place = to;
        while (place > from && window[place - 1] != '\n') {
            place--;
        }
        return place > from ? place : 0;
    }

    private static int messages(final byte[] window, final int whole) {
        int found = 0;
        for (int i = 0; i < whole; i++) {
            found += window[i] == '\n' ? 1 : 0;
        }
        return found;
    }
}
