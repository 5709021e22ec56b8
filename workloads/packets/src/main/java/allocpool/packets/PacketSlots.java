package allocpool.packets;

import java.util.function.Consumer;

/** Slots that hold a packet or null: what the queue and the store have in common. */
abstract class PacketSlots {
    private final Packet[] slots;

    PacketSlots(final int size) {
        slots = new Packet[size];
    }

    /** Puts {@code packet} into a slot; returns what was there, or null. */
    final Packet set(final int slot, final Packet packet) {
        final Packet previous = slots[slot];
        slots[slot] = packet;
        return previous;
    }

    final Packet get(final int slot) {
        return slots[slot];
    }

    final int size() {
        return slots.length;
    }

    /** Calls {@code action} with each packet, in the order of the slots. */
    final void forEach(final Consumer<Packet> action) {
        for (final Packet packet : slots) {
            if (packet != null) {
                action.accept(packet);
            }
        }
    }

    /** How many slots hold a packet, found by looking at each. */
    final int count() {
        int count = 0;
        for (final Packet packet : slots) {
            if (packet != null) {
                count++;
            }
        }
        return count;
    }
}
