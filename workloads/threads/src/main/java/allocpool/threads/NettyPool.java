package allocpool.threads;

import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.function.Consumer;

/**
 * Strategies {@code netty_pooled}, {@code netty_unpooled} and {@code netty_adaptive}: a direct buffer of Netty's
 * allocator
 * for each message, released when it is freed; its recyclers come with it. Virtual threads, which come and go, have by
 * Netty's own default no cache in the pooled allocator, and share the adaptive one's.
 */
final class NettyPool extends Pool {
    private final ByteBufAllocator allocator;

    /** {@code staying}: whether its threads stay, so that a cache of their own is worth it. */
    NettyPool(final String strategy, final boolean staying) {
        super(null, 0);
        switch (strategy) {
            case "netty_pooled":
                // With its caches for threads of all kinds, which by default only those of Netty's event loops get.
                allocator = new PooledByteBufAllocator(
                        true,
                        PooledByteBufAllocator.defaultNumHeapArena(),
                        PooledByteBufAllocator.defaultNumDirectArena(),
                        PooledByteBufAllocator.defaultPageSize(),
                        PooledByteBufAllocator.defaultMaxOrder(),
                        PooledByteBufAllocator.defaultSmallCacheSize(),
                        PooledByteBufAllocator.defaultNormalCacheSize(),
                        staying);
                break;
            case "netty_adaptive":
                allocator = new AdaptiveByteBufAllocator(true, true);
                break;
            default:
                allocator = new UnpooledByteBufAllocator(true);
                break;
        }
    }

    @Override
    User user(final int thread) {
        return new User(thread) {
            @Override
            Message take(final int ring) {
                constructed++;
                return new NettyMessage(allocator.directBuffer(Memory.BYTES));
            }

            @Override
            void give(final Message message) {
                discarded++;
                ((NettyMessage) message).buffer.release();
            }
        };
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        // What is free is the allocator's; no message object waits.
    }
}
