package allocpool.echo;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;

/** The threads that hold conversations. */
final class Workers {
    private Workers() {}

    /** Threads of a kind: "platform", all of them started now, or "virtual", one for each conversation. */
    static ExecutorService of(final String kind, final int count) {
        switch (kind) {
            case "platform":
                final ThreadPoolExecutor pool = (ThreadPoolExecutor) Executors.newFixedThreadPool(count);
                pool.prestartAllCoreThreads();
                return pool;
            case "virtual":
                return virtual();
            default:
                throw new IllegalArgumentException("unknown threads " + kind + ": choose one of platform, virtual");
        }
    }

    /** Found by name: this class is compiled for Java 11, and virtual threads came with 21 (JEP 444). */
    private static ExecutorService virtual() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (final NoSuchMethodException e) {
            throw new IllegalArgumentException("this Java has no virtual threads: choose 21 or newer", e);
        } catch (final IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException(e);
        }
    }
}
