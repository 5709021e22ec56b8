package allocpool.packets;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Trials as the published rows have them, their variants, and packets for a processor. */
public final class Trials {
    /** Bursts of these lengths, one after the other. */
    private static final int[] BURSTS = {1, 16, 2, 64, 7};

    private Trials() {
    }

    /**
     * A trial with the options of the published rows.
     *
     * @param layout name of a layout
     * @param strategy name of a strategy
     * @param sizes of pool, slots, queue and store
     * @param seed of all draws
     * @return the trial
     */
    public static BatchTrial published(final String layout, final String strategy, final Sizes sizes, final long seed) {
        return trial(layout, strategy, sizes, Options.published(seed));
    }

    static BatchTrial trial(final String layout, final String strategy, final Sizes sizes, final Options options) {
        return new BatchTrial(layout, strategy, sizes, options, 100);
    }

    static Processor processor(final String layout, final String strategy, final Sizes sizes, final Options options) {
        return Processor.create(layout, strategy, sizes, options);
    }

    /** Every way in which a trial of a layout may differ from the published row. */
    static List<Options> variants(final Layout layout, final String strategy, final long seed) {
        final List<Options> stacks = variants(layout, seed);
        return "mix".equals(strategy) || "pool".equals(strategy)
                ? Stream.concat(stacks.stream(), stacks.stream().map(options -> options.withFifo(true)))
                        .collect(Collectors.toList())
                : stacks;
    }

    private static List<Options> variants(final Layout layout, final long seed) {
        final Options fresh = new Options(seed, null, false, false, false);
        if (!(layout instanceof FlatLayout)) {
            final List<Options> variants = new ArrayList<>(List.of(fresh, new Options(seed, null, true, true, false),
                    new Options(seed, null, true, false, true), new Options(seed, null, false, true, true)));
            if (!layout.name().startsWith("netty")) {
                variants.add(Options.published(seed).detached());
                variants.add(new Options(seed, null, true, true, true).detached());
            }
            return variants;
        }
        final Options[] variants = new Options[1 << 4];
        Arrays.setAll(variants, i -> new Options(seed, "contiguous" + step(i, 0, "one_line") + step(i, 1, "stride")
                + step(i, 2, "prefetch"), i % 2 == 0, i >> 3 == 1, false));
        return List.of(variants);
    }

    private static String step(final int chosen, final int bit, final String name) {
        return (chosen >> bit & 1) == 1 ? "," + name : "";
    }

    /** Hands on every {@code step}-th sequence number from {@code from} on, below {@code to}, in bursts. */
    static void feed(final Processor processor, final long from, final long to, final int step) {
        long next = from;
        for (int burst = 0; next < to; burst++) {
            final long[] sequences = new long[BURSTS[burst % BURSTS.length]];
            int count = 0;
            for (; count < sequences.length && next < to; next += step) {
                sequences[count++] = next;
            }
            processor.receive(sequences, count);
        }
    }
}
