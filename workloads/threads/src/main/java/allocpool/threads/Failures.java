package allocpool.threads;

/** A thread's failure, told by another one. */
final class Failures {
    private Failures() {
    }

    /** What can be thrown in place of it: an exhausted heap stays one. */
    static RuntimeException of(final Throwable failure) {
        if (failure instanceof Error) {
            throw (Error) failure;
        }
        return new IllegalStateException("a thread of the trial failed: " + failure, failure);
    }
}
