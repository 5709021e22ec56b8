package allocpool.threads;

import java.util.function.Consumer;

/**
 * Strategy {@code copy_on_keep}: no pool at all. The messages of a ring are its memory, filled again and again in their
 * order; only what is kept is copied out, into a message that is made for it and dropped with it. It is what users
 * of the
 * kernel's TPACKET_V3 rings do.
 */
final class CopyPool extends Pool {
    private final Message[][] slots;
    private final Progress[] released;
    private final long[] filled;
    private final Idle.Stop stop;

    /** {@code perRing}: messages that a ring has room for, all that can be on their way to a worker or wait at it. */
    CopyPool(final Memory memory, final int rings, final int perRing, final Idle.Stop stop) {
        super(memory, rings * perRing);
        this.stop = stop;
        slots = new Message[rings][];
        released = new Progress[rings];
        // Two cache lines apart.
        filled = new long[rings * 16];
        for (int ring = 0; ring < rings; ring++) {
            slots[ring] = make(perRing);
            released[ring] = new Progress();
            for (final Message message : slots[ring]) {
                message.index = ring;
            }
        }
    }

    @Override
    User user(final int thread) {
        return new User(thread) {
            @Override
            Message take(final int ring) {
                final long number = filled[ring * 16]++;
                final Message[] memoryOfRing = slots[ring];
                if (number - released[ring].seen >= memoryOfRing.length) {
                    waitFor(ring, number - memoryOfRing.length + 1);
                }
                return memoryOfRing[(int) (number % memoryOfRing.length)];
            }

            @Override
            void give(final Message message) {
                if (message.index < 0) {
                    discarded++;
                    memory.discard(message);
                } else {
                    giveBack(message.index);
                }
            }

            @Override
            Message keep(final Message message) {
                final Message copy = memory.construct();
                constructed++;
                copy.copyFrom(message);
                copy.parse();
                copy.owner = thread;
                message.release();
                giveBack(message.index);
                return copy;
            }
        };
    }

    private void giveBack(final int ring) {
        final PaddedLong count = released[ring].count;
        count.setRelease(count.getPlain() + 1);
    }

    private void waitFor(final int ring, final long count) {
        final Idle idle = new Idle(stop);
        final Progress progress = released[ring];
        for (progress.seen = progress.count.getAcquire(); progress.seen < count;
                progress.seen = progress.count.getAcquire()) {
            idle.rest();
        }
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        for (int ring = 0; ring < slots.length; ring++) {
            final long out = filled[ring * 16] - released[ring].count.get();
            for (long i = out; i < slots[ring].length; i++) {
                action.accept(slots[ring][(int) ((released[ring].count.get() + i) % slots[ring].length)]);
            }
        }
    }

    /** How many messages of a ring came back, written by the worker; and what the one who fills has seen of it. */
    private static final class Progress extends Padded {
        private final PaddedLong count = new PaddedLong(0);
        private long seen;
    }
}
