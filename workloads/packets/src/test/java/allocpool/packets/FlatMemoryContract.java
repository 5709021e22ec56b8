package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The contract of flat memory, whatever it is reached through. A jar that adds flat layouts runs it by a test class in
 * their package, for each that its services file names.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class FlatMemoryContract {
    private static final int BYTES = 3_264;
    private static final int RUNS = 5;

    /** For subclasses. */
    protected FlatMemoryContract() {
    }

    final Stream<Arguments> everySolution() {
        return SameWork.withEveryStrategy(flatLayouts());
    }

    final Stream<Arguments> everyLayout() {
        return flatLayouts().map(layout -> Arguments.of(layout.getKey(), layout.getValue()));
    }

    private Stream<Map.Entry<String, Layout>> flatLayouts() {
        return SameWork.layoutsBeside(getClass()).filter(layout -> layout.getValue() instanceof FlatLayout);
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldAllocateNotOneByte(final String layout, final String strategy) {
        for (final Options options : List.of(Options.published(3), new Options(3, "contiguous", false, true, false))) {
            final Sizes sizes = new Sizes(3_000, 3_000, 1_000, 1_000);
            final BatchTrial trial = Trials.trial(layout, strategy, sizes, options);

            assertEquals(0, leastAllocated(trial, () -> trial.runPackets(100_000, 10_000)));
            assertEquals(0, leastAllocated(trial, () -> trial.runFor(20_000_000, 1_000_000)));
        }
    }

    /**
     * What every run allocates, in bytes, so that one without any decides. One may allocate what no later one does:
     * before the JVM first compiles a method, it makes the string constants of its class in the thread that called it.
     */
    private static long leastAllocated(final BatchTrial trial, final Runnable run) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < RUNS && least > 0; i++) {
            run.run();
            least = Math.min(least, trial.allocatedBytes());
        }
        return least;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("everyLayout")
    void shouldStoreNumbersInNetworkByteOrderAndWordsOfPayloadInTheOther(final String name, final FlatLayout layout) {
        final FlatMemory memory = layout.allocate(BYTES);

        memory.putLong(8, 0x0102030405060708L);
        memory.putWord(19, 0x0B0A090807060504L);

        for (int i = 0; i < 8; i++) {
            assertEquals(i + 1, memory.getByte(8 + i));
            assertEquals(i + 4, memory.getByte(19 + i));
        }
        assertEquals(0x0102030405060708L, memory.getLong(8));
        assertEquals(0x0B0A090807060504L, memory.getWord(19));
        assertEquals(0, memory.getByte(7) | memory.getByte(16) | memory.getByte(18) | memory.getByte(27));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("everyLayout")
    void shouldRefuseWhatIsOutsideOfTheRegion(final String name, final FlatLayout layout) {
        final FlatMemory memory = layout.allocate(BYTES);

        assertThrows(IndexOutOfBoundsException.class, () -> memory.getByte(BYTES));
        assertThrows(IndexOutOfBoundsException.class, () -> memory.getByte(-1));
    }
}
