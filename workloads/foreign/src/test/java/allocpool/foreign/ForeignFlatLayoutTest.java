package allocpool.foreign;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import allocpool.packets.BatchTrial;
import allocpool.packets.FlatMemory;
import allocpool.packets.SameWork;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract, and what a segment must do for it. */
class ForeignFlatLayoutTest extends SameWork {
    ForeignFlatLayoutTest() {
        super("flat_ffm");
    }

    @ParameterizedTest
    @ValueSource(strings = {"dummy", "mix", "pool"})
    void shouldAllocateNotOneByte(final String strategy) {
        final BatchTrial trial = new BatchTrial("flat_ffm", strategy, 3_000, 3_000, 1_000, 1_000, 3, 100);
        trial.runPackets(200_000, 10_000);
        trial.runFor(10_000_000, 1_000_000);

        trial.runPackets(200_000, 10_000);
        assertEquals(0, trial.allocatedBytes());
        trial.runFor(20_000_000, 1_000_000);
        assertEquals(0, trial.allocatedBytes());
    }

    @Test
    void shouldKeepSlotsApartAndNumbersInNetworkByteOrder() {
        final SegmentMemory memory = new SegmentMemory(3);

        memory.putLong(1, 0, 0x0102030405060708L);
        memory.putInt(1, 8, 0x090A0B0C);
        memory.putByte(1, FlatMemory.STRIDE - 1, (byte) -1);

        for (int i = 0; i < 12; i++) {
            assertEquals(i + 1, memory.getByte(1, i));
        }
        assertEquals(0x0102030405060708L, memory.getLong(1, 0));
        assertEquals(0x090A0B0C, memory.getInt(1, 8));
        for (final int slot : new int[] {0, 2}) {
            for (int offset = 0; offset < FlatMemory.STRIDE; offset++) {
                assertEquals(0, memory.getByte(slot, offset));
            }
        }
        assertThrows(IndexOutOfBoundsException.class, () -> memory.getByte(3, 0));
    }
}
