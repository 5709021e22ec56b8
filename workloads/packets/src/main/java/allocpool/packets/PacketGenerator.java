package allocpool.packets;

/**
 * Writes packets whose content is a pure function of the seed and the sequence number. One 64-bit draw holds,
 * from bit 0 up: 10 bits of source address, 10 of destination address, 10 of source port, 10 of destination
 * port, 4 of transport protocol (TCP when all are 0, one packet in 16) and 6 of payload length.
 */
final class PacketGenerator {
    private static final int SOURCE_BASE = 0x0A000000;
    private static final int DESTINATION_BASE = 0x0A010000;
    private static final int PORT_BASE = 1024;
    private static final int LENGTH_BASE = 50;
    private static final int INDEX_MASK = 0x3FF;

    /** Keeps the stream of payloads apart from that of headers. */
    private static final long PAYLOAD_SEED_FLIP = 0x5061_796C_6F61_6421L;

    private PacketGenerator() {
    }

    /** The draw that the header of packet {@code sequence} (from 0) comes from. */
    static long draw(final long seed, final long sequence) {
        return SplitMix.draw(seed, sequence);
    }

    /**
     * The word that the payload of packet {@code sequence} repeats: byte k of the payload, from 0, is bits 8 (k mod 8)
     * and up of it.
     */
    static long payloadWord(final long seed, final long sequence) {
        return SplitMix.draw(seed ^ PAYLOAD_SEED_FLIP, sequence);
    }

    /** Writes the header that comes from a draw into the first bytes of a packet's buffer. */
    static void fill(final Packet packet, final long bits) {
        packet.putShort(PacketFormat.MARKER_OFFSET, PacketFormat.PROTOCOL_MARKER);
        packet.putShort(PacketFormat.PAYLOAD_LENGTH_OFFSET, (short) payloadLength(bits));
        packet.putInt(PacketFormat.SOURCE_OFFSET, source(bits));
        packet.putInt(PacketFormat.DESTINATION_OFFSET, destination(bits));
        packet.putShort(PacketFormat.SOURCE_PORT_OFFSET, (short) sourcePort(bits));
        packet.putShort(PacketFormat.DESTINATION_PORT_OFFSET, (short) destinationPort(bits));
        packet.putByte(PacketFormat.TRANSPORT_OFFSET, transport(bits));
    }

    static int source(final long bits) {
        return SOURCE_BASE + ((int) bits & INDEX_MASK);
    }

    static int destination(final long bits) {
        return DESTINATION_BASE + ((int) (bits >>> 10) & INDEX_MASK);
    }

    static int sourcePort(final long bits) {
        return PORT_BASE + ((int) (bits >>> 20) & INDEX_MASK);
    }

    static int destinationPort(final long bits) {
        return PORT_BASE + ((int) (bits >>> 30) & INDEX_MASK);
    }

    static byte transport(final long bits) {
        return ((int) (bits >>> 40) & 0xF) == 0 ? PacketFormat.TRANSPORT_TCP : PacketFormat.TRANSPORT_UDP;
    }

    static int payloadLength(final long bits) {
        return LENGTH_BASE + ((int) (bits >>> 44) & 0x3F);
    }
}
