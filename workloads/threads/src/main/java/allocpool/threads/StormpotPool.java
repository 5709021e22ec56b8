package allocpool.threads;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import stormpot.Allocator;
import stormpot.PoolTap;
import stormpot.Poolable;
import stormpot.Slot;
import stormpot.Timeout;

/**
 * Strategy {@code stormpot}: a pool of Stormpot with its defaults, of a fixed size, without a thread in the background;
 * each thread that stays claims through a tap of its own, as its manual has it, and virtual threads through the one
 * that all may use.
 */
final class StormpotPool extends Pool {
    private static final Timeout LONG = new Timeout(1, TimeUnit.MINUTES);

    private final stormpot.Pool<Held> pool;
    private final boolean staying;
    private final AtomicLong made = new AtomicLong();

    /** {@code staying}: whether its threads stay. */
    StormpotPool(final Memory memory, final int prepared, final boolean staying) {
        super(memory, prepared);
        this.staying = staying;
        pool = stormpot.Pool.fromInline(new Maker()).setSize(prepared).build();
    }

    @Override
    User user(final int thread) {
        final PoolTap<Held> tap = staying ? pool.getThreadLocalTap() : pool.getThreadSafeTap();
        return new User(thread) {
            @Override
            Message take(final int ring) {
                try {
                    final Held held = tap.claim(LONG);
                    if (held == null) {
                        throw new IllegalStateException("Stormpot gave no message in a minute");
                    }
                    held.message.holder = held;
                    return held.message;
                } catch (final InterruptedException e) {
                    throw new IllegalStateException("interrupted", e);
                }
            }

            @Override
            void give(final Message message) {
                ((Held) message.holder).release();
            }
        };
    }

    @Override
    long constructedInside() {
        return made.get() - prepared;
    }

    @Override
    boolean tellsFree() {
        return false;
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        // What is free is known to the library alone.
    }

    /** A message with its slot in the pool. */
    private static final class Held implements Poolable {
        private final Slot slot;
        private final Message message;

        Held(final Slot slot, final Message message) {
            this.slot = slot;
            this.message = message;
        }

        @Override
        public void release() {
            slot.release(this);
        }
    }

    /** Makes messages for the pool, and counts them. */
    private final class Maker implements Allocator<Held> {
        @Override
        public Held allocate(final Slot slot) {
            made.incrementAndGet();
            return new Held(slot, memory.construct());
        }

        @Override
        public void deallocate(final Held held) {
            made.decrementAndGet();
            memory.discard(held.message);
        }
    }
}
