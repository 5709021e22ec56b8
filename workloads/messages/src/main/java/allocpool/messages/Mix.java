package allocpool.messages;

/** SplitMix64, counter-based: what is drawn depends on seed and ordinal alone. C++ draws the same bits. */
final class Mix {
    private static final long GOLDEN_GAMMA = 0x9E3779B97F4A7C15L;
    private static final double TO_UNIT = 0x1p-53;

    private Mix() {
    }

    /** The {@code ordinal}-th (from 0) 64-bit output of the stream that starts at {@code seed}. */
    static long draw(final long seed, final long ordinal) {
        long z = seed + (ordinal + 1) * GOLDEN_GAMMA;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** From 0 to below 1. */
    static double unit(final long bits) {
        return (bits >>> 11) * TO_UNIT;
    }

    /** From 0 to {@code count} less one. */
    static int place(final long bits, final int count) {
        return (int) ((bits >>> 32) * count >>> 32);
    }
}
