package allocpool.echo;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

/** Bytes through InputStream and OutputStream, with or without a buffer around each. */
final class StreamConversation extends Conversation<byte[], OutputStream> {
    /** Buffers of so many bytes; 0 for none. */
    StreamConversation(final int buffer, final int messageBytes, final ServerCounts counts) {
        super(new LinesOfBytes(), buffer, messageBytes, counts);
    }

    @Override
    void hold(final Socket socket) throws IOException {
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
            filled = echo(window, filled, filled + count, out);
        }
        oversize();
    }

    @Override
    void write(final OutputStream out, final byte[] window, final int length) throws IOException {
        out.write(window, 0, length);
    }

    /** Lines of bytes. */
    private static final class LinesOfBytes extends Lines<byte[]> {
        @Override
        int at(final byte[] window, final int place) {
            return window[place];
        }
    }
}
