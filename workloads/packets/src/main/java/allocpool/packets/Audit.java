package allocpool.packets;

import java.util.BitSet;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * Proof, after a trial, that no packet and no memory is in two places. Fed with every packet there is, it
 * keeps the first thing that is wrong.
 */
final class Audit {
    private final Set<Object> seenArrays = Collections.newSetFromMap(new IdentityHashMap<>());
    private final BitSet seenSlots = new BitSet();
    private long seenPackets;
    private String finding = "";

    /** A packet that was received and not yet parsed. */
    void queued(final Packet packet) {
        owned(packet, "the queue");
        require(packet.parsed == null, "a packet in the queue is parsed already");
    }

    /** A packet that was parsed and kept. */
    void stored(final Packet packet) {
        owned(packet, "the store");
        require(packet.parsed != null, "a packet in the store was freed or not parsed");
    }

    /** A packet held ready by the strategy. */
    void free(final Packet packet) {
        owned(packet, "the pool");
        require(packet.parsed == null, "a packet in the pool still holds a parse result");
    }

    /** A slot of native memory that no packet has. */
    void freeSlot(final int slot) {
        require(!seenSlots.get(slot), "native slot " + slot + " is free and in use, or free twice");
        seenSlots.set(slot);
    }

    /** Called last: every slot of native memory must have been seen. */
    void allSlotsSeen(final int slotCount) {
        requireEqual("native slots free or in use", seenSlots.cardinality(), slotCount);
    }

    void requireEqual(final String what, final long actual, final long expected) {
        if (actual != expected) {
            found(what + ": " + actual + ", expected " + expected);
        }
    }

    void require(final boolean holds, final String otherwise) {
        if (!holds) {
            found(otherwise);
        }
    }

    /** The first thing found wrong, in one line, or the empty string. */
    String finding() {
        return finding;
    }

    /** The counts must agree with each other and with the numbers of packets found. */
    void counts(final Counts counts, final int queued, final int stored) {
        requireEqual("packets received and not parsed", counts.received - counts.parsed, queued);
        requireEqual("packets stored and not evicted", counts.tcp - counts.evicted, stored);
        requireEqual("packets freed", counts.freed, counts.parsed - counts.tcp + counts.evicted);
        requireEqual("packets allocated", counts.allocated, counts.freed + queued + stored);
    }

    /** The packets seen until now must be those the strategy made and did not drop. */
    void allPacketsSeen(final Strategy strategy) {
        requireEqual("packets in queue, store and pool", seenPackets,
                strategy.preparedCount() + strategy.constructed - strategy.discarded);
    }

    private void owned(final Packet packet, final String place) {
        seenPackets++;
        if (packet.slot == Packet.NO_SLOT) {
            require(seenArrays.add(packet.buffer.array()), "a packet in " + place + " is in another place too");
        } else {
            if (seenSlots.get(packet.slot)) {
                found("the memory of a packet in " + place + ", native slot " + packet.slot
                        + ", is in another place too");
            }
            seenSlots.set(packet.slot);
        }
    }

    private void found(final String what) {
        if (finding.isEmpty()) {
            finding = what;
        }
    }
}
