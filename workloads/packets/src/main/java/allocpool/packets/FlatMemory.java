package allocpool.packets;

/**
 * Memory of the flat layouts: one region for all packets, see {@link FlatGeometry}. Subclasses say how the region is
 * reached; one JVM has one of them, so the calls are inlined. Offsets are in bytes from the start of the region;
 * numbers are big-endian, but for words of payload.
 */
public abstract class FlatMemory {
    /** Bytes that the start of the region must be a multiple of: a page. */
    public static final int ALIGNMENT = 4096;

    /** For subclasses. */
    protected FlatMemory() {
    }

    /**
     * Writes 8 bits.
     *
     * @param offset where
     * @param value what
     */
    protected abstract void putByte(long offset, byte value);

    /**
     * Writes 64 bits.
     *
     * @param offset where, a multiple of 8
     * @param value what
     */
    protected abstract void putLong(long offset, long value);

    /**
     * Writes 64 bits, little-endian: a word of payload.
     *
     * @param offset where, any number
     * @param value what
     */
    protected abstract void putWord(long offset, long value);

    /**
     * Reads 8 bits.
     *
     * @param offset where
     * @return what is there
     */
    protected abstract byte getByte(long offset);

    /**
     * Reads 64 bits.
     *
     * @param offset where, a multiple of 8
     * @return what is there
     */
    protected abstract long getLong(long offset);

    /**
     * Reads 64 bits, little-endian: a word of payload.
     *
     * @param offset where, any number
     * @return what is there
     */
    protected abstract long getWord(long offset);

    /** Writes a payload, which repeats {@code word}, at {@code offset}; {@code length} in bytes is 8 at least. */
    final void writePayload(final long offset, final long word, final int length) {
        final int last = length - Long.BYTES;
        for (int at = 0; at < last; at += Long.BYTES) {
            putWord(offset + at, word);
        }
        putWord(offset + last, PacketFormat.lastPayloadWord(word, length));
    }

    /** The sum of the words of the payload at {@code offset}. */
    final long payloadSum(final long offset, final int length) {
        final int last = length - Long.BYTES;
        long sum = 0;
        for (int at = 0; at < last; at += Long.BYTES) {
            sum += getWord(offset + at);
        }
        return sum + PacketFormat.payloadRest(getWord(offset + last), length);
    }
}
