package allocpool.packets;

import java.util.function.Consumer;

/** Strategy {@code alloc}: a fresh packet each time, dropped when freed. */
final class AllocStrategy extends Strategy {
    private final PacketMemory memory;

    AllocStrategy(final PacketMemory memory) {
        this.memory = memory;
    }

    @Override
    protected Packet obtain() {
        constructed++;
        return memory.construct();
    }

    @Override
    protected void free(final Packet packet) {
        discarded++;
        memory.discard(packet);
    }

    @Override
    protected void forEachFree(final Consumer<Packet> action) {
        // Nothing is held ready.
    }

    @Override
    protected int preparedCount() {
        return 0;
    }
}
