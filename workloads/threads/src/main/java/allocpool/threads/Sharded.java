package allocpool.threads;

import allocpool.packets.Seam;
import allocpool.ring.RingConsumer;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/**
 * Each thread receives the flows that hash to its ring, and works on them: nothing is shared but the heap or the
 * pool.
 */
final class Sharded extends Topology {
    private final Worker[] workers;
    private final Team team;
    private final Idle.Stop stop;
    private final long[] ticked;
    private final long seed;

    Sharded(final Pool pool, final Shares shares, final Idle.Stop stop) {
        this.stop = stop;
        seed = shares.seed;
        ticked = new long[shares.threads];
        workers = new Worker[shares.threads];
        team = new Team(workers.length, stop);
        team.run(k -> workers[k] = shares.worker(pool.user(k), k));
    }

    @Override
    void run(final long from, final long to) {
        team.run(k -> receive(workers[k], k, from, to));
    }

    private void accept(final Worker worker, final int ring, final long sequence) {
        final Message message = worker.user().obtain(ring);
        Seam.fill(message, seed, sequence);
        worker.accept(message);
    }

    @Override
    List<RingConsumer> consume(final List<ByteBuffer> rings, final boolean yields) {
        require(rings, workers.length);
        final RingConsumer[] feeds = new RingConsumer[workers.length];
        Arrays.setAll(feeds, k -> new Feed(rings.get(k), tick -> accept(workers[k], k, tick), stop, yields));
        team.run(k -> feeds[k].consume(0, 0, 0));
        Arrays.setAll(ticked, k -> ticked[k] + feeds[k].account()[0]);
        return Arrays.asList(feeds);
    }

    @Override
    long[] ticked() {
        return ticked;
    }

    private void receive(final Worker worker, final int ring, final long from, final long to) {
        for (long sequence = from; sequence < to;) {
            final long end = trainEnd(sequence, to);
            if (Seam.ring(seed, sequence / TRAIN, workers.length) == ring) {
                for (; sequence < end; sequence++) {
                    accept(worker, ring, sequence);
                }
            }
            sequence = end;
        }
    }

    @Override
    void drain() {
        team.run(k -> workers[k].drain());
    }

    @Override
    List<Worker> workers() {
        return Arrays.asList(workers);
    }

    @Override
    List<User> users() {
        final User[] users = new User[workers.length];
        Arrays.setAll(users, k -> workers[k].user());
        return Arrays.asList(users);
    }

    @Override
    void close() {
        team.dismiss();
    }
}
