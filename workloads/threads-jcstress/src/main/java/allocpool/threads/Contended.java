package allocpool.threads;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import org.openjdk.jcstress.infra.results.II_Result;

/** A pool with two users, each of which notes what it holds, and at the end the counters of both. */
abstract class Contended {
    static final int USERS = 2;

    private final Pool pool;
    private final List<Hands> hands = new ArrayList<>();

    Contended(final Pool pool) {
        this.pool = pool;
        for (int thread = 0; thread < USERS; thread++) {
            hands.add(new Hands(pool.user(thread)));
        }
    }

    /** Messages so small that making them takes next to no time: nothing is written into them. */
    static Memory tiny() {
        return new Memory() {
            @Override
            Message construct() {
                return new BufferMessage(ByteBuffer.allocate(Long.BYTES), -1);
            }
        };
    }

    final Hands of(final int thread) {
        return hands.get(thread);
    }

    /** First result: messages that are in two places; second: those that are in none. */
    final void counters(final II_Result result) {
        final Set<Message> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        final int[] places = new int[1];
        long made = pool.prepared;
        for (final Hands one : hands) {
            made += one.user.constructed - one.user.discarded;
            places[0] += one.held.size();
            seen.addAll(one.held);
        }
        pool.forEachFree(message -> {
            places[0]++;
            seen.add(message);
        });
        result.r1 = places[0] - seen.size();
        result.r2 = (int) made - seen.size();
    }

    /** One thread with what it holds. */
    static final class Hands {
        private final User user;
        private final Deque<Message> held = new ArrayDeque<>();

        Hands(final User user) {
            this.user = user;
        }

        void take() {
            held.addLast(user.obtain(0));
        }

        /** Gives back what it has held longest. */
        void give() {
            user.free(held.removeFirst());
        }

        /** What another thread obtained is this one's to free. */
        void receiveFrom(final Hands other) {
            held.addLast(other.held.removeFirst());
        }
    }
}
