package allocpool.ring;

import java.nio.ByteBuffer;

/**
 * Takes the ticks of the native source out of its ring and hands each to {@link #receive}.
 *
 * <p>A slot holds the number of its tick plus 1, and numbers only grow, so a slot is fresh when it is greater than
 * the last one taken: order and gaps are seen in the ring itself, independently of what the source counts.
 *
 * <p>The number of ticks taken is published before they are handed on, so that a tick being processed no longer fills
 * the queue: tick by tick, or by cache lines where a line is at most a {@value #QUEUE_PARTS}th of the queue. While the
 * queue is full the source looks at that number with every tick that it loses, and each publication waits until the
 * line is back.
 *
 * <p>The clock is read once per batch of up to {@value #BATCH} ticks, after the batch; {@value #LATE_BATCH} when the
 * last delay was longer than {@value #LATE_NS} ns. So a delay is never reported too short, and too long at most by
 * what the rest of its batch took; batches only form when ticks are waiting. See {@link Delays} for ticks that are due
 * nearly together.
 *
 * <p>The loop allocates nothing. A consumer belongs to one thread; it may consume many runs, one after the other.
 */
public abstract class RingConsumer {
    /** Most ticks per reading of the clock, when each has a delay. */
    static final int BATCH = 16;

    /** Most ticks per reading of the clock, when the last delay was longer than {@link #LATE_NS}. */
    static final int LATE_BATCH = 64;
    static final long LATE_NS = 4_000_000;

    /** Most ticks per reading of the clock, when the source saturates. */
    static final int SATURATED_BATCH = 256;

    /** Slots of a cache line of 64 bytes. */
    static final int LINE_SLOTS = 8;

    /** A line of ticks is freed at once where it is no more than this part of the queue. */
    static final int QUEUE_PARTS = 256;
    private static final int LINE_BYTES = LINE_SLOTS * RingLayout.SLOT_BYTES;

    private static final String[] ACCOUNT_NAMES = {
        "received", "warmup_received", "missing", "warmup_missing", "last_sequence", "start_ns", "measured_start_ns",
        "end_ns", "stalled_ns",
    };

    private final ByteBuffer ring;
    private final Delays delays = new Delays();

    // The last batch, as runs of consecutive ticks: the first tick of each, and how many the batch had before it.
    private final long[] runFirst = new long[SATURATED_BATCH];
    private final int[] runBegin = new int[SATURATED_BATCH + 1];
    private int runs;

    // Where this end is in the ring.
    private int offset;
    private int endOffset;
    private boolean freesLines;
    private long last;
    private long consumed;

    // The account of the run.
    private long warmup;
    private long warmupReceived;
    private long missing;
    private long warmupMissing;
    private long startNs;
    private long measuredStartNs;
    private long endNs;
    private long stallDueNs;
    private long stallNs;
    private long stalledNs;

    /**
     * Creates a consumer of a ring.
     *
     * @param ring the memory of the ring: a direct buffer, from {@code ap_realtime_memory}
     * @throws IllegalArgumentException if the buffer is not direct or not 8-byte aligned
     */
    protected RingConsumer(final ByteBuffer ring) {
        if (!ring.isDirect()) {
            throw new IllegalArgumentException("the ring must be a direct buffer over native memory");
        }
        if (ring.alignmentOffset(0, Long.BYTES) != 0) {
            throw new IllegalArgumentException("the ring must begin at a multiple of " + Long.BYTES + " bytes");
        }
        this.ring = ring;
    }

    /**
     * Receives one tick: the hot path.
     *
     * @param sequence number of the tick, from 0; greater than any before in this run
     */
    protected abstract void receive(long sequence);

    /**
     * Consumes a run that the source has started, until the source has finished and the ring is empty or until so many
     * ticks were taken. May be interrupted by nothing else.
     *
     * @param maxTicks most ticks to take; 0: no limit
     * @param stallAtNs when to stop consuming on purpose, in nanoseconds after tick 0 is due
     * @param stallForNs for how long, in nanoseconds; 0: never
     * @throws IllegalArgumentException if a number is negative
     * @throws IllegalStateException if the memory holds no ring, or no run that waits for its consumer
     */
    public final void consume(final long maxTicks, final long stallAtNs, final long stallForNs) {
        if (maxTicks < 0 || stallAtNs < 0 || stallForNs < 0) {
            throw new IllegalArgumentException("max ticks, stall time and stall length must not be negative");
        }
        attach();
        while (RingLayout.laWord(ring, RingLayout.STATE_OFFSET) < RingLayout.RUNNING) {
            Thread.onSpinWait();
        }
        begin(stallAtNs, stallForNs);
        final long limit = maxTicks == 0 ? Long.MAX_VALUE : maxTicks;
        boolean finished = false;
        while (consumed < limit) {
            final int batchTicks = !delays.areDue() ? SATURATED_BATCH
                    : delays.lastNs() > LATE_NS ? LATE_BATCH : BATCH;
            final int taken = take((int) Math.min(batchTicks, limit - consumed));
            if (taken > 0) {
                accountRuns();
            } else if (finished) {
                break;
            } else {
                // What was pushed before the state changed is seen by the next look into the ring.
                finished = RingLayout.laWord(ring, RingLayout.STATE_OFFSET) == RingLayout.FINISHED;
                Thread.onSpinWait();
            }
        }
        RingLayout.soWord(ring, RingLayout.LAST_OFFSET, last);
    }

    /**
     * What this consumer saw in the last run; warm-up figures are part of the totals.
     *
     * @return numbers in the order of {@link #accountNames}
     */
    public final long[] account() {
        return new long[] {
            consumed, warmupReceived, missing, warmupMissing, last - 1, startNs, measuredStartNs, endNs, stalledNs,
        };
    }

    /**
     * The names of the numbers of {@link #account}, which are those of {@code ap_consumption}.
     *
     * @return {@code received} ticks, {@code missing} (numbers skipped before one that came), both also of the warm-up
     *     alone; {@code last_sequence} (-1: none); in nanoseconds of {@link System#nanoTime}: {@code start_ns} (first
     *     look into the ring), {@code measured_start_ns} (end of the last batch with a tick of the warm-up, or the
     *     start), {@code end_ns} (end of the last batch, or the start); and {@code stalled_ns}, the length of the
     *     stall on purpose
     */
    public static String[] accountNames() {
        return ACCOUNT_NAMES.clone();
    }

    /**
     * The delays of the last run, of all ticks received after the warm-up.
     *
     * @return an HdrHistogram of nanoseconds (1 to 3,600,000,000,000, 3 significant digits) in the compressed
     *     interchange format, version 2, which HdrHistogram's ports decode after base64
     */
    public final byte[] encodedDelays() {
        return delays.encoded();
    }

    /**
     * The number of delays of the last run.
     *
     * @return ticks received after the warm-up; 0 if the source saturated, for then no tick is due
     */
    public final long delayCount() {
        return delays.count();
    }

    /**
     * A percentile of the delays of the last run.
     *
     * @param percentile from 0 to 100
     * @return nanoseconds
     */
    public final long delayAtPercentileNs(final double percentile) {
        return delays.atPercentile(percentile);
    }

    /**
     * The longest delay of the last run.
     *
     * @return nanoseconds
     */
    public final long maxDelayNs() {
        return delays.max();
    }

    private void attach() {
        final long capacity = ring.capacity() < RingLayout.SLOTS_OFFSET ? 0
                : RingLayout.lpWord(ring, RingLayout.CAPACITY_OFFSET);
        if (capacity < 1 || RingLayout.lpWord(ring, RingLayout.LAYOUT_OFFSET) != RingLayout.LAYOUT
                || capacity > (ring.capacity() - RingLayout.SLOTS_OFFSET) / RingLayout.SLOT_BYTES) {
            throw new IllegalStateException("the memory holds no ring that this version reads: start the source first");
        }
        if (RingLayout.laWord(ring, RingLayout.STATE_OFFSET) != RingLayout.WAITING
                || RingLayout.laWord(ring, RingLayout.READY_OFFSET) != 0) {
            throw new IllegalStateException("no run waits for a consumer: start the source first");
        }
        offset = RingLayout.SLOTS_OFFSET;
        endOffset = RingLayout.SLOTS_OFFSET + (int) capacity * RingLayout.SLOT_BYTES;
        freesLines = capacity >= QUEUE_PARTS * LINE_SLOTS;
        last = 0;
        consumed = 0;
        warmup = RingLayout.lpWord(ring, RingLayout.WARMUP_OFFSET);
        warmupReceived = 0;
        missing = 0;
        warmupMissing = 0;
        stalledNs = 0;
        RingLayout.soWord(ring, RingLayout.READY_OFFSET, 1);
    }

    private void begin(final long stallAtNs, final long stallForNs) {
        final long t0Ns = RingLayout.lpWord(ring, RingLayout.T0_OFFSET);
        delays.start(t0Ns, Double.longBitsToDouble(RingLayout.lpWord(ring, RingLayout.INTERVAL_OFFSET)));
        stallDueNs = t0Ns + stallAtNs;
        stallNs = stallForNs;
        startNs = System.nanoTime();
        measuredStartNs = startNs;
        endNs = startNs;
    }

    /** Takes up to {@code wanted} ticks and hands each on. Returns how many there were, and leaves their runs. */
    private int take(final int wanted) {
        int at = offset;
        long previous = last;
        int taken = 0;
        int count = 0;
        while (taken < wanted) {
            final long value = RingLayout.laWord(ring, at);
            if (value <= previous) {
                break;
            }
            if (count == 0 || value != previous + 1) {
                miss(previous, value - 1);
                runFirst[count] = value - 1;
                runBegin[count++] = taken;
            }
            if (wanted - taken >= LINE_SLOTS && isLineFrom(at, value)) {
                receiveLine(value - 1, consumed + taken);
                previous = value + LINE_SLOTS - 1;
                at += LINE_BYTES;
                taken += LINE_SLOTS;
            } else {
                previous = value;
                at += RingLayout.SLOT_BYTES;
                taken++;
                publish(consumed + taken);
                receive(value - 1);
            }
            if (at == endOffset) {
                at = RingLayout.SLOTS_OFFSET;
            }
        }
        runs = count;
        runBegin[count] = taken;
        offset = at;
        last = previous;
        consumed += taken;
        return taken;
    }

    /** Whether {@code value}, at {@code at}, begins a line whose slots hold consecutive ticks, all fresh. */
    private boolean isLineFrom(final int at, final long value) {
        // The slot written last is looked at first: when it is fresh, so are those before it.
        return at % LINE_BYTES == 0 && at + LINE_BYTES <= endOffset
                && RingLayout.laWord(ring, at + LINE_BYTES - RingLayout.SLOT_BYTES) == value + LINE_SLOTS - 1
                && isConsecutive(at, value);
    }

    private boolean isConsecutive(final int at, final long value) {
        long differences = 0;
        for (int i = 1; i < LINE_SLOTS - 1; i++) {
            differences |= RingLayout.lpWord(ring, at + i * RingLayout.SLOT_BYTES) ^ (value + i);
        }
        return differences == 0;
    }

    /** Takes {@link #LINE_SLOTS} ticks from {@code first} on, after {@code before} that were taken in this run. */
    private void receiveLine(final long first, final long before) {
        if (freesLines) {
            publish(before + LINE_SLOTS);
            for (int i = 0; i < LINE_SLOTS; i++) {
                receive(first + i);
            }
        } else {
            for (int i = 0; i < LINE_SLOTS; i++) {
                publish(before + i + 1);
                receive(first + i);
            }
        }
    }

    /** Tells the source how many ticks were taken. */
    private void publish(final long count) {
        RingLayout.soWord(ring, RingLayout.CONSUMED_OFFSET, count);
    }

    /** Ticks {@code [from, to)} did not come. */
    private void miss(final long from, final long to) {
        missing += to - from;
        warmupMissing += Math.max(0, Math.min(to, warmup) - from);
    }

    private void accountRuns() {
        final long nowNs = System.nanoTime();
        endNs = nowNs;
        if (runFirst[0] < warmup) {
            measuredStartNs = nowNs;
        }
        for (int run = 0; run < runs; run++) {
            final int count = runBegin[run + 1] - runBegin[run];
            final int ofWarmup = (int) Math.max(0, Math.min(count, warmup - runFirst[run]));
            warmupReceived += ofWarmup;
            delays.record(runFirst[run] + ofWarmup, count - ofWarmup, nowNs);
        }
        if (stallNs > 0 && nowNs >= stallDueNs) {
            stall(nowNs);
        }
    }

    private void stall(final long fromNs) {
        while (System.nanoTime() - fromNs < stallNs) {
            Thread.onSpinWait();
        }
        stalledNs = System.nanoTime() - fromNs;
        stallNs = 0;
    }
}
