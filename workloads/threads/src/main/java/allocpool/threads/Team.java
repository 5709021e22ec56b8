package allocpool.threads;

import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.function.IntConsumer;

/**
 * Platform threads that stay: they all run one task after the other, and rest between. Netty knows them as its own,
 * as it does those of its users: on others its recycler and its adaptive allocator keep nothing for a thread.
 */
final class Team {
    private final CyclicBarrier start;
    private final CyclicBarrier end;
    private final Idle.Stop stop;
    private volatile IntConsumer task;

    Team(final int size, final Idle.Stop stop) {
        this.stop = stop;
        start = new CyclicBarrier(size + 1);
        end = new CyclicBarrier(size + 1);
        for (int i = 0; i < size; i++) {
            final int number = i;
            final Thread thread = new FastThreadLocalThread(() -> live(number), "allocpool-" + number);
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Each thread runs the task with its number, from 0; returns when all have. */
    void run(final IntConsumer next) {
        task = next;
        await(start);
        await(end);
        stop.rethrow();
    }

    private void live(final int number) {
        while (true) {
            await(start);
            final IntConsumer now = task;
            if (now == null) {
                return;
            }
            try {
                now.accept(number);
            } catch (final Throwable failure) {
                stop.fail(failure);
            }
            await(end);
        }
    }

    /** Lets the threads go. */
    void dismiss() {
        task = null;
        await(start);
    }

    private static void await(final CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (final InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException("a thread of the trial was interrupted", e);
        }
    }
}
