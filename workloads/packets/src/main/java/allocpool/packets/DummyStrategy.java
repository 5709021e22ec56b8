package allocpool.packets;

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
    protected Packet make() {
        return packet;
    }

    @Override
    protected void drop(final Packet dropped) {
        // It is in use again already.
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
