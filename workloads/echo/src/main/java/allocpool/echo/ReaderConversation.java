package allocpool.echo;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Reader;
import java.io.Writer;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Chars through BufferedReader and BufferedWriter, with the decoder and the encoder that lie below them. */
final class ReaderConversation implements Conversation {
    private final int buffer;
    private final int messageBytes;
    private final Counts counts;

    /** Buffers of so many chars. */
    ReaderConversation(final int buffer, final int messageBytes, final Counts counts) {
        this.buffer = buffer;
        this.messageBytes = messageBytes;
        this.counts = counts;
    }

    @Override
    public void hold(final Socket socket) throws IOException {
        final Reader decoder = new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8);
        final Reader in = new BufferedReader(decoder, buffer);
        final Writer encoder = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
        final Writer out = new BufferedWriter(encoder, buffer);
        final char[] window = new char[messageBytes];
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
    private static int afterLast(final char[] window, final int from, final int to) {
        int place = to;
        while (place > from && window[place - 1] != '\n') {
            place--;
        }
        return place > from ? place : 0;
    }

    private static int messages(final char[] window, final int whole) {
        int found = 0;
        for (int i = 0; i < whole; i++) {
            found += window[i] == '\n' ? 1 : 0;
        }
        return found;
    }
}
