package allocpool.pools;

import allocpool.packets.Ageing;
import allocpool.packets.Audit;
import allocpool.packets.Packet;
import allocpool.packets.PacketFormat;
import allocpool.packets.PacketMemory;
import io.netty.buffer.ByteBufAllocator;
import java.util.Arrays;

/** Packets whose buffers come from an allocator of Netty and go back to it. */
final class NettyPacketMemory extends PacketMemory {
    private final ByteBufAllocator allocator;

    NettyPacketMemory(final ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    @Override
    public Packet construct() {
        return new NettyPacket(allocator.directBuffer(PacketFormat.BUFFER_SIZE));
    }

    @Override
    public void discard(final Packet packet) {
        ((NettyPacket) packet).buffer.release();
    }

    @Override
    protected Packet[] age(final long seed, final int most) {
        // Were they released at once, the allocator would join neighbours and be as fresh as before.
        final Packet[] prepared = new Packet[most];
        Arrays.setAll(prepared, i -> construct());
        Ageing.shuffle(prepared, most, seed);
        return prepared;
    }

    @Override
    protected void audit(final Audit audit) {
        // What is free is known to the allocator alone.
    }
}
