package allocpool.packets;

/**
 * The order in which long use leaves what is free: any, so a shuffled one, drawn from the seed of the trial by a
 * stream of its own, the same in every language. A pool that is fresh hands out neighbours one after the other, which
 * no pool does for long: packets come back in the order in which they happen to be freed.
 *
 * <p>Source of the method: Fisher, Yates, as Algorithm P in Knuth, "The Art of Computer Programming", volume 2, 3.4.2.
 */
public final class Ageing {
    /** Keeps this stream apart from those of the packets and of the store. */
    private static final long STREAM = 0x9E6D_1CE4_AA57_0B3DL;

    private Ageing() {
    }

    /**
     * Shuffles numbers.
     *
     * @param numbers of which the first {@code count} are put into another order
     * @param count how many
     * @param seed seed of the trial
     */
    static void shuffle(final int[] numbers, final int count, final long seed) {
        for (int i = count - 1; i > 0; i--) {
            final int j = partner(seed, i);
            final int number = numbers[i];
            numbers[i] = numbers[j];
            numbers[j] = number;
        }
    }

    /**
     * Shuffles packets.
     *
     * @param packets of which the first {@code count} are put into another order
     * @param count how many
     * @param seed seed of the trial
     */
    public static void shuffle(final Packet[] packets, final int count, final long seed) {
        for (int i = count - 1; i > 0; i--) {
            final int j = partner(seed, i);
            final Packet packet = packets[i];
            packets[i] = packets[j];
            packets[j] = packet;
        }
    }

    /** With whom number {@code i} changes places: one of 0 to {@code i}. */
    private static int partner(final long seed, final int i) {
        return (int) ((SplitMix.draw(seed ^ STREAM, i) >>> 32) * (i + 1L) >>> 32);
    }
}
