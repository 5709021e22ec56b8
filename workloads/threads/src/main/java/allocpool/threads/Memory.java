package allocpool.threads;

import allocpool.packets.PacketFormat;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/** Makes messages and takes back what the collector does not; any thread may ask. */
abstract class Memory {
    static final int BYTES = PacketFormat.BUFFER_SIZE;

    /** A new message, whose content is arbitrary. */
    abstract Message construct();

    /** Called once for each message that is dropped. */
    void discard(final Message message) {
        // Unreachable is all that it takes.
    }

    /** That of a layout; {@code prepared} messages are made before the start. */
    static Memory named(final String layout, final int prepared) {
        switch (layout) {
            case "heap":
                return new Heap();
            case "native":
                return new Direct(prepared, false);
            case "flat":
                return new Direct(prepared, true);
            default:
                throw new IllegalArgumentException(
                        "unknown layout '" + layout + "', choose one of: heap, native, flat");
        }
    }

    /** Each message has an array. */
    private static final class Heap extends Memory {
        @Override
        Message construct() {
            return new BufferMessage(ByteBuffer.allocate(BYTES), -1);
        }
    }

    /**
     * Off the heap: slices of a few large buffers for those made before the start; beyond them each message has a
     * direct buffer of its own, which is freed when the message is dropped and not when a collection finds it.
     */
    private static final class Direct extends Memory {
        private static final int PER_REGION = 1 << 19;

        private final ByteBuffer[] regions;
        private final boolean flat;
        private final int prepared;
        private final AtomicLong made = new AtomicLong();
        private final Method invokeCleaner;
        private final Object unsafe;

        Direct(final int prepared, final boolean flat) {
            this.flat = flat;
            this.prepared = prepared;
            regions = new ByteBuffer[(prepared + PER_REGION - 1) / PER_REGION];
            for (int i = 0; i < regions.length; i++) {
                regions[i] = ByteBuffer.allocateDirect(Math.min(PER_REGION, prepared - i * PER_REGION) * BYTES);
            }
            try {
                // The one way from Java 11 to 25 to free a direct buffer at once; it is what Netty does, too.
                final Class<?> type = Class.forName("sun.misc.Unsafe");
                final Field field = type.getDeclaredField("theUnsafe");
                field.setAccessible(true);
                unsafe = field.get(null);
                invokeCleaner = type.getMethod("invokeCleaner", ByteBuffer.class);
            } catch (final ReflectiveOperationException e) {
                throw new IllegalStateException("This Java frees no direct buffer on demand", e);
            }
        }

        @Override
        Message construct() {
            if (made.get() < prepared) {
                final long number = made.getAndIncrement();
                if (number < prepared) {
                    final int offset = (int) (number % PER_REGION) * BYTES;
                    final ByteBuffer region = regions[(int) (number / PER_REGION)].duplicate();
                    region.limit(offset + BYTES).position(offset);
                    return over(region.slice(), number * BYTES);
                }
            }
            return over(ByteBuffer.allocateDirect(BYTES), -1);
        }

        private Message over(final ByteBuffer buffer, final long place) {
            return flat ? new FlatMessage(buffer, place) : new BufferMessage(buffer, place);
        }

        @Override
        void discard(final Message message) {
            final BufferMessage dropped = (BufferMessage) message;
            if (dropped.place >= 0) {
                return;
            }
            try {
                invokeCleaner.invoke(unsafe, dropped.buffer);
            } catch (final ReflectiveOperationException e) {
                throw new IllegalStateException("A direct buffer could not be freed", e);
            }
        }
    }
}
