package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How far apart packets lie that are processed one after the other. */
class DisorderTest {
    private static final int QUEUE = 1_000;
    private static final Sizes SIZES = new Sizes(3_000, 3_001, QUEUE, 1_000);

    @Test
    void shouldBeTheMeanOverNeighboursInTheOrderOfTheQueue() {
        final long[] addresses = {40, Disorder.NONE, 100, 70};

        assertEquals(30, Disorder.mean(4, 2, place -> addresses[place]));
        assertEquals(Double.NaN, Disorder.mean(1, 0, place -> 5));
        assertEquals(7, Disorder.mean(1_000_000, 999_999, place -> 7L * place + (place == 999_999 ? -7_000_000 : 0)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldBeOneSlotWhereAFreshPoolIsHandedOut(final boolean fifo) {
        final Options fresh = new Options(1, "contiguous", false, false, false).withFifo(fifo);

        assertEquals(PacketFormat.BUFFER_SIZE, afterFilling("flat", "pool", fresh).disorderBytes());
    }

    @Test
    void shouldBeAThirdOfAShuffledPool() {
        final double bytes = afterFilling("flat", "pool", new Options(1, "contiguous", true, false, false))
                .disorderBytes();

        assertEquals(1_000.0 * PacketFormat.BUFFER_SIZE, bytes, 100.0 * PacketFormat.BUFFER_SIZE);
    }

    @ParameterizedTest
    @CsvSource({"heap, alloc", "heap, pool"})
    void shouldBeThatOfObjectsOnTheJavaHeap(final String layout, final String strategy) {
        final double bytes = afterFilling(layout, strategy, new Options(1, null, false, false, false)).disorderBytes();

        // A packet with its buffer and array; some neighbours lie in other regions.
        assertTrue(bytes >= PacketFormat.BUFFER_SIZE && bytes < 64 * PacketFormat.BUFFER_SIZE, bytes + " bytes");
        final double shuffled = afterFilling(layout, "pool", Options.published(1)).disorderBytes();
        assertTrue(shuffled > 500 * PacketFormat.BUFFER_SIZE, shuffled + " bytes");
    }

    @Test
    void shouldBeNoneOfOnePacketAndUnknownOfAnEmptyQueue() {
        assertEquals(0, afterFilling("heap", "dummy", Options.published(1)).disorderBytes());
        assertEquals(Double.NaN, Trials.trial("heap", "pool", SIZES, Options.published(1)).disorderBytes());
    }

    private static BatchTrial afterFilling(final String layout, final String strategy, final Options options) {
        final BatchTrial trial = Trials.trial(layout, strategy, SIZES, options);
        trial.runPackets(QUEUE, QUEUE);
        return trial;
    }
}
