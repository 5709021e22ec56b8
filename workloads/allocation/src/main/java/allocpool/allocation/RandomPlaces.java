package allocpool.allocation;

/**
 * Knuth's linear congruential generator of 64 bits (MMIX): one multiplication, so that what is measured is the write.
 */
public final class RandomPlaces {
    private static final long FACTOR = 6364136223846793005L;
    private static final long STEP = 1442695040888963407L;

    private RandomPlaces() {
    }

    /**
     * The state after this one.
     *
     * @param state any
     * @return the next
     */
    public static long next(final long state) {
        return state * FACTOR + STEP;
    }

    /**
     * The place that a state stands for.
     *
     * @param state any
     * @param bytes how many places there are
     * @return an index below bytes
     */
    public static int place(final long state, final int bytes) {
        return (int) (((state >>> 33) * bytes) >>> 31);
    }
}
