package allocpool.allocation;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Direct byte buffers: native memory that is given back when the collector has found the buffer dead. */
final class SizedDirectBuffers implements SizedBuffers {
    private final DirectMemory memory = new DirectMemory();

    @Override
    public Object obtain(final int bytes) {
        final ByteBuffer buffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = 0; at < bytes; at += Touch.PAGE_BYTES) {
            buffer.put(at, (byte) 1);
        }
        return buffer;
    }

    @Override
    public void setTag(final Object buffer, final long tag) {
        ((ByteBuffer) buffer).putLong(0, tag);
    }

    @Override
    public long tag(final Object buffer) {
        return ((ByteBuffer) buffer).getLong(0);
    }

    @Override
    public int bytes(final Object buffer) {
        return ((ByteBuffer) buffer).capacity();
    }

    @Override
    public long keptBytes() {
        return memory.usedBytes();
    }
}
