package allocpool.ring;

import java.nio.ByteBuffer;
import java.util.Random;

/** A consumer that stops at random, every 50,000 ticks or so and for up to 0.3 ms, and checks the order. */
public final class StallingConsumer extends RingConsumer {
    private static final int MOST_TICKS_BETWEEN = 100_000;
    private static final int LONGEST_STALL_NS = 300_000;

    private final Random random = new Random(17);
    private long previous = -1;
    private long disorders;
    private int untilStall = 1_000;

    /**
     * Creates a consumer for one run.
     *
     * @param ring the memory of the ring
     */
    public StallingConsumer(final ByteBuffer ring) {
        super(ring);
    }

    @Override
    protected void receive(final long[] sequences, final int count) {
        for (int i = 0; i < count; i++) {
            receive(sequences[i]);
        }
    }

    private void receive(final long sequence) {
        if (sequence <= previous) {
            disorders++;
        }
        previous = sequence;
        untilStall--;
        if (untilStall > 0) {
            return;
        }
        untilStall = random.nextInt(MOST_TICKS_BETWEEN);
        final long start = System.nanoTime();
        final long length = random.nextInt(LONGEST_STALL_NS);
        while (System.nanoTime() - start < length) {
            Thread.onSpinWait();
        }
    }

    /**
     * Ticks that did not come after the one before.
     *
     * @return how many
     */
    public long disorders() {
        return disorders;
    }
}
