/**
 * Sliding windows over simulated events on an embedded Hazelcast member: the pipeline of the Hazelcast Jet GC series
 * (parts 3 and 4, 2020) on the real engine.
 *
 * <p>Due times, window ends and latencies are nanoseconds of CLOCK_MONOTONIC ({@link System#nanoTime}); event time is
 * milliseconds since the trial's origin on the same clock.
 */
package allocpool.stream;
