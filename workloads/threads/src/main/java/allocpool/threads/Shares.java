package allocpool.threads;

/** Sizes of a trial, and what of them falls to each worker. */
final class Shares {
    final int threads;
    final int queueSize;
    final int storeSize;
    final long seed;

    Shares(final int threads, final int queueSize, final int storeSize, final long seed) {
        this.threads = threads;
        this.queueSize = queueSize;
        this.storeSize = storeSize;
        this.seed = seed;
    }

    int queueOfEach() {
        return Math.max(1, queueSize / threads);
    }

    Worker worker(final User user, final int ring) {
        return new Worker(user, queueOfEach(), Math.max(1, storeSize / threads), seed + ring);
    }
}
