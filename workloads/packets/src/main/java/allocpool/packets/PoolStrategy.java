package allocpool.packets;

/**
 * Strategies {@code alloc}, {@code mix} and {@code pool}, which differ in size only: a stack that is full at the start.
 * When it is empty, a packet is constructed; what does not fit back is dropped. {@code alloc} has a stack of no
 * packets.
 */
class PoolStrategy extends Strategy {
    private final PacketMemory memory;

    PoolStrategy(final PacketMemory memory, final int poolSize) {
        super(poolSize);
        this.memory = memory;
        while (ready < poolSize) {
            stack[ready++] = memory.construct();
        }
    }

    @Override
    protected Packet make() {
        constructed++;
        return memory.construct();
    }

    @Override
    protected void drop(final Packet packet) {
        discarded++;
        memory.discard(packet);
    }
}
