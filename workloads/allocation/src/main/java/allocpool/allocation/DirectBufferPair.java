package allocpool.allocation;

import java.nio.ByteBuffer;

/** Two direct byte buffers. */
public final class DirectBufferPair implements BufferPair {
    private final ByteBuffer target;
    private final ByteBuffer source;
    private final int bytes;

    /**
     * Buffers of one capacity, all zeros.
     *
     * @param bytes capacity of each
     */
    public DirectBufferPair(final int bytes) {
        this.bytes = bytes;
        target = ByteBuffer.allocateDirect(bytes);
        source = ByteBuffer.allocateDirect(bytes);
    }

    @Override
    public void write(final long pass) {
        final int first = (int) pass;
        for (int i = 0; i < bytes; i++) {
            target.put(i, (byte) (i + first));
        }
    }

    @Override
    public void writeAtRandom(final long pass) {
        final int first = (int) pass;
        long state = pass;
        for (int i = 0; i < bytes; i++) {
            state = RandomPlaces.next(state);
            target.put(RandomPlaces.place(state, bytes), (byte) (i + first));
        }
    }

    @Override
    public void copy(final long pass) {
        source.put((int) (pass % bytes), (byte) (pass + 1));
        source.clear();
        target.clear();
        target.put(source);
    }

    @Override
    public byte at(final int index) {
        return target.get(index);
    }

    @Override
    public void clear() {
        for (int i = 0; i < bytes; i++) {
            target.put(i, (byte) 0);
            source.put(i, (byte) 0);
        }
    }
}
