package allocpool.stream;

import com.hazelcast.jet.core.Processor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;

/**
 * What comes out of the pipeline, checked as it comes: every key's count in every window is compared with the known
 * sum, so that a lost, doubled or wrong result is found; and the latency of each result set.
 *
 * <p>The latency of a window is the time from its end to its last result. A window has its end whatever the pipeline
 * does, so nothing is omitted when it stalls. Written by the only sink's thread; allocates nothing while it runs.
 */
final class Counters {
    private static final String NAME = "allocpool.counters";
    private static final long HIGHEST_NS = 3_600_000_000_000L;

    private final Events events;
    private final long originNs;
    private final long warmupMs;
    private final long lengthMs;
    private final long[] seenMs;
    private final int[] resultsOf;
    private final long[] firstOfNs;
    private final long[] latenciesNs;
    private final long[] firstsNs;
    private final Histogram histogram = new Histogram(HIGHEST_NS, 3);
    private final AtomicLong sourceLagNs = new AtomicLong(Long.MIN_VALUE);
    private volatile boolean gaveUp;
    private long completeMs;
    private int windows;
    private long results;
    private long measuredResults;
    private String fault = "";

    Counters(final Events events, final long originNs, final long warmupMs, final long lengthMs) {
        this.events = events;
        this.originNs = originNs;
        this.warmupMs = warmupMs;
        this.lengthMs = lengthMs;
        seenMs = new long[events.keys];
        resultsOf = new int[(int) (lengthMs / events.slideMs) + 1];
        firstOfNs = new long[resultsOf.length];
        latenciesNs = new long[(int) ((lengthMs - warmupMs) / events.slideMs)];
        firstsNs = new long[latenciesNs.length];
    }

    static Counters of(final Processor.Context context) {
        return (Counters) context.hazelcastInstance().getUserContext().get(NAME);
    }

    /** Where the processors of a member find it. */
    static String name() {
        return NAME;
    }

    void giveUp() {
        gaveUp = true;
    }

    void sourceEnded(final long lagNs) {
        sourceLagNs.accumulateAndGet(lagNs, Math::max);
    }

    void result(final long endMs, final long key, final long count) {
        if (endMs > lengthMs || gaveUp) {
            return; // cut off by the end of the events
        }
        final int window = (int) (endMs / events.slideMs);
        if (resultsOf[window]++ == 0) {
            firstOfNs[window] = System.nanoTime();
        }
        results++;
        final int index = (int) key;
        final long expected = events.expected(key, endMs);
        if (count != expected) {
            blame("key " + key + " counts " + count + " in the window to " + endMs + " ms, not " + expected);
        }
        // Distinct keys, as many as are known to be in a window: so none is lost and none comes twice.
        if (endMs <= seenMs[index] || endMs <= completeMs) {
            blame("key " + key + " came for " + endMs + " ms after " + Math.max(completeMs, seenMs[index]) + " ms");
        }
        seenMs[index] = endMs;
    }

    void complete(final long timeMs) {
        while (completeMs + events.slideMs <= Math.min(timeMs, lengthMs) && !gaveUp) {
            completeMs += events.slideMs;
            final long latencyNs = System.nanoTime() - originNs - completeMs * 1_000_000;
            final int window = (int) (completeMs / events.slideMs);
            final long keys = events.keysIn(completeMs);
            if (resultsOf[window] != keys) {
                blame(resultsOf[window] + " keys in the window to " + completeMs + " ms, not " + keys);
            }
            if (completeMs > warmupMs && keys > 0) {
                histogram.recordValue(Math.max(0, Math.min(HIGHEST_NS, latencyNs)));
                firstsNs[windows] = firstOfNs[window] - originNs - completeMs * 1_000_000;
                latenciesNs[windows++] = latencyNs;
                measuredResults += resultsOf[window];
            }
        }
    }

    private void blame(final String found) {
        if (fault.isEmpty()) {
            fault = found;
        }
    }

    boolean hasGivenUp() {
        return gaveUp;
    }

    /** The first thing that was wrong, or an empty text; asked when the job has ended. */
    String fault() {
        if (fault.isEmpty() && !gaveUp && completeMs != lengthMs) {
            return "windows to " + completeMs + " ms came out, not to " + lengthMs + " ms";
        }
        return fault;
    }

    long[] latenciesNs() {
        return Arrays.copyOf(latenciesNs, windows);
    }

    long[] firstsNs() {
        return Arrays.copyOf(firstsNs, windows);
    }

    long sourceLagNs() {
        return sourceLagNs.get();
    }

    long results() {
        return results;
    }

    long measuredResults() {
        return measuredResults;
    }

    String encodedLatencies() {
        final ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        final int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
    }
}
