package allocpool.echo;

/** A server with a thread of its own that accepts connections. */
abstract class AcceptingServer implements Server {
    private static final int PAUSE_MS = 10;

    final ServerCounts counts;
    private final Thread acceptor;

    AcceptingServer(final String threadName, final ServerCounts counts) {
        this.counts = counts;
        acceptor = new Thread(this::run, threadName);
    }

    /** What the thread does until the server is stopped. */
    abstract void run();

    /** Starts the thread: the last that a constructor does. */
    final void start() {
        acceptor.start();
    }

    /** Waits for the end of the thread. */
    final void join() throws InterruptedException {
        acceptor.join();
    }

    /**
     * Counts a connection that could not be accepted, and waits a little: no descriptor is left, the connection stays
     * in the kernel's queue until one is given back, and a loop without a pause mends nothing.
     */
    final void refuse() {
        counts.refused.increment();
        try {
            Thread.sleep(PAUSE_MS);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
