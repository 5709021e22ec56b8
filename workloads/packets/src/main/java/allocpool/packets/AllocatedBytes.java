package allocpool.packets;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/**
 * The bytes that one thread allocates on the Java heap between two points, by the JVM's own counters. What asking
 * costs is measured and left out. Not for the inside of a measured loop.
 */
public final class AllocatedBytes {
    private static final int TRIES = 10;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final long askingCosts;
    private long before;

    /**
     * A counter that has asked often enough to know what that costs.
     */
    public AllocatedBytes() {
        long least = Long.MAX_VALUE;
        for (int i = 0; i < TRIES; i++) {
            final long first = now();
            least = Math.min(least, now() - first);
        }
        askingCosts = least;
    }

    /**
     * Counts from here.
     */
    public void start() {
        before = now();
    }

    /**
     * What the calling thread allocated since it called {@link #start}.
     *
     * @return bytes
     */
    public long sinceStart() {
        return Math.max(0, now() - before - askingCosts);
    }

    private long now() {
        return threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    }
}
