package allocpool.threads;

/** One thread's way to a pool, with the thread's counters. Belongs to that thread. */
abstract class User extends Padded {
    final int thread;
    long obtained;
    long freed;
    long remoteFrees;
    long constructed;
    long discarded;

    User(final int thread) {
        this.thread = thread;
    }

    /**
     * A message to be filled, which nobody else refers to.
     *
     * @param ring number of the ring that it will go to
     */
    final Message obtain(final int ring) {
        final Message message = take(ring);
        message.owner = thread;
        obtained++;
        return message;
    }

    /** Gives a message back that nobody else refers to. */
    final void free(final Message message) {
        freed++;
        if (message.owner != thread) {
            remoteFrees++;
        }
        message.release();
        give(message);
    }

    /** What a store keeps of a parsed message: the message itself, unless its memory is wanted back. */
    Message keep(final Message message) {
        return message;
    }

    /** The thread ends. */
    void close() {
        // What it holds stays with the pool.
    }

    abstract Message take(int ring);

    abstract void give(Message message);
}
