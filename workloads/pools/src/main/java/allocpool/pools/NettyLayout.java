package allocpool.pools;

import allocpool.packets.Layout;
import allocpool.packets.Options;
import allocpool.packets.PacketMemory;
import allocpool.packets.Processor;
import allocpool.packets.Sizes;
import allocpool.packets.StrategyName;
import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.EnumSet;

/**
 * Layouts {@code netty_pooled}, {@code netty_unpooled} and {@code netty_adaptive}: each packet is an object with a
 * direct {@link io.netty.buffer.ByteBuf}. The pool is inside of Netty's allocator, so to the workload these have
 * the strategy {@code alloc}: a buffer is allocated for each packet and released when it is freed.
 *
 * <p>The allocators keep their caches per thread for all threads, as they do for the threads of Netty's event loops
 * unasked: a trial's thread is none of these.
 */
public abstract class NettyLayout extends Layout {
    NettyLayout(final String name) {
        super(name, EnumSet.of(StrategyName.DUMMY, StrategyName.ALLOC));
    }

    abstract ByteBufAllocator allocator();

    @Override
    protected final Processor create(final StrategyName strategy, final Sizes sizes, final Options options) {
        final PacketMemory memory = new NettyPacketMemory(allocator());
        return objects(memory, strategy, sizes, options);
    }

    /** Netty's pooled allocator, the default until 4.1. */
    public static final class Pooled extends NettyLayout {
        /**
         * The layout; made by {@link java.util.ServiceLoader}.
         */
        public Pooled() {
            super("netty_pooled");
        }

        @Override
        ByteBufAllocator allocator() {
            return new PooledByteBufAllocator(
                    true,
                    PooledByteBufAllocator.defaultNumHeapArena(),
                    PooledByteBufAllocator.defaultNumDirectArena(),
                    PooledByteBufAllocator.defaultPageSize(),
                    PooledByteBufAllocator.defaultMaxOrder(),
                    PooledByteBufAllocator.defaultSmallCacheSize(),
                    PooledByteBufAllocator.defaultNormalCacheSize(),
                    true);
        }
    }

    /** Netty without a pool. */
    public static final class Unpooled extends NettyLayout {
        /**
         * The layout; made by {@link java.util.ServiceLoader}.
         */
        public Unpooled() {
            super("netty_unpooled");
        }

        @Override
        ByteBufAllocator allocator() {
            return new UnpooledByteBufAllocator(true);
        }
    }

    /** Netty's adaptive allocator, the default since 4.2. */
    public static final class Adaptive extends NettyLayout {
        /**
         * The layout; made by {@link java.util.ServiceLoader}.
         */
        public Adaptive() {
            super("netty_adaptive");
        }

        @Override
        ByteBufAllocator allocator() {
            return new AdaptiveByteBufAllocator(true, true);
        }
    }
}
