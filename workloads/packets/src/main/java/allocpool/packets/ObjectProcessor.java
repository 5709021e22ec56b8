package allocpool.packets;

/** The processor of the object layouts, where each packet and each part of its parse result is an object. */
final class ObjectProcessor extends Processor {
    final PacketMemory memory;
    final Strategy strategy;
    final PacketSlots queue;
    final PacketSlots store;
    private final Options options;
    private final PacketCounts counts = new PacketCounts();
    private long checksum = Checksum.START;
    private int cursor;
    private ParseResult latest;

    ObjectProcessor(final PacketMemory memory, final Strategy strategy, final Sizes sizes, final Options options) {
        this.memory = memory;
        this.strategy = strategy;
        this.options = options;
        queue = new PacketSlots(sizes.queue);
        store = new PacketSlots(sizes.store);
    }

    @Override
    public void receive(final long[] sequences, final int count) {
        final long seed = options.seed;
        final boolean touchesPayload = options.payloadTouch;
        final boolean leanView = options.leanView;
        final boolean detached = options.detached;
        final Strategy source = strategy;
        final Packet[] stack = source.stack;
        final int capacity = source.capacity;
        final Packet[] queued = queue.slots;
        final Packet[] stored = store.slots;
        int ready = source.ready;
        int place = cursor;
        long sum = checksum;
        long parsed = counts.parsed;
        long tcp = counts.tcp;
        long evicted = counts.evicted;
        long allocated = counts.allocated;
        long freed = counts.freed;
        ParseResult last = null;
        for (int i = 0; i < count; i++) {
            final Packet packet;
            if (ready == 0) {
                packet = source.make();
            } else {
                packet = stack[--ready];
                // Or a packet that is dropped later would stay reachable from here.
                stack[ready] = null;
            }
            allocated++;
            final long sequence = sequences[i];
            final long bits = PacketGenerator.draw(seed, sequence);
            PacketGenerator.fill(packet, bits);
            if (touchesPayload) {
                packet.writePayload(PacketGenerator.payloadWord(seed, sequence), PacketGenerator.payloadLength(bits));
            }
            final Packet oldest = queued[place];
            queued[place] = packet;
            place = place + 1 == queued.length ? 0 : place + 1;
            if (oldest == null) {
                continue;
            }
            final ParseResult found = ParseResult.parse(oldest, leanView);
            oldest.keep(found);
            if (detached) {
                last = found;
            }
            parsed++;
            sum = Checksum.fold(sum, found);
            if (touchesPayload) {
                sum = Checksum.fold(sum, oldest.payloadSum(found), found.header.payloadLength);
            }
            Packet done = oldest;
            if (found.header.isTcp()) {
                final int slot = StorePolicy.slot(seed, tcp, stored.length);
                done = stored[slot];
                stored[slot] = oldest;
                tcp++;
                if (done == null) {
                    continue;
                }
                evicted++;
            }
            freed++;
            if (ready >= capacity) {
                source.drop(done);
            } else {
                done.reset();
                stack[ready++] = done;
            }
        }
        if (detached) {
            // Or the compiler would find that no object of a parse outlives it, and make none.
            latest = last;
        }
        source.ready = ready;
        cursor = place;
        checksum = sum;
        counts.received += count;
        counts.parsed = parsed;
        counts.tcp = tcp;
        counts.evicted = evicted;
        counts.allocated = allocated;
        counts.freed = freed;
    }

    @Override
    public long[] counts() {
        return counts.toArray(queue.count() + store.count(), strategy.constructed, strategy.discarded);
    }

    @Override
    public long checksum() {
        long folded = checksum;
        for (final Packet packet : store.slots) {
            // A stored packet without a parse result was freed too early: left out, it changes the sum.
            if (packet != null && packet.isParsed()) {
                folded = packet.fold(folded);
            }
        }
        return folded;
    }

    @Override
    public double disorderBytes() {
        return Disorder.meanOfObjects(queue.slots, cursor);
    }

    @Override
    public String audit() {
        final Audit audit = new Audit();
        audit.counts(counts, queue.count(), store.count());
        if (strategy.reusesPacketsInUse()) {
            final Packet only = strategy.make();
            queue.forEach(packet -> audit.require(packet == only, "the queue holds another packet"));
            store.forEach(packet -> audit.require(packet == only, "the store holds another packet"));
        } else {
            queue.forEach(packet -> {
                packet.claim(audit, "the queue");
                audit.require(!packet.isParsed(), "a packet in the queue is parsed already");
            });
            store.forEach(packet -> {
                packet.claim(audit, "the store");
                audit.require(packet.isParsed(), "a packet in the store was freed or not parsed");
            });
            strategy.forEachFree(packet -> {
                packet.claim(audit, "the pool");
                audit.require(!packet.isParsed(), "a packet in the pool still holds a parse result");
            });
            audit.allPacketsSeen(strategy.preparedCount(), strategy.constructed, strategy.discarded);
            memory.audit(audit);
        }
        return audit.finding();
    }
}
