package allocpool.packets;

/**
 * The 64-bit checksum over what was parsed. It depends on every field and on the order of the packets, and is
 * the same in every layout, strategy and language.
 */
final class Checksum {
    /** The checksum before the first packet. */
    static final long START = 0;

    private static final long ADDRESS_FACTOR = 0x9E3779B97F4A7C15L;
    private static final long HEADER_FACTOR = 0xC2B2AE3D27D4EB4FL;
    private static final long CHAIN_FACTOR = 0xD1342543DE82EF95L;

    private Checksum() {
    }

    /** The checksum after one more packet; the fields are unsigned. */
    static long fold(final long checksum, final int source, final int destination, final int sourcePort,
            final int destinationPort, final int transport, final int payloadLength) {
        return fold(checksum, addresses(source, destination),
                header(sourcePort, destinationPort, transport, payloadLength));
    }

    /** Source and destination, 32 bits each. */
    static long addresses(final int source, final int destination) {
        return (long) source << 32 | destination & 0xFFFFFFFFL;
    }

    /** Source port, destination port, transport protocol and payload length, 16 bits each. */
    static long header(final Header header) {
        return header(header.sourcePort, header.destinationPort, header.transport, header.payloadLength);
    }

    private static long header(final int sourcePort, final int destinationPort, final int transport,
            final int payloadLength) {
        return (long) sourcePort << 48 | (long) destinationPort << 32 | (long) transport << 16 | payloadLength;
    }

    /**
     * The checksum after one more packet, whose fields are together already.
     *
     * @param addresses of {@link #addresses}
     * @param header of {@link #header(Header)}
     */
    static long fold(final long checksum, final long addresses, final long header) {
        return checksum * CHAIN_FACTOR
                + (addresses * ADDRESS_FACTOR ^ Long.rotateLeft(header * HEADER_FACTOR, 32));
    }

    static long fold(final long checksum, final ParseResult parsed) {
        final Header header = parsed.header;
        return fold(checksum, parsed.source.bits, parsed.destination.bits, header.sourcePort,
                header.destinationPort, header.transport, header.payloadLength);
    }
}
