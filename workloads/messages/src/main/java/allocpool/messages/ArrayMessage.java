package allocpool.messages;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Layout {@code array}: an array of bytes. */
final class ArrayMessage extends Message {
    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final byte[] bytes;

    ArrayMessage(final int capacity) {
        super(capacity);
        bytes = new byte[capacity];
    }

    @Override
    long word(final int place) {
        return (long) WORD.get(bytes, place * WORD_BYTES);
    }

    @Override
    void fill(final long number, final long key, final int words) {
        WORD.set(bytes, 0, number);
        for (int i = 1; i < words; i++) {
            WORD.set(bytes, i * WORD_BYTES, key + i * STEP);
        }
    }

    @Override
    long sum(final int from, final int to) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += (long) WORD.get(bytes, i * WORD_BYTES);
        }
        return sum;
    }

    @Override
    void clear(final int count) {
        Arrays.fill(bytes, 0, count, (byte) 0);
    }
}
