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
    public final void reset() {
        parsed = null;
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
     * A new view of the payload; nothing is copied.
     *
     * @param offset where the payload begins
     * @param length its length in bytes
     * @return an object of the buffer's library that gives access to just these bytes
     */
    protected abstract Object payload(int offset, int length);

    /**
     * Tells the audit which memory is this packet's.
     *
     * @param audit to be told
     * @param place where the packet was found, for the message
     */
    protected abstract void claim(Audit audit, String place);
}
