package allocpool.threads;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.Consumer;

/**
 * Strategy {@code copy_on_keep}: no pool at all. The messages of a ring are its memory, filled again and again in their
 * order; only what is kept is copied out, into a message that is made for it and dropped with it. It is what users
 * of the
 * kernel's TPACKET_V3 rings do.
 */
final class CopyPool extends Pool {
    private final Message[][] slots;
    /** How many messages of a ring were filled, written by who receives; how many of them it has seen to come back. */
    private final AtomicLongArray filled;
    private final AtomicLongArray seen;

    /** How many came back, written by the worker. */
    private final AtomicLongArray released;
    private final Idle.Stop stop;

    /** {@code perRing}: messages that a ring has room for, all that can be on their way to a worker or wait at it. */
    CopyPool(final Memory memory, final int rings, final int perRing, final Idle.Stop stop) {
        super(memory, rings * perRing);
        this.stop = stop;
        slots = new Message[rings][];
        filled = Spacing.APART.numbers(rings);
        seen = Spacing.APART.numbers(rings);
        released = Spacing.APART.numbers(rings);
        for (int ring = 0; ring < rings; ring++) {
            slots[ring] = make(perRing);
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
                final int place = Spacing.APART.at(ring);
                final long number = filled.getPlain(place);
                filled.setPlain(place, number + 1);
                final Message[] memoryOfRing = slots[ring];
                if (number - seen.getPlain(place) >= memoryOfRing.length) {
                    waitFor(place, number - memoryOfRing.length + 1);
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
        final int place = Spacing.APART.at(ring);
        released.setRelease(place, released.getPlain(place) + 1);
    }

    private void waitFor(final int place, final long count) {
        final Idle idle = new Idle(stop);
        long now = released.getAcquire(place);
        while (now < count) {
            idle.rest();
            now = released.getAcquire(place);
        }
        seen.setPlain(place, now);
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        for (int ring = 0; ring < slots.length; ring++) {
            final long back = released.get(Spacing.APART.at(ring));
            final long out = filled.get(Spacing.APART.at(ring)) - back;
            for (long i = out; i < slots[ring].length; i++) {
                action.accept(slots[ring][(int) ((back + i) % slots[ring].length)]);
            }
        }
    }
}
