package allocpool.threads;

import java.util.concurrent.locks.LockSupport;

/** What a thread does that waits for another one: it looks again at once, then lets others run, then sleeps. */
final class Idle {
    private static final int SPINS = 64;
    private static final int YIELDS = 16;
    private static final long SLEEP_NS = 20_000;

    private final Stop stop;
    private int rests;

    Idle(final Stop stop) {
        this.stop = stop;
    }

    /** Waits a little; throws when the trial has failed, for the one that is waited for may never come. */
    void rest() {
        stop.check();
        if (rests < SPINS) {
            Thread.onSpinWait();
        } else if (rests < SPINS + YIELDS) {
            Thread.yield();
        } else {
            LockSupport.parkNanos(SLEEP_NS);
        }
        rests++;
    }

    /** What was waited for came. */
    void reset() {
        rests = 0;
    }

    /** Whether the trial has failed, and how: the first failure of any thread. */
    static final class Stop {
        private volatile Throwable failure;

        void fail(final Throwable cause) {
            if (failure == null) {
                failure = cause;
            }
        }

        /** Ends the trial for the thread that drives it: an exhausted heap stays one. */
        void rethrow() {
            if (failure instanceof Error) {
                throw (Error) failure;
            }
            if (failure != null) {
                throw new IllegalStateException("a thread of the trial failed: " + failure, failure);
            }
        }

        void check() {
            if (failure != null) {
                throw new IllegalStateException("another thread failed", failure);
            }
        }
    }
}
