package allocpool.pools;

import static org.junit.jupiter.api.Assertions.assertThrows;

import allocpool.packets.FlatMemoryContract;
import org.junit.jupiter.api.Test;

/** The contract of flat memory in a buffer of Agrona. */
class AgronaFlatMemoryTest extends FlatMemoryContract {
    @Test
    void shouldRefuseMoreSlotsThanABufferHolds() {
        assertThrows(IllegalArgumentException.class, () -> new AgronaFlatMemory(2_000_000));
    }
}
