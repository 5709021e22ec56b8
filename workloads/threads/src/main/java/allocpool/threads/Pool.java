package allocpool.threads;

import java.util.function.Consumer;

/** Where messages come from and go to. What threads share is behind {@link User}. */
abstract class Pool {
    final Memory memory;

    /** Messages that lie ready before the start. */
    final int prepared;

    Pool(final Memory memory, final int prepared) {
        this.memory = memory;
        this.prepared = prepared;
    }

    /** The way of the thread of that number, from 0, to this pool; called once by each thread. */
    abstract User user(int thread);

    /** Visits every free message, when all threads rest. */
    abstract void forEachFree(Consumer<Message> action);

    /** Whether {@link #forEachFree} sees all of them: a library may not report it. */
    boolean tellsFree() {
        return true;
    }

    /** Messages that a library made inside of it, beyond those prepared; ways to the pool count their own. */
    long constructedInside() {
        return 0;
    }

    /** So many new messages. */
    final Message[] make(final int count) {
        final Message[] made = new Message[count];
        for (int i = 0; i < count; i++) {
            made[i] = memory.construct();
        }
        return made;
    }

    /** A way to a pool that makes a message where the pool is empty, and drops one where it is full. */
    abstract class Pooling extends User {
        Pooling(final int thread) {
            super(thread);
        }

        /** A free message, or null where there is none. */
        abstract Message poll(int ring);

        /** Whether there was a place for it. */
        abstract boolean offer(Message message);

        @Override
        final Message take(final int ring) {
            final Message free = poll(ring);
            if (free != null) {
                return free;
            }
            constructed++;
            return memory.construct();
        }

        @Override
        final void give(final Message message) {
            if (!offer(message)) {
                discarded++;
                memory.discard(message);
            }
        }
    }
}
