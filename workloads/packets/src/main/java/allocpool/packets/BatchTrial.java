package allocpool.packets;

import java.util.Arrays;

/**
 * One trial of the batch study: packets one after the other, as fast as the processor takes them, timed in
 * iterations. The signatures keep to primitives, strings and {@code long[]}, for callers from Python.
 *
 * <p>Iterations follow each other without a gap: one ends at the clock value at which the next starts, so that
 * no pause falls between two. They are recorded in memory that exists beforehand. Sequence numbers go on from
 * call to call. A trial belongs to one thread.
 */
public final class BatchTrial {
    /** The clock is looked at once per so many packets. */
    private static final int BLOCK_PACKETS = 256;
    private static final int COLUMNS = 3;

    private final Processor processor;
    private final long[] record;
    private final long[] burst = new long[BLOCK_PACKETS];
    private final AllocatedBytes allocated = new AllocatedBytes();
    private long allocatedBytes;
    private int recordLength;
    private long nextSequence;

    /**
     * Creates a trial. All its memory but what the strategy allocates later is there afterwards.
     *
     * @param layout name of a {@link Layout}
     * @param strategy name of a {@link StrategyName}
     * @param sizes of pool, memory, queue and store
     * @param options what is done in one of several ways
     * @param maxIterations the most iterations that one call can record
     * @throws IllegalArgumentException if a name is unknown or a size impossible, in one line that says what is
     *     possible
     */
    public BatchTrial(final String layout, final String strategy, final Sizes sizes, final Options options,
            final int maxIterations) {
        Sizes.requireAtLeast("max iterations", maxIterations, 1);
        Sizes.requireAtMost("max iterations", maxIterations, Integer.MAX_VALUE / COLUMNS);
        record = new long[maxIterations * COLUMNS];
        processor = Processor.create(layout, strategy, sizes, options);
    }

    /**
     * Receives exactly {@code packets} packets in iterations of exactly {@code iterationPackets}, the last of
     * which may be shorter.
     *
     * @param packets packets to receive, 0 or more
     * @param iterationPackets packets per iteration, 1 or more
     * @return three numbers for each iteration of this call: start and end in nanoseconds of
     *     {@link System#nanoTime} (CLOCK_MONOTONIC on Linux), and packets
     * @throws IllegalArgumentException if a number is too small, or there would be more than
     *     {@code maxIterations} iterations
     */
    public long[] runPackets(final long packets, final long iterationPackets) {
        Sizes.requireAtLeast("packets", packets, 0);
        Sizes.requireAtLeast("iteration packets", iterationPackets, 1);
        requireRoom(packets, iterationPackets);
        recordLength = 0;
        allocated.start();
        long remaining = packets;
        long start = System.nanoTime();
        while (remaining > 0) {
            final long iteration = Math.min(remaining, iterationPackets);
            for (long left = iteration; left > 0; left -= BLOCK_PACKETS) {
                receive((int) Math.min(left, BLOCK_PACKETS));
            }
            remaining -= iteration;
            start = endIteration(start, System.nanoTime(), iteration);
        }
        return recorded();
    }

    /**
     * Receives packets until {@code durationNs} has passed. An iteration ends with the first block of 256
     * packets after {@code iterationNs}; the last one ends with the call and may be shorter.
     *
     * @param durationNs how long to run, in nanoseconds, 1 or more
     * @param iterationNs how long an iteration takes, in nanoseconds, 1 or more
     * @return three numbers for each iteration of this call: start and end in nanoseconds of
     *     {@link System#nanoTime} (CLOCK_MONOTONIC on Linux), and packets
     * @throws IllegalArgumentException if a number is too small, or there could be more than
     *     {@code maxIterations} iterations
     */
    public long[] runFor(final long durationNs, final long iterationNs) {
        Sizes.requireAtLeast("duration in ns", durationNs, 1);
        Sizes.requireAtLeast("iteration in ns", iterationNs, 1);
        requireRoom(durationNs, iterationNs);
        recordLength = 0;
        allocated.start();
        final long begin = System.nanoTime();
        long start = begin;
        while (start - begin < durationNs) {
            final long limit = Math.min(iterationNs, durationNs - (start - begin));
            long packets = 0;
            long now;
            do {
                receive(BLOCK_PACKETS);
                packets += BLOCK_PACKETS;
                now = System.nanoTime();
            } while (now - start < limit);
            start = endIteration(start, now, packets);
        }
        return recorded();
    }

    /**
     * What was counted since the trial was created; see {@link Processor#counts}.
     *
     * @return numbers of packets, in the order of {@link #countNames}
     */
    public long[] counts() {
        return processor.counts();
    }

    /**
     * The names of the counts; see {@link Processor#countNames}.
     *
     * @return the names, in the order of {@link #counts}
     */
    public static String[] countNames() {
        return Processor.countNames();
    }

    /**
     * What the latest run allocated on the Java heap, in the thread that ran it.
     *
     * @return bytes
     */
    public long allocatedBytes() {
        return allocatedBytes;
    }

    /**
     * The checksum over what was parsed and what is stored; see {@link Processor#checksum}.
     *
     * @return 64 bits
     */
    public long checksum() {
        return processor.checksum();
    }

    /**
     * How far apart packets lie in memory that are processed one after the other; see {@link Processor#disorderBytes}.
     *
     * @return bytes, or NaN
     */
    public double disorderBytes() {
        return processor.disorderBytes();
    }

    /**
     * Checks that no packet is in two places, none lost and the counts right; see {@link Processor#audit}.
     *
     * @return the first thing found wrong, in one line, or the empty string
     */
    public String audit() {
        return processor.audit();
    }

    /** Whose packets these are: a real-time consumer goes on with it. */
    Processor processor() {
        return processor;
    }

    private void receive(final int packets) {
        for (int i = 0; i < packets; i++) {
            burst[i] = nextSequence + i;
        }
        nextSequence += packets;
        processor.receive(burst, packets);
    }

    private long endIteration(final long startNs, final long endNs, final long packets) {
        record[recordLength] = startNs;
        record[recordLength + 1] = endNs;
        record[recordLength + 2] = packets;
        recordLength += COLUMNS;
        return endNs;
    }

    private long[] recorded() {
        allocatedBytes = allocated.sinceStart();
        return Arrays.copyOf(record, recordLength);
    }

    private void requireRoom(final long total, final long perIteration) {
        final long iterations = total / perIteration + (total % perIteration == 0 ? 0 : 1);
        final int room = record.length / COLUMNS;
        if (iterations > room) {
            throw new IllegalArgumentException("there would be " + iterations
                    + " iterations, more than the trial's max iterations, " + room);
        }
    }
}
