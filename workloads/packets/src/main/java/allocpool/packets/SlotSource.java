package allocpool.packets;

/** Who provides packets of the flat layouts, which are slots, and who takes them back. */
abstract class SlotSource {
    /** Packets made since the start, without those the pool was filled with. */
    long constructed;

    /** Packets dropped. */
    long discarded;

    /** A slot to be filled; what is in it is arbitrary. */
    abstract int obtain();

    /** Takes back a slot. */
    abstract void free(int slot);

    /** Reports every slot that no packet has. */
    abstract void audit(Audit audit);

    /** Whether slots are handed out while they are in use: only the dummy does. */
    boolean reusesSlotsInUse() {
        return false;
    }

    /** Strategy {@code dummy}: one slot for everything, so that what is left is the cost of the test itself. */
    static final class One extends SlotSource {
        @Override
        int obtain() {
            return 0;
        }

        @Override
        void free(final int slot) {
            // It is in use again already.
        }

        @Override
        void audit(final Audit audit) {
            // Nothing is held ready.
        }

        @Override
        boolean reusesSlotsInUse() {
            return true;
        }
    }

    /**
     * Strategies {@code pool} and {@code mix}: a stack of packets, full at the start, last in first out. When it
     * is empty, a packet is constructed from a slot of the rest of the memory, which takes back what does not fit
     * into the pool.
     */
    static final class Pool extends SlotSource {
        private final SlotStack pool;
        private final SlotStack rest;

        Pool(final int slotCount, final int poolSize) {
            rest = SlotStack.allOf(slotCount);
            pool = new SlotStack(poolSize);
            while (!pool.isFull()) {
                pool.push(rest.pop());
            }
        }

        @Override
        int obtain() {
            return pool.isEmpty() ? construct() : pool.pop();
        }

        @Override
        void free(final int slot) {
            if (pool.isFull()) {
                discarded++;
                rest.push(slot);
            } else {
                pool.push(slot);
            }
        }

        private int construct() {
            if (rest.isEmpty()) {
                throw new IllegalStateException("All " + rest.capacity() + " slots of flat memory are in use");
            }
            constructed++;
            return rest.pop();
        }

        @Override
        void audit(final Audit audit) {
            pool.forEach(slot -> audit.claimSlot(slot, "the pool"));
            audit.allPacketsSeen(pool.capacity(), constructed, discarded);
            rest.forEach(audit::freeSlot);
            audit.allSlotsSeen(rest.capacity());
        }
    }
}
