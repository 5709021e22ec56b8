package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertAll;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The contract: every layout and every strategy does the same work, and gives back what it takes. A jar that adds
 * layouts runs it by a test class in their package, for each that its services file names.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class SameWork {
    /** The most packets of a trial that is made in every variant. */
    private static final int SHORT = 10_000;
    /** The most packets of a trial that is split: what is left is larger, and no different where it is cut. */
    private static final int SPLIT = 20_000;

    /** For subclasses. */
    protected SameWork() {
    }

    /** The layouts in the package of a test, by name. */
    static Stream<Map.Entry<String, Layout>> layoutsBeside(final Class<?> test) {
        return Layout.all().entrySet().stream()
                .filter(layout -> layout.getValue().getClass().getPackage().equals(test.getPackage()));
    }

    /** Names of each of these layouts and of each of its strategies. */
    static Stream<Arguments> withEveryStrategy(final Stream<Map.Entry<String, Layout>> layouts) {
        return layouts.flatMap(layout -> layout.getValue().strategies().stream()
                .map(strategy -> Arguments.of(layout.getKey(), strategy.toString())));
    }

    final Stream<Arguments> everySolution() {
        return withEveryStrategy(layoutsBeside(getClass()));
    }

    final Stream<Arguments> everyHonestSolution() {
        return everySolution().filter(solution -> isHonest((String) solution.get()[1]));
    }

    final Stream<Arguments> everyTrial() {
        return withEveryVector(everySolution());
    }

    final Stream<Arguments> everyHonestTrial() {
        return withEveryVector(everyHonestSolution());
    }

    final Stream<Arguments> everySplitTrial() {
        return everyHonestTrial().filter(trial -> vectorOf(trial).packets <= SPLIT);
    }

    final Stream<Arguments> everyShortHonestTrial() {
        return everyHonestTrial().filter(trial -> vectorOf(trial).packets <= SHORT && vectorOf(trial).evicted() > 0);
    }

    private static Vectors.Vector vectorOf(final Arguments trial) {
        return (Vectors.Vector) trial.get()[2];
    }

    private static Stream<Arguments> withEveryVector(final Stream<Arguments> solutions) {
        return solutions.flatMap(solution -> Vectors.all().stream()
                .map(vector -> Arguments.of(solution.get()[0], solution.get()[1], vector)));
    }

    /** Whether its packets are real: those of the dummy are one. */
    private static boolean isHonest(final String strategy) {
        return !"dummy".equals(strategy);
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @MethodSource("everyTrial")
    void shouldDoTheWorkOfTheModelAndGiveBackWhatItTakes(final String layout, final String strategy,
            final Vectors.Vector vector) {
        final BatchTrial trial = vector.trial(layout, strategy);

        trial.runPackets(vector.packets, 10_000);

        final Map<String, Long> counts = counts(trial);
        assertAll(
                () -> assertEquals("", trial.audit()),
                () -> assertEquals(vector.packets, counts.get("received"), "received"),
                () -> assertEquals(vector.packets, counts.get("allocated"), "allocated"),
                () -> assertEquals(Math.max(0, vector.packets - vector.queueSize), counts.get("parsed"), "parsed"),
                () -> assertEquals(counts.get("allocated"), counts.get("freed") + counts.get("live"), "freed, live"),
                () -> constructedAndDiscardedAsTheStrategySays(strategy, vector, counts));
        if (isHonest(strategy)) {
            assertAll(
                    () -> assertEquals(Long.toHexString(vector.checksum), Long.toHexString(trial.checksum())),
                    () -> assertEquals(vector.counts, Stream.of("received", "parsed", "tcp", "evicted", "freed", "live")
                            .map(counts::get).collect(Collectors.toList())));
        }
    }

    private static void constructedAndDiscardedAsTheStrategySays(final String strategy, final Vectors.Vector vector,
            final Map<String, Long> counts) {
        switch (strategy) {
            case "alloc":
                // A memory that ages by what lives in it has made the first packets before the start.
                final long prepared = counts.get("allocated") - counts.get("constructed");
                final long most = Math.min(counts.get("allocated"), vector.mostInUse());
                assertTrue(prepared == 0 || prepared == most, "constructed");
                assertEquals(counts.get("freed"), counts.get("discarded"), "discarded");
                break;
            case "mix":
                final long mostInUse = Math.min(counts.get("received"),
                        counts.get("live") + (counts.get("freed") > 0 ? 1 : 0));
                assertEquals(Math.max(0, mostInUse - vector.poolSize("mix")), counts.get("constructed"), "constructed");
                assertEquals(0, counts.get("discarded"), "discarded");
                break;
            default:
                assertEquals(0, counts.get("constructed"), "constructed");
                assertEquals(0, counts.get("discarded"), "discarded");
                break;
        }
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @MethodSource("everySplitTrial")
    void shouldNotDependOnHowThePacketsAreSplitIntoCalls(final String layout, final String strategy,
            final Vectors.Vector vector) {
        final BatchTrial trial = vector.trial(layout, strategy);

        final long first = vector.packets / 3;
        trial.runPackets(first, 7_777);
        trial.checksum();
        trial.audit();
        trial.runPackets(vector.packets - first, 7_777);

        assertEquals(vector.checksum, trial.checksum());
        assertEquals(vector.checksum, trial.checksum(), "asking twice");
        assertEquals("", trial.audit());
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @MethodSource("everyShortHonestTrial")
    void shouldDoTheSameWorkInEveryVariant(final String layout, final String strategy, final Vectors.Vector vector) {
        for (final Options options : Trials.variants(Layout.named(layout), strategy, vector.seed)) {
            final BatchTrial trial = vector.trial(layout, strategy, options);

            trial.runPackets(vector.packets, 10_000);

            final String variant = options.steps + (options.aged ? " aged" : " fresh") + (options.fifo ? " fifo" : "");
            assertEquals("", trial.audit(), variant);
            assertEquals(vector.checksum(options), trial.checksum(), variant);
        }
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everyHonestSolution")
    void shouldTakeSequenceNumbersWithGaps(final String layout, final String strategy) {
        for (final int bufferBytes : new int[] {PacketFormat.BUFFER_SIZE, PacketFormat.MOST_BYTES}) {
            final Sizes sizes = new Sizes(201, 201, 100, 100, bufferBytes);
            final Processor processor = Trials.processor(layout, strategy, sizes, Options.published(42));

            Trials.feed(processor, 0, 15_000, 3);

            assertEquals("3d09513698d5c56", Long.toHexString(processor.checksum()));
            assertEquals("", processor.audit());
        }
    }

    private static Map<String, Long> counts(final BatchTrial trial) {
        final List<String> names = Arrays.asList(BatchTrial.countNames());
        final long[] values = trial.counts();
        assertEquals(names.size(), values.length);
        final Map<String, Long> counts = new LinkedHashMap<>();
        for (int i = 0; i < values.length; i++) {
            counts.put(names.get(i), values[i]);
        }
        return counts;
    }
}
