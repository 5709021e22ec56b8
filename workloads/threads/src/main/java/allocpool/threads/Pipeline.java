package allocpool.threads;

import allocpool.packets.Seam;
import allocpool.ring.RingConsumer;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** One receiver, and workers behind queues with one producer each: every free is of what another thread obtained. */
final class Pipeline extends Topology {
    private final Worker[] workers;
    private final SpscRing[] rings;
    private final User[] users;
    private final Team team;
    private final Idle.Stop stop;
    private final long[] ticked;
    private final long seed;
    private volatile boolean allSent;

    Pipeline(final Pool pool, final Shares shares, final Idle.Stop stop) {
        this.stop = stop;
        seed = shares.seed;
        ticked = new long[shares.threads];
        workers = new Worker[shares.threads];
        rings = new SpscRing[workers.length];
        users = new User[workers.length + 1];
        team = new Team(users.length, stop);
        team.run(k -> {
            users[k] = pool.user(k);
            if (k < workers.length) {
                workers[k] = shares.worker(users[k], k);
                rings[k] = new SpscRing(BETWEEN);
            }
        });
    }

    @Override
    void run(final long from, final long to) {
        allSent = false;
        team.run(k -> {
            if (k == workers.length) {
                receive(from, to);
            } else {
                work(workers[k], rings[k]);
            }
        });
    }

    @Override
    List<RingConsumer> consume(final List<ByteBuffer> sources, final boolean yields) {
        require(sources, 1);
        final Idle idle = new Idle(stop);
        final RingConsumer feed = new Feed(sources.get(0), tick -> {
            final int ring = Seam.ring(seed, tick / TRAIN, workers.length);
            send(ring, tick, idle);
            ticked[ring]++;
        }, stop, yields);
        allSent = false;
        team.run(k -> {
            if (k < workers.length) {
                work(workers[k], rings[k]);
                return;
            }
            feed.consume(0, 0, 0);
            allSent = true;
        });
        return Arrays.asList(feed);
    }

    @Override
    long[] ticked() {
        return ticked;
    }

    private void send(final int ring, final long sequence, final Idle idle) {
        final Message message = users[workers.length].obtain(ring);
        Seam.fill(message, seed, sequence);
        while (!rings[ring].offer(message)) {
            idle.rest();
        }
        idle.reset();
    }

    private void receive(final long from, final long to) {
        final Idle idle = new Idle(stop);
        for (long sequence = from; sequence < to;) {
            final long end = trainEnd(sequence, to);
            final int ring = Seam.ring(seed, sequence / TRAIN, workers.length);
            for (; sequence < end; sequence++) {
                send(ring, sequence, idle);
            }
        }
        allSent = true;
    }

    private void work(final Worker worker, final SpscRing ring) {
        final Idle idle = new Idle(stop);
        while (true) {
            final boolean last = allSent;
            final Message message = ring.poll();
            if (message != null) {
                worker.accept(message);
                idle.reset();
            } else if (last) {
                return;
            } else {
                idle.rest();
            }
        }
    }

    @Override
    void drain() {
        team.run(k -> {
            if (k < workers.length) {
                workers[k].drain();
            }
        });
    }

    @Override
    List<Worker> workers() {
        return Arrays.asList(workers);
    }

    @Override
    List<User> users() {
        return new ArrayList<>(Arrays.asList(users));
    }

    @Override
    int between() {
        final int[] count = new int[1];
        for (final SpscRing ring : rings) {
            ring.forEach(message -> count[0]++);
        }
        return count[0];
    }

    @Override
    void close() {
        team.dismiss();
    }
}
