package allocpool.packets;

import java.nio.ByteBuffer;

/** Where a packet's payload is: {@code length} bytes of {@code buffer}, from {@code offset}; nothing is copied. */
final class PayloadView {
    final ByteBuffer buffer;
    final int offset;
    final int length;

    PayloadView(final ByteBuffer buffer, final int offset, final int length) {
        this.buffer = buffer;
        this.offset = offset;
        this.length = length;
    }
}
