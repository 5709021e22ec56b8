package allocpool.allocation;

import java.util.Arrays;

/** Arrays on the Java heap. */
public final class ByteArrays implements BufferSource {
    private final int bytes;

    /**
     * Arrays of one length.
     *
     * @param bytes length of each
     */
    public ByteArrays(final int bytes) {
        this.bytes = bytes;
    }

    @Override
    public Object obtain() {
        return new byte[bytes];
    }

    @Override
    public void release(final Object buffer) {
        // Left to the collector.
    }

    @Override
    public void touch(final Object buffer, final Touch touch) {
        write((byte[]) buffer, touch);
    }

    static void write(final byte[] array, final Touch touch) {
        switch (touch) {
            case FIRST:
                array[0] = 1;
                break;
            case PAGE:
                for (int at = 0; at < array.length; at += Touch.PAGE_BYTES) {
                    array[at] = 1;
                }
                break;
            case ZERO:
                Arrays.fill(array, (byte) 0);
                break;
            case NONE:
            default:
                break;
        }
    }

    @Override
    public long bytes(final Object buffer) {
        return ((byte[]) buffer).length;
    }
}
