package allocpool.packets;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Iterator;
import java.util.stream.Collectors;

/**
 * A {@link BatchTrial} in a plain {@code java} process, to be held against the same trial behind a bridge, and for
 * releases too old for one: warms up, measures, and prints what it measured as lines of a word and its numbers.
 */
public final class BatchMain {
    private static final String NONE = "-";

    private BatchMain() {}

    /**
     * Runs one trial.
     *
     * @param args layout, strategy, steps or {@code -}, sizes of pool, slots, queue and store, seed, whether aged,
     *     whether the pool is first in, first out, whether payloads are touched, whether views are lean, whether parse
     *     results are detached; packets of the warm-up and of the measured part,
     *     iterations of each; the file of a recording by Flight Recorder, or {@code -}
     * @throws IOException if the recording can't be written or read
     */
    public static void main(final String[] args) throws IOException {
        final Iterator<String> words = Arrays.asList(args).iterator();
        final String layout = words.next();
        final String strategy = words.next();
        final String steps = words.next();
        final Sizes sizes = new Sizes(Integer.parseInt(words.next()), Integer.parseInt(words.next()),
                Integer.parseInt(words.next()), Integer.parseInt(words.next()));
        final Options options = new Options(Long.parseLong(words.next()), steps.equals(NONE) ? null : steps,
                flag(words), flag(words), flag(words), flag(words), flag(words));
        final long warmup = Long.parseLong(words.next());
        final long measured = Long.parseLong(words.next());
        final int iterations = Integer.parseInt(words.next());
        final String recording = words.next();

        final PauseRecorder recorder = recording.equals(NONE) ? null : new PauseRecorder();
        final BatchTrial trial = new BatchTrial(layout, strategy, sizes, options, iterations);
        if (recorder != null) {
            recorder.start();
        }
        CpuCounters.processNs(); // loads what it needs
        final long beginNs = System.nanoTime();
        final long[] warmed = trial.runPackets(warmup, parts(warmup, iterations));
        final long threadNs = CpuCounters.threadNs();
        final long processNs = CpuCounters.processNs();
        final long[] record = trial.runPackets(measured, parts(measured, iterations));
        final long[] cpuNs = {CpuCounters.threadNs() - threadNs, CpuCounters.processNs() - processNs};
        final long endNs = System.nanoTime();
        Thread.getAllStackTraces(); // stops the threads: the log goes on beyond the window

        final PrintStream out = new PrintStream(System.out, false, "UTF-8");
        if (recorder != null) {
            print(out, "recorder", recorder.stop(Paths.get(recording)));
        }
        print(out, "window", beginNs, endNs);
        print(out, "warmup", warmed);
        print(out, "measured", record);
        print(out, "cpu", cpuNs);
        out.println("names " + String.join(" ", BatchTrial.countNames()));
        print(out, "counts", trial.counts());
        print(out, "checksum", trial.checksum());
        print(out, "allocated", trial.allocatedBytes());
        out.println("audit " + trial.audit());
        out.flush();
    }

    private static boolean flag(final Iterator<String> words) {
        return Boolean.parseBoolean(words.next());
    }

    private static long parts(final long packets, final int iterations) {
        return (packets + iterations - 1) / iterations;
    }

    private static void print(final PrintStream out, final String word, final long... numbers) {
        out.println(word + " " + Arrays.stream(numbers).mapToObj(Long::toString).collect(Collectors.joining(" ")));
    }
}
