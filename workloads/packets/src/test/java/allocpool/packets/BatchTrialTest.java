package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a caller gets from a batch trial: iterations, continued sequence numbers, and one line when wrong. */
class BatchTrialTest {
    private final BatchTrial trial = trial("heap", "alloc", 0, 0, 10, 10, 1, 20);

    @Test
    void shouldReceiveExactlyTheGivenPacketsInIterations() {
        final long[] record = trial.runPackets(2_500, 1_000);

        assertEquals(9, record.length);
        assertEquals(1_000, record[2]);
        assertEquals(1_000, record[5]);
        assertEquals(500, record[8]);
        assertEquals(2_500, trial.counts()[0]);
    }

    @Test
    void shouldRecordIterationsWithoutGaps() {
        final long before = System.nanoTime();
        final long[] record = trial.runPackets(20_000, 1_000);
        final long after = System.nanoTime();

        assertTrue(before <= record[0]);
        for (int i = 0; i < record.length; i += 3) {
            assertTrue(record[i] <= record[i + 1]);
            assertEquals(i + 3 < record.length ? record[i + 3] : record[i + 1], record[i + 1]);
        }
        assertTrue(record[record.length - 2] <= after);
    }

    @Test
    void shouldReceiveNothingWhenAskedForNothing() {
        assertEquals(0, trial.runPackets(0, 1_000).length);
        assertEquals(0, trial.counts()[0]);
        assertEquals(0, trial.checksum());
    }

    @Test
    void shouldRunUntilTheDurationHasPassed() {
        final long[] record = trial.runFor(20_000_000, 5_000_000);

        long packets = 0;
        for (int i = 0; i < record.length; i += 3) {
            final boolean last = i + 3 == record.length;
            assertTrue(last || record[i + 1] - record[i] >= 5_000_000);
            assertTrue(record[i + 2] > 0);
            assertEquals(0, record[i + 2] % 256);
            packets += record[i + 2];
        }
        assertTrue(record[record.length - 2] - record[0] >= 20_000_000);
        assertEquals(packets, trial.counts()[0]);
    }

    @Test
    void shouldContinueTheSequenceFromCallToCall() {
        final BatchTrial other = trial("heap", "alloc", 0, 0, 10, 10, 1, 20);

        trial.runFor(1_000_000, 1_000_000);
        trial.runPackets(1_234, 1_000);
        other.runPackets(trial.counts()[0], Long.MAX_VALUE);

        assertEquals(other.checksum(), trial.checksum());
        assertArrayEquals(other.counts(), trial.counts());
    }

    @Test
    void shouldDrawOtherPacketsFromAnotherSeed() {
        final BatchTrial other = trial("heap", "alloc", 0, 0, 10, 10, 2, 20);

        trial.runPackets(100, 100);
        other.runPackets(100, 100);

        assertFalse(trial.checksum() == other.checksum());
    }

    @Test
    void shouldKeepItsCountNamesToItself() {
        BatchTrial.countNames()[0] = "changed";

        assertEquals("received", BatchTrial.countNames()[0]);
    }

    @ParameterizedTest
    @CsvSource({
        "haep, pool, 100, 100, 10, 10, 1, heap",
        "heap, poll, 100, 100, 10, 10, 1, pool",
        "HEAP, pool, 100, 100, 10, 10, 1, heap",
        "heap, pool, 20, 0, 10, 10, 1, at least 21",
        "heap, mix, 0, 0, 10, 10, 1, at least 1",
        "heap, alloc, -1, 0, 10, 10, 1, at least 0",
        "heap, alloc, 0, -1, 10, 10, 1, at least 0",
        "heap, alloc, 0, 0, 0, 10, 1, at least 1",
        "heap, alloc, 0, 0, 10, 0, 1, at least 1",
        "heap, alloc, 0, 0, 10, 10, 0, at least 1",
        "heap, alloc, 0, 0, 10, 10, 2147483647, at most 715827882",
        "heap, pool, 2147483647, 0, 2147483647, 2147483647, 1, at least 4294967295",
        "native, alloc, 0, 20, 10, 10, 1, at least 21",
        "native, pool, 30, 29, 10, 10, 1, at least 30",
        "native, mix, 5, 20, 10, 10, 1, at least 21",
        "flat, alloc, 0, 100, 10, 10, 1, no strategy 'alloc'",
        "flat, pool, 30, 29, 10, 10, 1, at least 30",
        "flat, mix, 5, 20, 10, 10, 1, at least 21",
        "flat, mix, 5, 2000000, 10, 10, 1, at most 1973782",
    })
    void shouldRefuseInOneLineWhatIsImpossible(final String layout, final String strategy, final int poolSize,
            final int slotCount, final int queueSize, final int storedCount, final int maxIterations,
            final String expected) {
        final Exception e = assertThrows(IllegalArgumentException.class, () -> trial(layout, strategy,
                poolSize, slotCount, queueSize, storedCount, 1, maxIterations));

        assertTrue(e.getMessage().contains(expected), e.getMessage());
        assertFalse(e.getMessage().contains("\n"), e.getMessage());
    }

    @ParameterizedTest
    @CsvSource({
        "heap, 'contiguous', false, false, not to layout heap",
        "flat, 'contiguous,one_lime', false, false, 'choose from: contiguous, one_line, stride, prefetch'",
        "flat, '', false, false, unknown step ''",
        "flat, , true, false, no view of a payload",
        "flat, , false, true, no parse result",
    })
    void shouldRefuseInOneLineOptionsThatMakeNoSense(final String layout, final String steps, final boolean leanView,
            final boolean detached, final String expected) {
        final Exception e = assertThrows(IllegalArgumentException.class, () -> new BatchTrial(layout, "pool",
                new Sizes(30, 30, 10, 10), new Options(1, steps, true, false, false, leanView, detached), 1));

        assertTrue(e.getMessage().contains(expected), e.getMessage());
    }

    @ParameterizedTest
    @CsvSource({"heap, alloc", "heap, dummy", "flat, dummy"})
    void shouldRefuseAnOrderOfReuseWhereNothingIsPooled(final String layout, final String strategy) {
        final Options ring = Options.published(1).withFifo(true);

        assertThrows(IllegalArgumentException.class,
                () -> Processor.create(layout, strategy, new Sizes(30, 30, 10, 10), ring));
    }

    @ParameterizedTest
    @CsvSource({"-1, 1", "1, 0", "21, 1", "9223372036854775807, 256"})
    void shouldRefuseImpossibleRunsBeforeTheyStart(final long total, final long perIteration) {
        assertThrows(IllegalArgumentException.class, () -> trial.runPackets(total, perIteration));
        assertThrows(IllegalArgumentException.class, () -> trial.runFor(total, perIteration));
        assertEquals(0, trial.counts()[0]);
    }

    @Test
    void shouldRefuseToRunForNoTime() {
        assertThrows(IllegalArgumentException.class, () -> trial.runFor(0, 1));
    }

    @Test
    void shouldSayWhichNamesThereAre() {
        final Exception layout = assertThrows(IllegalArgumentException.class,
                () -> Processor.create("stack", "pool", new Sizes(21, 0, 10, 10), Options.published(1)));
        final Exception strategy = assertThrows(IllegalArgumentException.class,
                () -> Processor.create("heap", null, new Sizes(21, 0, 10, 10), Options.published(1)));

        assertEquals("unknown layout 'stack', choose one of: " + String.join(", ", Layout.all().keySet()),
                layout.getMessage());
        assertTrue(strategy.getMessage().startsWith("unknown strategy 'null', choose one of: dummy, alloc, "),
                strategy.getMessage());
    }

    private static BatchTrial trial(final String layout, final String strategy, final int poolSize,
            final int slotCount, final int queueSize, final int storedCount, final long seed, final int maxIterations) {
        return new BatchTrial(layout, strategy, new Sizes(poolSize, slotCount, queueSize, storedCount),
                Options.published(seed), maxIterations);
    }
}
