package allocpool.packets;

/**
 * Which slot of the store the next packet goes to: the next empty one while there is any, a random one
 * afterwards. Like the packets, the draws are a pure function of the seed and a count.
 */
final class StorePolicy {
    /** Keeps the store's stream apart from that of the packets. */
    private static final long SEED_FLIP = 0x5DEECE66D1CE4E5BL;

    private final long seed;
    private final int slotCount;
    private long storedPackets;

    StorePolicy(final long trialSeed, final int slotCount) {
        this.seed = trialSeed ^ SEED_FLIP;
        this.slotCount = slotCount;
    }

    /** The slot, from 0 to the number of slots less one, for one more packet. */
    int nextSlot() {
        final long ordinal = storedPackets++;
        if (ordinal < slotCount) {
            return (int) ordinal;
        }
        // The high 32 bits scaled to the range: no division, and a bias below slotCount / 2^32.
        return (int) ((SplitMix.draw(seed, ordinal) >>> 32) * slotCount >>> 32);
    }
}
