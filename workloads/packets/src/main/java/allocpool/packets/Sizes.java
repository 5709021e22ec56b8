package allocpool.packets;

/** The sizes of a trial: packets, and the bytes of a packet's buffer. */
public final class Sizes {
    final int pool;
    final int slots;
    final int queue;
    final int store;
    final int bufferBytes;

    /**
     * The sizes of one trial, with buffers of {@link PacketFormat#BUFFER_SIZE} bytes.
     *
     * @param pool packets in the pool of a strategy that has one; else 0
     * @param slots packets that the memory of a layout has room for, where all packets share it; else 0
     * @param queue packets in the internal queue
     * @param store packets in the store
     * @throws IllegalArgumentException if one is too small
     */
    public Sizes(final int pool, final int slots, final int queue, final int store) {
        this(pool, slots, queue, store, PacketFormat.BUFFER_SIZE);
    }

    /**
     * The sizes of one trial.
     *
     * @param pool packets in the pool of a strategy that has one; else 0
     * @param slots packets that the memory of a layout has room for, where all packets share it; else 0
     * @param queue packets in the internal queue
     * @param store packets in the store
     * @param bufferBytes of a packet's buffer in layouts whose packets share one memory; a multiple of 8 that holds a
     *     packet
     * @throws IllegalArgumentException if one is too small
     */
    public Sizes(final int pool, final int slots, final int queue, final int store, final int bufferBytes) {
        requireAtLeast("pool size", pool, 0);
        requireAtLeast("slot count", slots, 0);
        requireAtLeast("queue size", queue, 1);
        requireAtLeast("stored count", store, 1);
        requireAtLeast("buffer bytes", bufferBytes, PacketFormat.MOST_BYTES);
        this.pool = pool;
        this.slots = slots;
        this.queue = queue;
        this.store = store;
        this.bufferBytes = bufferBytes;
    }

    /**
     * The size of the pool, for strategies that have one.
     *
     * @return packets
     */
    public int pool() {
        return pool;
    }

    /** The most packets in use at once: a new one is obtained before an old one is freed. */
    long mostInUse() {
        return (long) queue + store + 1;
    }

    static void requireAtLeast(final String what, final long actual, final long least) {
        if (actual < least) {
            throw new IllegalArgumentException(what + " is " + actual + ", must be at least " + least);
        }
    }

    static void requireAtMost(final String what, final long actual, final long most) {
        if (actual > most) {
            throw new IllegalArgumentException(what + " is " + actual + ", must be at most " + most);
        }
    }
}
