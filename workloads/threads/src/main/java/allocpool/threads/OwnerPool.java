package allocpool.threads;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;

/**
 * Strategy {@code owner}: a message goes back to the thread that obtained it. Each thread has a list of its own;
 * what it
 * frees for another one it gathers, and hangs the whole batch into that one's list of returns by one exchange. The
 * owner
 * takes all returns at once, so there is no ABA.
 *
 * <p>Source: Leijen, Zorn, de Moura, "Mimalloc: Free List Sharding in Action", APLAS 2019.
 */
final class OwnerPool extends Pool {
    static final int BATCH = 32;

    private final Owner[] owners;
    private final AtomicReferenceArray<Message> returns;
    private final Spacing spacing;

    /** {@code lastHoldsAll}: what is prepared lies with the last thread, the only one that obtains; else with all. */
    OwnerPool(final Memory memory, final int prepared, final int threads, final boolean lastHoldsAll,
            final Spacing spacing) {
        super(memory, prepared);
        this.spacing = spacing;
        returns = spacing.lists(threads);
        owners = new Owner[threads];
        for (int thread = 0; thread < threads; thread++) {
            owners[thread] = new Owner(thread);
        }
        final Message[] made = make(prepared);
        for (int i = 0; i < prepared; i++) {
            owners[lastHoldsAll ? threads - 1 : i % threads].keepFree(made[i]);
        }
    }

    @Override
    User user(final int thread) {
        return owners[thread];
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        for (final Owner owner : owners) {
            forEach(owner.free, action);
            forEach(returns.get(owner.place), action);
            for (final Message batch : owner.batches) {
                forEach(batch, action);
            }
        }
    }

    private static void forEach(final Message first, final Consumer<Message> action) {
        for (Message message = first; message != null; message = message.next) {
            action.accept(message);
        }
    }

    /** One thread with its free messages, and those that it gathers for the others. */
    private final class Owner extends Pooling {
        private final int place;
        private final Message[] batches;
        private final Message[] ends;
        private final int[] counts;
        private Message free;

        Owner(final int thread) {
            super(thread);
            place = spacing.at(thread);
            batches = new Message[owners.length];
            ends = new Message[owners.length];
            counts = new int[owners.length];
        }

        @Override
        Message poll(final int ring) {
            if (free == null && returns.get(place) != null) {
                free = returns.getAndSet(place, null);
            }
            final Message message = free;
            if (message != null) {
                free = message.next;
                message.next = null;
            }
            return message;
        }

        @Override
        boolean offer(final Message message) {
            if (message.owner == thread) {
                keepFree(message);
            } else {
                gather(message, message.owner);
            }
            return true;
        }

        private void keepFree(final Message message) {
            message.next = free;
            free = message;
        }

        private void gather(final Message message, final int owner) {
            if (counts[owner]++ == 0) {
                ends[owner] = message;
            }
            message.next = batches[owner];
            batches[owner] = message;
            if (counts[owner] == BATCH) {
                owners[owner].receive(batches[owner], ends[owner]);
                batches[owner] = null;
                ends[owner] = null;
                counts[owner] = 0;
            }
        }

        private void receive(final Message first, final Message last) {
            Message seen = returns.get(place);
            while (true) {
                last.next = seen;
                if (returns.compareAndSet(place, seen, first)) {
                    return;
                }
                seen = returns.get(place);
            }
        }
    }
}
