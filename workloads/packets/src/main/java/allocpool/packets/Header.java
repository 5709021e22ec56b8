package allocpool.packets;

/** The parsed header of a packet, without the addresses; every field is unsigned, lengths are in bytes. */
final class Header {
    final int payloadLength;
    final int sourcePort;
    final int destinationPort;
    final int transport;

    private Header(final int payloadLength, final int sourcePort, final int destinationPort,
            final int transport) {
        this.payloadLength = payloadLength;
        this.sourcePort = sourcePort;
        this.destinationPort = destinationPort;
        this.transport = transport;
    }

    static Header parse(final Packet packet) {
        return new Header(
                packet.getShort(PacketFormat.PAYLOAD_LENGTH_OFFSET) & 0xFFFF,
                packet.getShort(PacketFormat.SOURCE_PORT_OFFSET) & 0xFFFF,
                packet.getShort(PacketFormat.DESTINATION_PORT_OFFSET) & 0xFFFF,
                packet.getByte(PacketFormat.TRANSPORT_OFFSET) & 0xFF);
    }

    boolean isTcp() {
        return transport == PacketFormat.TRANSPORT_TCP;
    }
}
