package allocpool.packets;

import java.nio.ByteBuffer;

/** A packet of the object layouts: an object, its buffer and, once parsed, what the parse found in it. */
final class Packet {
    /** The slot of a packet whose buffer is its own. */
    static final int NO_SLOT = -1;

    final ByteBuffer buffer;

    /** Which slot of the shared memory the buffer is a slice of, or {@link #NO_SLOT}. */
    final int slot;

    /** Null from the time the packet is provided until it is parsed. */
    ParseResult parsed;

    Packet(final ByteBuffer buffer, final int slot) {
        this.buffer = buffer;
        this.slot = slot;
    }
}
