package allocpool.threads;

import allocpool.packets.Seam;
import allocpool.ring.RingConsumer;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.ToLongFunction;
import java.util.stream.LongStream;

/**
 * One trial on many threads: packets by their numbers, as fast as the threads take them. The signatures keep to
 * primitives, strings and {@code long[]}, for callers from Python. A trial belongs to the thread that made it.
 */
public final class ThreadsTrial implements AutoCloseable {
    private static final String[] COUNTS = {
        "generated", "received", "lost", "left", "parsed", "tcp", "evicted", "allocated", "freed", "live",
        "constructed", "discarded", "remote_frees", "prepared", "pooled"};

    private final Idle.Stop stop = new Idle.Stop();
    private final Pool pool;
    private final Topology topology;
    private final Shares shares;
    private long next;

    /**
     * Makes threads and pool; what is prepared is there afterwards.
     *
     * @param topology {@code sharded}, {@code pipeline} or {@code virtual}
     * @param threads workers; of virtual threads the rings
     * @param layout {@code heap}, {@code native} or {@code flat}
     * @param strategy name of a strategy
     * @param prepared messages made before the start, of a strategy that has a pool of its own
     * @param queueSize messages in all queues together
     * @param storedCount messages in all stores together
     * @param seed seed of contents, flows and stores
     * @param padded whether cells that threads exchange in a pool lie two cache lines apart
     * @throws IllegalArgumentException if a name is unknown, in one line that says which there are
     */
    public ThreadsTrial(final String topology, final int threads, final String layout, final String strategy,
            final int prepared, final int queueSize, final int storedCount, final long seed,
            final boolean padded) {
        this(topology, new Shares(threads, queueSize, storedCount, seed), null, layout, strategy, prepared,
                Spacing.of(padded));
    }

    /** With a pool of the caller's, or one by name where {@code given} is null. */
    ThreadsTrial(final String topology, final Shares shares, final Pool given, final String layout,
            final String strategy, final int prepared, final Spacing spacing) {
        this.shares = shares;
        pool = given != null ? given
                : Pools.named(strategy).make(new Pools.Setting(layout, topology, prepared, shares, stop, spacing));
        switch (topology) {
            case "sharded":
                this.topology = new Sharded(pool, shares, stop);
                break;
            case "pipeline":
                this.topology = new Pipeline(pool, shares, stop);
                break;
            case "virtual":
                this.topology = new Virtual(pool, shares, stop);
                break;
            default:
                throw new IllegalArgumentException(
                        "unknown topology '" + topology + "', choose one of: sharded, pipeline, virtual");
        }
    }

    /**
     * Receives the next packets, all of which are queued at their workers afterwards, or beyond.
     *
     * @param packets how many
     * @return start and end in nanoseconds of {@link System#nanoTime} (CLOCK_MONOTONIC on Linux)
     * @throws IllegalStateException if a thread failed
     */
    public long[] run(final long packets) {
        final long start = System.nanoTime();
        topology.run(next, next + packets);
        next += packets;
        return new long[] {start, System.nanoTime()};
    }

    /**
     * Receives what the source of these rings ticks, until it has finished and they are empty: each worker from the
     * ring of its number, or the receiver from the one ring.
     *
     * @param rings their memory, direct buffers
     * @param yields whether who waits for a tick lets others run
     * @return who consumed each ring, with account and delays
     * @throws IllegalArgumentException if there are more or fewer rings than receivers, or threads are virtual
     * @throws IllegalStateException if a thread failed
     */
    public List<RingConsumer> consume(final List<ByteBuffer> rings, final boolean yields) {
        return topology.consume(rings, yields);
    }

    /**
     * Processes all that is queued, so that every packet was parsed.
     *
     * @throws IllegalStateException if a thread failed
     */
    public void drain() {
        topology.drain();
    }

    /**
     * What was counted since the start; {@code live} and {@code pooled} by walking.
     *
     * @return numbers, in the order of {@link #countNames}
     */
    public long[] counts() {
        final long received = worked(worker -> worker.received);
        final int between = topology.between();
        return new long[] {
            next, received, 0, between,
            worked(worker -> worker.parsed), worked(worker -> worker.tcp), worked(worker -> worker.evicted),
            used(user -> user.obtained), used(user -> user.freed),
            worked(worker -> worker.queued() + worker.stored()) + between,
            used(user -> user.constructed) + pool.constructedInside(), used(user -> user.discarded),
            used(user -> user.remoteFrees), pool.prepared, pool.tellsFree() ? pooled() : -1};
    }

    /**
     * The names of the counts.
     *
     * @return in the order of {@link #counts}
     */
    public static String[] countNames() {
        return COUNTS.clone();
    }

    /**
     * What each ring received.
     *
     * @return packets by number of the ring
     */
    public long[] receivedByRing() {
        return topology.workers().stream().mapToLong(worker -> worker.received).toArray();
    }

    /**
     * The sum over all packets that were parsed, of a hash of sequence number and fields each: in any order, so the
     * same
     * for every topology, number of threads, strategy and language.
     *
     * @return 64 bits
     */
    public long checksum() {
        return worked(worker -> worker.sum);
    }

    /**
     * Checks, after {@link #drain}, that nothing is twice in pools and stores and nothing lost, that each ring received
     * what its flows have, that what stores hold is what was put there, and that the counts agree.
     *
     * @return the first thing found wrong, in one line, or the empty string
     */
    public String audit() {
        final Finding finding = new Finding();
        rings(finding);
        final Set<Object> seen = new HashSet<>();
        final long[] places = new long[2];
        long storeSum = 0;
        for (final Worker worker : topology.workers()) {
            final long[] sum = new long[1];
            worker.forEachStored(message -> {
                finding.require(seen.add(message.memory()), "a message in a store is in another place too");
                finding.require(message.isParsed(), "a message in a store was freed");
                sum[0] += message.isParsed() ? message.hash() : 0;
                places[0]++;
            });
            storeSum += sum[0] - worker.storeSum();
        }
        finding.require(storeSum == 0, "a message in a store, or one that left it, was written to while it was there");
        pool.forEachFree(message -> {
            finding.require(seen.add(message.memory()), "a free message is in another place too");
            finding.require(!message.isParsed(), "a free message still has a parse result");
            places[1]++;
        });
        counters(finding, places[0], places[1]);
        return finding.line;
    }

    private void rings(final Finding finding) {
        final long[] generated = topology.ticked().clone();
        for (long sequence = 0; sequence < next;) {
            final long end = Topology.trainEnd(sequence, next);
            generated[Seam.ring(shares.seed, sequence / Topology.TRAIN, generated.length)] += end - sequence;
            sequence = end;
        }
        final long[] received = receivedByRing();
        for (int ring = 0; ring < generated.length; ring++) {
            finding.equal("packets of ring " + ring, received[ring], generated[ring]);
        }
    }

    private void counters(final Finding finding, final long stored, final long free) {
        final long parsed = worked(worker -> worker.parsed);
        final long tcp = worked(worker -> worker.tcp);
        final long evicted = worked(worker -> worker.evicted);
        finding.equal("messages between threads", topology.between(), 0);
        final long taken = next + LongStream.of(topology.ticked()).sum();
        finding.equal("packets parsed", parsed, taken);
        finding.equal("packets obtained", used(user -> user.obtained), taken);
        finding.equal("packets stored and not evicted", stored, tcp - evicted);
        finding.equal("packets freed", used(user -> user.freed), parsed - tcp + evicted);
        if (pool.tellsFree()) {
            finding.equal("messages in stores and pools", stored + free, pool.prepared + pool.constructedInside()
                    + used(user -> user.constructed) - used(user -> user.discarded));
        }
    }

    @Override
    public void close() {
        topology.close();
    }

    private long pooled() {
        final long[] count = new long[1];
        pool.forEachFree(message -> count[0]++);
        return count[0];
    }

    private long worked(final ToLongFunction<Worker> of) {
        final List<Worker> workers = topology.workers();
        return workers.stream().mapToLong(of).sum();
    }

    private long used(final ToLongFunction<User> of) {
        final List<User> users = topology.users();
        return users.stream().mapToLong(of).sum();
    }

    /** The first thing that is wrong. */
    private static final class Finding {
        private String line = "";

        void require(final boolean holds, final String otherwise) {
            if (!holds && line.isEmpty()) {
                line = otherwise;
            }
        }

        void equal(final String what, final long actual, final long expected) {
            require(actual == expected, what + ": " + actual + ", expected " + expected);
        }
    }
}
