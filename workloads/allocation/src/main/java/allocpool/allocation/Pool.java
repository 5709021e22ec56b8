package allocpool.allocation;

/** Buffers that are made at the start and kept on a stack. */
public final class Pool implements BufferSource {
    private final BufferSource source;
    private final Object[] stack;
    private int top;

    /**
     * A full pool.
     *
     * @param source where its buffers come from
     * @param size how many it holds
     */
    public Pool(final BufferSource source, final int size) {
        this.source = source;
        stack = new Object[size];
        for (int i = 0; i < size; i++) {
            stack[i] = source.obtain();
        }
        top = size;
    }

    @Override
    public Object obtain() {
        top--;
        final Object buffer = stack[top];
        stack[top] = null;
        return buffer;
    }

    @Override
    public void release(final Object buffer) {
        stack[top] = buffer;
        top++;
    }

    @Override
    public void touch(final Object buffer, final Touch touch) {
        source.touch(buffer, touch);
    }

    @Override
    public long address(final Object buffer) {
        return source.address(buffer);
    }

    @Override
    public long bytes(final Object buffer) {
        return source.bytes(buffer);
    }
}
