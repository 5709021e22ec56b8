package allocpool.packets;

import java.nio.ByteBuffer;

/** Layout {@code heap}: each packet has an array-backed buffer, and the collector takes care of both. */
final class HeapPacketMemory extends PacketMemory {
    HeapPacketMemory(final boolean detached) {
        super(detached);
    }

    @Override
    public Packet construct() {
        return over(ByteBuffer.allocate(PacketFormat.BUFFER_SIZE), ByteBufferPacket.NO_SLOT);
    }

    @Override
    public void discard(final Packet packet) {
        // Unreachable is all that it takes.
    }

    @Override
    protected Packet[] age(final long seed, final int most) {
        // A Java heap gives out addresses by bumping a pointer, however old it is. Nor does the order of a pool last
        // for ever: a collector that copies packets puts them where it meets them.
        return new Packet[0];
    }

    @Override
    protected void audit(final Audit audit) {
        // A buffer without a packet is garbage.
    }
}
