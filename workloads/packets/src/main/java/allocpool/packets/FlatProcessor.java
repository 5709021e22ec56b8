package allocpool.packets;

/**
 * The processor of the flat layouts: nothing is an object but the processor and its parts.
 *
 * <p>The packet that the queue yields was last used a queue's length ago, so its line is in no cache. Java has no
 * prefetch instruction, but a CPU runs loads that don't depend on each other at the same time, as many as its
 * window holds. So the lines of the packets that come next are read together, a group at a time, and all of them
 * take little longer than each would alone. Source: group prefetching, Chen, Ailamaki, Gibbons, Mowry, "Improving
 * Hash Join Performance through Prefetching", ICDE 2004,
 * <a href="https://doi.org/10.1109/ICDE.2004.1319989">doi:10.1109/ICDE.2004.1319989</a>.
 */
final class FlatProcessor extends Processor {
    /** Lines read together. In trials with 8, 16, 24, 32 and 64, 16 and 32 were the best, close to each other. */
    private static final int GROUP = 32;

    private static final int FIRST_WORD = FlatMemory.BUFFER;
    private static final int SECOND_WORD = FlatMemory.BUFFER + 8;
    private static final int TRANSPORT = FlatMemory.BUFFER + PacketFormat.TRANSPORT_OFFSET;

    final SlotSource source;
    final SlotPlaces queue;
    final SlotPlaces store;
    final FlatMemory memory;
    private final PacketGenerator generator;
    private final StorePolicy policy;
    private final PacketCounts counts = new PacketCounts();
    private long checksum = Checksum.START;
    private int cursor;
    /** What the reads ahead end in: without a use they would be compiled away. */
    private long touched;

    FlatProcessor(final FlatMemory memory, final SlotSource source, final Sizes sizes, final long seed) {
        this.memory = memory;
        this.source = source;
        generator = new PacketGenerator(seed);
        queue = new SlotPlaces(sizes.queue);
        store = new SlotPlaces(sizes.store);
        policy = new StorePolicy(seed, sizes.store);
    }

    @Override
    public void receive(final long sequence) {
        counts.received++;
        final int place = cursor;
        if (place % GROUP == 0) {
            touchFrom(place);
        }
        final int packet = obtain();
        fill(packet, generator.draw(sequence));
        final int next = place + 1;
        cursor = next == queue.size() ? 0 : next;
        final int oldest = queue.set(place, packet);
        if (oldest != SlotPlaces.NONE) {
            process(oldest);
        }
    }

    private void touchFrom(final int first) {
        final int end = Math.min(first + GROUP, queue.size());
        long sum = touched;
        for (int place = first; place < end; place++) {
            // While the queue fills, an empty place stands for slot 0, which harms nobody.
            sum += memory.getLong(Math.max(0, queue.get(place)), FIRST_WORD);
        }
        touched = sum;
    }

    /** Writes the header, the same bytes as {@link PacketGenerator#fill}, in words. */
    private void fill(final int packet, final long bits) {
        memory.putLong(packet, FIRST_WORD,
                (long) PacketFormat.PROTOCOL_MARKER << 48 | (long) PacketGenerator.payloadLength(bits) << 32
                | PacketGenerator.source(bits));
        memory.putLong(packet, SECOND_WORD,
                (long) PacketGenerator.destination(bits) << 32 | (long) PacketGenerator.sourcePort(bits) << 16
                | PacketGenerator.destinationPort(bits));
        memory.putByte(packet, TRANSPORT, PacketGenerator.transport(bits));
        memory.putInt(packet, FlatMemory.PAYLOAD_OFFSET, 0);
    }

    private void process(final int packet) {
        final long first = memory.getLong(packet, FIRST_WORD);
        final long second = memory.getLong(packet, SECOND_WORD);
        final int transport = memory.getByte(packet, TRANSPORT) & 0xFF;
        PacketFormat.requireMarker((short) (first >>> 48));
        final long addresses = first << 32 | second >>> 32;
        final long header = second << 32 | (long) transport << 16 | first >>> 32 & 0xFFFF;
        memory.putLong(packet, FlatMemory.ADDRESSES, addresses);
        memory.putLong(packet, FlatMemory.HEADER, header);
        memory.putInt(packet, FlatMemory.PAYLOAD_OFFSET, PacketFormat.PAYLOAD_OFFSET);
        counts.parsed++;
        checksum = Checksum.fold(checksum, addresses, header);
        if (transport == PacketFormat.TRANSPORT_TCP) {
            keep(packet);
        } else {
            free(packet);
        }
    }

    private void keep(final int packet) {
        counts.tcp++;
        final int evicted = store.set(policy.nextSlot(), packet);
        if (evicted != SlotPlaces.NONE) {
            counts.evicted++;
            free(evicted);
        }
    }

    private int obtain() {
        counts.allocated++;
        return source.obtain();
    }

    private void free(final int packet) {
        counts.freed++;
        source.free(packet);
    }

    @Override
    public long[] counts() {
        return counts.toArray(queue.count() + store.count(), source.constructed, source.discarded);
    }

    @Override
    public long checksum() {
        long folded = checksum;
        for (int place = 0; place < store.size(); place++) {
            final int packet = store.get(place);
            // A stored packet without a parse result was reused too early: left out, it changes the sum.
            if (packet != SlotPlaces.NONE && isParsed(packet)) {
                folded = Checksum.fold(folded, memory.getLong(packet, FlatMemory.ADDRESSES),
                        memory.getLong(packet, FlatMemory.HEADER));
            }
        }
        return folded;
    }

    private boolean isParsed(final int packet) {
        return memory.getInt(packet, FlatMemory.PAYLOAD_OFFSET) != 0;
    }

    @Override
    public String audit() {
        final Audit audit = new Audit();
        audit.counts(counts, queue.count(), store.count());
        if (source.reusesSlotsInUse()) {
            final int only = source.obtain();
            queue.forEach(packet -> audit.require(packet == only, "the queue holds another packet"));
            store.forEach(packet -> audit.require(packet == only, "the store holds another packet"));
        } else {
            queue.forEach(packet -> {
                audit.claimSlot(packet, "the queue");
                audit.require(!isParsed(packet), "a packet in the queue is parsed already");
            });
            store.forEach(packet -> {
                audit.claimSlot(packet, "the store");
                audit.require(isParsed(packet), "a packet in the store was reused or not parsed");
            });
            source.audit(audit);
        }
        return audit.finding();
    }
}
