package allocpool.messages;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.Arrays;
import java.util.function.Consumer;

/** The strategies by name, but the pools of our own. */
final class Sources {
    private Sources() {
    }

    static Source named(final Settings settings) {
        final Memory memory = Memory.named(settings.text("layout"));
        final boolean zeroing = settings.isOn("zeroing");
        final String strategy = settings.text("strategy");
        switch (strategy) {
            case "alloc":
                return new Alloc(memory);
            case "pool":
            case "mix":
                final Pool pool = new Pool(memory, settings.counts("capacities"), settings.counts("prepared"),
                        strategy.equals("pool"), zeroing, settings.whole("seed"));
                return settings.whole("threads") == 1 ? pool : new Shared(pool);
            case "netty":
                return new Netty(memory, zeroing);
            case "reuse":
                return new Reuse(memory, settings.counts("capacities"), settings.count("threads"), zeroing);
            default:
                throw new IllegalArgumentException(
                        "unknown strategy '" + strategy + "', choose one of: alloc, pool, mix, netty, reuse");
        }
    }

    /** {@code alloc}: a fresh message each time, as long as it must be. */
    private static final class Alloc implements Source {
        private final Memory memory;

        Alloc(final Memory memory) {
            this.memory = memory;
        }

        @Override
        public Message obtain(final int length, final Counters counters) {
            counters.constructed++;
            return memory.construct(length);
        }

        @Override
        public void free(final Message message, final Counters counters) {
            counters.discarded++;
        }
    }

    /** A pool that threads share: each of them waits while another one is inside. */
    private static final class Shared implements Source {
        private final Pool pool;

        Shared(final Pool pool) {
            this.pool = pool;
        }

        @Override
        public Message obtain(final int length, final Counters counters) {
            final Message message;
            synchronized (pool) {
                message = pool.take(length);
            }
            return message == null ? pool.grown(length, counters) : pool.cleared(message, length);
        }

        @Override
        public void free(final Message message, final Counters counters) {
            synchronized (pool) {
                pool.free(message, counters);
            }
        }

        @Override
        public long prepared() {
            return pool.prepared();
        }

        @Override
        public void forEachFree(final Consumer<Message> action) {
            pool.forEachFree(action);
        }

        @Override
        public long heldBytes() {
            return pool.heldBytes();
        }
    }

    /** {@code netty}: its pooled allocator, with its caches for threads of all kinds. */
    private static final class Netty implements Source {
        private final boolean isDirect;
        private final boolean zeroing;
        private final PooledByteBufAllocator allocator = new PooledByteBufAllocator(
                true,
                PooledByteBufAllocator.defaultNumHeapArena(),
                PooledByteBufAllocator.defaultNumDirectArena(),
                PooledByteBufAllocator.defaultPageSize(),
                PooledByteBufAllocator.defaultMaxOrder(),
                PooledByteBufAllocator.defaultSmallCacheSize(),
                PooledByteBufAllocator.defaultNormalCacheSize(),
                true);

        Netty(final Memory memory, final boolean zeroing) {
            isDirect = memory == Memory.NATIVE;
            this.zeroing = zeroing;
        }

        @Override
        public Message obtain(final int length, final Counters counters) {
            counters.constructed++;
            final ByteBuf buffer = isDirect ? allocator.directBuffer(length) : allocator.heapBuffer(length);
            final Message message = new NettyMessage(buffer);
            if (zeroing) {
                message.clear(length);
            }
            return message;
        }

        @Override
        public void free(final Message message, final Counters counters) {
            counters.discarded++;
            ((NettyMessage) message).buffer.release();
        }

        @Override
        public long heldBytes() {
            return isDirect ? allocator.metric().usedDirectMemory() : allocator.metric().usedHeapMemory();
        }

        @Override
        public boolean tellsFree() {
            return false;
        }
    }

    /** {@code reuse}: one message per thread, long enough for all. */
    private static final class Reuse implements Source {
        private final Message[] own;
        private final boolean zeroing;

        Reuse(final Memory memory, final int[] capacities, final int threads, final boolean zeroing) {
            this.zeroing = zeroing;
            own = new Message[threads];
            Arrays.setAll(own, thread -> memory.construct(capacities[capacities.length - 1]));
        }

        @Override
        public Message obtain(final int length, final Counters counters) {
            final Message message = own[counters.thread];
            if (zeroing) {
                message.clear(length);
            }
            return message;
        }

        @Override
        public void free(final Message message, final Counters counters) {
            // It stays where it is.
        }

        @Override
        public void forEachFree(final Consumer<Message> action) {
            Arrays.stream(own).forEach(action);
        }

        @Override
        public long prepared() {
            return own.length;
        }

        @Override
        public long heldBytes() {
            return (long) own.length * own[0].capacity;
        }
    }
}
