package allocpool.packets;

import java.nio.ByteBuffer;

/** Layout {@code heap}: each packet has an array-backed buffer, and the collector takes care of both. */
final class HeapMemory extends PacketMemory {
    @Override
    Packet construct() {
        return new Packet(ByteBuffer.allocate(PacketFormat.BUFFER_SIZE), Packet.NO_SLOT);
    }

    @Override
    void discard(final Packet packet) {
        // Unreachable is all that it takes.
    }

    @Override
    void audit(final Audit audit) {
        // A buffer without a packet is garbage.
    }
}
