package allocpool.threads;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/** A pool that is no pool for threads: nothing orders what they do. */
final class Lax extends Pool {
    private final Deque<Message> free = new ArrayDeque<>();

    Lax(final Memory memory, final int prepared) {
        super(memory, prepared);
        for (final Message message : make(prepared)) {
            free.addLast(message);
        }
    }

    @Override
    User user(final int thread) {
        return new Pooling(thread) {
            @Override
            Message poll(final int ring) {
                return free.pollLast();
            }

            @Override
            boolean offer(final Message message) {
                free.addLast(message);
                return true;
            }
        };
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        free.forEach(action);
    }
}
