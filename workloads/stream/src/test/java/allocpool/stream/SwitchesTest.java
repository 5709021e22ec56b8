package allocpool.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Turns end after so many, whoever takes them. */
class SwitchesTest {
    @ParameterizedTest
    @ValueSource(strings = {"tasklets", "platform"})
    void everyPartyTakesTurnsUntilThereWereEnough(final String way) throws Exception {
        final long[] percentiles = Switches.measure(way, 3, 2000);
        assertEquals(3, percentiles.length);
        assertTrue(percentiles[0] > 0 && percentiles[0] <= percentiles[1] && percentiles[1] <= percentiles[2]);
    }

    @Test
    void anUnknownWayIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> Switches.measure("fibres", 2, 10));
    }

    @Test
    void anEmptyIntervalIsNotNegative() {
        assertTrue(Switches.emptyNs()[0] >= 0);
    }
}
