package allocpool.packets;

/**
 * The processor of the flat layouts: nothing is an object but the processor and its parts.
 *
 * <p>Step {@code prefetch}: the packet that the queue yields was last used a queue's length ago, so its line is in no
 * cache. Java has no prefetch instruction, but a CPU runs loads that don't depend on each other at the same time, as
 * many as its window holds. So what parsing will touch of the packets that come next is read together, a group at a
 * time, and all of it takes little longer than each line would alone. Source: group prefetching, Chen, Ailamaki,
 * Gibbons, Mowry, "Improving Hash Join Performance through Prefetching", ICDE 2004,
 * <a href="https://doi.org/10.1109/ICDE.2004.1319989">doi:10.1109/ICDE.2004.1319989</a>.
 */
final class FlatProcessor extends Processor {
    /** Packets read together. In trials with 8, 16, 24, 32 and 64, 16 and 32 were the best, close to each other. */
    private static final int GROUP = 32;

    /** In the header. */
    private static final int FIRST_WORD = 0;
    private static final int SECOND_WORD = 8;

    /** In the parse result; where the payload is says 0 for a packet that is not parsed. */
    private static final int ADDRESSES = 0;
    private static final int HEADER = 8;
    static final int PAYLOAD = 16;

    final SlotSource source;
    final SlotPlaces queue;
    final SlotPlaces store;
    final FlatMemory memory;
    final FlatGeometry geometry;
    private final Options options;
    private final boolean prefetches;
    private final PacketCounts counts = new PacketCounts();
    private long checksum = Checksum.START;
    private int cursor;

    /** The place in the queue at which it ends, or up to which its packets were read ahead. */
    private int stop;

    /** What the reads ahead end in: without a use they would be compiled away. */
    private long touched;

    FlatProcessor(final FlatMemory memory, final FlatGeometry geometry, final boolean prefetches,
            final SlotSource source, final Sizes sizes, final Options options) {
        this.memory = memory;
        this.geometry = geometry;
        this.source = source;
        this.options = options;
        this.prefetches = prefetches;
        queue = new SlotPlaces(sizes.queue);
        store = new SlotPlaces(sizes.store);
    }

    @Override
    public void receive(final long[] sequences, final int count) {
        final long seed = options.seed;
        final boolean touchesPayload = options.payloadTouch;
        final FlatMemory region = memory;
        final long headerBytes = geometry.headerBytes;
        final long resultBase = geometry.resultBase;
        final long resultBytes = geometry.resultBytes;
        final long payloadBase = geometry.payloadBase;
        final long payloadBytes = geometry.payloadBytes;
        final int[] stack = source.pool.slots;
        final int[] queued = queue.places;
        final int[] stored = store.places;
        int ready = source.pool.size;
        int place = cursor;
        int end = stop;
        long sum = checksum;
        long parsed = counts.parsed;
        long tcp = counts.tcp;
        long evicted = counts.evicted;
        long allocated = counts.allocated;
        long freed = counts.freed;
        for (int i = 0; i < count; i++) {
            if (place == end) {
                place = place == queued.length ? 0 : place;
                end = prefetches ? touchFrom(place) : queued.length;
            }
            final int packet = ready == 0 ? source.make() : stack[--ready];
            allocated++;
            final long sequence = sequences[i];
            final long bits = PacketGenerator.draw(seed, sequence);
            fill(region, packet * headerBytes, bits);
            if (touchesPayload) {
                region.writePayload(payloadBase + packet * payloadBytes, PacketGenerator.payloadWord(seed, sequence),
                        PacketGenerator.payloadLength(bits));
            }
            final int oldest = queued[place];
            queued[place++] = packet;
            if (oldest == SlotPlaces.NONE) {
                continue;
            }
            final long header = oldest * headerBytes;
            final long first = region.getLong(header + FIRST_WORD);
            final long second = region.getLong(header + SECOND_WORD);
            final int transport = region.getByte(header + PacketFormat.TRANSPORT_OFFSET) & 0xFF;
            PacketFormat.requireMarker((short) (first >>> 48));
            final long addresses = first << 32 | second >>> 32;
            final long fields = second << 32 | (long) transport << 16 | first >>> 32 & 0xFFFF;
            final long result = resultBase + oldest * resultBytes;
            final long payload = payloadBase + oldest * payloadBytes;
            region.putLong(result + ADDRESSES, addresses);
            region.putLong(result + HEADER, fields);
            region.putLong(result + PAYLOAD, payload);
            parsed++;
            sum = Checksum.fold(sum, addresses, fields);
            if (touchesPayload) {
                final int length = (int) fields & 0xFFFF;
                sum = Checksum.fold(sum, region.payloadSum(payload, length), length);
            }
            int done = oldest;
            if (transport == PacketFormat.TRANSPORT_TCP) {
                final int slot = StorePolicy.slot(seed, tcp, stored.length);
                done = stored[slot];
                stored[slot] = oldest;
                tcp++;
                if (done == SlotPlaces.NONE) {
                    continue;
                }
                evicted++;
            }
            freed++;
            region.putLong(resultBase + done * resultBytes + PAYLOAD, 0);
            if (ready == stack.length) {
                source.drop(done);
            } else {
                stack[ready++] = done;
            }
        }
        source.pool.size = ready;
        cursor = place;
        stop = end;
        checksum = sum;
        counts.received += count;
        counts.parsed = parsed;
        counts.tcp = tcp;
        counts.evicted = evicted;
        counts.allocated = allocated;
        counts.freed = freed;
    }

    /** Writes the header, the same bytes as {@link PacketGenerator#fill}, in words. */
    private static void fill(final FlatMemory region, final long header, final long bits) {
        region.putLong(header + FIRST_WORD,
                (long) PacketFormat.PROTOCOL_MARKER << 48 | (long) PacketGenerator.payloadLength(bits) << 32
                | PacketGenerator.source(bits));
        region.putLong(header + SECOND_WORD,
                (long) PacketGenerator.destination(bits) << 32 | (long) PacketGenerator.sourcePort(bits) << 16
                | PacketGenerator.destinationPort(bits));
        region.putByte(header + PacketFormat.TRANSPORT_OFFSET, PacketGenerator.transport(bits));
    }

    /**
     * Reads what parsing will touch of the packets from a place on, of a payload two lines. Returns the place behind
     * the last of them.
     */
    private int touchFrom(final int first) {
        final int[] queued = queue.places;
        final int end = Math.min(first + GROUP, queued.length);
        final boolean apart = geometry.hasResultsApart();
        final boolean touchesPayload = options.payloadTouch;
        long sum = touched;
        for (int place = first; place < end; place++) {
            // While the queue fills, an empty place stands for slot 0, which harms nobody.
            final long slot = Math.max(0, queued[place]);
            sum += memory.getLong(slot * geometry.headerBytes);
            if (apart) {
                sum += memory.getLong(geometry.resultBase + slot * geometry.resultBytes);
            }
            if (touchesPayload) {
                final long payload = geometry.payloadBase + slot * geometry.payloadBytes;
                sum += memory.getWord(payload) + memory.getWord(payload + FlatGeometry.LINE);
            }
        }
        touched = sum;
        return end;
    }

    @Override
    public long[] counts() {
        return counts.toArray(queue.count() + store.count(), source.constructed, source.discarded);
    }

    @Override
    public long checksum() {
        long folded = checksum;
        for (final int packet : store.places) {
            // A stored packet without a parse result was freed too early: left out, it changes the sum.
            if (packet != SlotPlaces.NONE && isParsed(packet)) {
                final long result = result(packet);
                folded = Checksum.fold(folded, memory.getLong(result + ADDRESSES), memory.getLong(result + HEADER));
            }
        }
        return folded;
    }

    /** Where the parse result of a packet is. */
    long result(final int packet) {
        return geometry.resultBase + packet * geometry.resultBytes;
    }

    private boolean isParsed(final int packet) {
        return memory.getLong(result(packet) + PAYLOAD) != 0;
    }

    @Override
    public double disorderBytes() {
        final int[] queued = queue.places;
        return Disorder.mean(queued.length, cursor,
                place -> queued[place] == SlotPlaces.NONE ? Disorder.NONE : queued[place] * geometry.headerBytes);
    }

    @Override
    public String audit() {
        final Audit audit = new Audit();
        audit.counts(counts, queue.count(), store.count());
        if (source.reusesSlotsInUse()) {
            final int only = source.make();
            queue.forEach(packet -> audit.require(packet == only, "the queue holds another packet"));
            store.forEach(packet -> audit.require(packet == only, "the store holds another packet"));
        } else {
            queue.forEach(packet -> {
                audit.claimSlot(packet, "the queue");
                audit.require(!isParsed(packet), "a packet in the queue is parsed already");
            });
            store.forEach(packet -> {
                audit.claimSlot(packet, "the store");
                audit.require(isParsed(packet), "a packet in the store was freed or not parsed");
            });
            source.audit(audit);
            source.forEachFree(
                    packet -> audit.require(!isParsed(packet), "a packet in the pool still holds a parse result"));
        }
        return audit.finding();
    }
}
