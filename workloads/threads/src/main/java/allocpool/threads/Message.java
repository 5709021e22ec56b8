package allocpool.threads;

import allocpool.packets.Packet;
import allocpool.packets.Seam;

/** A packet that goes from thread to thread, with what pools note of it. One JVM has one subclass. */
abstract class Message extends Packet {
    /** Of a message that no table of a pool holds. */
    static final int NO_INDEX = -1;

    /** The thread that obtained it. */
    int owner;

    /** Where a pool's table has it, or the ring that its memory belongs to. */
    int index = NO_INDEX;

    /** The next one in a list of free messages. */
    Message next;

    /** What a library keeps of it. */
    Object holder;

    /** Parses; returns whether it is to be kept. */
    boolean parse() {
        return Seam.parse(this);
    }

    /** Of what {@link #parse} found and of the sequence number in the buffer: 64 bits, to be added up. */
    long hash() {
        return Seam.hash(this);
    }

    /** Whether it has a parse result. */
    boolean isParsed() {
        return Seam.isParsed(this);
    }

    /** Forgets the parse result. */
    void release() {
        reset();
    }

    /** What no other message may have: equal where two share memory. */
    abstract Object memory();

    /** Takes over what was received into another one; parse results are not copied. */
    final void copyFrom(final Message other) {
        for (int at = 0; at < Seam.USED_BYTES; at += Long.BYTES) {
            putWord(at, other.getWord(at));
        }
    }
}
