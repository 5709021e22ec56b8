package allocpool.packets;

import java.util.BitSet;
import java.util.HashSet;
import java.util.Set;

/**
 * Proof, after a trial, that no packet and no memory is in two places. Fed with every packet there is, it
 * keeps the first thing that is wrong.
 */
public final class Audit {
    private final Set<Object> seenMemory = new HashSet<>();
    private final BitSet seenSlots = new BitSet();
    private long seenPackets;
    private String finding = "";

    Audit() {
    }

    /**
     * The memory of a packet that has it for itself.
     *
     * @param memory equal to that of another packet if both share it: an array, an address
     * @param place where the packet was found
     */
    public void claim(final Object memory, final String place) {
        seenPackets++;
        require(seenMemory.add(memory), "a packet in " + place + " is in another place too");
    }

    /**
     * The slot of a packet in memory that all packets share.
     *
     * @param slot number of the slot
     * @param place where the packet was found
     */
    public void claimSlot(final int slot, final String place) {
        seenPackets++;
        if (seenSlots.get(slot)) {
            found("the memory of a packet in " + place + ", slot " + slot + ", is in another place too");
        }
        seenSlots.set(slot);
    }

    /**
     * States what must be so.
     *
     * @param holds whether it is
     * @param otherwise the finding when it is not, in one line
     */
    public void require(final boolean holds, final String otherwise) {
        if (!holds) {
            found(otherwise);
        }
    }

    /** A slot of shared memory that no packet has. */
    void freeSlot(final int slot) {
        require(!seenSlots.get(slot), "slot " + slot + " is free and in use, or free twice");
        seenSlots.set(slot);
    }

    /** Called last: every slot of shared memory must have been seen. */
    void allSlotsSeen(final int slotCount) {
        requireEqual("slots free or in use", seenSlots.cardinality(), slotCount);
    }

    void requireEqual(final String what, final long actual, final long expected) {
        if (actual != expected) {
            found(what + ": " + actual + ", expected " + expected);
        }
    }

    /** The first thing found wrong, in one line, or the empty string. */
    String finding() {
        return finding;
    }

    /** The counts must agree with each other and with the numbers of packets found. */
    void counts(final PacketCounts counts, final int queued, final int stored) {
        requireEqual("packets received and not parsed", counts.received - counts.parsed, queued);
        requireEqual("packets stored and not evicted", counts.tcp - counts.evicted, stored);
        requireEqual("packets freed", counts.freed, counts.parsed - counts.tcp + counts.evicted);
        requireEqual("packets allocated", counts.allocated, counts.freed + queued + stored);
    }

    /** The packets seen until now must be those that were made and not dropped. */
    void allPacketsSeen(final long prepared, final long constructed, final long discarded) {
        requireEqual("packets in queue, store and pool", seenPackets, prepared + constructed - discarded);
    }

    private void found(final String what) {
        if (finding.isEmpty()) {
            finding = what;
        }
    }
}
