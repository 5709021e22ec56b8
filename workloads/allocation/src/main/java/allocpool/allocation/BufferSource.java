package allocpool.allocation;

/**
 * Where buffers come from and go back to: a technique, or a pool over it. A measured process loads no other, so that
 * the compiler can see through these calls.
 */
public interface BufferSource {
    /**
     * A buffer for the caller alone.
     *
     * @return the buffer, in whatever form it has
     */
    Object obtain();

    /**
     * Takes a buffer back; what is left to the collector needs nothing done.
     *
     * @param buffer one that {@link #obtain} returned
     */
    void release(Object buffer);

    /**
     * Called when a whole round of buffers was released, for memory that is freed at one stroke.
     */
    default void releaseAll() {
    }

    /**
     * Uses a fresh buffer.
     *
     * @param buffer one that {@link #obtain} returned
     * @param touch what to do with it
     */
    void touch(Object buffer, Touch touch);

    /**
     * Where the buffer lies in native memory.
     *
     * @param buffer one that {@link #obtain} returned
     * @return the address, or 0 for memory of the Java heap
     */
    default long address(final Object buffer) {
        return 0;
    }

    /**
     * The bytes that the buffer can hold.
     *
     * @param buffer one that {@link #obtain} returned
     * @return bytes
     */
    long bytes(Object buffer);
}
