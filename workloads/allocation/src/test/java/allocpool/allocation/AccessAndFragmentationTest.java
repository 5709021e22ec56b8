package allocpool.allocation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** All memories end with the same content, and mixed sizes stay within their live set. */
class AccessAndFragmentationTest {
    private static final int BYTES = 5000;

    @ParameterizedTest
    @ValueSource(strings = {"write", "random_write", "copy"})
    void shouldWriteTheSameToEveryMemory(final String operation) {
        final AccessTrial heap = access("heap", operation);
        final AccessTrial direct = access("direct", operation);
        heap.runFor(1_000_000, 500_000);
        assertEquals(0, heap.checksumAfter(0));
        assertNotEquals(0, heap.checksumAfter(1));
        assertNotEquals(heap.checksumAfter(1), heap.checksumAfter(2));
        assertEquals(heap.checksumAfter(3), direct.checksumAfter(3));
    }

    @ParameterizedTest
    @ValueSource(strings = {"byte_array", "direct_buffer"})
    void shouldKeepTheBytesAliveConstant(final String technique) {
        final FragmentationTrial trial = new FragmentationTrial(SizedBuffers.named(technique), 5000, 42);
        final long[] records = trial.run(new int[] {64, 100, 200, 1000}, 1 << 20, 8 << 20, 0, 8);
        assertEquals(8 * FragmentationTrial.RECORD, records.length);
        for (int at = FragmentationTrial.RECORD; at < records.length; at += FragmentationTrial.RECORD) {
            assertTrue(records[at + 5] > (1 << 20) - 1000 && records[at + 5] <= 1 << 20);
            assertTrue(records[at + 7] <= records[at + 8] && records[at + 8] <= records[at + 9]);
            assertTrue("byte_array".equals(technique) ? records[at + 11] == -1 : records[at + 11] >= records[at + 5]);
            assertTrue(records[at + 12] > 0 && records[at + 12] <= records[at + 13]);
        }
        assertEquals("", trial.audit());
    }

    @Test
    void shouldDependOnNothingButTheSeed() {
        assertEquals(checksum("byte_array", 1), checksum("byte_array", 1));
        assertEquals(checksum("byte_array", 1), checksum("direct_buffer", 1));
        assertNotEquals(checksum("byte_array", 1), checksum("byte_array", 2));
    }

    @Test
    void shouldNameTheValidChoices() {
        assertThrows(IllegalArgumentException.class, () -> access("stone", "write"));
        assertThrows(IllegalArgumentException.class, () -> access("heap", "read"));
        assertThrows(IllegalArgumentException.class, () -> SizedBuffers.named("stone"));
    }

    private static long checksum(final String technique, final long seed) {
        final FragmentationTrial trial = new FragmentationTrial(SizedBuffers.named(technique), 5000, seed);
        trial.run(new int[] {64, 100, 200, 1000}, 1 << 20, 4 << 20, 0, 4);
        return trial.checksum();
    }

    private static AccessTrial access(final String memory, final String operation) {
        return new AccessTrial(AccessTrial.memory(memory, BYTES), operation, BYTES, 10);
    }
}
