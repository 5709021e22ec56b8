package allocpool.packets;

/** What a trial does in one of several ways, apart from its sizes. */
public final class Options {
    final long seed;
    final String steps;
    final boolean aged;
    final boolean fifo;
    final boolean payloadTouch;
    final boolean leanView;
    final boolean detached;

    /**
     * The options of one trial.
     *
     * @param seed seed of the packets' contents, of the store's replacement and of the order of the pool
     * @param steps of the flat layouts, comma-separated; null: all, and null for any other layout
     * @param aged whether free packets lie in the order of long use when the trial starts, see {@link Ageing}; else in
     *     the order of their addresses
     * @param fifo whether a pool hands out first what came back first: a ring; else what came back last, a stack
     * @param payloadTouch whether the payload is written when a packet is filled, and read when it is parsed
     * @param leanView whether a parse gives access to the payload by a {@link PayloadView}; else as the libraries'
     *     users do, by a read-only duplicate of the buffer. Flat layouts make neither.
     * @param detached whether packets keep numbers and no objects of a parse; see {@link DetachedPacket}
     */
    public Options(final long seed, final String steps, final boolean aged, final boolean fifo,
            final boolean payloadTouch, final boolean leanView, final boolean detached) {
        this.seed = seed;
        this.steps = steps;
        this.aged = aged;
        this.fifo = fifo;
        this.payloadTouch = payloadTouch;
        this.leanView = leanView;
        this.detached = detached;
    }

    Options(final long seed, final String steps, final boolean aged, final boolean payloadTouch,
            final boolean leanView) {
        this(seed, steps, aged, false, payloadTouch, leanView, false);
    }

    Options detached() {
        return new Options(seed, steps, aged, fifo, payloadTouch, leanView, true);
    }

    Options withFifo(final boolean first) {
        return new Options(seed, steps, aged, first, payloadTouch, leanView, detached);
    }

    /**
     * Whether a pool hands out first what came back first.
     *
     * @return false: last in, first out
     */
    public boolean fifo() {
        return fifo;
    }

    /**
     * The options of the published rows.
     *
     * @param seed seed of the packets' contents, of the store's replacement and of the order of the pool
     * @return all steps, an aged pool, no look at the payload
     */
    public static Options published(final long seed) {
        return new Options(seed, null, true, false, false);
    }
}
