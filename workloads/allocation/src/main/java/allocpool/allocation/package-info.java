/**
 * Buffers themselves: what it costs to obtain one, to write to it, and to live with many of mixed sizes.
 *
 * <p>All times are nanoseconds of {@link java.lang.System#nanoTime}, which is CLOCK_MONOTONIC on Linux. Records go to
 * memory that is there before the start, and measured loops allocate nothing but what they measure.
 */
package allocpool.allocation;
