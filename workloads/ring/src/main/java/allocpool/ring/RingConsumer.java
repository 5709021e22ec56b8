package allocpool.ring;

import java.nio.ByteBuffer;

/**
 * Takes the ticks of the native source out of its ring and hands them on in bursts to {@link #receive}, as the
 * consumer in C++ does ({@code native/src/realtime/consumer.hpp}), with the same numbers.
 *
 * <p>A slot holds the number of its tick plus 1, and numbers only grow, so a slot is fresh when it is greater than
 * the last one taken: order and gaps are seen in the ring itself, independently of what the source counts.
 *
 * <p>A burst is what waits, at most {@value #BURST} ticks, and {@value #LATE_BURST} when the last delay was longer
 * than {@value #LATE_NS} ns. It is taken out of the ring before its first tick is handed on, and the number of ticks
 * taken is published at once: while the queue is full the source looks at that number with every tick that it loses,
 * and each publication waits until the line is back. So what is in hand no longer fills the queue: at most a
 * {@value #QUEUE_PARTS}th part of what it holds, or one tick.
 *
 * <p>The clock is read once per burst, after it. So a delay is never reported too short, and too long at most by
 * what the rest of its burst took; bursts of more than one tick only form when ticks are waiting. See {@link Delays}
 * for ticks that are due nearly together.
 *
 * <p>The loop allocates nothing. A consumer belongs to one thread; it may consume many runs, one after the other.
 */
public abstract class RingConsumer {
    /** Most ticks of a burst, when each has a delay. */
    static final int BURST = 16;

    /** Most ticks of a burst, when the last delay was longer than {@link #LATE_NS}. */
    static final int LATE_BURST = 64;
    static final long LATE_NS = 4_000_000;

    /** Most ticks of a burst, when the source saturates. */
    static final int SATURATED_BURST = 256;

    /** A burst is at most this part of the queue. */
    static final int QUEUE_PARTS = 256;

    private static final String[] ACCOUNT_NAMES = {
        "received", "warmup_received", "missing", "warmup_missing", "last_sequence", "start_ns", "measured_start_ns",
        "end_ns", "stalled_ns",
    };

    private final ByteBuffer ring;
    private final Delays delays = new Delays();

    /** The burst in hand. */
    private final long[] burst = new long[SATURATED_BURST];

    // Where this end is in the ring.
    private int offset;
    private int endOffset;
    private int mostTicks;
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
     * Receives a burst of ticks: the hot path.
     *
     * @param sequences numbers of the ticks, from 0, of which the first {@code count} have come; each is greater than
     *     any before in this run
     * @param count how many, 1 or more
     */
    protected abstract void receive(long[] sequences, int count);

    /** Called again and again while there is no tick. What it throws ends the run. */
    protected void rest() {
        Thread.onSpinWait();
    }

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
            rest();
        }
        begin(stallAtNs, stallForNs);
        final long limit = maxTicks == 0 ? Long.MAX_VALUE : maxTicks;
        boolean finished = false;
        while (consumed < limit) {
            final int most = !delays.areDue() ? SATURATED_BURST : delays.lastNs() > LATE_NS ? LATE_BURST : BURST;
            final long previous = last - 1;
            final int taken = take((int) Math.min(Math.min(most, mostTicks), limit - consumed));
            if (taken > 0) {
                receive(burst, taken);
                account(previous, taken);
            } else if (finished) {
                break;
            } else {
                // What was pushed before the state changed is seen by the next look into the ring.
                finished = RingLayout.laWord(ring, RingLayout.STATE_OFFSET) == RingLayout.FINISHED;
                rest();
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
     *     look into the ring), {@code measured_start_ns} (end of the last burst with a tick of the warm-up, or the
     *     start), {@code end_ns} (end of the last burst, or the start); and {@code stalled_ns}, the length of the
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
        mostTicks = (int) Math.max(1, capacity / QUEUE_PARTS);
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

    /** Takes up to {@code wanted} ticks into the burst, and frees their slots. Returns how many there were. */
    private int take(final int wanted) {
        final ByteBuffer slots = ring;
        final long[] ticks = burst;
        final int end = endOffset;
        int at = offset;
        long previous = last;
        int taken = 0;
        while (taken < wanted) {
            final long value = RingLayout.laWord(slots, at);
            if (value <= previous) {
                break;
            }
            previous = value;
            at = at + RingLayout.SLOT_BYTES == end ? RingLayout.SLOTS_OFFSET : at + RingLayout.SLOT_BYTES;
            ticks[taken++] = value - 1;
        }
        if (taken > 0) {
            offset = at;
            last = previous;
            consumed += taken;
            RingLayout.soWord(slots, RingLayout.CONSUMED_OFFSET, consumed);
        }
        return taken;
    }

    /** Accounts for the burst of {@code taken} ticks that came after tick {@code previous}. */
    private void account(final long previous, final int taken) {
        final long nowNs = System.nanoTime();
        endNs = nowNs;
        // Numbers only grow: as many as there are steps, and none is missing.
        if (burst[taken - 1] - previous != taken) {
            miss(previous, taken);
        }
        int first = 0;
        if (burst[0] < warmup) {
            while (first < taken && burst[first] < warmup) {
                first++;
            }
            warmupReceived += first;
            measuredStartNs = nowNs;
        }
        delays.record(burst, first, taken, nowNs);
        if (stallNs > 0 && nowNs >= stallDueNs) {
            stall(nowNs);
        }
    }

    /** Accounts for the numbers before and between those that came. */
    private void miss(final long previous, final int taken) {
        long next = previous + 1;
        for (int i = 0; i < taken; i++) {
            missing += burst[i] - next;
            warmupMissing += Math.max(0, Math.min(burst[i], warmup) - next);
            next = burst[i] + 1;
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
