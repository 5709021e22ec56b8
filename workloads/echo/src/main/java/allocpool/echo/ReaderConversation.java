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
class ReaderConversation extends Conversation<char[], Writer> {
    /** Buffers of so many chars. */
    ReaderConversation(final int buffer, final int messageBytes, final ServerCounts counts) {
        super(new LinesOfChars(), buffer, messageBytes, counts);
    }

    /** Chars that a buffer made now has. */
    int size() {
        return buffer;
    }

    @Override
    void hold(final Socket socket) throws IOException {
        final Reader decoder = new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8);
        final Writer encoder = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
        int size = size();
        Reader in = new BufferedReader(decoder, size);
        Writer out = new BufferedWriter(encoder, size);
        final char[] window = new char[messageBytes];
        int filled = 0;
        while (filled < window.length) {
            final int count = in.read(window, filled, window.length - filled);
            if (count < 0) {
                return;
            }
            filled = echo(window, filled, filled + count, out);
            // A reader that is not ready holds nothing, nor does a writer after its flush.
            if (size() > size && !in.ready()) {
                size = size();
                in = new BufferedReader(decoder, size);
                out = new BufferedWriter(encoder, size);
            }
        }
        oversize();
    }

    @Override
    void write(final Writer out, final char[] window, final int length) throws IOException {
        out.write(window, 0, length);
    }

    /** Lines of chars. */
    private static final class LinesOfChars extends Lines<char[]> {
        @Override
        int at(final char[] window, final int place) {
            return window[place];
        }
    }
}
