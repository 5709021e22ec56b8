package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is free lies in the order that every language draws from the seed. */
class AgeingTest {
    private static final Sizes SIZES = new Sizes(1_000, 1_200, 400, 500);

    static Stream<Order> everyOrder() {
        return Vectors.rows("/ageing-vectors.csv", "seed,count,first,checksum_hex", Order::new).stream();
    }

    @ParameterizedTest
    @MethodSource("everyOrder")
    void shouldShuffleLikeTheModel(final Order order) {
        final int[] numbers = IntStream.range(0, order.count).toArray();

        Ageing.shuffle(numbers, order.count, order.seed);

        assertArrayEquals(order.first, Arrays.copyOf(numbers, order.first.length));
        long checksum = 0;
        for (int i = 0; i < order.count; i++) {
            checksum = Checksum.fold(checksum, numbers[i], i);
        }
        assertEquals(order.checksum, checksum);
    }

    @Test
    void shouldShuffleNothingBeyondTheCount() {
        final int[] numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

        Ageing.shuffle(numbers, 10, 7);

        assertArrayEquals(new int[] {7, 1, 2, 3, 5, 0, 4, 9}, Arrays.copyOf(numbers, 8));
        assertEquals(10, numbers[10]);
        assertEquals(11, numbers[11]);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldPutThePoolAndTheRestOfTheSlotsIntoThatOrder(final boolean aged) {
        final FlatProcessor flat = (FlatProcessor) Trials.processor("flat", "pool", SIZES, options(aged));
        final ObjectProcessor objects = (ObjectProcessor) Trials.processor("native", "pool", SIZES, options(aged));

        final int[] pool = flat.source.pool.slots;
        for (int i = 0; i < pool.length; i++) {
            assertEquals(pool[i], ((ByteBufferPacket) objects.strategy.stack[i]).slot);
        }
        assertArrayEquals(ordered(IntStream.range(0, 1_000), aged), pool);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldConstructFromSlotsInThatOrder(final boolean aged) {
        final ObjectProcessor alloc = (ObjectProcessor) Trials.processor("native", "alloc", SIZES, options(aged));
        final FlatProcessor mix = (FlatProcessor) Trials.processor("flat", "mix", new Sizes(1, 1_001, 400, 500),
                options(aged));

        final int[] allocated = ordered(IntStream.range(0, 1_200).map(i -> 1_199 - i), aged);
        final int[] rest = ordered(IntStream.range(0, 1_000).map(i -> 1_000 - i), aged);
        for (int i = 0; i < 10; i++) {
            assertEquals(allocated[1_199 - i], ((ByteBufferPacket) alloc.strategy.make()).slot);
            assertEquals(rest[999 - i], mix.source.make());
        }
    }

    private static Options options(final boolean aged) {
        return new Options(-1, null, aged, false, false);
    }

    private static int[] ordered(final IntStream fresh, final boolean aged) {
        final int[] order = fresh.toArray();
        if (aged) {
            Ageing.shuffle(order, order.length, -1);
        }
        return order;
    }

    /** One row. */
    static final class Order {
        final long seed;
        final int count;
        final int[] first;
        final long checksum;

        Order(final String row) {
            final String[] fields = row.split(",");
            seed = Long.parseLong(fields[0]);
            count = Integer.parseInt(fields[1]);
            first = Arrays.stream(fields[2].split(" ")).mapToInt(Integer::parseInt).toArray();
            checksum = Long.parseUnsignedLong(fields[3], 16);
        }

        @Override
        public String toString() {
            return "seed " + seed + ", " + count + " things";
        }
    }
}
