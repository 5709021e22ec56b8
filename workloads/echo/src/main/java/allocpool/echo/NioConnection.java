package allocpool.echo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/** One connection of the selector's: holds a buffer for life, or only while part of a message is in it. */
final class NioConnection {
    private static final Lines<ByteBuffer> LINES = new LinesOfBuffer();

    private final SocketChannel channel;
    private final DirectBufferPool pool;
    private final boolean borrows;
    private final ServerCounts counts;
    private ByteBuffer buffer;
    private int whole;
    private int written;

    NioConnection(final SocketChannel channel, final DirectBufferPool pool, final boolean borrows,
            final ServerCounts counts) {
        this.channel = channel;
        this.pool = pool;
        this.borrows = borrows;
        this.counts = counts;
        this.buffer = borrows ? null : pool.take();
    }

    /** Does what the channel is ready for. False when the conversation has ended. */
    boolean goOn(final SelectionKey key) throws IOException {
        if (whole == 0) {
            if (buffer == null) {
                buffer = pool.take();
            }
            final int from = buffer.position();
            final int count = channel.read(buffer);
            if (count < 0) {
                return false;
            }
            whole = LINES.afterLast(buffer, from, buffer.position());
            if (whole == 0 && !buffer.hasRemaining()) {
                counts.oversize.increment();
                return false;
            }
        }
        if (whole > 0) {
            write(key);
        }
        if (borrows && buffer.position() == 0) {
            pool.giveBack(buffer);
            buffer = null;
        }
        return true;
    }

    /** While an echo waits for the client to read, nothing more is read from it. */
    private void write(final SelectionKey key) throws IOException {
        final int filled = buffer.position();
        buffer.limit(whole).position(written);
        channel.write(buffer);
        written = buffer.position();
        buffer.limit(filled);
        if (written < whole) {
            buffer.limit(buffer.capacity()).position(filled);
            key.interestOps(SelectionKey.OP_WRITE);
            return;
        }
        counts.messages.add(LINES.count(buffer, whole));
        buffer.compact();
        whole = 0;
        written = 0;
        key.interestOps(SelectionKey.OP_READ);
    }

    /** Gives back what it holds. */
    void end() throws IOException {
        if (buffer != null) {
            pool.giveBack(buffer);
            buffer = null;
        }
        channel.close();
    }

    /** Lines of bytes in a buffer, by absolute places. */
    private static final class LinesOfBuffer extends Lines<ByteBuffer> {
        @Override
        int at(final ByteBuffer window, final int place) {
            return window.get(place);
        }
    }
}
