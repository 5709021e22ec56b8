package allocpool.packets;

import java.util.function.Consumer;

/**
 * Strategy {@code dummy}: one packet for everything, so that what is left is the cost of the test itself. The
 * queue and the store fill with references to that packet, and the checksum is that of nothing real.
 */
final class DummyStrategy extends Strategy {
    private final Packet packet;

    DummyStrategy(final PacketMemory memory) {
        packet = memory.construct();
    }

    @Override
    protected Packet obtain() {
        return packet;
    }

    @Override
    protected void free(final Packet freed) {
        // It is in use again already.
    }

    @Override
    protected void forEachFree(final Consumer<Packet> action) {
        // Nothing is held ready.
    }

    @Override
    protected int preparedCount() {
        return 1;
    }

    @Override
    boolean reusesPacketsInUse() {
        return true;
    }
}
