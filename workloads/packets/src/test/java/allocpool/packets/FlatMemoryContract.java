package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

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
    private static final int SLOTS = 3;
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
        final BatchTrial trial = new BatchTrial(layout, strategy, 3_000, 3_000, 1_000, 1_000, 3, 100);

        assertEquals(0, leastAllocated(trial, () -> trial.runPackets(200_000, 10_000)));
        assertEquals(0, leastAllocated(trial, () -> trial.runFor(20_000_000, 1_000_000)));
    }

    /**
     * What every run allocates, in bytes. One may allocate what no later one does: before the JVM first compiles a
     * method, it makes the string constants of its class in the thread that called it.
     */
    private static long leastAllocated(final BatchTrial trial, final Runnable run) {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < RUNS; i++) {
            run.run();
            least = Math.min(least, trial.allocatedBytes());
        }
        return least;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("everyLayout")
    void shouldKeepSlotsApart(final String name, final FlatLayout layout) {
        final FlatMemory memory = layout.allocate(SLOTS);

        memory.putLong(1, 0, -1);
        memory.putByte(1, FlatMemory.BUFFER + PacketFormat.BUFFER_SIZE - 1, (byte) -1);
        memory.putByte(1, FlatMemory.STRIDE - 1, (byte) -1);

        for (final int slot : new int[] {0, 2}) {
            for (int offset = 0; offset < FlatMemory.STRIDE; offset++) {
                assertEquals(0, memory.getByte(slot, offset));
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("everyLayout")
    void shouldStoreNumbersInNetworkByteOrder(final String name, final FlatLayout layout) {
        final FlatMemory memory = layout.allocate(SLOTS);

        memory.putLong(1, 8, 0x0102030405060708L);
        memory.putInt(1, 16, 0x090A0B0C);

        for (int i = 0; i < 12; i++) {
            assertEquals(i + 1, memory.getByte(1, 8 + i));
        }
        assertEquals(0x0102030405060708L, memory.getLong(1, 8));
        assertEquals(0x090A0B0C, memory.getInt(1, 16));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("everyLayout")
    void shouldRefuseASlotThatIsNotThere(final String name, final FlatLayout layout) {
        final FlatMemory memory = layout.allocate(SLOTS);

        assertThrows(IndexOutOfBoundsException.class, () -> memory.getByte(SLOTS, FlatMemory.ALIGNMENT));
        assertThrows(IndexOutOfBoundsException.class, () -> memory.getByte(0, -1));
    }
}
