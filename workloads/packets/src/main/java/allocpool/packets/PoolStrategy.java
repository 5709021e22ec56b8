package allocpool.packets;

import java.util.function.Consumer;

/**
 * Strategies {@code pool} and {@code mix}, which differ in size only: a stack of packets, full at the start,
 * last in first out. An empty pool constructs; a full one drops what it is given.
 */
final class PoolStrategy extends Strategy {
    private final PacketMemory memory;
    private final Packet[] stack;
    private int size;

    PoolStrategy(final PacketMemory memory, final int poolSize) {
        this.memory = memory;
        stack = new Packet[poolSize];
        while (size < poolSize) {
            stack[size++] = memory.construct();
        }
    }

    @Override
    protected Packet obtain() {
        if (size == 0) {
            constructed++;
            return memory.construct();
        }
        final Packet packet = stack[--size];
        // Or a packet that is dropped later would stay reachable from here.
        stack[size] = null;
        return packet;
    }

    @Override
    protected void free(final Packet packet) {
        packet.reset();
        if (size == stack.length) {
            discarded++;
            memory.discard(packet);
        } else {
            stack[size++] = packet;
        }
    }

    @Override
    protected void forEachFree(final Consumer<Packet> action) {
        for (int i = 0; i < size; i++) {
            action.accept(stack[i]);
        }
    }

    @Override
    protected int preparedCount() {
        return stack.length;
    }
}
