package allocpool.packets;

import java.nio.ByteBuffer;

/**
 * The packet of layouts {@code heap} and {@code native}, without the {@code VarHandle} that Java 8 lacks. The one for
 * newer releases has no common class with it for its words: another call to inline could be one too many for JDK 11.
 */
class ByteBufferPacket extends Packet {
    /** The slot of a packet whose buffer is its own. */
    static final int NO_SLOT = -1;

    final ByteBuffer buffer;

    /** Which slot of the shared memory the buffer is a slice of, or {@link #NO_SLOT}. */
    final int slot;

    ByteBufferPacket(final ByteBuffer buffer, final int slot) {
        this.buffer = buffer;
        this.slot = slot;
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
        buffer.putLong(offset, Long.reverseBytes(value));
    }

    @Override
    protected long getWord(final int offset) {
        return Long.reverseBytes(buffer.getLong(offset));
    }

    @Override
    protected Object payload(final int offset, final int length) {
        return buffer.asReadOnlyBuffer().limit(offset + length).position(offset);
    }

    @Override
    protected long payloadWord(final Object payload, final int offset) {
        return Long.reverseBytes(((ByteBuffer) payload).getLong(offset));
    }

    @Override
    protected void claim(final Audit audit, final String place) {
        if (slot == NO_SLOT) {
            super.claim(audit, place);
        } else {
            audit.claimSlot(slot, place);
        }
    }
}
