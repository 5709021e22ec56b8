package allocpool.messages;

import java.util.concurrent.locks.LockSupport;

/**
 * The rest of the program, on a thread of its own as in a program: a table of linked objects, of which some are
 * replaced, and garbage of the same kind.
 */
final class Rest {
    /** Objects of a chain; each takes 64 bytes with compressed pointers. */
    private static final int CHAIN = 16;
    private static final int CHAINS_PER_MB = 1024;
    private static final long NAP_NS = 1_000_000;

    private final Node[] live;
    private final double changedPerNs;
    private final double madePerNs;
    private final long seed;
    private volatile boolean isRunning;
    private volatile Throwable failure;
    private Thread thread;
    private Node garbage;
    private volatile long changed;
    private volatile long made;

    Rest(final Settings settings) {
        live = new Node[Math.toIntExact(Math.round(settings.number("live_mb") * CHAINS_PER_MB))];
        changedPerNs = settings.number("changed_mb_per_s") * CHAINS_PER_MB / 1e9;
        madePerNs = settings.number("garbage_mb_per_s") * CHAINS_PER_MB / 1e9;
        seed = settings.whole("seed");
        for (int i = 0; i < live.length; i++) {
            live[i] = chain(i);
        }
    }

    private static Node chain(final long value) {
        Node first = null;
        for (int i = 0; i < CHAIN; i++) {
            first = new Node(first, value);
        }
        return first;
    }

    /** Begins to change and to make garbage; nothing where none of it was asked for. */
    void start() {
        if (changedPerNs == 0 && madePerNs == 0) {
            return;
        }
        isRunning = true;
        thread = new Thread(this::live, "allocpool-rest");
        thread.setDaemon(true);
        thread.start();
    }

    /** Ends what was begun. */
    void stop() {
        if (thread == null) {
            return;
        }
        isRunning = false;
        try {
            thread.join();
        } catch (final InterruptedException e) {
            throw new IllegalStateException("a thread of the trial was interrupted", e);
        }
        thread = null;
        if (failure instanceof Error) {
            throw (Error) failure;
        }
    }

    long changedBytes() {
        return changed * (1 << 20) / CHAINS_PER_MB;
    }

    long garbageBytes() {
        return made * (1 << 20) / CHAINS_PER_MB;
    }

    private void live() {
        try {
            final long startNs = System.nanoTime();
            final long changedBefore = changed;
            final long madeBefore = made;
            while (isRunning) {
                final long passedNs = System.nanoTime() - startNs;
                for (final long owed = changedBefore + (long) (passedNs * changedPerNs); changed < owed; changed++) {
                    live[Mix.place(Mix.draw(seed, changed), live.length)] = chain(changed);
                }
                for (final long owed = madeBefore + (long) (passedNs * madePerNs); made < owed; made++) {
                    garbage = chain(made);
                }
                LockSupport.parkNanos(NAP_NS);
            }
        } catch (final OutOfMemoryError e) {
            failure = e;
        }
    }

    /** A linked object. */
    private static final class Node {
        final Node next;
        final long a;
        final long b;
        final long c;
        final long d;
        final long e;
        final long f;

        Node(final Node next, final long value) {
            this.next = next;
            a = value;
            b = value;
            c = value;
            d = value;
            e = value;
            f = value;
        }
    }
}
