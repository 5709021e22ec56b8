package allocpool.threads;

import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Strategy {@code locked}: one stack for all threads, under a lock. Not {@code synchronized}, which ties a virtual
 * thread
 * of Java 21 to its carrier.
 */
final class LockedPool extends Pool {
    private final ReentrantLock lock = new ReentrantLock();
    private final Message[] stack;
    private int size;

    LockedPool(final Memory memory, final int prepared) {
        super(memory, prepared);
        stack = new Message[2 * prepared];
        for (final Message message : make(prepared)) {
            stack[size++] = message;
        }
    }

    @Override
    User user(final int thread) {
        return new Pooling(thread) {
            @Override
            Message poll(final int ring) {
                lock.lock();
                try {
                    return size == 0 ? null : stack[--size];
                } finally {
                    lock.unlock();
                }
            }

            @Override
            boolean offer(final Message message) {
                lock.lock();
                try {
                    if (size == stack.length) {
                        return false;
                    }
                    stack[size++] = message;
                    return true;
                } finally {
                    lock.unlock();
                }
            }
        };
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        for (int i = 0; i < size; i++) {
            action.accept(stack[i]);
        }
    }
}
