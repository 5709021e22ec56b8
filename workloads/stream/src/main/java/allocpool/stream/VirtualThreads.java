package allocpool.stream;

import java.util.concurrent.ThreadFactory;

/** Virtual threads, found by name: this module is compiled for Java 17, and they came with 21. */
final class VirtualThreads {
    private VirtualThreads() {
    }

    /** What makes them. */
    static ThreadFactory factory() {
        try {
            final Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            final Class<?> type = Class.forName("java.lang.Thread$Builder");
            return (ThreadFactory) type.getMethod("factory").invoke(builder);
        } catch (final ReflectiveOperationException e) {
            throw new IllegalArgumentException("this Java has no virtual threads: choose 21 or newer", e);
        }
    }
}
