package allocpool.threads;

import allocpool.packets.Seam;
import java.util.function.Consumer;

/** What happens to messages behind the seam: they wait in a queue, are parsed, kept or freed. Belongs to one thread. */
final class Worker extends Padded {
    private final User user;
    private final Message[] queue;
    private final Message[] store;
    private final long storeSeed;
    private int place;
    private long storeSum;
    long received;
    long parsed;
    long tcp;
    long evicted;
    long sum;

    Worker(final User user, final int queueSize, final int storeSize, final long storeSeed) {
        this.user = user;
        this.storeSeed = storeSeed;
        queue = new Message[queueSize];
        store = new Message[storeSize];
    }

    User user() {
        return user;
    }

    /** A message comes; when the queue is full, the oldest one goes on. */
    void accept(final Message message) {
        final Message oldest = queue[place];
        queue[place] = message;
        place = place + 1 == queue.length ? 0 : place + 1;
        received++;
        if (oldest != null) {
            process(oldest, user);
        }
    }

    /** Parses, keeps or frees; {@code with} is the calling thread's way to the pool. */
    void process(final Message message, final User with) {
        final boolean keeps = message.parse();
        final long hash = message.hash();
        parsed++;
        sum += hash;
        Message done = message;
        if (keeps) {
            final int slot = Seam.slot(storeSeed, tcp, store.length);
            done = store[slot];
            store[slot] = with.keep(message);
            storeSum += hash;
            tcp++;
            if (done == null) {
                return;
            }
            // What is in the buffer now: had another been given it since, the sums would differ.
            storeSum -= done.hash();
            evicted++;
        }
        with.free(done);
    }

    /** Processes all that waits, the oldest first. */
    void drain() {
        for (int i = 0; i < queue.length; i++) {
            final Message oldest = queue[place];
            queue[place] = null;
            place = place + 1 == queue.length ? 0 : place + 1;
            if (oldest != null) {
                process(oldest, user);
            }
        }
    }

    int queued() {
        int count = 0;
        for (final Message message : queue) {
            count += message == null ? 0 : 1;
        }
        return count;
    }

    int stored() {
        int count = 0;
        for (final Message message : store) {
            count += message == null ? 0 : 1;
        }
        return count;
    }

    void forEachStored(final Consumer<Message> action) {
        for (final Message message : store) {
            if (message != null) {
                action.accept(message);
            }
        }
    }

    /** What the store should hold, by the hashes of what came and went. */
    long storeSum() {
        return storeSum;
    }
}
