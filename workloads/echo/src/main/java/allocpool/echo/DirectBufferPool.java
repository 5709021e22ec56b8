package allocpool.echo;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/** Direct buffers for one thread: made when none is left, kept up to a number when they come back. */
final class DirectBufferPool {
    /** How many a pool keeps: more than are in use at once, unless clients stop reading. */
    static final int KEPT = 256;

    private final Deque<ByteBuffer> free = new ArrayDeque<>();
    private final int bytes;
    private final int kept;

    DirectBufferPool(final int bytes, final int kept) {
        this.bytes = bytes;
        this.kept = kept;
    }

    ByteBuffer take() {
        final ByteBuffer buffer = free.poll();
        return buffer == null ? ByteBuffer.allocateDirect(bytes) : buffer;
    }

    void giveBack(final ByteBuffer buffer) {
        if (free.size() < kept) {
            buffer.clear();
            free.push(buffer);
        }
    }
}
