package allocpool.allocation;

/** The techniques by name, as far as they run on every Java. */
public final class Techniques {
    private Techniques() {
    }

    /**
     * The buffers of a technique.
     *
     * @param name byte_array, heap_buffer or direct_buffer
     * @param bytes of each buffer
     * @return where they come from
     * @throws IllegalArgumentException no such technique; names those that there are
     */
    public static BufferSource named(final String name, final int bytes) {
        switch (name) {
            case "byte_array":
                return new ByteArrays(bytes);
            case "heap_buffer":
                return new ByteBuffers(bytes, false);
            case "direct_buffer":
                return new ByteBuffers(bytes, true);
            default:
                throw new IllegalArgumentException(
                        "unknown technique '" + name + "': choose one of byte_array, heap_buffer, direct_buffer");
        }
    }
}
