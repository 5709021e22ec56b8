package allocpool.packets;

/**
 * Memory of the flat layouts: one region of slots, each with the buffer of a packet and what its parse found.
 * Subclasses say how the region is reached; one JVM has one of them, so the calls are inlined. A slot is
 *
 * <pre>
 *  0  source and destination address        what the parse found
 *  8  ports, transport protocol, length
 * 16  offset of the payload, 0 until parsed
 * 24  the buffer, {@link PacketFormat#BUFFER_SIZE} bytes
 * </pre>
 *
 * <p>so parse result and header share one cache line of 64 bytes, at which a slot starts. Slots are an odd number
 * of lines apart: a power of two would put the lines that are used into few sets of each cache. Offsets are in
 * bytes from the start of a slot, numbers are big-endian.
 */
public abstract class FlatMemory {
    /** Bytes from one slot to the next. */
    public static final int STRIDE = 1088;

    /** Bytes that the start of the region must be a multiple of. */
    public static final int ALIGNMENT = 64;

    static final int ADDRESSES = 0;
    static final int HEADER = 8;
    static final int PAYLOAD_OFFSET = 16;
    static final int BUFFER = 24;

    /** For subclasses. */
    protected FlatMemory() {
    }

    /**
     * Writes 8 bits.
     *
     * @param slot number of the slot
     * @param offset where in it
     * @param value what
     */
    protected abstract void putByte(int slot, int offset, byte value);

    /**
     * Writes 32 bits.
     *
     * @param slot number of the slot
     * @param offset where in it, a multiple of 4
     * @param value what
     */
    protected abstract void putInt(int slot, int offset, int value);

    /**
     * Writes 64 bits.
     *
     * @param slot number of the slot
     * @param offset where in it, a multiple of 8
     * @param value what
     */
    protected abstract void putLong(int slot, int offset, long value);

    /**
     * Reads 8 bits.
     *
     * @param slot number of the slot
     * @param offset where in it
     * @return what is there
     */
    protected abstract byte getByte(int slot, int offset);

    /**
     * Reads 32 bits.
     *
     * @param slot number of the slot
     * @param offset where in it, a multiple of 4
     * @return what is there
     */
    protected abstract int getInt(int slot, int offset);

    /**
     * Reads 64 bits.
     *
     * @param slot number of the slot
     * @param offset where in it, a multiple of 8
     * @return what is there
     */
    protected abstract long getLong(int slot, int offset);
}
