package allocpool.threads;

import java.util.function.Consumer;

/**
 * Strategy {@code recycle}: for each worker a ring of free messages that it alone fills and one thread alone
 * empties: the
 * thread itself, or the receiver.
 */
final class RecyclePool extends Pool {
    private final SpscRing[] rings;
    private final int receiver;

    /** {@code receiver}: the number of the thread that empties all rings, or -1 where each empties its own. */
    RecyclePool(final Memory memory, final int prepared, final int workers, final int receiver) {
        super(memory, prepared);
        this.receiver = receiver;
        rings = new SpscRing[workers];
        for (int i = 0; i < workers; i++) {
            rings[i] = new SpscRing(2 * prepared);
        }
        final Message[] made = make(prepared);
        for (int i = 0; i < prepared; i++) {
            rings[i % workers].offer(made[i]);
        }
    }

    @Override
    User user(final int thread) {
        return thread == receiver ? new Receiver(thread) : new Worker(thread);
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        for (final SpscRing ring : rings) {
            ring.forEach(action);
        }
    }

    /** Empties all rings, in turn. */
    private final class Receiver extends Pooling {
        private int turn;

        Receiver(final int thread) {
            super(thread);
        }

        @Override
        Message poll(final int ring) {
            // What comes back from the worker that the message will go to is in the cache of that worker.
            turn = ring;
            for (int tried = 0; tried < rings.length; tried++) {
                final Message message = rings[turn].poll();
                if (message != null) {
                    return message;
                }
                turn = turn + 1 == rings.length ? 0 : turn + 1;
            }
            return null;
        }

        @Override
        boolean offer(final Message message) {
            return false;
        }
    }

    /** Fills its ring, and empties it where there is no receiver. */
    private final class Worker extends Pooling {
        Worker(final int thread) {
            super(thread);
        }

        @Override
        Message poll(final int ring) {
            return rings[thread].poll();
        }

        @Override
        boolean offer(final Message message) {
            return rings[thread].offer(message);
        }
    }
}
