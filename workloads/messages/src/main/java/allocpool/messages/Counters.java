package allocpool.messages;

/** What one thread counts. */
final class Counters extends Padded {
    final int thread;
    long due;
    long received;
    long lost;
    long read;
    long kept;
    long evicted;
    long obtained;
    long freed;
    long constructed;
    long discarded;

    /** Of messages in use, what lies beyond them in their buffers. */
    long wastedBytes;

    /** Of messages made and not dropped, beyond those prepared. */
    long heldBytes;

    /** Over what was read. */
    long sum;

    /** The same of what was written. */
    long expectedSum;

    /** Of the numbers in the store, by what came and went. */
    long storeSum;

    /** Keeps reading what nobody wrote from being skipped. */
    long unchecked;

    Counters(final int thread) {
        this.thread = thread;
    }
}
