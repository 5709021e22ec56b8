package allocpool.packets;

/**
 * The message processor of the packets workload. For each packet it obtains one from the strategy, fills it and
 * puts it into the internal queue; once that is full, the oldest packet is taken out, parsed, and stored if it
 * is TCP (in place of a random older one once the store is full), else freed.
 *
 * <p>Whoever drives it decides which sequence numbers arrive and when, and hands them on in bursts: a batch trial
 * counts, a real-time consumer takes what waits in the ring of its source, with gaps where packets were lost. A
 * processor belongs to one thread.
 */
public abstract class Processor {
    /** For the layouts, all of which are in this package. */
    Processor() {
    }

    /**
     * Creates a processor; every pool is filled and all memory but the strategy's own is there afterwards.
     *
     * @param layout name of a {@link Layout}
     * @param strategy name of a {@link StrategyName}
     * @param sizes of pool, memory, queue and store
     * @param options what is done in one of several ways
     * @return the processor
     * @throws IllegalArgumentException if a name is unknown or a size impossible, in one line that says what is
     *     possible
     */
    public static Processor create(final String layout, final String strategy, final Sizes sizes,
            final Options options) {
        final Layout chosenLayout = Layout.named(layout);
        final StrategyName chosenStrategy = StrategyName.named(strategy);
        return chosenLayout.checkedCreate(chosenStrategy, sizes, options);
    }

    /**
     * Receives a burst of packets: the hot path. What changes with every packet is in local variables until the burst
     * ends, so that no field is read or written for a packet but its own and what it takes to make or drop one.
     *
     * @param sequences sequence numbers of the packets, from 0, of which the first {@code count} arrive
     * @param count how many arrive, 1 or more
     * @throws IllegalStateException if a queued buffer turns out not to hold a packet, or native memory is
     *     exhausted; the processor is of no more use then
     */
    public abstract void receive(long[] sequences, int count);

    /**
     * What was counted since the start. {@code live} is counted afresh by walking the queue and the store.
     * With every strategy but {@code dummy}, {@code allocated = freed + live}.
     *
     * @return numbers of packets, in the order of {@link #countNames}
     */
    public abstract long[] counts();

    /**
     * The names of the counts.
     *
     * @return {@code received}, {@code parsed}, {@code tcp} (parsed and therefore stored), {@code evicted} (from
     *     the store), {@code allocated} (obtained from the strategy), {@code freed} (given back to it),
     *     {@code live} (in the queue and the store), {@code constructed} (made by the strategy since the start)
     *     and {@code discarded} (dropped by it)
     */
    public static String[] countNames() {
        return PacketCounts.names();
    }

    /**
     * The checksum over everything parsed, then over what the store holds now, in the order of its slots. The
     * second part is what a packet reused too early would change. Asking changes nothing.
     *
     * @return 64 bits, equal for equal seeds, sizes and packets whatever the layout, strategy and language,
     *     except with {@code dummy}
     */
    public abstract long checksum();

    /**
     * How far apart packets lie in memory that the queue yields one after the other: the mean absolute distance of
     * neighbours, of a sample of at most {@link Disorder#MOST_PAIRS}. Not for the measured part of a trial.
     *
     * @return bytes between packet objects, or between headers where a packet is none; NaN where there are no
     *     neighbours or their addresses can't be had
     */
    public abstract double disorderBytes();

    /**
     * Walks the queue, the store and the pool and checks that no packet and no memory is in two places, that none
     * is lost, and that the counts agree with what is there. Not for the measured part of a trial.
     *
     * @return the first thing found wrong, in one line, or the empty string
     */
    public abstract String audit();
}
