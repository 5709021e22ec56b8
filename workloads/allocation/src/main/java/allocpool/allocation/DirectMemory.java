package allocpool.allocation;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;

/** The JVM's counters of memory outside the heap: direct buffers and, where there are such, automatic arenas. */
public final class DirectMemory {
    private final BufferPoolMXBean counters = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> "direct".equals(pool.getName()))
            .findFirst()
            .orElseThrow();

    /**
     * What was taken and not given back yet, dead buffers that no collection has found included.
     *
     * @return bytes
     */
    public long usedBytes() {
        return counters.getMemoryUsed();
    }

    /**
     * The buffers that this is the memory of.
     *
     * @return how many
     */
    public long buffers() {
        return counters.getCount();
    }

    /**
     * Their capacity.
     *
     * @return bytes
     */
    public long capacityBytes() {
        return counters.getTotalCapacity();
    }
}
