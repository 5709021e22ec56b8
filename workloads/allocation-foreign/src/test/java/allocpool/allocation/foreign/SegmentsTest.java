package allocpool.allocation.foreign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocpool.allocation.AccessTrial;
import allocpool.allocation.AllocationTrial;
import allocpool.allocation.FragmentationTrial;
import allocpool.allocation.Pool;
import allocpool.allocation.SizedBuffers;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Segments are buffers like others. */
class SegmentsTest {
    private static final int BYTES = 1000;
    private static final int SLOTS = 300;

    @ParameterizedTest
    @ValueSource(strings = {"arena_confined", "arena_auto", "arena_slicing"})
    void shouldBeApartFromEachOther(final String technique) {
        for (final String touch : new String[] {"none", "first", "page", "zero"}) {
            final AllocationTrial trial =
                    new AllocationTrial(Segments.named(technique, BYTES, SLOTS), touch, BYTES, SLOTS, 10);
            assertEquals("", trial.verify());
            assertTrue(trial.runFor(5_000_000, 1_000_000, Long.MAX_VALUE).length > 0);
        }
    }

    @Test
    void shouldBePooled() {
        final Pool pool = new Pool(Segments.named("arena_confined", BYTES, SLOTS), SLOTS);
        final AllocationTrial trial = new AllocationTrial(pool, "first", BYTES, SLOTS, 10);
        assertEquals("", trial.verify());
        assertEquals("", trial.verify());
    }

    @ParameterizedTest
    @ValueSource(strings = {"write", "random_write", "copy"})
    void shouldHoldTheSameContentAsTheHeap(final String operation) {
        final AccessTrial segment = new AccessTrial(new SegmentPair(BYTES), operation, BYTES, 10);
        final AccessTrial heap = new AccessTrial(AccessTrial.memory("heap", BYTES), operation, BYTES, 10);
        assertEquals(heap.checksumAfter(3), segment.checksumAfter(3));
    }

    @ParameterizedTest
    @ValueSource(strings = {"arena_confined", "arena_auto"})
    void shouldComeInMixedSizesLikeArrays(final String technique) {
        final FragmentationTrial segments = churned(SizedSegments.named(technique));
        assertEquals("", segments.audit());
        assertEquals(churned(SizedBuffers.named("byte_array")).checksum(), segments.checksum());
    }

    private static FragmentationTrial churned(final SizedBuffers memory) {
        final FragmentationTrial trial = new FragmentationTrial(memory, 5000, 1);
        final long[] records = trial.run(new int[] {64, 100, 200, 1000}, 1 << 20, 4 << 20, 0, 4);
        assertEquals(4 * FragmentationTrial.RECORD, records.length);
        return trial;
    }

    @Test
    void shouldNameTheValidChoices() {
        assertThrows(IllegalArgumentException.class, () -> SizedSegments.named("arena_of_gladiators"));
        assertThrows(IllegalArgumentException.class, () -> Segments.named("arena_of_gladiators", 1, 1));
    }
}
