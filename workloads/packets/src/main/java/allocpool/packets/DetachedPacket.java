package allocpool.packets;

import java.nio.ByteBuffer;

/**
 * A packet that copies what a parse found into two fields of its own, 16 bytes more than {@link ByteBufferPacket} has.
 * The objects of the parse are made all the same, but no packet refers to them: they are garbage once it is done, and a
 * pooled packet, however old, never points to a young object.
 */
final class DetachedPacket extends ByteBufferPacket {
    private long addresses;

    /** Not 0 once it is parsed: no transport protocol has number 0 here. */
    private long header;

    private DetachedPacket(final ByteBuffer buffer, final int slot) {
        super(buffer, slot);
    }

    /** A packet; that this class has a method for it keeps it from being loaded where nobody asks for one. */
    static Packet over(final ByteBuffer buffer, final int slot) {
        return new DetachedPacket(buffer, slot);
    }

    @Override
    public void reset() {
        header = 0;
    }

    @Override
    void keep(final ParseResult found) {
        addresses = Checksum.addresses(found.source.bits, found.destination.bits);
        header = Checksum.header(found.header);
    }

    @Override
    boolean isParsed() {
        return header != 0;
    }

    @Override
    long fold(final long checksum) {
        return Checksum.fold(checksum, addresses, header);
    }
}
