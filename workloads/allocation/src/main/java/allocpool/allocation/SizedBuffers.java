package allocpool.allocation;

/**
 * Buffers of any size, as a trial of mixed sizes makes and drops them. A measured process loads no other, so that the
 * compiler can see through these calls.
 */
public interface SizedBuffers {
    /**
     * A fresh buffer, a byte written to each of its pages.
     *
     * @param bytes how many, at least 8
     * @return the buffer, in whatever form it has
     */
    Object obtain(int bytes);

    /**
     * Gives a buffer back; what is left to the collector needs nothing done.
     *
     * @param buffer one that {@link #obtain} returned
     */
    default void release(final Object buffer) {
    }

    /**
     * Writes the first eight bytes of a buffer.
     *
     * @param buffer one that {@link #obtain} returned
     * @param tag what to write, little endian
     */
    void setTag(Object buffer, long tag);

    /**
     * Reads the first eight bytes of a buffer.
     *
     * @param buffer one that {@link #obtain} returned
     * @return what was written there
     */
    long tag(Object buffer);

    /**
     * The size of a buffer.
     *
     * @param buffer one that {@link #obtain} returned
     * @return bytes
     */
    int bytes(Object buffer);

    /**
     * Memory outside the heap that the JVM has not given back yet, by its own counters.
     *
     * @return bytes, or -1 where it keeps none
     */
    default long keptBytes() {
        return -1;
    }

    /**
     * The buffers of a technique, as far as it exists on every Java.
     *
     * @param technique byte_array or direct_buffer
     * @return where they come from
     * @throws IllegalArgumentException no such technique; names those that there are
     */
    static SizedBuffers named(final String technique) {
        switch (technique) {
            case "byte_array":
                return new SizedArrays();
            case "direct_buffer":
                return new SizedDirectBuffers();
            default:
                throw new IllegalArgumentException(
                        "unknown technique '" + technique + "': choose one of byte_array, direct_buffer");
        }
    }
}
