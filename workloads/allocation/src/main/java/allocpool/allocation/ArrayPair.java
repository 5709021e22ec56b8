package allocpool.allocation;

import java.util.Arrays;

/** Two arrays on the Java heap. */
public final class ArrayPair implements BufferPair {
    private final byte[] target;
    private final byte[] source;

    /**
     * Arrays of one length, all zeros.
     *
     * @param bytes length of each
     */
    public ArrayPair(final int bytes) {
        target = new byte[bytes];
        source = new byte[bytes];
    }

    @Override
    public void write(final long pass) {
        final int first = (int) pass;
        for (int i = 0; i < target.length; i++) {
            target[i] = (byte) (i + first);
        }
    }

    @Override
    public void writeAtRandom(final long pass) {
        final int first = (int) pass;
        long state = pass;
        for (int i = 0; i < target.length; i++) {
            state = RandomPlaces.next(state);
            target[RandomPlaces.place(state, target.length)] = (byte) (i + first);
        }
    }

    @Override
    public void copy(final long pass) {
        source[(int) (pass % source.length)] = (byte) (pass + 1);
        System.arraycopy(source, 0, target, 0, target.length);
    }

    @Override
    public byte at(final int index) {
        return target[index];
    }

    @Override
    public void clear() {
        Arrays.fill(target, (byte) 0);
        Arrays.fill(source, (byte) 0);
    }
}
