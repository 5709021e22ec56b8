package allocpool.packets;

import java.nio.ByteBuffer;

/** What a parse finds in a packet: five small objects in all, which live until the packet is freed. */
final class ParseResult {
    final Header header;
    final Address source;
    final Address destination;
    final PayloadView payload;

    private ParseResult(final Header header, final Address source, final Address destination,
            final PayloadView payload) {
        this.header = header;
        this.source = source;
        this.destination = destination;
        this.payload = payload;
    }

    /**
     * Parses the packet in {@code buffer}; throws {@link IllegalStateException} if it does not begin with the
     * protocol marker, which the generator always writes.
     */
    static ParseResult parse(final ByteBuffer buffer) {
        final short marker = buffer.getShort(PacketFormat.MARKER_OFFSET);
        if (marker != PacketFormat.PROTOCOL_MARKER) {
            throw notAPacket(marker);
        }
        final Header header = Header.parse(buffer);
        return new ParseResult(
                header,
                new Address(buffer.getInt(PacketFormat.SOURCE_OFFSET)),
                new Address(buffer.getInt(PacketFormat.DESTINATION_OFFSET)),
                new PayloadView(buffer, PacketFormat.PAYLOAD_OFFSET, header.payloadLength));
    }

    private static IllegalStateException notAPacket(final short marker) {
        return new IllegalStateException(String.format(
                "A buffer with protocol marker 0x%04x was queued, expected 0x%04x",
                marker & 0xFFFF, PacketFormat.PROTOCOL_MARKER));
    }
}
