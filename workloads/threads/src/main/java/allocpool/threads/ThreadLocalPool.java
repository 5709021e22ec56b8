package allocpool.threads;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Strategy {@code thread_local}: a pool for each thread, found by {@link ThreadLocal} at every call. A message
 * stays with
 * the thread that freed it; a virtual thread's pool ends with the thread.
 */
final class ThreadLocalPool extends Pool {
    private final ThreadLocal<Local> locals;
    private final int[] shares;
    private final List<Local> all = new ArrayList<>();

    /**
     * {@code shares}: how much of what is prepared each thread has at the start; null where threads are virtual,
     * come and
     * go, and start with nothing.
     */
    ThreadLocalPool(final Memory memory, final int[] shares, final int capacity) {
        super(memory, shares == null ? 0 : IntStream.of(shares).sum());
        this.shares = shares;
        locals = ThreadLocal.withInitial(() -> new Local(capacity));
    }

    @Override
    User user(final int thread) {
        if (shares != null) {
            final Local mine = locals.get();
            for (final Message message : make(shares[thread])) {
                mine.push(message);
            }
            synchronized (all) {
                all.add(mine);
            }
        }
        return new Pooling(thread) {
            @Override
            Message poll(final int ring) {
                return locals.get().pop();
            }

            @Override
            boolean offer(final Message message) {
                return locals.get().push(message);
            }

            @Override
            void close() {
                if (shares != null) {
                    return;
                }
                final Local mine = locals.get();
                for (Message message = mine.pop(); message != null; message = mine.pop()) {
                    discarded++;
                    memory.discard(message);
                }
                locals.remove();
            }
        };
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        for (final Local local : all) {
            for (int i = 0; i < local.size; i++) {
                action.accept(local.stack[i]);
            }
        }
    }

    /** The pool of one thread. It grows to its capacity. */
    private static final class Local extends Padded {
        private final int capacity;
        private Message[] stack = new Message[64];
        private int size;

        Local(final int capacity) {
            this.capacity = capacity;
        }

        Message pop() {
            return size == 0 ? null : stack[--size];
        }

        boolean push(final Message message) {
            if (size == stack.length) {
                if (size >= capacity) {
                    return false;
                }
                stack = Arrays.copyOf(stack, Math.min(capacity, 2 * size));
            }
            stack[size++] = message;
            return true;
        }
    }
}
