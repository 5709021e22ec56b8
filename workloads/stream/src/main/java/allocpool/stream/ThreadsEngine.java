package allocpool.stream;

import com.hazelcast.jet.aggregate.AggregateOperation1;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * The same keyed window step without an engine: sources, window steps and a sink are threads that wait for each other
 * at bounded queues, platform threads or virtual ones (JEP 444).
 */
final class ThreadsEngine implements Engine {
    private static final int QUEUED_BATCHES = 64;
    private static final int BATCH = 1024;
    private static final long SHORTEST_PARK_NS = 50_000;

    private final Events events;
    private final long windowMs;
    private final String aggregate;
    private final int threads;
    private final ThreadFactory factory;
    private final List<Thread> started = new ArrayList<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    ThreadsEngine(final Events events, final long windowMs, final String aggregate, final int threads,
            final boolean virtual) {
        this.events = events;
        this.windowMs = windowMs;
        this.aggregate = aggregate;
        this.threads = threads;
        this.factory = virtual ? VirtualThreads.factory() : Thread::new;
    }

    @Override
    public void start(final Counters counters, final long originNs, final long giveUpNs) {
        final List<BlockingQueue<Batch>> steps = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            steps.add(new ArrayBlockingQueue<>(QUEUED_BATCHES));
        }
        final BlockingQueue<Batch> results = new ArrayBlockingQueue<>(QUEUED_BATCHES);
        run(() -> sink(counters, results));
        for (int i = 0; i < threads; i++) {
            final int index = i;
            run(() -> step(Counting.named(aggregate), index, steps.get(index), results));
            run(() -> source(counters, index, steps, originNs, giveUpNs));
        }
    }

    /** A part of the pipeline that may be interrupted. */
    private interface Part {
        void run() throws InterruptedException;
    }

    private void run(final Part part) {
        final Thread thread = factory.newThread(() -> {
            try {
                part.run();
            } catch (final InterruptedException e) {
                failure.compareAndSet(null, e);
            } catch (final RuntimeException | Error e) {
                failure.compareAndSet(null, e);
                close();
            }
        });
        synchronized (started) {
            started.add(thread);
        }
        thread.start();
    }

    private void source(final Counters counters, final int index, final List<BlockingQueue<Batch>> steps,
            final long originNs, final long giveUpNs) throws InterruptedException {
        final Object[][] items = new Object[steps.size()][BATCH];
        final int[] counts = new int[steps.size()];
        long next = index;
        long watermarkMs = 0;
        boolean over = false;
        while (!over) {
            final long nowNs = System.nanoTime() - originNs;
            if (nowNs > giveUpNs - originNs) {
                counters.giveUp();
                break;
            }
            for (int sent = 0; sent < BATCH && events.dueNs(next) <= nowNs && next < events.total; sent++) {
                final int target = (int) (next % events.keys % steps.size());
                items[target][counts[target]++] = next;
                next += threads;
            }
            final long dueNs = events.dueNs(next);
            final long reachedMs = Math.min(dueNs, nowNs) / 1_000_000 / events.slideMs * events.slideMs;
            over = next >= events.total && dueNs <= nowNs;
            for (int target = 0; target < counts.length; target++) {
                if (counts[target] > 0 || reachedMs > watermarkMs) {
                    final Object[] full = Arrays.copyOf(items[target], counts[target]);
                    steps.get(target).put(new Batch(index, full, reachedMs, false));
                    counts[target] = 0;
                }
            }
            watermarkMs = Math.max(watermarkMs, reachedMs);
            if (over) {
                counters.sourceEnded(System.nanoTime() - originNs - dueNs);
            } else if (dueNs > nowNs) {
                LockSupport.parkNanos(Math.max(SHORTEST_PARK_NS, dueNs - nowNs));
            }
        }
        for (final BlockingQueue<Batch> step : steps) {
            step.put(new Batch(index, new Object[0], watermarkMs, true));
        }
    }

    private <A> void step(final AggregateOperation1<Long, A, Long> counting, final int index,
            final BlockingQueue<Batch> input, final BlockingQueue<Batch> output) throws InterruptedException {
        final WindowStep<A> step = new WindowStep<>(events, windowMs, counting);
        final Watermarks watermarks = new Watermarks(threads);
        while (!watermarks.ended()) {
            final Batch batch = input.take();
            for (final Object event : batch.items) {
                step.accept((Long) event);
            }
            for (final long upToMs = watermarks.update(batch); step.reachedMs() + events.slideMs <= upToMs;) {
                final Object[] results = step.advance();
                output.put(new Batch(index, results, step.reachedMs(), false));
            }
        }
        output.put(new Batch(index, new Object[0], step.reachedMs(), true));
    }

    private void sink(final Counters counters, final BlockingQueue<Batch> input) throws InterruptedException {
        final Watermarks watermarks = new Watermarks(threads);
        while (!watermarks.ended()) {
            final Batch batch = input.take();
            for (final Object item : batch.items) {
                final Result result = (Result) item;
                counters.result(result.endMs, result.key, result.count);
            }
            counters.complete(watermarks.update(batch));
        }
    }

    @Override
    public void join() {
        try {
            for (final Thread thread : started) {
                thread.join();
            }
        } catch (final InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
        if (failure.get() != null) {
            throw new IllegalStateException(failure.get().toString(), failure.get());
        }
    }

    @Override
    public void close() {
        synchronized (started) {
            started.forEach(Thread::interrupt);
        }
    }

    /** Items from one thread, and how far it is in event time. */
    private static final class Batch {
        private final int from;
        private final Object[] items;
        private final long watermarkMs;
        private final boolean last;

        Batch(final int from, final Object[] items, final long watermarkMs, final boolean last) {
            this.from = from;
            this.items = items;
            this.watermarkMs = watermarkMs;
            this.last = last;
        }
    }

    /** How far all the threads upstream are. */
    private static final class Watermarks {
        private final long[] reachedMs;
        private int running;

        Watermarks(final int upstream) {
            reachedMs = new long[upstream];
            running = upstream;
        }

        long update(final Batch batch) {
            reachedMs[batch.from] = Math.max(reachedMs[batch.from], batch.watermarkMs);
            running -= batch.last ? 1 : 0;
            long least = Long.MAX_VALUE;
            for (final long each : reachedMs) {
                least = Math.min(least, each);
            }
            return least;
        }

        boolean ended() {
            return running == 0;
        }
    }
}
