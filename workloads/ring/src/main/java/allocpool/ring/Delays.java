package allocpool.ring;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.HdrHistogram.Histogram;

/**
 * Delays from when a tick was due to when it was consumed, in nanoseconds: one for every tick, whatever held it up, so
 * free of coordinated omission (Tene, "How NOT to measure latency").
 *
 * <p>Ticks due within {@link #GROUP_NS} of one another and consumed in one burst are recorded together, with the delay
 * of the earliest: never too short, and too long by less than that. So is a whole burst that is due within less
 * than what the histogram tells apart at that delay.
 */
final class Delays {
    static final double GROUP_NS = 64;
    static final long HIGHEST_NS = 3_600_000_000_000L;
    static final int SIGNIFICANT_DIGITS = 3;

    /** With three digits the histogram has 2,048 sub-buckets. */
    private static final int SUB_BUCKET_BITS = 11;

    private final Histogram histogram = new Histogram(1, HIGHEST_NS, SIGNIFICANT_DIGITS);
    private long t0Ns;
    private double intervalNs;
    private long groupTicks;
    private long lastNs;

    /** Empties the histogram for a run whose tick i is due at {@code t0Ns + i * intervalNs}. */
    void start(final long newT0Ns, final double newIntervalNs) {
        histogram.reset();
        t0Ns = newT0Ns;
        intervalNs = newIntervalNs;
        lastNs = 0;
        groupTicks = intervalNs > 0 ? Math.max(1, (long) (GROUP_NS / intervalNs)) : 1;
    }

    /** Whether ticks of this run are due at any time: not so when the source saturates. */
    boolean areDue() {
        return intervalNs > 0;
    }

    /** Records the ticks from place {@code from} to before {@code to}, consumed by {@code nowNs}, if they were due. */
    void record(final long[] ticks, final int from, final int to, final long nowNs) {
        if (!areDue() || from == to) {
            return;
        }
        final long longestNs = delayNs(ticks[from], nowNs);
        lastNs = longestNs;
        if (longestNs - delayNs(ticks[to - 1], nowNs) <= longestNs >> SUB_BUCKET_BITS) {
            add(longestNs, to - from);
            return;
        }
        int first = from;
        while (first < to) {
            int next = first + 1;
            while (next < to && ticks[next] - ticks[first] < groupTicks) {
                next++;
            }
            add(delayNs(ticks[first], nowNs), next - first);
            first = next;
        }
    }

    /** The delay of the earliest tick recorded last, in nanoseconds; 0 at the start. */
    long lastNs() {
        return lastNs;
    }

    private long delayNs(final long tick, final long nowNs) {
        return nowNs - t0Ns - (long) (tick * intervalNs);
    }

    private void add(final long delayNs, final long ticks) {
        histogram.recordValueWithCount(Math.max(0, Math.min(delayNs, HIGHEST_NS)), ticks);
    }

    long count() {
        return histogram.getTotalCount();
    }

    long atPercentile(final double percentile) {
        return histogram.getValueAtPercentile(percentile);
    }

    long max() {
        return histogram.getMaxValue();
    }

    /** The histogram in HdrHistogram's compressed interchange format, version 2. */
    byte[] encoded() {
        final ByteBuffer encoded = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        final int length = histogram.encodeIntoCompressedByteBuffer(encoded);
        return Arrays.copyOf(encoded.array(), length);
    }
}
