package allocpool.pools;

import allocpool.packets.Audit;
import allocpool.packets.Packet;
import io.netty.buffer.ByteBuf;

/** A packet over a buffer of Netty, which is big-endian by nature. */
final class NettyPacket extends Packet {
    final ByteBuf buffer;

    NettyPacket(final ByteBuf buffer) {
        this.buffer = buffer;
    }

    @Override
    protected void putByte(final int offset, final byte value) {
        buffer.setByte(offset, value);
    }

    @Override
    protected void putShort(final int offset, final short value) {
        buffer.setShort(offset, value);
    }

    @Override
    protected void putInt(final int offset, final int value) {
        buffer.setInt(offset, value);
    }

    @Override
    protected byte getByte(final int offset) {
        return buffer.getByte(offset);
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
        buffer.setLongLE(offset, value);
    }

    @Override
    protected long getWord(final int offset) {
        return buffer.getLongLE(offset);
    }

    @Override
    protected Object payload(final int offset, final int length) {
        return buffer.asReadOnly().setIndex(offset, offset + length);
    }

    @Override
    protected long payloadWord(final Object payload, final int offset) {
        return ((ByteBuf) payload).getLongLE(offset);
    }

    @Override
    protected void claim(final Audit audit, final String place) {
        final boolean ours = buffer.refCnt() == 1;
        audit.require(ours, "the buffer of a packet in " + place + " was released");
        if (ours) {
            super.claim(audit, place);
        }
    }
}
