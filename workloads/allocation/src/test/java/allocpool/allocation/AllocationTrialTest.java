package allocpool.allocation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A trial does the work that it reports; one that skips it is found out. */
class AllocationTrialTest {
    private static final int BYTES = 1000;
    private static final int SLOTS = 400;
    private static final long RUN_NS = 20_000_000;

    @ParameterizedTest
    @CsvSource({"byte_array, 1016", "heap_buffer, 1050", "direct_buffer, 60"})
    void shouldAllocateWhatTheArithmeticSays(final String technique, final long leastBytes) {
        final AllocationTrial trial = trial(Techniques.named(technique, BYTES));
        assertEquals("", trial.verify());
        trial.runFor(RUN_NS, RUN_NS, Long.MAX_VALUE);

        final long[] records = trial.runFor(RUN_NS, RUN_NS / 4, Long.MAX_VALUE);
        final long each = trial.allocatedBytes() / buffers(records);
        assertTrue(each >= leastBytes && each < leastBytes + 200, each + " bytes each");
    }

    @Test
    void shouldFindOutAnAllocationThatIsSkipped() {
        final byte[] only = new byte[BYTES];
        final AllocationTrial trial = trial(new Cheat(only));
        assertNotEquals("", trial.verify());

        final long[] records = trial.runFor(RUN_NS, RUN_NS, Long.MAX_VALUE);
        assertTrue(trial.allocatedBytes() / buffers(records) < 12, "the JVM's counter must give it away as well");
    }

    @Test
    void shouldFindOutABufferThatIsTooSmall() {
        assertNotEquals("", trial(new ByteArrays(BYTES - 1)).verify());
    }

    @Test
    void shouldCountDirectMemoryWhileItIsAlive() {
        final AllocationTrial trial = trial(Techniques.named("direct_buffer", BYTES));
        assertEquals("", trial.verify());
        assertTrue(trial.directBuffersHeld() >= SLOTS);
        assertTrue(trial.directBytesHeld() >= (long) SLOTS * BYTES);
    }

    @ParameterizedTest
    @ValueSource(strings = {"byte_array", "heap_buffer", "direct_buffer"})
    void shouldAllocateNothingFromAPool(final String technique) {
        final AllocationTrial trial = trial(new Pool(Techniques.named(technique, BYTES), SLOTS));
        assertEquals("", trial.verify());
        final long[] records = trial.runFor(RUN_NS, RUN_NS, Long.MAX_VALUE);
        assertTrue(trial.allocatedBytes() < buffers(records), trial.allocatedBytes() + " bytes");
    }

    @ParameterizedTest
    @EnumSource(Touch.class)
    void shouldTouchAsAsked(final Touch touch) {
        final byte[] array = new byte[2 * Touch.PAGE_BYTES];
        array[7] = 5;
        new ByteArrays(array.length).touch(array, touch);
        assertEquals(touch == Touch.FIRST || touch == Touch.PAGE ? 1 : 0, array[0]);
        assertEquals(touch == Touch.PAGE ? 1 : 0, array[Touch.PAGE_BYTES]);
        assertEquals(touch == Touch.ZERO ? 0 : 5, array[7]);
    }

    @Test
    void shouldEndEarlyWhenMemoryIsNeverFreed() {
        final long[] records = trial(new ByteArrays(BYTES)).runFor(Long.MAX_VALUE, 1, 3 * SLOTS);
        assertEquals(3 * SLOTS, buffers(records));
    }

    @Test
    void shouldNameTheValidChoices() {
        assertTrue(assertThrows(IllegalArgumentException.class, () -> Techniques.named("stone", 1))
                .getMessage()
                .contains("byte_array, heap_buffer, direct_buffer"));
        assertTrue(assertThrows(IllegalArgumentException.class, () -> Touch.named("lick"))
                .getMessage()
                .contains("none, first, page, zero"));
    }

    private static AllocationTrial trial(final BufferSource buffers) {
        return new AllocationTrial(buffers, "none", BYTES, SLOTS, 100);
    }

    private static long buffers(final long[] records) {
        long count = 0;
        for (int at = 2; at < records.length; at += AllocationTrial.RECORD) {
            count += records[at];
        }
        return count;
    }

    /** The mutation: one array for all, which is what escape analysis would love to do. */
    private static final class Cheat implements BufferSource {
        private final byte[] only;

        Cheat(final byte[] only) {
            this.only = only;
        }

        @Override
        public Object obtain() {
            return only;
        }

        @Override
        public void release(final Object buffer) {
            // Nothing was obtained.
        }

        @Override
        public void touch(final Object buffer, final Touch touch) {
            ByteArrays.write((byte[]) buffer, touch);
        }

        @Override
        public long bytes(final Object buffer) {
            return ((byte[]) buffer).length;
        }
    }
}
