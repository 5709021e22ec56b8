package allocpool.packets;

/** What a parse finds in a packet: five small objects in all, which live until the packet is freed. */
final class ParseResult {
    final Header header;
    final Address source;
    final Address destination;
    /** Gives access to the payload's bytes; of which type depends on the library that the buffer comes from. */
    final Object payload;

    private ParseResult(final Header header, final Address source, final Address destination,
            final Object payload) {
        this.header = header;
        this.source = source;
        this.destination = destination;
        this.payload = payload;
    }

    /**
     * Parses what is in the buffer of {@code packet}; throws {@link IllegalStateException} if it does not begin
     * with the protocol marker, which the generator always writes. With {@code leanView} the payload is a
     * {@link PayloadView}.
     */
    static ParseResult parse(final Packet packet, final boolean leanView) {
        PacketFormat.requireMarker(packet.getShort(PacketFormat.MARKER_OFFSET));
        final Header header = Header.parse(packet);
        return new ParseResult(
                header,
                new Address(packet.getInt(PacketFormat.SOURCE_OFFSET)),
                new Address(packet.getInt(PacketFormat.DESTINATION_OFFSET)),
                leanView ? new PayloadView(packet, PacketFormat.PAYLOAD_OFFSET, header.payloadLength)
                        : packet.payload(PacketFormat.PAYLOAD_OFFSET, header.payloadLength));
    }
}
