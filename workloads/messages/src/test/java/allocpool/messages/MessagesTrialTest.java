package allocpool.messages;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One checksum for every strategy and layout, nothing else allocated, and sources that cheat are found. */
class MessagesTrialTest {
    private static final long MESSAGES = 20_000;

    /** Of the tests of C++, too: what these settings and so many messages add up to in every language. */
    private static final long CHECKSUM = 0xF9B1E8DA2F98FF0EL;

    /** The settings of a trial; C++ and Python have the same lines. */
    private static final String LINES = String.join("\n",
            "seed=7", "threads=1", "layout=array", "strategy=alloc", "zeroing=0", "capacities=64,2048",
            "prepared=1000,1000", "sizes=64,1500", "thresholds=4294967296,2576980377", "others=0,0",
            "filled_share=0.5", "read_share=1.0", "interval_ns=0.0", "arrivals=steady", "on_share=0.1",
            "burst_length=1", "time_scale=1.0", "delay_ns=50000000", "in_flight=300", "kept_share=0.1",
            "kept_count=200", "replacement=random", "temporaries=0", "temporary_length=16", "live_mb=0.0",
            "changed_mb_per_s=0.0", "garbage_mb_per_s=0.0");

    private static Settings with(final String... changes) {
        return new Settings(LINES + "\n" + String.join("\n", changes));
    }

    private static MessagesTrial trial(final String... changes) {
        return new MessagesTrial(with(changes), null, null);
    }

    private static long checked(final MessagesTrial trial) {
        trial.run(MESSAGES / 3);
        trial.run(MESSAGES - MESSAGES / 3);
        trial.drain();
        assertEquals("", trial.audit());
        trial.close();
        return trial.checksum();
    }

    private static long count(final MessagesTrial trial, final String name) {
        return trial.counts()[Arrays.asList(MessagesTrial.countNames()).indexOf(name)];
    }

    @ParameterizedTest
    @CsvSource({
        "alloc,heap,1", "alloc,native,1", "pool,array,1", "pool,heap,2", "pool,native,1", "mix,array,1",
        "mix,array,3", "netty,array,1", "netty,native,2"})
    void everyStrategyAndLayoutDoesTheSameWork(final String strategy, final String layout, final String threads) {
        assertEquals(CHECKSUM,
                checked(trial("strategy=" + strategy, "layout=" + layout, "threads=" + threads, "zeroing=1",
                        "prepared=100,100", "replacement=oldest")));
    }

    @Test
    void oneMessageUsedAgainDoesTheSameWorkWhereNothingIsInFlight() {
        final String[] nothing = {"in_flight=0", "kept_share=0.0", "kept_count=0"};
        final long alloc = checked(trial(nothing));
        final String[] reuse = Arrays.copyOf(nothing, 5);
        reuse[3] = "strategy=reuse";
        reuse[4] = "threads=2";
        assertEquals(alloc, checked(trial(reuse)));
        assertEquals(CHECKSUM, alloc, "what is read does not depend on how long it is kept");
    }

    @Test
    void smallPoolAllocatesBeyondItselfAndAFullOneDoesNot() {
        final MessagesTrial mix = trial("strategy=mix", "prepared=10,10");
        checked(mix);
        assertTrue(count(mix, "constructed") > 0 && count(mix, "discarded") > 0);
        final MessagesTrial pool = trial("strategy=pool");
        checked(pool);
        assertEquals(0, count(pool, "constructed"));
        assertEquals(1000L * (64 + 2048), count(pool, "pool_bytes"));
        assertTrue(count(pool, "wasted_bytes") > 0, "stores hold messages of 1500 bytes in 2048");
        final MessagesTrial small = trial("strategy=pool", "prepared=10,10");
        checked(small);
        assertTrue(count(small, "constructed") > 0, "a pool grows");
        assertEquals(0, count(small, "discarded"));
    }

    @Test
    void theLoopAllocatesNothingButWhatTheStrategyDoes() {
        final Settings settings = with("strategy=pool", "interval_ns=1000.0", "arrivals=poisson");
        final Loop loop = new Loop(settings, Sources.named(settings), new Sizes(settings, null), 0);
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final long self = Thread.currentThread().getId();
        loop.run(MESSAGES);
        loop.runFor(System.nanoTime(), 1_000_000);
        final long before = threads.getThreadAllocatedBytes(self);
        loop.run(3 * MESSAGES);
        final long ofRun = threads.getThreadAllocatedBytes(self) - before;
        loop.runFor(System.nanoTime(), 20_000_000);
        final long ofBoth = threads.getThreadAllocatedBytes(self) - before;
        assertTrue(loop.counters.received > MESSAGES);
        // Reading the counter, and what a window makes before its first message, are the only ones.
        assertTrue(ofRun < 1_000, ofRun + " bytes");
        assertTrue(ofBoth < 20_000, ofBoth + " bytes");
    }

    @Test
    void messagesThatWaitedTooLongAreLostAndTheBooksSaySo() {
        final MessagesTrial trial = trial("strategy=pool", "interval_ns=10.0", "delay_ns=100000", "sizes=1500",
                "thresholds=4294967296", "others=0", "capacities=2048", "prepared=1000");
        trial.runFor(20_000_000);
        trial.drain();
        assertEquals("", trial.audit());
        trial.close();
        assertEquals(2_000_000, count(trial, "generated"));
        assertTrue(count(trial, "lost") > 0);
        assertEquals(count(trial, "generated"), count(trial, "received") + count(trial, "lost"));
        final long[] delays = trial.delays();
        long messages = 0;
        for (int i = 1; i < delays.length; i += 2) {
            messages += delays[i];
        }
        assertEquals(count(trial, "received"), messages, "every message has a delay");
    }

    @ParameterizedTest
    @ValueSource(strings = {"steady", "poisson", "on_off"})
    void messagesComeAtTheRateThatWasAskedFor(final String kind) {
        final Settings settings = with("interval_ns=1000.0", "arrivals=" + kind, "burst_length=50", "threads=2");
        final Arrivals arrivals = Arrivals.of(settings, new Sizes(settings, null), 1, 1, 3);
        double last = -1;
        for (int i = 0; i < 50_000; i++) {
            final double next = arrivals.nextNs();
            assertTrue(next >= last, "times never go back");
            last = next;
        }
        assertEquals(100e6, last, 2e6);
    }

    @Test
    void aTraceGivesSizesTimesAndContents() {
        final ByteBuffer trace = ByteBuffer.allocateDirect(3 * Sizes.RECORD_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < 3; i++) {
            trace.putLong(i * 4_000L).putLong(i).putInt(64 + 8 * i).putInt(0);
        }
        final Settings settings = with("arrivals=captured", "time_scale=0.5", "strategy=pool");
        final Sizes sizes = new Sizes(settings, trace);
        final Arrivals arrivals = Arrivals.of(settings, sizes, 0, 0, 0);
        final double[] times = new double[5];
        Arrays.setAll(times, i -> arrivals.nextNs());
        assertEquals(Arrays.toString(new double[] {0, 2_000, 4_000, 6_000, 8_000}), Arrays.toString(times));
        assertEquals(80, sizes.length(5, 0));
        final MessagesTrial replay = new MessagesTrial(settings, trace, null);
        assertTrue(checked(replay) != CHECKSUM);
    }

    @Test
    void theRestOfTheProgramChangesAndMakesWhatWasAskedFor() throws InterruptedException {
        final Rest rest = new Rest(with("live_mb=2.0", "changed_mb_per_s=200.0", "garbage_mb_per_s=400.0"));
        rest.start();
        for (int i = 0; i < 10_000 && rest.changedBytes() < 1 << 20; i++) {
            Thread.sleep(1);
        }
        rest.stop();
        assertTrue(rest.changedBytes() >= 1 << 20);
        final double ratio = (double) rest.garbageBytes() / rest.changedBytes();
        assertEquals(2.0, ratio, 0.3);
    }

    @Test
    void aLeakIsFound() {
        assertTrue(faultOf(new Cheat(with("strategy=pool")) {
            @Override
            public void free(final Message message, final Counters counters) {
                if (counters.freed % 1_000 != 0) {
                    super.free(message, counters);
                }
            }
        }).startsWith("messages in stores and pools"));
    }

    @Test
    void aDoubleFreeIsFound() {
        final String line = faultOf(new Cheat(with("strategy=pool")) {
            @Override
            public void free(final Message message, final Counters counters) {
                super.free(message, counters);
                if (counters.freed == 15_000) {
                    super.free(message, counters);
                }
            }
        });
        assertTrue(line.contains("another place") || line.contains("handed out"), line);
    }

    @Test
    void aMessageHandedOutWhileItIsUsedIsFound() {
        final List<Message> last = new ArrayList<>();
        final String line = faultOf(new Cheat(with("strategy=pool")) {
            @Override
            public Message obtain(final int length, final Counters counters) {
                final Message message = super.obtain(length, counters);
                last.add(message);
                return counters.obtained == 5_000 ? last.get(4_900) : message;
            }
        });
        assertTrue(!line.isEmpty());
    }

    @Test
    void whatIsUnknownOrMissingIsToldInOneLine() {
        for (final String change : List.of("strategy=hoard", "layout=slab", "arrivals=tidal")) {
            final String line = assertThrows(RuntimeException.class, () -> {
                final MessagesTrial trial = trial(change, "interval_ns=1000.0");
                trial.runFor(1_000);
            }).getMessage();
            assertTrue(line.contains(change.substring(change.indexOf('=') + 1)), line);
        }
        assertTrue(assertThrows(IllegalArgumentException.class, () -> new MessagesTrial("seed=1", null)).getMessage()
                .contains("is missing"));
    }

    private static String faultOf(final Source source) {
        final MessagesTrial trial = new MessagesTrial(with("strategy=pool"), null, source);
        trial.run(MESSAGES);
        trial.drain();
        trial.close();
        return trial.audit();
    }

    /** A pool that its children make wrong. */
    private static class Cheat implements Source {
        private final Source honest;

        Cheat(final Settings settings) {
            honest = Sources.named(settings);
        }

        @Override
        public Message obtain(final int length, final Counters counters) {
            return honest.obtain(length, counters);
        }

        @Override
        public void free(final Message message, final Counters counters) {
            honest.free(message, counters);
        }

        @Override
        public long prepared() {
            return honest.prepared();
        }

        @Override
        public void forEachFree(final Consumer<Message> action) {
            honest.forEachFree(action);
        }
    }
}
