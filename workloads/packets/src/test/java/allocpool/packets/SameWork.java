package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
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
 * layouts runs it for these.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class SameWork {
    private final List<String> layouts;

    /**
     * The contract of some layouts, each with all its strategies.
     *
     * @param layouts names of layouts
     */
    protected SameWork(final String... layouts) {
        this.layouts = Arrays.asList(layouts);
    }

    final Stream<Arguments> everySolution() {
        return layouts.stream().flatMap(layout ->
                Vectors.strategies(layout).stream().map(strategy -> Arguments.of(layout, strategy)));
    }

    final Stream<Arguments> everyHonestSolution() {
        return everySolution().filter(SameWork::isHonest);
    }

    final Stream<Arguments> everyTrial() {
        return everySolution().flatMap(solution -> Vectors.all().stream()
                .map(vector -> Arguments.of(solution.get()[0], solution.get()[1], vector)));
    }

    final Stream<Arguments> everyHonestTrial() {
        return everyTrial().filter(SameWork::isHonest);
    }

    private static boolean isHonest(final Arguments arguments) {
        return !"dummy".equals(arguments.get()[1]);
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @MethodSource("everyHonestTrial")
    void shouldEndWithTheChecksumOfTheModel(final String layout, final String strategy,
            final Vectors.Vector vector) {
        final BatchTrial trial = vector.trial(layout, strategy);

        trial.runPackets(vector.packets, 10_000);

        assertEquals(Long.toHexString(vector.checksum), Long.toHexString(trial.checksum()));
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @MethodSource("everyHonestTrial")
    void shouldEndWithTheCountsOfTheModel(final String layout, final String strategy,
            final Vectors.Vector vector) {
        final BatchTrial trial = vector.trial(layout, strategy);

        trial.runPackets(vector.packets, 10_000);

        final Map<String, Long> counts = counts(trial);
        assertEquals(vector.counts, Stream.of("received", "parsed", "tcp", "evicted", "freed", "live")
                .map(counts::get).collect(Collectors.toList()));
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @MethodSource("everyTrial")
    void shouldGiveBackWhatItTakes(final String layout, final String strategy, final Vectors.Vector vector) {
        final BatchTrial trial = vector.trial(layout, strategy);

        trial.runPackets(vector.packets, 10_000);

        final Map<String, Long> counts = counts(trial);
        assertEquals(vector.packets, counts.get("received"));
        assertEquals(vector.packets, counts.get("allocated"));
        assertEquals(Math.max(0, vector.packets - vector.queueSize), counts.get("parsed"));
        assertEquals(counts.get("allocated"), counts.get("freed") + counts.get("live"));
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @MethodSource("everyTrial")
    void shouldPassTheAudit(final String layout, final String strategy, final Vectors.Vector vector) {
        final BatchTrial trial = vector.trial(layout, strategy);

        trial.runPackets(vector.packets, 10_000);

        assertEquals("", trial.audit());
    }

    @ParameterizedTest(name = "{0} {1}: {2}")
    @MethodSource("everyHonestTrial")
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
    @MethodSource("everyHonestTrial")
    void shouldConstructAndDiscardAsTheStrategySays(final String layout, final String strategy,
            final Vectors.Vector vector) {
        final BatchTrial trial = vector.trial(layout, strategy);

        trial.runPackets(vector.packets, 10_000);

        final Map<String, Long> counts = counts(trial);
        switch (strategy) {
            case "alloc":
                assertEquals(counts.get("allocated"), counts.get("constructed"));
                assertEquals(counts.get("freed"), counts.get("discarded"));
                break;
            case "mix":
                final long mostInUse = Math.min(counts.get("received"),
                        counts.get("live") + (counts.get("freed") > 0 ? 1 : 0));
                assertEquals(Math.max(0, mostInUse - vector.poolSize("mix")), counts.get("constructed"));
                assertEquals(0, counts.get("discarded"));
                break;
            default:
                assertEquals(0, counts.get("constructed"));
                assertEquals(0, counts.get("discarded"));
                break;
        }
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everyHonestSolution")
    void shouldTakeSequenceNumbersWithGaps(final String layout, final String strategy) {
        final Processor processor = Processor.create(layout, strategy, 201, 201, 100, 100, 42);

        for (long sequence = 0; sequence < 15_000; sequence += 3) {
            processor.receive(sequence);
        }

        assertEquals("3d09513698d5c56", Long.toHexString(processor.checksum()));
        assertEquals("", processor.audit());
    }

    private static Map<String, Long> counts(final BatchTrial trial) {
        final List<String> names = new ArrayList<>(Arrays.asList(BatchTrial.countNames()));
        final long[] values = trial.counts();
        assertEquals(names.size(), values.length);
        final Map<String, Long> counts = new LinkedHashMap<>();
        for (int i = 0; i < values.length; i++) {
            counts.put(names.get(i), values[i]);
        }
        return counts;
    }
}
