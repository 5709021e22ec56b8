package allocpool.threads;

import allocpool.packets.Seam;
import java.nio.ByteBuffer;

/** A message whose parse result is in its buffer, behind the payload: processing it makes no object. */
final class FlatMessage extends BufferMessage {
    private static final int ADDRESSES = 960;
    private static final int HEADER = ADDRESSES + Long.BYTES;
    private static final int PARSED = HEADER + Long.BYTES;

    FlatMessage(final ByteBuffer buffer, final long place) {
        super(buffer, place);
    }

    @Override
    boolean parse() {
        final long header = Seam.header(this);
        putWord(ADDRESSES, Seam.addresses(this));
        putWord(HEADER, header);
        putWord(PARSED, 1);
        return Seam.isTcp(header);
    }

    @Override
    long hash() {
        return Seam.hash(this, getWord(ADDRESSES), getWord(HEADER));
    }

    @Override
    boolean isParsed() {
        return getWord(PARSED) != 0;
    }

    @Override
    void release() {
        putWord(PARSED, 0);
    }
}
