package allocpool.messages;

/** When messages of one thread are due, in nanoseconds from the start of a window. */
abstract class Arrivals {
    /** When the next one is due; never before the one before it. */
    abstract double nextNs();

    /**
     * Those of one window of a trial.
     *
     * @param settings of the trial
     * @param sizes what knows the times of a trace
     * @param thread which of the threads
     * @param first number of the first message of this thread
     * @param window how many windows came before
     */
    static Arrivals of(final Settings settings, final Sizes sizes, final int thread, final long first,
            final long window) {
        final int threads = settings.count("threads");
        final double everyNs = settings.number("interval_ns") * threads;
        final double beginNs = settings.number("interval_ns") * thread;
        final String arrivals = settings.text("arrivals");
        switch (arrivals) {
            case "steady":
                return new Bursts(beginNs, everyNs, 1, 1);
            case "on_off":
                return new Bursts(beginNs, everyNs, Math.max(1, settings.whole("burst_length") / threads),
                        settings.number("on_share"));
            case "poisson":
                return new Poisson(everyNs, Mix.draw(settings.whole("seed") ^ 0x504F_4953_534F_4EL, window) + thread);
            case "captured":
                return new Captured(sizes, settings.number("time_scale"), first, threads);
            default:
                throw new IllegalArgumentException("unknown arrivals '" + arrivals
                        + "', choose one of: steady, poisson, on_off, captured");
        }
    }

    /** So many at a time, evenly spread over a share of their time; one at a time is steady. */
    private static final class Bursts extends Arrivals {
        private final double beginNs;
        private final double everyNs;
        private final long length;
        private final double onShare;
        private long burst;
        private long within;

        Bursts(final double beginNs, final double everyNs, final long length, final double onShare) {
            this.beginNs = beginNs;
            this.everyNs = everyNs;
            this.length = length;
            this.onShare = onShare;
        }

        @Override
        double nextNs() {
            final double dueNs = beginNs + (burst * (double) length + within * onShare) * everyNs;
            within++;
            if (within == length) {
                within = 0;
                burst++;
            }
            return dueNs;
        }
    }

    /** Independent exponential gaps. */
    private static final class Poisson extends Arrivals {
        private final double everyNs;
        private final long seed;
        private long ordinal;
        private double dueNs;

        Poisson(final double everyNs, final long seed) {
            this.everyNs = everyNs;
            this.seed = seed;
        }

        @Override
        double nextNs() {
            dueNs -= Math.log(1 - Mix.unit(Mix.draw(seed, ordinal))) * everyNs;
            ordinal++;
            return dueNs;
        }
    }

    /** As in a trace. */
    private static final class Captured extends Arrivals {
        private final Sizes sizes;
        private final double scale;
        private final int threads;
        private final long beginNs;
        private long number;

        Captured(final Sizes sizes, final double scale, final long first, final int threads) {
            this.sizes = sizes;
            this.scale = scale;
            this.threads = threads;
            number = first;
            beginNs = sizes.capturedNs(first);
        }

        @Override
        double nextNs() {
            final double dueNs = (sizes.capturedNs(number) - beginNs) * scale;
            number += threads;
            return dueNs;
        }
    }
}
