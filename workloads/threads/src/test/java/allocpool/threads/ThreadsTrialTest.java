package allocpool.threads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One checksum for every strategy, nothing handed out twice under contention, and pools that cheat are found. */
class ThreadsTrialTest {
    private static final long PACKETS = 12_000;
    private static final int PREPARED = 6_000;
    private static final int FIRST_WITH_VIRTUAL_THREADS = 21;
    private static final Set<Pools> OF_THREADS_THAT_STAY =
            EnumSet.of(Pools.CACHED, Pools.OWNER, Pools.RECYCLE, Pools.COPY_ON_KEEP);
    private static final Shares SHARES = new Shares(2, 600, 300, 7);

    private static long checked(final ThreadsTrial trial) {
        trial.run(PACKETS / 2);
        trial.run(PACKETS - PACKETS / 2);
        trial.drain();
        assertEquals("", trial.audit());
        trial.close();
        return trial.checksum();
    }

    private static long known() {
        return checked(new ThreadsTrial("sharded", 1, "heap", "alloc", 0, 600, 300, 7, true));
    }

    @ParameterizedTest
    @EnumSource
    void everyStrategyDoesTheSameWork(final Pools strategy) {
        final String layout = strategy.toString().startsWith("netty_") && strategy != Pools.NETTY_RECYCLER
                ? "native" : "heap";
        final List<String> topologies = new ArrayList<>(List.of("sharded", "pipeline"));
        if (Runtime.version().feature() >= FIRST_WITH_VIRTUAL_THREADS && !OF_THREADS_THAT_STAY.contains(strategy)) {
            topologies.add("virtual");
        }
        for (final String topology : topologies) {
            final ThreadsTrial trial =
                    new ThreadsTrial(topology, SHARES, null, layout, strategy.toString(), PREPARED, Spacing.APART);
            assertEquals(known(), checked(trial), topology);
        }
    }

    @Test
    void unknownNamesAreToldInOneLine() {
        final String strategy = assertThrows(IllegalArgumentException.class,
                () -> new ThreadsTrial("sharded", 1, "heap", "hoard", 0, 600, 300, 7, true)).getMessage();
        assertTrue(strategy.contains("copy_on_keep"), strategy);
        final String layout = assertThrows(IllegalArgumentException.class,
                () -> new ThreadsTrial("sharded", 1, "slab", "alloc", 0, 600, 300, 7, true)).getMessage();
        assertTrue(layout.contains("heap, native, flat"), layout);
        final String topology = assertThrows(IllegalArgumentException.class,
                () -> new ThreadsTrial("star", 1, "heap", "alloc", 0, 600, 300, 7, true)).getMessage();
        assertTrue(topology.contains("sharded, pipeline, virtual"), topology);
    }

    @Test
    void aFailureOfOneThreadEndsTheTrial() {
        final ThreadsTrial trial = cheating((honest, count) -> {
            throw new IllegalStateException("broken");
        });
        final String found = assertThrows(IllegalStateException.class, () -> trial.run(PACKETS)).getMessage();
        assertTrue(found.contains("broken"), found);
        trial.close();
    }

    /** Threads that do nothing but take and give back: nobody else may hold what one holds. */
    @ParameterizedTest
    @ValueSource(strings = {"locked", "stack", "mpmc", "cached"})
    void sharedPoolsHandOutNothingTwiceUnderContention(final String strategy) {
        final int prepared = 64;
        final Pool pool = Pools.named(strategy).make(
                new Pools.Setting("heap", "sharded", prepared, new Shares(3, 3, 3, 7), new Idle.Stop(), Spacing.APART));
        final Set<Message> out = ConcurrentHashMap.newKeySet();
        final AtomicInteger twice = new AtomicInteger();
        final Idle.Stop stop = new Idle.Stop();
        final Team team = new Team(3, stop);
        team.run(k -> {
            final User user = pool.user(k);
            final List<Message> held = new ArrayList<>();
            for (int round = 0; round < 5_000; round++) {
                for (int i = 0; i <= round % 8; i++) {
                    held.add(user.obtain(k));
                    twice.addAndGet(out.add(held.get(i)) ? 0 : 1);
                }
                held.forEach(out::remove);
                held.forEach(user::free);
                held.clear();
            }
        });
        team.dismiss();
        assertEquals(0, twice.get());
        final Set<Message> free = new HashSet<>();
        pool.forEachFree(message -> assertTrue(free.add(message)));
        assertTrue(free.size() >= prepared, () -> free.size() + " free");
    }

    /** A stack that another thread overtakes between reading the head and exchanging it. */
    private static final class Overtaken extends StackPool {
        private final boolean tags;
        private final List<Message> taken = new ArrayList<>();
        private boolean armed;

        Overtaken(final boolean tags) {
            super(Memory.named("heap", 0), 3);
            this.tags = tags;
            armed = true;
        }

        @Override
        long tagged(final long before, final int index) {
            return tags ? super.tagged(before, index) : index & 0xFFFFFFFFL;
        }

        @Override
        void pause() {
            if (armed) {
                armed = false;
                final Message first = pop();
                taken.add(pop());
                push(first);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aStackWithoutTagsHasTheFaultThatTagsPrevent(final boolean tags) {
        final Overtaken pool = new Overtaken(tags);
        for (Message message = pool.pop(); message != null; message = pool.pop()) {
            pool.taken.add(message);
        }
        assertEquals(tags, pool.taken.size() == new HashSet<>(pool.taken).size());
    }

    /** What a pool that cheats does with the message that it should take back. */
    private interface Cheat {
        /** Whether the honest pool is still to be given it. */
        boolean takes(User honest, Message message);
    }

    private static ThreadsTrial cheating(final Cheat cheat) {
        final Pool honest = new LockedPool(Memory.named("heap", 0), PREPARED);
        final Pool pool = new Pool(honest.memory, honest.prepared) {
            @Override
            User user(final int thread) {
                final User user = honest.user(thread);
                return new User(thread) {
                    private int count;

                    @Override
                    Message take(final int ring) {
                        return user.take(ring);
                    }

                    @Override
                    void give(final Message message) {
                        if (++count != 1_000 || cheat.takes(user, message)) {
                            user.give(message);
                        }
                    }
                };
            }

            @Override
            void forEachFree(final Consumer<Message> action) {
                honest.forEachFree(action);
            }
        };
        return new ThreadsTrial("sharded", SHARES, pool, null, null, 0, Spacing.APART);
    }

    /** What the audit finds, or what a thread stumbled upon before it. */
    private static String finding(final Cheat cheat) {
        try (ThreadsTrial trial = cheating(cheat)) {
            trial.run(PACKETS);
            trial.drain();
            return trial.audit();
        } catch (final IllegalStateException e) {
            return e.getMessage();
        }
    }

    @Test
    void auditsFindPoolsThatCheat() {
        assertEquals("", finding((honest, message) -> true));
        assertFalse(finding((honest, message) -> false).isEmpty(), "one lost");
        assertFalse(finding((honest, message) -> {
            honest.give(message);
            return true;
        }).isEmpty(), "one freed twice");
    }
}
