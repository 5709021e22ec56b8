package allocpool.threads;

import allocpool.packets.Seam;
import java.util.Arrays;
import java.util.List;

/**
 * Each thread receives the flows that hash to its ring, and works on them: nothing is shared but the heap or the
 * pool.
 */
final class Sharded extends Topology {
    private final Worker[] workers;
    private final Crew crew;
    private final long seed;

    Sharded(final Pool pool, final Shares shares, final Idle.Stop stop) {
        seed = shares.seed;
        workers = new Worker[shares.threads];
        crew = new Crew(workers.length, stop);
        crew.run(k -> workers[k] = shares.worker(pool.user(k), k));
    }

    @Override
    void run(final long from, final long to) {
        crew.run(k -> receive(workers[k], k, from, to));
    }

    private void receive(final Worker worker, final int ring, final long from, final long to) {
        final User user = worker.user();
        for (long sequence = from; sequence < to;) {
            final long end = trainEnd(sequence, to);
            if (Seam.ring(seed, sequence / TRAIN, workers.length) == ring) {
                for (; sequence < end; sequence++) {
                    final Message message = user.obtain(ring);
                    Seam.fill(message, seed, sequence);
                    worker.accept(message);
                }
            }
            sequence = end;
        }
    }

    @Override
    void drain() {
        crew.run(k -> workers[k].drain());
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
        crew.dismiss();
    }
}
