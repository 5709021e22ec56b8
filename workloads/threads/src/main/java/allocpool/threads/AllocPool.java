package allocpool.threads;

import java.util.function.Consumer;

/** Strategy {@code alloc}: none at all; each message is made and dropped. */
final class AllocPool extends Pool {
    AllocPool(final Memory memory) {
        super(memory, 0);
    }

    @Override
    User user(final int thread) {
        return new Pooling(thread) {
            @Override
            Message poll(final int ring) {
                return null;
            }

            @Override
            boolean offer(final Message message) {
                return false;
            }
        };
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        // Nothing waits.
    }
}
