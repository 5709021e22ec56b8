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
    protected void age(final long seed, final int packets) {
        final Packet[] made = new Packet[packets];
        Arrays.setAll(made, i -> construct());
        Ageing.shuffle(made, packets, seed);
        for (final Packet packet : made) {
            discard(packet);
        }
    }

    @Override
    protected void audit(final Audit audit) {
        // What is free is known to the allocator alone.
    }
}
