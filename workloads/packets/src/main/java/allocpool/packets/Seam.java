package allocpool.packets;

/**
 * The packets workload cut at its seam, for those who divide it between threads: what a receiver does to a packet, and
 * what a worker does. The sequence number travels in the payload, so that a buffer that was handed out too early is
 * found wherever it is parsed.
 */
public final class Seam {
    /** Bytes of a packet that are ever written: the header and the longest payload. */
    public static final int USED_BYTES = PacketFormat.PAYLOAD_OFFSET + 50 + 0x3F;

    private static final int SEQUENCE_OFFSET = PacketFormat.PAYLOAD_OFFSET;

    /** Keeps the stream of flows apart from those of packets and stores. */
    private static final long FLOW_SEED_FLIP = 0x464C_4F57_5F52_5353L;

    private Seam() {
    }

    /**
     * Which ring the flow of a train of packets leads to: a hash, so rings get unequal shares.
     *
     * @param seed seed of the trial
     * @param train number of the train, from 0
     * @param rings how many there are
     * @return from 0 to the number of rings less one
     */
    public static int ring(final long seed, final long train, final int rings) {
        return (int) ((SplitMix.draw(seed ^ FLOW_SEED_FLIP, train) >>> 32) * rings >>> 32);
    }

    /**
     * Writes a packet: what a receiver does.
     *
     * @param packet to be written
     * @param seed seed of the trial
     * @param sequence number of the packet, from 0
     */
    public static void fill(final Packet packet, final long seed, final long sequence) {
        PacketGenerator.fill(packet, PacketGenerator.draw(seed, sequence));
        packet.putWord(SEQUENCE_OFFSET, sequence);
    }

    /**
     * Parses a packet into objects, which are its until it is reset: what a worker does.
     *
     * @param packet one that was filled
     * @return whether it is TCP, and so to be kept
     * @throws IllegalStateException if the buffer does not begin with the protocol marker
     */
    public static boolean parse(final Packet packet) {
        final ParseResult found = ParseResult.parse(packet, false);
        packet.parsed = found;
        return found.header.isTcp();
    }

    /**
     * Whether a packet has a parse result.
     *
     * @param packet any
     * @return false for one that was reset
     */
    public static boolean isParsed(final Packet packet) {
        return packet.parsed != null;
    }

    /**
     * The hash of what {@link #parse} found, with the sequence number that is in the buffer now.
     *
     * @param packet one that was parsed
     * @return 64 bits to be added up in any order
     */
    public static long hash(final Packet packet) {
        return SplitMix.draw(Checksum.fold(Checksum.START, packet.parsed), packet.getWord(SEQUENCE_OFFSET));
    }

    /**
     * The two words that a parse without objects reads.
     *
     * @param packet one that was filled
     * @return source and destination address
     * @throws IllegalStateException if the buffer does not begin with the protocol marker
     */
    public static long addresses(final Packet packet) {
        PacketFormat.requireMarker(packet.getShort(PacketFormat.MARKER_OFFSET));
        return (long) packet.getInt(PacketFormat.SOURCE_OFFSET) << 32
                | packet.getInt(PacketFormat.DESTINATION_OFFSET) & 0xFFFFFFFFL;
    }

    /**
     * The other one.
     *
     * @param packet one that was filled
     * @return ports, transport protocol and payload length, 16 bits each
     */
    public static long header(final Packet packet) {
        return (packet.getShort(PacketFormat.SOURCE_PORT_OFFSET) & 0xFFFFL) << 48
                | (packet.getShort(PacketFormat.DESTINATION_PORT_OFFSET) & 0xFFFFL) << 32
                | (packet.getByte(PacketFormat.TRANSPORT_OFFSET) & 0xFFL) << 16
                | packet.getShort(PacketFormat.PAYLOAD_LENGTH_OFFSET) & 0xFFFFL;
    }

    /**
     * Whether the packet that a header word belongs to is TCP.
     *
     * @param header of {@link #header}
     * @return whether it is to be kept
     */
    public static boolean isTcp(final long header) {
        return (header >>> 16 & 0xFFFF) == PacketFormat.TRANSPORT_TCP;
    }

    /**
     * As {@link #hash(Packet)}, of the two words.
     *
     * @param packet whose buffer holds the sequence number
     * @param addresses of {@link #addresses}
     * @param header of {@link #header}
     * @return the same 64 bits
     */
    public static long hash(final Packet packet, final long addresses, final long header) {
        return SplitMix.draw(Checksum.fold(Checksum.START, addresses, header), packet.getWord(SEQUENCE_OFFSET));
    }

    /**
     * Which slot of a store the next packet goes to.
     *
     * @param seed seed of the store
     * @param stored packets stored before
     * @param slotCount slots of the store
     * @return from 0 to the number of slots less one
     */
    public static int slot(final long seed, final long stored, final int slotCount) {
        return StorePolicy.slot(seed, stored, slotCount);
    }
}
