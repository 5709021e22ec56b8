package allocpool.messages;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Layouts {@code heap} and {@code native}: a buffer of the JDK. */
final class BufferMessage extends Message {
    private static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private final ByteBuffer buffer;

    BufferMessage(final ByteBuffer buffer) {
        super(buffer.capacity());
        this.buffer = buffer;
    }

    @Override
    long word(final int place) {
        return (long) WORD.get(buffer, place * WORD_BYTES);
    }

    @Override
    void fill(final long number, final long key, final int words) {
        WORD.set(buffer, 0, number);
        for (int i = 1; i < words; i++) {
            WORD.set(buffer, i * WORD_BYTES, key + i * STEP);
        }
    }

    @Override
    long sum(final int from, final int to) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += (long) WORD.get(buffer, i * WORD_BYTES);
        }
        return sum;
    }

    @Override
    void clear(final int count) {
        // There is no fill of a ByteBuffer on 11: by words, then by bytes.
        int place = 0;
        for (; place + WORD_BYTES <= count; place += WORD_BYTES) {
            WORD.set(buffer, place, 0L);
        }
        for (; place < count; place++) {
            buffer.put(place, (byte) 0);
        }
    }
}
