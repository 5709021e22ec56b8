package allocpool.threads;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A message over a buffer of the JDK.
 *
 * <p>It reads and writes as the packet of layouts {@code heap} and {@code native} does, and is not that one: what pools
 * note of a message are fields of {@link Message}, which a packet of one thread must not have, since its size is part
 * of what is measured; and a buffer behind one more reference would be another workload.
 */
class BufferMessage extends Message {
    private static final VarHandle WORD =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    final ByteBuffer buffer;

    /** Where it begins in a region that messages share; -1 where the buffer is its own. */
    final long place;

    BufferMessage(final ByteBuffer buffer, final long place) {
        this.buffer = buffer;
        this.place = place;
    }

    @Override
    protected void putByte(final int offset, final byte value) {
        buffer.put(offset, value);
    }

    @Override
    protected void putShort(final int offset, final short value) {
        buffer.putShort(offset, value);
    }

    @Override
    protected void putInt(final int offset, final int value) {
        buffer.putInt(offset, value);
    }

    @Override
    protected byte getByte(final int offset) {
        return buffer.get(offset);
    }

    @Override
    protected short getShort(final int offset) {
        return buffer.getShort(offset);
    }

    @Override
    protected int getInt(final int offset) {
        return buffer.getInt(offset);
    }

    @Override
    protected void putWord(final int offset, final long value) {
        WORD.set(buffer, offset, value);
    }

    @Override
    protected long getWord(final int offset) {
        return (long) WORD.get(buffer, offset);
    }

    @Override
    protected Object payload(final int offset, final int length) {
        return buffer.asReadOnlyBuffer().limit(offset + length).position(offset);
    }

    @Override
    protected long payloadWord(final Object payload, final int offset) {
        return (long) WORD.get((ByteBuffer) payload, offset);
    }

    @Override
    final Object memory() {
        if (buffer.hasArray()) {
            return new Identity(buffer.array());
        }
        return place < 0 ? new Identity(this) : (Object) place;
    }

    /** Equal only to that of the same object. */
    private static final class Identity {
        private final Object object;

        Identity(final Object object) {
            this.object = object;
        }

        @Override
        public boolean equals(final Object other) {
            return other instanceof Identity && ((Identity) other).object == object;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(object);
        }
    }
}
