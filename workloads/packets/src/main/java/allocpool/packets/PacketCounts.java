package allocpool.packets;

/** What a processor counts while it runs, in packets since its start. */
final class PacketCounts {
    /** Sequence numbers received. */
    long received;
    /** Packets taken out of the queue and parsed. */
    long parsed;
    /** Parsed packets that were TCP, and so were stored. */
    long tcp;
    /** Stored packets that made room for others. */
    long evicted;
    /** Packets obtained from the strategy. */
    long allocated;
    /** Packets given back to the strategy. */
    long freed;

    private static final String[] NAMES = {
        "received", "parsed", "tcp", "evicted", "allocated", "freed", "live", "constructed", "discarded",
    };

    static String[] names() {
        return NAMES.clone();
    }

    /**
     * All counts in the order of {@link #names}.
     *
     * @param live packets now in the queue and in the store
     * @param constructed packets the strategy made since the start
     * @param discarded packets the strategy dropped
     */
    long[] toArray(final long live, final long constructed, final long discarded) {
        return new long[] {
            received, parsed, tcp, evicted, allocated, freed, live, constructed, discarded,
        };
    }
}
