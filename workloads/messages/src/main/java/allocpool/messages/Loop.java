package allocpool.messages;

import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.HdrHistogram.Histogram;

/**
 * One thread's part: its messages, those of them in flight, and its store. Nothing is allocated but by the strategy,
 * and what reading a message makes.
 */
final class Loop {
    private static final long HIGHEST_NS = 3_600_000_000_000L;
    private static final int SIGNIFICANT_DIGITS = 3;

    /** The shortest sleep: a thread that sleeps for less costs more than the messages that come in the meantime. */
    private static final long NAP_NS = 100_000;
    private static final long KEEP_SEED_FLIP = 0x4B45_4550L;

    final Counters counters;
    final Histogram delays = new Histogram(1, HIGHEST_NS, SIGNIFICANT_DIGITS);

    private final Source source;
    private final Sizes sizes;
    private final Settings settings;
    private final int thread;
    private final int threads;
    private final double filledShare;
    private final double readShare;
    private final double keptShare;
    private final boolean replacesOldest;
    private final long keepSeed;
    private final long toleratedNs;
    private final int temporaries;
    private final int temporaryLength;
    private final Message[] queue;
    private final Message[] store;
    private int queuePlace;
    private int storePlace;
    private int stored;
    private long next;
    private long windows;

    Loop(final Settings settings, final Source source, final Sizes sizes, final int thread) {
        this.settings = settings;
        this.source = source;
        this.sizes = sizes;
        this.thread = thread;
        counters = new Counters(thread);
        threads = settings.count("threads");
        filledShare = settings.number("filled_share");
        readShare = settings.number("read_share");
        keptShare = settings.number("kept_share");
        replacesOldest = settings.text("replacement").equals("oldest");
        keepSeed = settings.whole("seed") ^ KEEP_SEED_FLIP;
        toleratedNs = settings.whole("delay_ns");
        temporaryLength = settings.count("temporary_length");
        temporaries = settings.count("temporaries");
        queue = new Message[settings.count("in_flight") / threads];
        store = new Message[settings.count("kept_count") / threads];
    }

    /** Handles this thread's messages before that number, as fast as it goes. */
    void run(final long before) {
        for (long number = number(); number < before; number = number()) {
            next++;
            counters.due++;
            handle(number);
        }
    }

    /** Handles the messages that are due in so many nanoseconds from a time on, or loses them. */
    void runFor(final long startNs, final long lengthNs) {
        delays.reset();
        final Arrivals arrivals = Arrivals.of(settings, sizes, thread, number(), windows);
        windows++;
        long nowNs = System.nanoTime();
        while (true) {
            final double fromStartNs = arrivals.nextNs();
            if (fromStartNs >= lengthNs) {
                return;
            }
            final long dueNs = startNs + (long) fromStartNs;
            while (nowNs < dueNs) {
                LockSupport.parkNanos(Math.max(NAP_NS, dueNs - nowNs));
                nowNs = System.nanoTime();
            }
            final long number = number();
            next++;
            counters.due++;
            if (nowNs - dueNs > toleratedNs) {
                counters.lost++;
                continue;
            }
            handle(number);
            nowNs = System.nanoTime();
            delays.recordValue(Math.min(nowNs - dueNs, HIGHEST_NS));
        }
    }

    private long number() {
        return next * threads + thread;
    }

    private void handle(final long number) {
        counters.received++;
        final long drawn = sizes.draw(number);
        final int length = sizes.length(number, drawn);
        final long key = sizes.key(number, drawn);
        final Message message = source.obtain(length, counters);
        counters.obtained++;
        counters.wastedBytes += message.heldBytes() - length;
        message.length = length;
        message.fill(number, key, touched(length, filledShare));
        counters.expectedSum += Message.hash(number, Message.sumOf(key, checked(length)), length);
        if (queue.length == 0) {
            leave(message);
            return;
        }
        final Message oldest = queue[queuePlace];
        queue[queuePlace] = message;
        queuePlace = queuePlace + 1 == queue.length ? 0 : queuePlace + 1;
        if (oldest != null) {
            leave(oldest);
        }
    }

    /**
     * A message has been in flight: it is read, and kept or freed. What reading makes belongs to the message, so that
     * one that is kept keeps it alive, and an old message of a pool leads to young objects.
     */
    private void leave(final Message message) {
        final long number = message.word(0);
        final int same = checked(message.length);
        counters.sum += Message.hash(number, message.sum(1, same), message.length);
        counters.read++;
        final int read = touched(message.length, readShare);
        if (read > same) {
            counters.unchecked += message.sum(same, read);
        }
        for (int i = 0; i < temporaries; i++) {
            final Object[] made = new Object[temporaryLength];
            made[0] = message.results;
            message.results = made;
        }
        if (store.length == 0) {
            free(message);
        } else {
            keep(message, number);
        }
    }

    /** Until the store is full everything is kept. */
    private void keep(final Message message, final long number) {
        final int place;
        if (stored < store.length) {
            place = stored;
            stored++;
        } else {
            final long drawn = Mix.draw(keepSeed, number);
            if (Mix.unit(drawn) >= keptShare) {
                free(message);
                return;
            }
            if (replacesOldest) {
                place = storePlace;
                storePlace = storePlace + 1 == store.length ? 0 : storePlace + 1;
            } else {
                place = Mix.place(Mix.draw(drawn, 0), store.length);
            }
        }
        final Message replaced = store[place];
        store[place] = message;
        counters.storeSum += number;
        counters.kept++;
        if (replaced != null) {
            // The number that is in the buffer now: had another been given it since, the sums would differ.
            counters.storeSum -= replaced.word(0);
            counters.evicted++;
            free(replaced);
        }
    }

    private void free(final Message message) {
        counters.freed++;
        counters.wastedBytes -= message.heldBytes() - message.length;
        message.results = null;
        source.free(message, counters);
    }

    /** Reads all that is in flight, the oldest first. */
    void drain() {
        for (int i = 0; i < queue.length; i++) {
            final Message oldest = queue[queuePlace];
            queue[queuePlace] = null;
            queuePlace = queuePlace + 1 == queue.length ? 0 : queuePlace + 1;
            if (oldest != null) {
                leave(oldest);
            }
        }
    }

    int inFlight() {
        return count(queue);
    }

    int inStore() {
        return count(store);
    }

    void forEachStored(final Consumer<Message> action) {
        for (final Message message : store) {
            if (message != null) {
                action.accept(message);
            }
        }
    }

    private static int count(final Message[] places) {
        int count = 0;
        for (final Message message : places) {
            count += message == null ? 0 : 1;
        }
        return count;
    }

    /** Words of a message of which a share is touched: at least its number and one more. */
    private static int touched(final int length, final double share) {
        return Math.max(2, (int) (length / Message.WORD_BYTES * share));
    }

    /** Words that are both written and read. */
    private int checked(final int length) {
        return touched(length, Math.min(filledShare, readShare));
    }
}
