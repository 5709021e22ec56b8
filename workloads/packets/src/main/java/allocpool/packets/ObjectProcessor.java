package allocpool.packets;

/** The processor of the object layouts, where each packet and each part of its parse result is an object. */
final class ObjectProcessor extends Processor {
    final PacketMemory memory;
    final Strategy strategy;
    final PacketQueue queue;
    final PacketStore store;
    private final PacketGenerator generator;
    private final PacketCounts counts = new PacketCounts();
    private long checksum = Checksum.START;

    ObjectProcessor(final PacketMemory memory, final Strategy strategy, final Sizes sizes, final long seed) {
        this.memory = memory;
        this.strategy = strategy;
        generator = new PacketGenerator(seed);
        queue = new PacketQueue(sizes.queue);
        store = new PacketStore(sizes.store, seed);
    }

    @Override
    public void receive(final long sequence) {
        counts.received++;
        final Packet packet = obtain();
        generator.fill(packet, sequence);
        final Packet oldest = queue.exchange(packet);
        if (oldest != null) {
            process(oldest);
        }
    }

    private void process(final Packet packet) {
        final ParseResult parsed = ParseResult.parse(packet);
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
            queue.forEach(packet -> {
                packet.claim(audit, "the queue");
                audit.require(packet.parsed == null, "a packet in the queue is parsed already");
            });
            store.forEach(packet -> {
                packet.claim(audit, "the store");
                audit.require(packet.parsed != null, "a packet in the store was freed or not parsed");
            });
            strategy.forEachFree(packet -> {
                packet.claim(audit, "the pool");
                audit.require(packet.parsed == null, "a packet in the pool still holds a parse result");
            });
            audit.allPacketsSeen(strategy.preparedCount(), strategy.constructed, strategy.discarded);
            memory.audit(audit);
        }
        return audit.finding();
    }
}
