package allocpool.threads;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Strategy {@code cached}: each thread has a cache, filled from a shared depot and flushed to it in bulk: the shape of
 * DPDK's mempool, with its default flush threshold.
 *
 * <p>Source: "Mempool Library", DPDK Programmer's Guide; Bonwick, Adams, "Magazines and Vmem", USENIX 2001.
 */
final class CachedPool extends Pool {
    private static final int CACHE = 256;
    static final int FLUSH_AT = CACHE * 3 / 2;

    private final ReentrantLock lock = new ReentrantLock();
    private final Message[] depot;
    private final List<Cache> caches = new ArrayList<>();
    private int size;

    CachedPool(final Memory memory, final int prepared) {
        super(memory, prepared);
        depot = new Message[2 * prepared + FLUSH_AT];
        for (final Message message : make(prepared)) {
            depot[size++] = message;
        }
    }

    @Override
    User user(final int thread) {
        final Cache cache = new Cache(thread);
        lock.lock();
        try {
            caches.add(cache);
        } finally {
            lock.unlock();
        }
        return cache;
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        for (int i = 0; i < size; i++) {
            action.accept(depot[i]);
        }
        for (final Cache cache : caches) {
            for (int i = 0; i < cache.held; i++) {
                action.accept(cache.messages[i]);
            }
        }
    }

    /** What one thread has at hand. */
    private final class Cache extends Pooling {
        private final Message[] messages = new Message[FLUSH_AT];
        private int held;

        Cache(final int thread) {
            super(thread);
        }

        @Override
        Message poll(final int ring) {
            if (held == 0) {
                refill();
            }
            return held == 0 ? null : messages[--held];
        }

        @Override
        boolean offer(final Message message) {
            if (held == FLUSH_AT) {
                flush();
            }
            if (held == FLUSH_AT) {
                return false;
            }
            messages[held++] = message;
            return true;
        }

        private void refill() {
            lock.lock();
            try {
                held = Math.min(CACHE, size);
                size -= held;
                System.arraycopy(depot, size, messages, 0, held);
            } finally {
                lock.unlock();
            }
        }

        private void flush() {
            lock.lock();
            try {
                final int count = Math.min(FLUSH_AT - CACHE, depot.length - size);
                held -= count;
                System.arraycopy(messages, held, depot, size, count);
                size += count;
            } finally {
                lock.unlock();
            }
        }
    }
}
