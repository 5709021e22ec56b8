package allocpool.packets;

import java.nio.ByteBuffer;

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

    private final long seed;

    PacketGenerator(final long seed) {
        this.seed = seed;
    }

    /** Writes the header of packet {@code sequence} (from 0) into the first bytes of a big-endian buffer. */
    void fill(final ByteBuffer buffer, final long sequence) {
        final long bits = SplitMix.draw(seed, sequence);
        final int source = SOURCE_BASE + ((int) bits & INDEX_MASK);
        final int destination = DESTINATION_BASE + ((int) (bits >>> 10) & INDEX_MASK);
        final int sourcePort = PORT_BASE + ((int) (bits >>> 20) & INDEX_MASK);
        final int destinationPort = PORT_BASE + ((int) (bits >>> 30) & INDEX_MASK);
        final boolean tcp = ((int) (bits >>> 40) & 0xF) == 0;
        final int payloadLength = LENGTH_BASE + ((int) (bits >>> 44) & 0x3F);

        buffer.putShort(PacketFormat.MARKER_OFFSET, PacketFormat.PROTOCOL_MARKER);
        buffer.putShort(PacketFormat.PAYLOAD_LENGTH_OFFSET, (short) payloadLength);
        buffer.putInt(PacketFormat.SOURCE_OFFSET, source);
        buffer.putInt(PacketFormat.DESTINATION_OFFSET, destination);
        buffer.putShort(PacketFormat.SOURCE_PORT_OFFSET, (short) sourcePort);
        buffer.putShort(PacketFormat.DESTINATION_PORT_OFFSET, (short) destinationPort);
        buffer.put(PacketFormat.TRANSPORT_OFFSET, tcp ? PacketFormat.TRANSPORT_TCP : PacketFormat.TRANSPORT_UDP);
    }
}
