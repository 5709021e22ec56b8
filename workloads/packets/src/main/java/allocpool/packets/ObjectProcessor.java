package allocpool.packets;

/** The processor of the object layouts, where each packet and each part of its parse result is an object. */
final class ObjectProcessor extends Processor {
    final PacketMemory memory;
    final Strategy strategy;
    final PacketQueue queue;
    final PacketStore store;
    private final PacketGenerator generator;
    private final Counts counts = new Counts();
    private long checksum = Checksum.START;

    ObjectProcessor(final PacketMemory memory, final Strategy strategy, final int queueSize,
            final int storedCount, final long seed) {
        this.memory = memory;
        this.strategy = strategy;
        generator = new PacketGenerator(seed);
        queue = new PacketQueue(queueSize);
        store = new PacketStore(storedCount, seed);
    }

    @Override
    public void receive(final long sequence) {
        counts.received++;
        final Packet packet = obtain();
        generator.fill(packet.buffer, sequence);
        final Packet oldest = queue.exchange(packet);
        if (oldest != null) {
            process(oldest);
        }
    }

    private void process(final Packet packet) {
        final ParseResult parsed = ParseResult.parse(packet.buffer);
        packet.parsed = parsed;
        counts.parsed++;
        checksum = Checksum.fold(checksum, parsed);
        if (parsed.header.isTcp()) {
            keep(packet);
        } else {
            free(packet);
        }
    }

    private void keep(final Packet packet) {
        counts.tcp++;
        final Packet evicted = store.exchange(packet);
        if (evicted != null) {
            counts.evicted++;
            free(evicted);
        }
    }

    private Packet obtain() {
        counts.allocated++;
        return strategy.obtain();
    }

    private void free(final Packet packet) {
        counts.freed++;
        strategy.free(packet);
    }

    @Override
    public long[] counts() {
        return counts.toArray(queue.count() + store.count(), strategy.constructed, strategy.discarded);
    }

    @Override
    public long checksum() {
        return store.foldInto(checksum);
    }

    @Override
    public String audit() {
        final Audit audit = new Audit();
        audit.counts(counts, queue.count(), store.count());
        if (strategy.reusesPacketsInUse()) {
            final Packet only = strategy.obtain();
            queue.forEach(packet -> audit.require(packet == only, "the queue holds another packet"));
            store.forEach(packet -> audit.require(packet == only, "the store holds another packet"));
        } else {
            queue.forEach(audit::queued);
            store.forEach(audit::stored);
            strategy.forEachFree(audit::free);
            audit.allPacketsSeen(strategy);
            memory.audit(audit);
        }
        return audit.finding();
    }
}
