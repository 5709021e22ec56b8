package allocpool.messages;

import io.netty.buffer.ByteBuf;

/** A buffer of Netty's. */
final class NettyMessage extends Message {
    final ByteBuf buffer;

    NettyMessage(final ByteBuf buffer) {
        super(buffer.capacity());
        this.buffer = buffer;
    }

    @Override
    long word(final int place) {
        return buffer.getLongLE(place * WORD_BYTES);
    }

    @Override
    void fill(final long number, final long key, final int words) {
        buffer.setLongLE(0, number);
        for (int i = 1; i < words; i++) {
            buffer.setLongLE(i * WORD_BYTES, key + i * STEP);
        }
    }

    @Override
    long sum(final int from, final int to) {
        long sum = 0;
        for (int i = from; i < to; i++) {
            sum += buffer.getLongLE(i * WORD_BYTES);
        }
        return sum;
    }

    @Override
    void clear(final int count) {
        buffer.setZero(0, count);
    }

    @Override
    int heldBytes() {
        return buffer.writerIndex() + buffer.maxFastWritableBytes();
    }
}
