package allocpool.packets;

/**
 * A packet of the object layouts: an object, its buffer and, once parsed, what the parse found in it. Subclasses
 * give access to the buffer in the words of the library that it comes from; one JVM has one of them, so the
 * calls are inlined. Offsets are in bytes from the start of the buffer, numbers are big-endian.
 */
public abstract class Packet {
    /** Null from the time the packet is provided until it is parsed. */
    ParseResult parsed;

    /** For subclasses. */
    protected Packet() {
    }

    /**
     * Forgets the parse result, as a pool must when it takes the packet back.
     */
    public void reset() {
        parsed = null;
    }

    /** Remembers what a parse found in it, until it is reset. */
    void keep(final ParseResult found) {
        parsed = found;
    }

    /** Whether it has a parse result. */
    boolean isParsed() {
        return parsed != null;
    }

    /** The checksum after what it keeps of its parse. */
    long fold(final long checksum) {
        return Checksum.fold(checksum, parsed);
    }

    /**
     * Writes 8 bits.
     *
     * @param offset where
     * @param value what
     */
    protected abstract void putByte(int offset, byte value);

    /**
     * Writes 16 bits.
     *
     * @param offset where
     * @param value what
     */
    protected abstract void putShort(int offset, short value);

    /**
     * Writes 32 bits.
     *
     * @param offset where
     * @param value what
     */
    protected abstract void putInt(int offset, int value);

    /**
     * Reads 8 bits.
     *
     * @param offset where
     * @return what is there
     */
    protected abstract byte getByte(int offset);

    /**
     * Reads 16 bits.
     *
     * @param offset where
     * @return what is there
     */
    protected abstract short getShort(int offset);

    /**
     * Reads 32 bits.
     *
     * @param offset where
     * @return what is there
     */
    protected abstract int getInt(int offset);

    /**
     * Writes 64 bits, little-endian: a word of payload.
     *
     * @param offset where
     * @param value what
     */
    protected abstract void putWord(int offset, long value);

    /**
     * Reads 64 bits, little-endian: a word of payload.
     *
     * @param offset where
     * @return what is there
     */
    protected abstract long getWord(int offset);

    /**
     * A new view of the payload; nothing is copied.
     *
     * @param offset where the payload begins
     * @param length its length in bytes
     * @return what a user of the buffer's library would hand on: a read-only duplicate of the buffer, positioned on
     *     just these bytes
     */
    protected abstract Object payload(int offset, int length);

    /**
     * Reads 64 bits, little-endian, through a view of the payload.
     *
     * @param payload of {@link #payload}
     * @param offset where, from the start of the buffer; all 64 bits are within the payload
     * @return what is there
     */
    protected abstract long payloadWord(Object payload, int offset);

    /** Writes the payload, which repeats {@code word}; {@code length} in bytes is 8 at least. */
    final void writePayload(final long word, final int length) {
        final int last = PacketFormat.PAYLOAD_OFFSET + length - Long.BYTES;
        for (int at = PacketFormat.PAYLOAD_OFFSET; at < last; at += Long.BYTES) {
            putWord(at, word);
        }
        putWord(last, PacketFormat.lastPayloadWord(word, length));
    }

    /** The sum of the payload's words, read through the view that its parse made. */
    final long payloadSum(final ParseResult found) {
        final Object payload = found.payload;
        final int length = found.header.payloadLength;
        final int last = PacketFormat.PAYLOAD_OFFSET + length - Long.BYTES;
        long sum = 0;
        for (int at = PacketFormat.PAYLOAD_OFFSET; at < last; at += Long.BYTES) {
            sum += word(payload, at);
        }
        return sum + PacketFormat.payloadRest(word(payload, last), length);
    }

    private long word(final Object payload, final int offset) {
        return payload instanceof PayloadView ? ((PayloadView) payload).word(offset) : payloadWord(payload, offset);
    }

    /**
     * Shows the audit which memory is this packet's: that of its buffer, which no other packet has.
     *
     * @param audit what it is reported to
     * @param place where the packet was found, for the message
     */
    protected void claim(final Audit audit, final String place) {
        audit.claim(this, place);
    }
}
