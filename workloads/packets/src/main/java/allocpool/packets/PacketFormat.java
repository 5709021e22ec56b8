package allocpool.packets;

/**
 * A packet on the wire: a header of 17 bytes in network byte order at the start of the buffer, then, from
 * {@link #PAYLOAD_OFFSET}, the payload. All offsets and sizes are in bytes.
 */
public final class PacketFormat {
    /** Bytes of a packet's buffer. */
    public static final int BUFFER_SIZE = 1024;

    /** Bytes of the largest packet, header and payload, in whole words. */
    static final int MOST_BYTES = 136;

    static final int MARKER_OFFSET = 0;
    static final int PAYLOAD_LENGTH_OFFSET = 2;
    static final int SOURCE_OFFSET = 4;
    static final int DESTINATION_OFFSET = 8;
    static final int SOURCE_PORT_OFFSET = 12;
    static final int DESTINATION_PORT_OFFSET = 14;
    static final int TRANSPORT_OFFSET = 16;
    static final int PAYLOAD_OFFSET = 20;

    /** The protocol marker of every valid packet: the EtherType of IPv4. */
    static final short PROTOCOL_MARKER = 0x0800;

    /** Transport protocols, by their IANA numbers. */
    static final byte TRANSPORT_TCP = 6;
    static final byte TRANSPORT_UDP = 17;

    private PacketFormat() {
    }

    /**
     * What the last 8 bytes of a payload are that repeats {@code word} from its start: whole words are written, the
     * last one over the end of the one before, so that nothing behind the payload is touched.
     *
     * @param length bytes of the payload, 8 at least
     */
    static long lastPayloadWord(final long word, final int length) {
        return Long.rotateRight(word, length * Byte.SIZE);
    }

    /**
     * Of the last 8 bytes of a payload those behind its last whole word but one, as a little-endian number: nothing was
     * read of them yet.
     *
     * @param length bytes of the payload, 8 at least
     */
    static long payloadRest(final long lastBytes, final int length) {
        // The JVM takes a distance modulo 64: nothing is shifted where the payload ends with a whole word.
        return lastBytes >>> -length * Byte.SIZE;
    }

    static void requireMarker(final short marker) {
        if (marker != PROTOCOL_MARKER) {
            throw notAPacket(marker);
        }
    }

    private static IllegalStateException notAPacket(final short marker) {
        return new IllegalStateException(String.format(
                "A buffer with protocol marker 0x%04x was queued, expected 0x%04x", marker & 0xFFFF, PROTOCOL_MARKER));
    }
}
