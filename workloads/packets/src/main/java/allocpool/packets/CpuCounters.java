package allocpool.packets;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/** CPU time by the JVM's own counters, to be held against the kernel's. */
public final class CpuCounters {
    private CpuCounters() {}

    /**
     * What the calling thread took since it began.
     *
     * @return nanoseconds
     */
    public static long threadNs() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    /**
     * What all threads of the process took since it began, those that ended among them.
     *
     * @return nanoseconds
     */
    public static long processNs() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }
}
