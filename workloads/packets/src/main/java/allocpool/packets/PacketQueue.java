package allocpool.packets;

/** The internal FIFO: slots used as a ring, which gives up its oldest packet for each new one once full. */
final class PacketQueue extends PacketSlots {
    private int cursor;

    PacketQueue(final int size) {
        super(size);
    }

    /** Puts {@code packet} in; returns the oldest packet if the queue was full, else null. */
    Packet exchange(final Packet packet) {
        final int slot = cursor;
        final int next = slot + 1;
        cursor = next == size() ? 0 : next;
        return set(slot, packet);
    }
}
