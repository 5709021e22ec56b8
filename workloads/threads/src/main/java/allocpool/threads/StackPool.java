package allocpool.threads;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;

/**
 * Strategy {@code stack}: Treiber's lock-free stack of indexes into a table. The head holds a tag that changes with
 * every
 * exchange, so a head that went away and came back between reading and exchanging (ABA) is another one.
 *
 * <p>Source: Treiber, "Systems Programming: Coping with Parallelism", IBM RJ 5118, 1986; the tag is that of IBM's
 * System/370 Principles of Operation.
 */
class StackPool extends Pool {
    private static final int NONE = -1;
    private static final long INDEX_MASK = 0xFFFFFFFFL;

    private final AtomicLongArray heads = Spacing.APART.numbers(1);
    private final int head = Spacing.APART.at(0);
    private final Message[] table;
    private final AtomicIntegerArray below;
    private final AtomicInteger known = new AtomicInteger();

    StackPool(final Memory memory, final int prepared) {
        super(memory, prepared);
        table = new Message[2 * prepared];
        below = new AtomicIntegerArray(table.length);
        heads.set(head, NONE & INDEX_MASK);
        for (final Message message : make(prepared)) {
            push(message);
        }
    }

    /** The head after the exchange of {@code before} for {@code index}. */
    long tagged(final long before, final int index) {
        return ((before >>> 32) + 1) << 32 | index & INDEX_MASK;
    }

    /** Called between reading the head and exchanging it; for tests that make the others overtake. */
    void pause() {
        // Nothing happens here of itself.
    }

    final Message pop() {
        while (true) {
            final long seen = heads.get(head);
            final int index = (int) seen;
            if (index == NONE) {
                return null;
            }
            final int under = below.get(index);
            pause();
            if (heads.compareAndSet(head, seen, tagged(seen, under))) {
                return table[index];
            }
        }
    }

    final boolean push(final Message message) {
        if (message.index == Message.NO_INDEX) {
            final int index = known.get() < table.length ? known.getAndIncrement() : table.length;
            if (index >= table.length) {
                return false;
            }
            message.index = index;
            table[index] = message;
        }
        while (true) {
            final long seen = heads.get(head);
            below.set(message.index, (int) seen);
            if (heads.compareAndSet(head, seen, tagged(seen, message.index))) {
                return true;
            }
        }
    }

    @Override
    User user(final int thread) {
        return new Pooling(thread) {
            @Override
            Message poll(final int ring) {
                return pop();
            }

            @Override
            boolean offer(final Message message) {
                return push(message);
            }
        };
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        int left = table.length;
        for (int index = (int) heads.get(head); index != NONE && left-- > 0; index = below.get(index)) {
            action.accept(table[index]);
        }
    }
}
