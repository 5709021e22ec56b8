package allocpool.allocation;

import java.util.Arrays;

/**
 * Costs in nanoseconds, counted in buckets a thirty-second part wide: percentiles without memory per cost. C++ has the
 * same buckets.
 */
final class CostHistogram {
    private static final int BITS = 5;
    private static final int STEPS = 1 << BITS;

    private final long[] counts = new long[60 * STEPS];
    private long total;
    private long maxNs;

    void add(final long costNs) {
        counts[bucket(costNs)]++;
        total++;
        maxNs = Math.max(maxNs, costNs);
    }

    void clear() {
        Arrays.fill(counts, 0);
        total = 0;
        maxNs = 0;
    }

    /** The upper edge of the bucket below which so many thousandths of the costs lie, ns; 0 without costs. */
    long at(final long thousandths) {
        final long wanted = (total * thousandths + 999) / 1000;
        long seen = 0;
        for (int i = 0; i < counts.length && total > 0; i++) {
            seen += counts[i];
            if (seen >= wanted) {
                return Math.min(edge(i), maxNs);
            }
        }
        return maxNs;
    }

    long maxNs() {
        return maxNs;
    }

    private static int bucket(final long costNs) {
        final long cost = Math.max(0, costNs);
        if (cost < STEPS) {
            return (int) cost;
        }
        final int shift = 63 - Long.numberOfLeadingZeros(cost) - BITS;
        return (shift << BITS) + (int) (cost >>> shift);
    }

    private static long edge(final int number) {
        if (number < STEPS) {
            return number;
        }
        final int shift = (number >>> BITS) - 1;
        return (((number & (STEPS - 1)) + STEPS + 1L) << shift) - 1;
    }
}
