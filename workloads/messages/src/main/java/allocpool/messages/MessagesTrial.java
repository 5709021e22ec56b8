package allocpool.messages;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/**
 * One trial: loops that take messages as fast as they go, or when they are due. The signatures keep to primitives,
 * strings and {@code long[]}, for callers from Python. A trial belongs to the thread that made it.
 */
public final class MessagesTrial implements AutoCloseable {
    private static final String[] COUNTS = {
        "generated", "received", "lost", "read", "kept", "evicted", "obtained", "freed", "constructed", "discarded",
        "prepared", "in_flight", "in_store", "pooled", "wasted_bytes", "pool_bytes", "changed_bytes",
        "garbage_bytes"};

    private final Source source;
    private final List<Loop> loops = new ArrayList<>();
    private final Rest rest;
    private final ExecutorService team;
    private long numbered;

    /**
     * Makes all that is there before the first message.
     *
     * @param lines settings as {@code name=value}, one a line
     * @param trace messages in place of drawn ones, or null
     * @throws IllegalArgumentException if a setting is missing or unknown, in one line
     */
    public MessagesTrial(final String lines, final ByteBuffer trace) {
        this(new Settings(lines), trace, null);
    }

    /** With a strategy of the caller's, or one by name where {@code given} is null. */
    MessagesTrial(final Settings settings, final ByteBuffer trace, final Source given) {
        source = given == null ? Sources.named(settings) : given;
        final Sizes sizes = new Sizes(settings, trace);
        rest = new Rest(settings);
        final int threads = settings.count("threads");
        final AtomicInteger number = new AtomicInteger();
        team = Executors.newFixedThreadPool(threads, task -> {
            final Thread thread = new Thread(task, "allocpool-" + number.getAndIncrement());
            thread.setDaemon(true);
            return thread;
        });
        for (int i = 0; i < threads; i++) {
            loops.add(new Loop(settings, source, sizes, i));
        }
    }

    /**
     * Handles the next messages on all threads, as fast as they go.
     *
     * @param messages how many
     * @return start and end in nanoseconds of {@link System#nanoTime} (CLOCK_MONOTONIC on Linux)
     * @throws IllegalStateException if a thread failed
     */
    public long[] run(final long messages) {
        final long start = System.nanoTime();
        numbered += messages;
        onAll(loop -> loop.run(numbered));
        return new long[] {start, System.nanoTime()};
    }

    /**
     * Takes messages when they are due, for so long; those that waited too long are lost.
     *
     * @param lengthNs nanoseconds in which messages come due
     * @return start and end in nanoseconds of {@link System#nanoTime}
     * @throws IllegalStateException if a thread failed
     */
    public long[] runFor(final long lengthNs) {
        final long start = System.nanoTime();
        onAll(loop -> loop.runFor(start, lengthNs));
        return new long[] {start, System.nanoTime()};
    }

    /**
     * The rest of the program begins.
     */
    public void startRest() {
        rest.start();
    }

    /**
     * The rest of the program ends.
     */
    public void stopRest() {
        rest.stop();
    }

    /**
     * Reads all that is in flight.
     *
     * @throws IllegalStateException if a thread failed
     */
    public void drain() {
        onAll(Loop::drain);
    }

    /**
     * What was counted since the start; what lies where by walking.
     *
     * @return numbers, in the order of {@link #countNames}; free messages are -1 where a library does not report it
     */
    public long[] counts() {
        final long[] free = new long[1];
        source.forEachFree(message -> free[0]++);
        final long held = source.heldBytes();
        return new long[] {
            total(each -> each.due), total(each -> each.received), total(each -> each.lost),
            total(each -> each.read), total(each -> each.kept), total(each -> each.evicted),
            total(each -> each.obtained), total(each -> each.freed), total(each -> each.constructed),
            total(each -> each.discarded), source.prepared(),
            loops.stream().mapToLong(Loop::inFlight).sum(), loops.stream().mapToLong(Loop::inStore).sum(),
            source.tellsFree() ? free[0] : -1, total(each -> each.wastedBytes),
            held + total(each -> each.heldBytes), rest.changedBytes(), rest.garbageBytes()};
    }

    /**
     * The names of the counts.
     *
     * @return in the order of {@link #counts}
     */
    public static String[] countNames() {
        return COUNTS.clone();
    }

    /**
     * The sum over all messages that were read, of a hash of number, content and length: the same in any order.
     *
     * @return 64 bits
     */
    public long checksum() {
        return total(each -> each.sum);
    }

    /**
     * Delays of the last window with due times, from when a message was due until it had been handled.
     *
     * @return nanoseconds and how many messages, in turn, the shortest first
     */
    public long[] delays() {
        final Histogram all = new Histogram(loops.get(0).delays);
        for (final Loop loop : loops) {
            all.add(loop.delays);
        }
        final List<Long> pairs = new ArrayList<>();
        for (final HistogramIterationValue value : all.recordedValues()) {
            pairs.add(value.getValueIteratedTo());
            pairs.add(value.getCountAtValueIteratedTo());
        }
        return pairs.stream().mapToLong(Long::longValue).toArray();
    }

    /**
     * Checks, after {@link #drain}, that what was read is what was written, that stores hold what was put there, that
     * no message is in two places and none is missing, and that the counts agree.
     *
     * @return the first thing found wrong, in one line, or the empty string
     */
    public String audit() {
        final Set<Message> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        final Finding finding = new Finding();
        final long[] numbers = new long[1];
        for (final Loop loop : loops) {
            loop.forEachStored(message -> {
                finding.require(seen.add(message), "a message in a store is in another place too");
                numbers[0] += message.word(0);
            });
        }
        final long stored = seen.size();
        source.forEachFree(message ->
                finding.require(seen.add(message), "a free message is in another place too: it was freed twice"));
        finding.equal("messages received", total(each -> each.received), total(each -> each.due - each.lost));
        finding.equal("messages read", total(each -> each.read), total(each -> each.received));
        finding.equal("messages obtained", total(each -> each.obtained), total(each -> each.received));
        finding.equal("messages in stores", stored, total(each -> each.kept - each.evicted));
        finding.equal("messages freed", total(each -> each.freed), total(each -> each.obtained) - stored);
        finding.require(checksum() == total(each -> each.expectedSum),
                "what was read is not what was written: a message was handed out while it was in flight");
        finding.require(numbers[0] == total(each -> each.storeSum),
                "a message in a store, or one that left it, was written to while it was there");
        if (source.tellsFree()) {
            finding.equal("messages in stores and pools", seen.size(),
                    source.prepared() + total(each -> each.constructed - each.discarded));
        }
        return finding.line;
    }

    private void onAll(final Consumer<Loop> task) {
        final List<Future<?>> running = new ArrayList<>();
        for (final Loop loop : loops) {
            running.add(team.submit(() -> task.accept(loop)));
        }
        for (final Future<?> one : running) {
            try {
                one.get();
            } catch (final InterruptedException e) {
                throw new IllegalStateException("a thread of the trial was interrupted", e);
            } catch (final ExecutionException e) {
                if (e.getCause() instanceof Error) {
                    throw (Error) e.getCause();
                }
                throw new IllegalStateException("a thread of the trial failed: " + e.getCause(), e);
            }
        }
    }

    private long total(final ToLongFunction<Counters> of) {
        return loops.stream().mapToLong(loop -> of.applyAsLong(loop.counters)).sum();
    }

    @Override
    public void close() {
        team.shutdown();
    }

    /** The first thing that is wrong. */
    private static final class Finding {
        private String line = "";

        void require(final boolean holds, final String otherwise) {
            if (!holds && line.isEmpty()) {
                line = otherwise;
            }
        }

        void equal(final String what, final long actual, final long expected) {
            require(actual == expected, what + ": " + actual + ", expected " + expected);
        }
    }
}
