package allocpool.packets;

import java.util.function.IntConsumer;

/**
 * Who provides packets of the flat layouts, which are slots, and who takes them back: {@link Strategy}, for numbers.
 */
abstract class SlotSource {
    /** Packets made since the start, without those the pool was filled with. */
    long constructed;

    /** Packets dropped. */
    long discarded;

    /** The slots that lie ready, last in first out. */
    final SlotStack pool;

    SlotSource(final int poolSize) {
        pool = new SlotStack(poolSize);
    }

    /** A slot to be filled, when none lies ready; what is in it is arbitrary. */
    abstract int make();

    /** Takes back a slot, when there is no place for it among those that lie ready. */
    abstract void drop(int slot);

    /** Calls {@code action} with each slot that is held ready. */
    void forEachFree(final IntConsumer action) {
        pool.forEach(action);
    }

    /** Puts what is free into the order of long use. */
    abstract void age(long seed);

    /** Reports every slot that no packet has. */
    abstract void audit(Audit audit);

    /** Whether slots are handed out while they are in use: only the dummy does. */
    boolean reusesSlotsInUse() {
        return false;
    }

    /** Strategy {@code dummy}: one slot for everything, so that what is left is the cost of the test itself. */
    static final class One extends SlotSource {
        One() {
            super(0);
        }

        @Override
        int make() {
            return 0;
        }

        @Override
        void drop(final int slot) {
            // It is in use again already.
        }

        @Override
        void age(final long seed) {
            // One slot has one order.
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
     * Strategies {@code pool} and {@code mix}: a stack that is full at the start. When it is empty, a packet is
     * constructed from a slot of the rest of the memory, which takes back what does not fit into the pool.
     */
    static class Pool extends SlotSource {
        /** The slots that the pool does not hold. */
        final SlotStack rest;

        Pool(final int slotCount, final int poolSize) {
            super(poolSize);
            rest = SlotStack.allOf(slotCount);
            while (!pool.isFull()) {
                pool.push(rest.pop());
            }
        }

        @Override
        int make() {
            if (rest.isEmpty()) {
                throw new IllegalStateException("All " + rest.capacity() + " slots of flat memory are in use");
            }
            constructed++;
            return rest.pop();
        }

        @Override
        void drop(final int slot) {
            discarded++;
            rest.push(slot);
        }

        @Override
        void age(final long seed) {
            pool.age(seed);
            rest.age(seed);
        }

        @Override
        void audit(final Audit audit) {
            forEachFree(slot -> audit.claimSlot(slot, "the pool"));
            audit.allPacketsSeen(prepared(), constructed, discarded);
            rest.forEach(audit::freeSlot);
            audit.allSlotsSeen(rest.capacity());
        }

        /** How many slots the pool held at the start. */
        int prepared() {
            return pool.capacity();
        }
    }

    /**
     * The same with a ring, first in first out, in place of the stack: slots are obtained at its head and given back at
     * its tail, so that all that it holds come round. The processor finds the stack empty and without room, and asks.
     */
    static final class Ring extends Pool {
        private final int[] ring;
        private int free;
        private int head;
        private int tail;

        Ring(final int slotCount, final int poolSize) {
            super(slotCount, 0);
            ring = new int[poolSize];
            for (; free < poolSize; free++) {
                ring[free] = rest.pop();
            }
        }

        @Override
        int make() {
            if (free == 0) {
                return super.make();
            }
            free--;
            final int slot = ring[head];
            head = head + 1 == ring.length ? 0 : head + 1;
            return slot;
        }

        @Override
        void drop(final int slot) {
            if (free == ring.length) {
                super.drop(slot);
                return;
            }
            free++;
            ring[tail] = slot;
            tail = tail + 1 == ring.length ? 0 : tail + 1;
        }

        @Override
        void forEachFree(final IntConsumer action) {
            for (int i = 0; i < free; i++) {
                action.accept(ring[(int) ((head + (long) i) % ring.length)]);
            }
        }

        @Override
        int prepared() {
            return ring.length;
        }

        @Override
        void age(final long seed) {
            Ageing.shuffle(ring, ring.length, seed);
            rest.age(seed);
        }
    }
}
