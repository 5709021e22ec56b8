package allocpool.packets;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Proof, after a trial, that no packet and no memory is in two places. Fed with every packet there is, it
 * keeps the first thing that is wrong.
 *
 * <p>A packet that has its memory for itself gets its number written there: where it is another number at the end, two
 * packets share the memory. So a million packets are looked at without an object for each, in a heap that they fill.
 */
public final class Audit {
    private static final int NUMBER_OFFSET = 0;

    private final List<Packet> numbered = new ArrayList<>();
    private final List<String> places = new ArrayList<>();
    private int[] overwritten = new int[1024];
    private final BitSet seenSlots = new BitSet();
    private long seenPackets;
    private String finding = "";

    Audit() {
    }

    /**
     * A packet that has its memory for itself; what is in it is another until all packets are seen.
     *
     * @param packet all of whose memory can be written
     * @param place where the packet was found
     */
    public void claim(final Packet packet, final String place) {
        seenPackets++;
        final int number = numbered.size();
        if (number == overwritten.length) {
            overwritten = Arrays.copyOf(overwritten, 2 * number);
        }
        overwritten[number] = packet.getInt(NUMBER_OFFSET);
        packet.putInt(NUMBER_OFFSET, number);
        numbered.add(packet);
        places.add(place);
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

    /** The packets seen until now must be those that were made and not dropped, none of them seen twice. */
    void allPacketsSeen(final long prepared, final long constructed, final long discarded) {
        for (int number = 0; number < numbered.size(); number++) {
            final Packet packet = numbered.get(number);
            if (packet.getInt(NUMBER_OFFSET) != number) {
                found("a packet in " + places.get(number) + " is in another place too");
            }
            packet.putInt(NUMBER_OFFSET, overwritten[number]);
        }
        requireEqual("packets in queue, store and pool", seenPackets, prepared + constructed - discarded);
    }

    private void found(final String what) {
        if (finding.isEmpty()) {
            finding = what;
        }
    }
}
