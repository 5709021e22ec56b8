package allocpool.packets;

import java.util.function.Consumer;

/**
 * A {@link PoolStrategy} whose pool is a ring, first in first out: packets are obtained at its head and given back at
 * its tail, so that all that it holds come round. The processor finds its stack empty and without room, and asks.
 */
final class RingStrategy extends PoolStrategy {
    private final Packet[] ring;
    private int free;
    private int head;
    private int tail;

    RingStrategy(final PacketMemory memory, final int poolSize) {
        super(memory, 0);
        ring = new Packet[poolSize];
        for (; free < poolSize; free++) {
            ring[free] = memory.construct();
        }
    }

    @Override
    protected Packet make() {
        if (free == 0) {
            return super.make();
        }
        free--;
        final Packet packet = ring[head];
        // Or a packet that is dropped later would stay reachable from here.
        ring[head] = null;
        head = head + 1 == ring.length ? 0 : head + 1;
        return packet;
    }

    @Override
    protected void drop(final Packet packet) {
        if (free == ring.length) {
            super.drop(packet);
            return;
        }
        free++;
        packet.reset();
        ring[tail] = packet;
        tail = tail + 1 == ring.length ? 0 : tail + 1;
    }

    @Override
    protected void forEachFree(final Consumer<Packet> action) {
        for (int i = 0; i < free; i++) {
            action.accept(ring[(int) ((head + (long) i) % ring.length)]);
        }
    }

    @Override
    protected int preparedCount() {
        return ring.length;
    }

    @Override
    protected void age(final long seed) {
        Ageing.shuffle(ring, ring.length, seed);
    }
}
