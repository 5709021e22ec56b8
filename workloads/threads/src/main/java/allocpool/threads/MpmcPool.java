package allocpool.threads;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;

/**
 * Strategy {@code mpmc}: a bounded ring for many producers and many consumers, whose slots carry a turn of their own.
 *
 * <p>Source: Vyukov, "Bounded MPMC queue", 1024cores.net.
 */
final class MpmcPool extends Pool {
    private final Message[] slots;
    private final AtomicLongArray turns;
    private final AtomicLongArray ends;
    private final int head;
    private final int tail;
    private final int mask;

    MpmcPool(final Memory memory, final int prepared, final Spacing spacing) {
        super(memory, prepared);
        ends = spacing.numbers(2);
        head = spacing.at(0);
        tail = spacing.at(1);
        final int capacity = Integer.highestOneBit(Math.max(2, 2 * prepared - 1)) << 1;
        slots = new Message[capacity];
        turns = new AtomicLongArray(capacity);
        mask = capacity - 1;
        for (int i = 0; i < capacity; i++) {
            turns.set(i, i);
        }
        for (final Message message : make(prepared)) {
            push(message);
        }
    }

    private boolean push(final Message message) {
        while (true) {
            final long at = ends.get(tail);
            final int slot = (int) at & mask;
            final long turn = turns.get(slot) - at;
            if (turn == 0 && ends.compareAndSet(tail, at, at + 1)) {
                slots[slot] = message;
                turns.lazySet(slot, at + 1);
                return true;
            }
            // The slot's consumer may be on its way out of it: only a ring that holds all it can is full.
            if (turn < 0 && at - ends.get(head) >= slots.length) {
                return false;
            }
        }
    }

    private Message pop() {
        while (true) {
            final long at = ends.get(head);
            final int slot = (int) at & mask;
            final long turn = turns.get(slot) - (at + 1);
            if (turn == 0 && ends.compareAndSet(head, at, at + 1)) {
                final Message message = slots[slot];
                slots[slot] = null;
                turns.lazySet(slot, at + slots.length);
                return message;
            }
            if (turn < 0 && at == ends.get(tail)) {
                return null;
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
        for (long at = ends.get(head); at < ends.get(tail); at++) {
            action.accept(slots[(int) at & mask]);
        }
    }
}
