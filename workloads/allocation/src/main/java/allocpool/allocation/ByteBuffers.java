package allocpool.allocation;

import java.nio.ByteBuffer;

/** Byte buffers, on the Java heap or outside it. */
public final class ByteBuffers implements BufferSource {
    private final int bytes;
    private final boolean direct;
    private final byte[] zeros;

    /**
     * Buffers of one capacity.
     *
     * @param bytes capacity of each
     * @param direct in native memory, which the JVM gives back when the collector finds the buffer dead
     */
    public ByteBuffers(final int bytes, final boolean direct) {
        this.bytes = bytes;
        this.direct = direct;
        zeros = new byte[bytes];
    }

    @Override
    public Object obtain() {
        return direct ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
    }

    @Override
    public void release(final Object buffer) {
        // Left to the collector.
    }

    @Override
    public void touch(final Object buffer, final Touch touch) {
        final ByteBuffer memory = (ByteBuffer) buffer;
        switch (touch) {
            case FIRST:
                memory.put(0, (byte) 1);
                break;
            case PAGE:
                for (int at = 0; at < bytes; at += Touch.PAGE_BYTES) {
                    memory.put(at, (byte) 1);
                }
                break;
            case ZERO:
                memory.clear();
                memory.put(zeros);
                break;
            case NONE:
            default:
                break;
        }
    }

    @Override
    public long bytes(final Object buffer) {
        return ((ByteBuffer) buffer).capacity();
    }
}
