package allocpool.packets;

/** The store of TCP packets, which replaces at random once full. */
final class PacketStore extends PacketSlots {
    private final StorePolicy policy;

    PacketStore(final int size, final long seed) {
        super(size);
        policy = new StorePolicy(seed, size);
    }

    /** Stores {@code packet}; returns the packet it replaced, or null if the slot was empty. */
    Packet exchange(final Packet packet) {
        return set(policy.nextSlot(), packet);
    }

    /** {@code checksum} after what the store holds now, in the order of the slots. */
    long foldInto(final long checksum) {
        long folded = checksum;
        for (int slot = 0; slot < size(); slot++) {
            final Packet packet = get(slot);
            // A stored packet without a parse result was freed too early: left out, it changes the sum.
            if (packet != null && packet.parsed != null) {
                folded = Checksum.fold(folded, packet.parsed);
            }
        }
        return folded;
    }
}
