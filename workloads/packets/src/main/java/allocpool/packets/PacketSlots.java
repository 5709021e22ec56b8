package allocpool.packets;

import java.util.function.Consumer;

/** Slots that hold a packet or null: queue and store are two of these. */
final class PacketSlots {
    /** For the processor, whose loop reaches them without a call. */
    final Packet[] slots;

    PacketSlots(final int size) {
        slots = new Packet[size];
    }

    /** Calls {@code action} with each packet, in the order of the slots. */
    void forEach(final Consumer<Packet> action) {
        for (final Packet packet : slots) {
            if (packet != null) {
                action.accept(packet);
            }
        }
    }

    /** How many slots hold a packet, found by looking at each. */
    int count() {
        int count = 0;
        for (final Packet packet : slots) {
            if (packet != null) {
                count++;
            }
        }
        return count;
    }
}
