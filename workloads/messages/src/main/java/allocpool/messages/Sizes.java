package allocpool.messages;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** How long each message is and what it holds, by its number: drawn, or as a trace has it. */
final class Sizes {
    /** Of a message in a trace: time in nanoseconds, what its bytes were folded to, length. */
    static final int RECORD_BYTES = 24;
    private static final int FOLD_OFFSET = 8;
    private static final int LENGTH_OFFSET = 16;

    private final long seed;
    private final int[] lengths;
    private final long[] thresholds;
    private final int[] others;
    private final ByteBuffer trace;
    private final int traced;

    Sizes(final Settings settings, final ByteBuffer trace) {
        seed = settings.whole("seed");
        lengths = settings.counts("sizes");
        thresholds = settings.wholes("thresholds");
        others = settings.counts("others");
        this.trace = trace == null ? null : trace.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        traced = trace == null ? 0 : trace.capacity() / RECORD_BYTES;
    }

    /** Bytes of a message whose draw this is: Walker's alias method. */
    int length(final long number, final long drawn) {
        if (trace != null) {
            return trace.getInt(record(number) + LENGTH_OFFSET);
        }
        if (lengths.length == 1) {
            return lengths[0];
        }
        final int place = Mix.place(drawn, lengths.length);
        return lengths[(drawn & 0xFFFFFFFFL) < thresholds[place] ? place : others[place]];
    }

    long draw(final long number) {
        return Mix.draw(seed, number);
    }

    /** What the content of a message follows from. */
    long key(final long number, final long drawn) {
        final long key = Mix.draw(drawn, 0);
        return trace == null ? key : key ^ trace.getLong(record(number) + FOLD_OFFSET);
    }

    /** When a message was captured, in nanoseconds since the first; a trace begins again where it ends. */
    long capturedNs(final long number) {
        final long lap = number / traced;
        final long spanNs = trace.getLong((traced - 1) * RECORD_BYTES);
        // As if the first came as long after the last as messages are apart in the mean.
        final long lapNs = traced == 1 ? 1 : spanNs + spanNs / (traced - 1);
        return trace.getLong(record(number)) + lap * lapNs;
    }

    private int record(final long number) {
        return (int) (number % traced) * RECORD_BYTES;
    }
}
