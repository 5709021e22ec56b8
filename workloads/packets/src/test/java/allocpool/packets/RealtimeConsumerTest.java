package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** In real time a processor does what it does in batch, but for the packets that were lost. */
class RealtimeConsumerTest {
    private static final int TICKS = 3_000;
    private static final int SLOTS_OFFSET = 512;
    private static final int STATE_OFFSET = 128;
    private static final int READY_OFFSET = 384;
    private static final VarHandle WORD = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final BatchTrial batch = trial("heap", "alloc", 0);

    @ParameterizedTest
    @CsvSource({"heap, alloc, 0", "heap, mix, 50", "heap, pool, 400", "native, alloc, 0", "native, pool, 400"})
    void shouldDoTheWorkOfABatchWhenNothingIsLost(final String layout, final String strategy, final int poolSize)
            throws InterruptedException {
        batch.runPackets(TICKS, 1_000);
        final BatchTrial live = trial(layout, strategy, poolSize);

        consume(live, 1);

        assertEquals(batch.checksum(), live.checksum());
        assertArrayEquals(Arrays.copyOf(batch.counts(), 7), Arrays.copyOf(live.counts(), 7));
        assertEquals("", live.audit());
    }

    @Test
    void shouldGoOnWithWhatTheProloguePutIntoTheQueue() throws InterruptedException {
        batch.runPackets(500, 1_000);

        consume(batch, 1);

        assertEquals(500 + TICKS, batch.counts()[0]);
        assertEquals("", batch.audit());
    }

    @Test
    void shouldKnowThePacketsThatWereLost() throws InterruptedException {
        batch.runPackets(TICKS, 1_000);
        final BatchTrial live = trial("heap", "pool", 400);

        consume(live, 2);

        assertEquals(TICKS / 2, live.counts()[0]);
        assertNotEquals(batch.checksum(), live.checksum());
        assertEquals("", live.audit());
    }

    private static BatchTrial trial(final String layout, final String strategy, final int poolSize) {
        return Trials.published(layout, strategy, new Sizes(poolSize, 400, 100, 100), 7);
    }

    /** Hands every step-th tick of a source that has finished to the trial's processor. */
    private static void consume(final BatchTrial trial, final int step) throws InterruptedException {
        final int capacity = TICKS / step;
        final ByteBuffer ring = ByteBuffer.allocateDirect(SLOTS_OFFSET + capacity * Long.BYTES + 256).alignedSlice(128);
        WORD.set(ring, 0, 0x414C4C4F43520001L);
        WORD.set(ring, Long.BYTES, (long) capacity);
        WORD.setRelease(ring, STATE_OFFSET, 1L);
        for (int i = 0; i < capacity; i++) {
            WORD.setRelease(ring, SLOTS_OFFSET + i * Long.BYTES, (long) i * step + 1);
        }
        final RealtimeConsumer consumer = new RealtimeConsumer(ring, trial);
        final Thread source = new Thread(() -> {
            while ((long) WORD.getAcquire(ring, READY_OFFSET) == 0) {
                Thread.onSpinWait();
            }
            WORD.setRelease(ring, STATE_OFFSET, 3L);
        });
        source.start();
        consumer.consume(0, 0, 0);
        source.join();
        assertEquals(capacity, consumer.account()[0]);
        assertEquals((long) (capacity - 1) * (step - 1), consumer.account()[2]);
    }
}
