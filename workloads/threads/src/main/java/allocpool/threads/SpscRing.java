package allocpool.threads;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.function.Consumer;

/**
 * A bounded queue from one thread to one other; a slot that is not null is full, so the two share no index.
 *
 * <p>Source: Giacomoni, Moseley, Vachharajani, "FastForward for Efficient Pipeline Parallelism", PPoPP 2008.
 */
final class SpscRing {
    private static final VarHandle SLOT = MethodHandles.arrayElementVarHandle(Message[].class);

    private final Message[] slots;
    private final int mask;
    private final End producer = new End();
    private final End consumer = new End();

    /** A ring for at least so many messages. */
    SpscRing(final int capacity) {
        slots = new Message[Integer.highestOneBit(Math.max(2, capacity) - 1) << 1];
        mask = slots.length - 1;
    }

    boolean offer(final Message message) {
        final int slot = producer.next & mask;
        if ((Message) SLOT.getAcquire(slots, slot) != null) {
            return false;
        }
        SLOT.setRelease(slots, slot, message);
        producer.next++;
        return true;
    }

    Message poll() {
        final int slot = consumer.next & mask;
        final Message message = (Message) SLOT.getAcquire(slots, slot);
        if (message != null) {
            SLOT.setRelease(slots, slot, null);
            consumer.next++;
        }
        return message;
    }

    /** Visits what waits, when both threads rest. */
    void forEach(final Consumer<Message> action) {
        for (int at = consumer.next; at != producer.next; at++) {
            action.accept(slots[at & mask]);
        }
    }

    /** Where one of the two goes on. */
    private static final class End extends Padded {
        private int next;
    }
}
