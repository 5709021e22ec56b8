package allocpool.threads;

import allocpool.packets.Seam;
import allocpool.ring.RingConsumer;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A virtual thread for each train of messages: it obtains and fills them, waits until as many packets have come
 * after it
 * as queues hold, as a handler waits for an answer, and then parses, keeps and frees. Who wakes it goes on with the
 * next
 * trains. Stores are shared by ring, under a lock.
 */
final class Virtual extends Topology {
    private final Pool pool;
    private final Worker[] workers;
    private final ReentrantLock[] locks;
    private final List<Deque<Flight>> flights = new ArrayList<>();
    private final Semaphore room;
    private final int perRing;
    private final int permits;
    private final ThreadFactory factory = factory();
    private final Idle.Stop stop;
    private final long seed;
    private int started;

    Virtual(final Pool pool, final Shares shares, final Idle.Stop stop) {
        this.pool = pool;
        this.stop = stop;
        seed = shares.seed;
        workers = new Worker[shares.threads];
        locks = new ReentrantLock[workers.length];
        perRing = Math.max(1, shares.queueOfEach() / TRAIN);
        permits = inFlight(shares);
        room = new Semaphore(permits);
        for (int k = 0; k < workers.length; k++) {
            // What waits is in virtual threads: the queue has no room of its own.
            workers[k] = new Worker(new Tally(), 1, Math.max(1, shares.storeSize / shares.threads), seed + k);
            locks[k] = new ReentrantLock();
            flights.add(new ArrayDeque<>());
        }
    }

    /** Threads that may be under way: those that wait, and some that run. */
    static int inFlight(final Shares shares) {
        return shares.threads * (Math.max(1, shares.queueOfEach() / TRAIN) + 2);
    }

    /** What makes virtual threads, found by name: this module is compiled for Java 11. */
    private static ThreadFactory factory() {
        try {
            final Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            return (ThreadFactory) Class.forName("java.lang.Thread$Builder").getMethod("factory").invoke(builder);
        } catch (final ReflectiveOperationException e) {
            throw new IllegalArgumentException("this Java has no virtual threads: choose 21 or newer", e);
        }
    }

    @Override
    void run(final long from, final long to) {
        for (long sequence = from; sequence < to;) {
            final long end = trainEnd(sequence, to);
            final int ring = Seam.ring(seed, sequence / TRAIN, workers.length);
            room.acquireUninterruptibly();
            stop.rethrow();
            final Flight flight = new Flight(ring, started++, sequence, (int) (end - sequence));
            flights.get(ring).addLast(flight);
            flight.thread = factory.newThread(flight);
            flight.thread.start();
            if (flights.get(ring).size() > perRing) {
                flights.get(ring).removeFirst().land();
            }
            sequence = end;
        }
    }

    @Override
    List<RingConsumer> consume(final List<ByteBuffer> rings, final boolean yields) {
        throw new IllegalArgumentException("real time has threads that stay: choose sharded or pipeline");
    }

    @Override
    long[] ticked() {
        return new long[workers.length];
    }

    @Override
    void drain() {
        for (final Deque<Flight> waiting : flights) {
            waiting.forEach(Flight::land);
            waiting.clear();
        }
        room.acquireUninterruptibly(permits);
        room.release(permits);
        stop.rethrow();
    }

    @Override
    List<Worker> workers() {
        return Arrays.asList(workers);
    }

    @Override
    List<User> users() {
        final List<User> users = new ArrayList<>();
        for (final Worker worker : workers) {
            users.add(worker.user());
        }
        return users;
    }

    @Override
    int between() {
        int count = 0;
        for (final Deque<Flight> waiting : flights) {
            for (final Flight flight : waiting) {
                count += flight.count;
            }
        }
        return count;
    }

    @Override
    void close() {
        // Virtual threads end by themselves.
    }

    /** One train on its way. */
    private final class Flight implements Runnable {
        private final int ring;
        private final int number;
        private final long first;
        private final int count;
        private Thread thread;
        private volatile boolean landing;

        Flight(final int ring, final int number, final long first, final int count) {
            this.ring = ring;
            this.number = number;
            this.first = first;
            this.count = count;
        }

        void land() {
            landing = true;
            LockSupport.unpark(thread);
        }

        @Override
        public void run() {
            try {
                fly();
            } catch (final Throwable failure) {
                stop.fail(failure);
            } finally {
                room.release();
            }
        }

        private void fly() {
            final User user = pool.user(number);
            final Message[] messages = new Message[count];
            for (int i = 0; i < count; i++) {
                messages[i] = user.obtain(ring);
                Seam.fill(messages[i], seed, first + i);
            }
            while (!landing) {
                LockSupport.park(this);
                stop.check();
            }
            final Worker worker = workers[ring];
            locks[ring].lock();
            try {
                worker.received += count;
                for (final Message message : messages) {
                    worker.process(message, user);
                }
                user.close();
                ((Tally) worker.user()).add(user);
            } finally {
                locks[ring].unlock();
            }
        }
    }

    /** The counters of all threads of a ring that have ended. */
    private static final class Tally extends User {
        Tally() {
            super(-1);
        }

        void add(final User user) {
            obtained += user.obtained;
            freed += user.freed;
            remoteFrees += user.remoteFrees;
            constructed += user.constructed;
            discarded += user.discarded;
        }

        @Override
        Message take(final int ring) {
            throw new IllegalStateException("counters obtain nothing");
        }

        @Override
        void give(final Message message) {
            throw new IllegalStateException("counters take nothing back");
        }
    }
}
