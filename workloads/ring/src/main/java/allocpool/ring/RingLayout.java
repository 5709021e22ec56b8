package allocpool.ring;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Where things are in the shared memory of the ring, in bytes from its start. All words have 64 bits in native byte
 * order. The other end is {@code RingHeader} in {@code native/src/realtime/ring.hpp}, whose static asserts hold the
 * same numbers; a change there or here changes {@link #LAYOUT}.
 */
final class RingLayout {
    /** What the word at {@link #LAYOUT_OFFSET} says when both ends mean the same. */
    static final long LAYOUT = 0x414C4C4F43520001L;

    static final int LAYOUT_OFFSET = 0;
    static final int CAPACITY_OFFSET = 8;
    static final int INTERVAL_OFFSET = 16;
    static final int T0_OFFSET = 24;
    static final int WARMUP_OFFSET = 32;
    static final int TICKS_OFFSET = 40;
    static final int STATE_OFFSET = 128;
    static final int CONSUMED_OFFSET = 256;
    static final int LAST_OFFSET = 264;
    static final int READY_OFFSET = 384;
    static final int SLOTS_OFFSET = 512;
    static final int SLOT_BYTES = Long.BYTES;

    /** States of the source. */
    static final long WAITING = 1;
    static final long RUNNING = 2;
    static final long FINISHED = 3;

    private static final VarHandle WORD =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private RingLayout() {
    }

    /** Load plain: a word that was published by another one. */
    static long lpWord(final ByteBuffer ring, final int offset) {
        return (long) WORD.get(ring, offset);
    }

    /** Load acquire: what the other end wrote before it stored the word is seen. */
    static long laWord(final ByteBuffer ring, final int offset) {
        return (long) WORD.getAcquire(ring, offset);
    }

    /** Store release (an ordered store): what this end did before is seen by who loads the word. */
    static void soWord(final ByteBuffer ring, final int offset, final long value) {
        WORD.setRelease(ring, offset, value);
    }
}
