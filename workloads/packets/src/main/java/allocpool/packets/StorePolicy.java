package allocpool.packets;

/**
 * Which slot of the store the next packet goes to: the next empty one while there is any, a random one
 * afterwards. Like the packets, the draws are a pure function of the seed and a count.
 */
final class StorePolicy {
    /** Keeps the store's stream apart from that of the packets. */
    private static final long SEED_FLIP = 0x5DEECE66D1CE4E5BL;

    private StorePolicy() {
    }

    /**
     * The slot of one more packet.
     *
     * @param seed seed of the trial
     * @param stored packets stored before
     * @param slotCount slots of the store
     * @return from 0 to the number of slots less one
     */
    static int slot(final long seed, final long stored, final int slotCount) {
        if (stored < slotCount) {
            return (int) stored;
        }
        // The high 32 bits scaled to the range: no division, and a bias below slotCount / 2^32.
        return (int) ((SplitMix.draw(seed ^ SEED_FLIP, stored) >>> 32) * slotCount >>> 32);
    }
}
