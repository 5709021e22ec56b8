package allocpool.allocation;

import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;

/** The JVM's books of memory beside the heap: direct buffers and, where there are such, automatic arenas. */
public final class DirectMemory {
    private final BufferPoolMXBean books = ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .filter(pool -> "direct".equals(pool.getName()))
            .findFirst()
            .orElseThrow();

    /**
     * What was taken and not given back yet, dead buffers that no collection has found included.
     *
     * @return bytes
     */
    public long usedBytes() {
        return books.getMemoryUsed();
    }

    /**
     * The buffers that this is the memory of.
     *
     * @return how many
     */
    public long buffers() {
        return books.getCount();
    }

    /**
     * Their capacity.
     *
     * @return bytes
     */
    public long capacityBytes() {
        return books.getTotalCapacity();
    }
}
