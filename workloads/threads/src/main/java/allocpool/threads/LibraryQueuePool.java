package allocpool.threads;

import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.function.Consumer;

/**
 * Strategies {@code agrona} and {@code jctools}: a library's queue for many producers and consumers, full of
 * messages.
 */
final class LibraryQueuePool extends Pool {
    private final Queue<Message> queue;

    LibraryQueuePool(final Memory memory, final int prepared, final Queue<Message> queue) {
        super(memory, prepared);
        this.queue = queue;
        for (final Message message : make(prepared)) {
            queue.add(message);
        }
    }

    @Override
    User user(final int thread) {
        return new Pooling(thread) {
            @Override
            Message poll(final int ring) {
                return queue.poll();
            }

            @Override
            boolean offer(final Message message) {
                return queue.offer(message);
            }
        };
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        final List<Message> all = new ArrayList<>();
        for (Message message = queue.poll(); message != null; message = queue.poll()) {
            all.add(message);
        }
        all.forEach(action);
        queue.addAll(all);
    }
}
