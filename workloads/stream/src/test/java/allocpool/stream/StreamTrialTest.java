package allocpool.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The real engine gives the known sums, window by window, whatever processors and aggregate. */
class StreamTrialTest {
    private static final long LENGTH_MS = 600;

    @ParameterizedTest
    @CsvSource({
        "boxed, cooperative, 1, 1, 20000, 100", "garbage_free, cooperative, 2, 2, 20000, 100",
        "boxed, native, 1, 1, 20000, 100", "garbage_free, native, 2, 1, 20000, 100",
        "garbage_free, cooperative, 1, 1, 777, 1000", "boxed, cooperative, 2, 1, 777, 1000",
        "boxed, platform, 1, 1, 20000, 100", "garbage_free, platform, 2, 2, 777, 1000"})
    void everyCountIsExactAndNoneComesBeforeItsWindowEnds(final String aggregate, final String processors,
            final int threads, final int sources, final long rate, final int keys) {
        try (StreamTrial trial = new StreamTrial(rate, keys, 100, 10, aggregate, threads, processors, sources, 300, 30,
                0, 200, LENGTH_MS, 20_000)) {
            trial.start();
            trial.join();
            assertEquals("", trial.fault());
            assertFalse(trial.hasGivenUp());
            final Events events = new Events(rate, keys, 100, 10, LENGTH_MS);
            long results = 0;
            for (long endMs = 10; endMs <= LENGTH_MS; endMs += 10) {
                results += events.keysIn(endMs);
            }
            assertEquals(results, trial.results());
            assertEquals(40, trial.latenciesNs().length);
            assertEquals(40, trial.firstsNs().length);
            for (final long latencyNs : trial.latenciesNs()) {
                assertTrue(latencyNs >= 0, "a result set before its window ended: " + latencyNs);
            }
            assertTrue(trial.sourceLagNs() >= 0);
        }
    }

    @ParameterizedTest
    @CsvSource({"boxed, cooperative, 1", "garbage_free, cooperative, 2", "garbage_free, native, 2",
        "boxed, platform, 2"})
    void aPipelineThatIsTooFarBehindIsGivenUp(final String aggregate, final String processors, final int threads) {
        try (StreamTrial trial = new StreamTrial(500_000_000, 100, 100, 10, aggregate, threads, processors,
                threads, 0, 0, 0, 0, 100, 1)) {
            trial.start();
            trial.join();
            assertTrue(trial.hasGivenUp());
        }
    }

    @Test
    void aTakenPortIsRefused() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            final Exception refused = assertThrows(Exception.class, () -> new StreamTrial(1000, 10, 100, 10, "boxed", 1,
                    "cooperative", 1, 0, 0, taken.getLocalPort(), 0, 100, 1000).close());
            assertTrue(refused.getMessage().contains(String.valueOf(taken.getLocalPort())), refused.getMessage());
        }
    }

    @Test
    void eventsAreArithmetic() {
        final Events events = new Events(3, 2, 2000, 1000, 4000);
        assertEquals(12, events.total);
        assertEquals(333_333_333, events.dueNs(1));
        assertEquals(1, events.firstAt(333));
        assertEquals(2, events.firstAt(334));
        assertEquals(2, events.expected(0, 1000));
        assertEquals(1, events.expected(1, 1000));
        assertEquals(3, events.expected(0, 2000));
        assertEquals(3, events.expected(1, 3000));
        assertEquals(2, events.keysIn(1000));
    }

    @Test
    void countersFindWhatIsWrong() {
        final Events events = new Events(1000, 2, 20, 10, 20);
        final Counters lost = new Counters(events, System.nanoTime(), 0, 20);
        lost.result(10, 0, 5);
        lost.complete(10);
        assertEquals("1 keys in the window to 10 ms, not 2", lost.fault());
        final Counters twice = new Counters(events, System.nanoTime(), 0, 20);
        twice.result(10, 0, 5);
        twice.result(10, 0, 5);
        twice.complete(10);
        assertNotEquals("", twice.fault());
        final Counters wrong = new Counters(events, System.nanoTime(), 0, 20);
        wrong.result(10, 1, 4);
        assertEquals("key 1 counts 4 in the window to 10 ms, not 5", wrong.fault());
        final Counters unfinished = new Counters(events, System.nanoTime(), 0, 20);
        assertEquals("windows to 0 ms came out, not to 20 ms", unfinished.fault());
    }
}
