package allocpool.stream;

/** What runs a trial's pipeline. */
interface Engine {
    /**
     * Starts the pipeline.
     *
     * @param counters where results go
     * @param originNs when event 0 is due
     * @param giveUpNs when the sources stop if they are still behind
     */
    void start(Counters counters, long originNs, long giveUpNs);

    /** Waits until the last window is out, or the pipeline was given up. */
    void join();

    /** Ends whatever still runs. */
    void close();
}
