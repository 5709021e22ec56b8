package allocpool.ring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The consumer keeps exact counters of what a source in Java, of the same protocol, sends. */
class RingConsumerTest {
    /** Ticks of a stress test; the full run sets a thousand million. */
    private static final long STRESS_TICKS = Long.getLong("allocpool.stress.ticks", 500_000);

    @Test
    void shouldTakeAllTicksInOrder() throws InterruptedException {
        final Recorder recorder = consume(100, 0, 0, 0, writer -> push(writer, 0, 1, 2, 3));
        assertArrayEquals(new long[] {0, 1, 2, 3}, recorder.received());
        final Map<String, Long> account = account(recorder);
        assertEquals(4, account.get("received"));
        assertEquals(0, account.get("missing"));
        assertEquals(3, account.get("last_sequence"));
    }

    @Test
    void shouldCountGapsOnBothSidesOfTheWarmUp() throws InterruptedException {
        final Recorder recorder = consume(100, 0, 0, 10, writer -> push(writer, 2, 3, 7, 14, 15, 20));
        final Map<String, Long> account = account(recorder);
        assertEquals(6, account.get("received"));
        assertEquals(3, account.get("warmup_received"));
        assertEquals(2 + 3 + 6 + 4, account.get("missing"));
        assertEquals(2 + 3 + 2, account.get("warmup_missing"));
        assertEquals(20, account.get("last_sequence"));
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 23, 64})
    void shouldSeeAGapAnywhere(final int capacity) throws InterruptedException {
        for (int gap = 0; gap < 40; gap++) {
            final long[] ticks = new long[39];
            for (int i = 0; i < ticks.length; i++) {
                ticks[i] = i < gap ? i : i + 1;
            }
            final Recorder recorder = consume(capacity, 0, 0, 0, writer -> push(writer, ticks));
            assertArrayEquals(ticks, recorder.received(), "gap at " + gap);
            assertEquals(gap == 39 ? 0 : 1, account(recorder).get("missing"), "gap at " + gap);
            final ByteBuffer memory = RingWriter.memory(capacity);
            final DrainConsumer drain = new DrainConsumer(memory);
            final Thread source = source(new RingWriter(memory, capacity), w -> push(w, ticks), 0, 0, 0);
            drain.consume(0, 0, 0);
            source.join();
            assertEquals(39, account(drain).get("received"));
            assertEquals(gap == 39 ? 0 : 1, account(drain).get("missing"), "gap at " + gap);
        }
    }

    @Test
    void shouldFreeThePlaceOfATickBeforeItIsProcessedAndNoOtherInASmallQueue() throws InterruptedException {
        final Recorder recorder = consume(100, 0, 0, 0, writer -> push(writer, LongStream.range(0, 90).toArray()));
        assertArrayEquals(LongStream.rangeClosed(1, 90).toArray(), recorder.published());
    }

    @Test
    void shouldTakeBurstsThatAreASmallPartOfTheQueueAndFreeThemAtOnce() throws InterruptedException {
        final Recorder recorder = consumeWaiting(RingConsumer.QUEUE_PARTS * 8, 91, 0, 0);
        assertArrayEquals(LongStream.range(0, 91).toArray(), recorder.received());
        final long[] freed = LongStream.range(0, 91).map(i -> Math.min(91, i / 8 * 8 + 8)).toArray();
        assertArrayEquals(freed, recorder.published());
    }

    /** The numbers of native/src/realtime/consumer.hpp. */
    @Test
    void shouldTakeNoLongerBurstsThanTheConsumerInCpp() throws InterruptedException {
        final int capacity = RingConsumer.QUEUE_PARTS * RingConsumer.SATURATED_BURST;
        final long nowNs = System.nanoTime();
        assertArrayEquals(new int[] {16, 16, 16, 16, 6},
                consumeWaiting(capacity, 70, 1, nowNs + 3_600_000_000_000L).bursts());
        assertArrayEquals(new int[] {16, 64, 64, 6}, consumeWaiting(capacity, 150, 1, nowNs - 5_000_000_000L).bursts());
        assertArrayEquals(new int[] {256, 44}, consumeWaiting(capacity, 300, 0, 0).bursts());
    }

    @Test
    void shouldReportNoTickFromARunWithoutAny() throws InterruptedException {
        final Map<String, Long> account = account(consume(100, 0, 0, 10, writer -> { }));
        assertEquals(0, account.get("received"));
        assertEquals(-1, account.get("last_sequence"));
        assertEquals(account.get("start_ns"), account.get("end_ns"));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7, 64, 1_000})
    void shouldHoldExactlyTheCapacity(final int capacity) throws InterruptedException {
        final ByteBuffer memory = RingWriter.memory(capacity);
        final RingWriter writer = new RingWriter(memory, capacity);
        for (int i = 0; i < capacity; i++) {
            assertTrue(writer.offer(i));
        }
        assertEquals(false, writer.offer(capacity));
        writer.begin(0, 0, 0);
        final Recorder recorder = new Recorder(memory);
        final Thread source = new Thread(() -> {
            writer.run();
            writer.finish();
        });
        source.start();
        recorder.consume(1, 0, 0);
        source.join();
        assertTrue(writer.offer(capacity + 5L), "one was taken, so one fits");
        assertEquals(false, writer.offer(capacity + 6L));
    }

    @Test
    void shouldStopAfterSoManyTicks() throws InterruptedException {
        final ByteBuffer memory = RingWriter.memory(100);
        final RingWriter writer = new RingWriter(memory, 100);
        final Recorder recorder = new Recorder(memory);
        final Thread source = source(writer, w -> push(w, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), 0, 0, 0);
        recorder.consume(7, 0, 0);
        source.join();
        assertEquals(7, account(recorder).get("received"));
        assertEquals(7, RingLayout.laWord(memory, RingLayout.CONSUMED_OFFSET));
        assertEquals(7, RingLayout.laWord(memory, RingLayout.LAST_OFFSET));
    }

    @Test
    void shouldNeverReportADelayTooShort() throws Exception {
        final long dueBeforeNs = 5_000_000_000L;
        final int ticks = 50;
        final double intervalNs = 10.5;
        final long t0Ns = System.nanoTime() - dueBeforeNs - (long) (ticks * intervalNs);
        final Recorder recorder = consume(100, intervalNs, t0Ns, 5, writer -> {
            for (int i = 0; i < ticks; i++) {
                writer.offer(i);
            }
        });
        assertEquals(ticks - 5, recorder.delayCount());
        final ByteBuffer encoded = ByteBuffer.wrap(recorder.encodedDelays());
        final Histogram decoded = Histogram.decodeFromCompressedByteBuffer(encoded, 1);
        assertEquals(ticks - 5, decoded.getTotalCount());
        assertEquals(recorder.maxDelayNs(), decoded.getMaxValue());
        assertTrue(decoded.getMinValue() >= decoded.lowestEquivalentValue(dueBeforeNs), decoded.getMinValue() + " ns");
        assertTrue(recorder.delayAtPercentileNs(0) >= decoded.lowestEquivalentValue(dueBeforeNs));
    }

    @Test
    void shouldRecordNoDelayWhenTheSourceSaturates() throws InterruptedException {
        assertEquals(0, consume(100, 0, 0, 0, writer -> push(writer, 0, 1, 2)).delayCount());
    }

    @Test
    void shouldStallOnPurpose() throws InterruptedException {
        final ByteBuffer memory = RingWriter.memory(100);
        final RingWriter writer = new RingWriter(memory, 100);
        final Recorder recorder = new Recorder(memory);
        final Thread source = source(writer, w -> push(w, 0, 1, 2), 1_000, System.nanoTime() - 1_000_000, 0);
        recorder.consume(0, 500_000, 2_000_000);
        source.join();
        assertTrue(account(recorder).get("stalled_ns") >= 2_000_000);
        assertEquals(3, account(recorder).get("received"));
    }

    @Test
    void shouldConsumeOneRunAfterTheOther() throws InterruptedException {
        final ByteBuffer memory = RingWriter.memory(100);
        final Recorder recorder = new Recorder(memory);
        for (final int capacity : new int[] {100, 3, 50}) {
            final Thread source = source(new RingWriter(memory, capacity), w -> push(w, 0, 1, 2), 0, 0, 0);
            recorder.consume(0, 0, 0);
            source.join();
            assertEquals(3, account(recorder).get("received"));
            assertEquals(2, account(recorder).get("last_sequence"));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldKeepOrderAndCountersWhateverStalls(final boolean losing) throws InterruptedException {
        final int capacity = 4_096;
        final ByteBuffer memory = RingWriter.memory(capacity);
        final RingWriter writer = new RingWriter(memory, capacity);
        final StallingConsumer consumer = new StallingConsumer(memory);
        final long[] lost = new long[1];
        final Thread source = source(writer, w -> {
            for (long tick = 0; tick < STRESS_TICKS; tick++) {
                while (!w.offer(tick)) {
                    if (losing) {
                        lost[0]++;
                        break;
                    }
                    Thread.onSpinWait();
                }
            }
        }, 0, 0, 0);
        consumer.consume(0, 0, 0);
        source.join();
        final Map<String, Long> account = account(consumer);
        assertEquals(0, consumer.disorders());
        assertEquals(STRESS_TICKS, account.get("received") + lost[0]);
        assertEquals(writer.pushed(), account.get("received"));
        final long afterLast = STRESS_TICKS - 1 - account.get("last_sequence");
        assertEquals(lost[0], account.get("missing") + afterLast);
        if (!losing) {
            assertEquals(STRESS_TICKS, account.get("received"));
        }
    }

    @Test
    void shouldAllocateNothingPerTick() throws InterruptedException {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final int ticks = 500_000;
        final ByteBuffer memory = RingWriter.memory(ticks);
        final DrainConsumer consumer = new DrainConsumer(memory);
        long bytes = 0;
        for (int run = 0; run < 3; run++) {
            final Thread source = source(new RingWriter(memory, ticks), w -> {
                for (int i = 0; i < ticks; i++) {
                    w.offer(2L * i);
                }
            }, 100, System.nanoTime(), 1_000);
            final long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
            consumer.consume(0, 0, 0);
            bytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
            source.join();
            assertEquals(ticks, account(consumer).get("received"));
        }
        assertTrue(bytes < 4_096, bytes + " bytes");
    }

    @Test
    void shouldRefuseWhatIsNoRing() {
        final ByteBuffer memory = RingWriter.memory(10);
        final DrainConsumer consumer = new DrainConsumer(memory);
        assertEquals("the memory holds no ring that this version reads: start the source first",
                assertThrows(IllegalStateException.class, () -> consumer.consume(0, 0, 0)).getMessage());
        final RingWriter writer = new RingWriter(memory, 10);
        assertEquals("no run waits for a consumer: start the source first",
                assertThrows(IllegalStateException.class, () -> consumer.consume(0, 0, 0)).getMessage());
        writer.begin(0, 0, 0);
        RingLayout.soWord(memory, RingLayout.CAPACITY_OFFSET, 1_000);
        assertThrows(IllegalStateException.class, () -> consumer.consume(0, 0, 0));
        RingLayout.soWord(memory, RingLayout.CAPACITY_OFFSET, Long.MAX_VALUE / 2);
        assertThrows(IllegalStateException.class, () -> consumer.consume(0, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> consumer.consume(-1, 0, 0));
        assertThrows(IllegalArgumentException.class, () -> new DrainConsumer(ByteBuffer.allocate(1_000)));
        final ByteBuffer odd = ByteBuffer.allocateDirect(1_024).alignedSlice(8).position(1).slice();
        assertThrows(IllegalArgumentException.class, () -> new DrainConsumer(odd));
        assertThrows(IllegalStateException.class,
                () -> new DrainConsumer(ByteBuffer.allocateDirect(8).order(ByteOrder.BIG_ENDIAN)).consume(0, 0, 0));
    }

    private static Recorder consume(final int capacity, final double intervalNs, final long t0Ns, final long warmup,
            final Consumer<RingWriter> ticks) throws InterruptedException {
        final ByteBuffer memory = RingWriter.memory(capacity);
        final RingWriter writer = new RingWriter(memory, capacity);
        final Recorder recorder = new Recorder(memory);
        final Thread source = source(writer, ticks, intervalNs, t0Ns, warmup);
        recorder.consume(0, 0, 0);
        source.join();
        return recorder;
    }

    /** Consumes ticks that were all there before. */
    private static Recorder consumeWaiting(final int capacity, final int ticks, final double intervalNs,
            final long t0Ns) throws InterruptedException {
        final ByteBuffer memory = RingWriter.memory(capacity);
        final RingWriter writer = new RingWriter(memory, capacity);
        push(writer, LongStream.range(0, ticks).toArray());
        final Recorder recorder = new Recorder(memory);
        final Thread source = source(writer, w -> { }, intervalNs, t0Ns, 0);
        recorder.consume(0, 0, 0);
        source.join();
        return recorder;
    }

    private static Thread source(final RingWriter writer, final Consumer<RingWriter> ticks, final double intervalNs,
            final long t0Ns, final long warmup) {
        writer.begin(intervalNs, t0Ns, warmup);
        final Thread source = new Thread(() -> {
            writer.run();
            ticks.accept(writer);
            writer.finish();
        });
        source.start();
        return source;
    }

    private static void push(final RingWriter writer, final long... ticks) {
        for (final long tick : ticks) {
            while (!writer.offer(tick)) {
                Thread.yield();
            }
        }
    }

    private static Map<String, Long> account(final RingConsumer consumer) {
        final Map<String, Long> account = new HashMap<>();
        final String[] names = RingConsumer.accountNames();
        final long[] numbers = consumer.account();
        assertEquals(names.length, numbers.length);
        for (int i = 0; i < names.length; i++) {
            account.put(names[i], numbers[i]);
        }
        return account;
    }

    private static final class Recorder extends RingConsumer {
        private final ByteBuffer memory;
        private final long[] sequences = new long[1_000];
        private final long[] taken = new long[1_000];
        private final int[] bursts = new int[1_000];
        private int count;
        private int burstCount;

        Recorder(final ByteBuffer ring) {
            super(ring);
            memory = ring;
        }

        @Override
        protected void receive(final long[] burst, final int ticks) {
            bursts[burstCount++] = ticks;
            for (int i = 0; i < ticks; i++) {
                sequences[count] = burst[i];
                taken[count] = RingLayout.laWord(memory, RingLayout.CONSUMED_OFFSET);
                count++;
            }
        }

        int[] bursts() {
            return Arrays.copyOf(bursts, burstCount);
        }

        long[] received() {
            return Arrays.copyOf(sequences, count);
        }

        /** How many ticks the source could know to be taken, as each was received. */
        long[] published() {
            return Arrays.copyOf(taken, count);
        }
    }
}
