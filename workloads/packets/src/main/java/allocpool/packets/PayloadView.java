package allocpool.packets;

/**
 * Where a packet's payload is: {@code length} bytes of its buffer, from {@code offset}; nothing is copied. Half as
 * large as a duplicate of the buffer, or less: 24 bytes where references have 4.
 */
final class PayloadView {
    final Packet packet;
    final int offset;
    final int length;

    PayloadView(final Packet packet, final int offset, final int length) {
        this.packet = packet;
        this.offset = offset;
        this.length = length;
    }

    /** Reads 64 bits, little-endian; {@code at} is in bytes from the start of the buffer. */
    long word(final int at) {
        if (at < offset || at - offset > length - Long.BYTES) {
            throw new IndexOutOfBoundsException("word at " + at + " of " + length + " bytes from " + offset);
        }
        return packet.getWord(at);
    }
}
