package allocpool.threads;

import io.netty.util.Recycler;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Strategy {@code netty_recycler}: Netty's pool of objects, with its defaults. It drops what it has no room for. What
 * it keeps belongs to a thread, so that for virtual threads it keeps nothing: each message is a fresh one.
 */
final class RecyclerPool extends Pool {
    private final AtomicLong made = new AtomicLong();
    private final Recycler<Holder> recycler = new Recycler<>() {
        @Override
        protected Holder newObject(final Handle<Holder> handle) {
            made.incrementAndGet();
            return new Holder(memory.construct(), handle);
        }
    };

    RecyclerPool(final Memory memory) {
        super(memory, 0);
    }

    @Override
    User user(final int thread) {
        return new User(thread) {
            @Override
            Message take(final int ring) {
                final Holder holder = recycler.get();
                holder.message.holder = holder;
                return holder.message;
            }

            @Override
            void give(final Message message) {
                final Holder holder = (Holder) message.holder;
                holder.handle.recycle(holder);
            }
        };
    }

    @Override
    long constructedInside() {
        return made.get();
    }

    @Override
    boolean tellsFree() {
        return false;
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        // What is free, and what was dropped, is known to the library alone.
    }

    /** A message with its way back. */
    private static final class Holder {
        private final Message message;
        private final Recycler.Handle<Holder> handle;

        Holder(final Message message, final Recycler.Handle<Holder> handle) {
            this.message = message;
            this.handle = handle;
        }
    }
}
