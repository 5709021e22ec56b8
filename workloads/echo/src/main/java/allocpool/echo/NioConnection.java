package allocpool.echo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;

/** One connection of the selector's: holds a buffer for life, or only while part of a message is in it. */
final class NioConnection {
    private final SocketChannel channel;
    private final Buffers buffers;
    private final boolean borrows;
    private final Counts counts;
    private ByteBuffer buffer;
    private int whole;
    private int written;

    NioConnection(final SocketChannel channel, final Buffers buffers, final boolean borrows, final Counts counts) {
        this.channel = channel;
        this.buffers = buffers;
        this.borrows = borrows;
        this.counts = counts;
        this.buffer = borrows ? null : buffers.take();
    }

    /** Does what the channel is ready for. False when the conversation has ended. */
    boolean goOn(final SelectionKey key) throws IOException {
        if (whole == 0) {
            if (buffer == null) {
                buffer = buffers.take();
            }
            final int from = buffer.position();
            final int count = channel.read(buffer);
            if (count < 0) {
                return false;
            }
            whole = afterLast(from);
            if (whole == 0 && !buffer.hasRemaining()) {
                counts.oversize.increment();
                return false;
            }
        }
        if (whole > 0) {
            write(key);
        }
        if (borrows && buffer.position() == 0) {
            buffers.giveBack(buffer);
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
        int messages = 0;
        for (int i = 0; i < whole; i++) {
            messages += buffer.get(i) == '\n' ? 1 : 0;
        }
        counts.messages.add(messages);
        buffer.compact();
        whole = 0;
        written = 0;
        key.interestOps(SelectionKey.OP_READ);
    }

    /** The place after the last newline from a place on, or 0. */
    private int afterLast(final int from) {
        int place = buffer.position();
        while (place > from && buffer.get(place - 1) != '\n') {
            place--;
        }
        return place > from ? place : 0;
    }

    /** Gives back what it holds. */
    void end() throws IOException {
        if (buffer != null) {
            buffers.giveBack(buffer);
            buffer = null;
        }
        channel.close();
    }
}
