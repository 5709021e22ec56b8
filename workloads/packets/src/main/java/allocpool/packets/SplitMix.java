package allocpool.packets;

/**
 * SplitMix64 used counter-based: the output depends on the seed and an ordinal alone, so a receiver that lost
 * packets draws the same contents as one that did not.
 *
 * <p>Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014,
 * <a href="https://doi.org/10.1145/2660193.2660195">doi:10.1145/2660193.2660195</a>.
 */
final class SplitMix {
    /** The increment of SplitMix64: 2^64 divided by the golden ratio, made odd. */
    static final long GOLDEN_GAMMA = 0x9E3779B97F4A7C15L;

    private SplitMix() {
    }

    /** The {@code ordinal}-th (from 0) 64-bit output of the stream that starts at {@code seed}. */
    static long draw(final long seed, final long ordinal) {
        return mix(seed + (ordinal + 1) * GOLDEN_GAMMA);
    }

    private static long mix(final long state) {
        long z = state;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
