package allocpool.threads;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;
import org.jctools.queues.MpmcArrayQueue;

/** The strategies by name; a row makes its pool. */
enum Pools {
    /** No pool. */
    ALLOC {
        @Override
        Pool make(final Setting setting) {
            return new AllocPool(Memory.named(setting.layout, 0));
        }
    },

    /** One stack under a lock. */
    LOCKED {
        @Override
        Pool make(final Setting setting) {
            return new LockedPool(setting.memory(), setting.prepared);
        }
    },

    /** One lock-free stack. */
    STACK {
        @Override
        Pool make(final Setting setting) {
            return new StackPool(setting.memory(), setting.prepared);
        }
    },

    /** One ring for all. */
    MPMC {
        @Override
        Pool make(final Setting setting) {
            return new MpmcPool(setting.memory(), setting.prepared, setting.spacing);
        }
    },

    /** A cache for each thread over a depot. */
    CACHED {
        @Override
        Pool make(final Setting setting) {
            return new CachedPool(setting.memory(), setting.prepared);
        }
    },

    /** Back to the thread that obtained it. */
    OWNER {
        @Override
        Pool make(final Setting setting) {
            return new OwnerPool(setting.memory(), setting.prepared, setting.users(), setting.hasReceiver(),
                    setting.spacing);
        }
    },

    /** Rings of free messages, one for each pair of threads. */
    RECYCLE {
        @Override
        Pool make(final Setting setting) {
            final int receiver = setting.hasReceiver() ? setting.threads : -1;
            return new RecyclePool(setting.memory(), setting.prepared, setting.threads, receiver);
        }
    },

    /** The ring's own memory; what is kept is copied. */
    COPY_ON_KEEP {
        @Override
        Pool make(final Setting setting) {
            final int perRing = setting.shares.queueOfEach() + 1 + (setting.hasReceiver() ? Topology.BETWEEN : 0);
            return new CopyPool(Memory.named(setting.layout, setting.threads * perRing), setting.threads, perRing,
                    setting.stop);
        }
    },

    /** A pool for each thread that frees. */
    THREAD_LOCAL {
        @Override
        Pool make(final Setting setting) {
            return new ThreadLocalPool(setting.memory(), setting.sharesOfThreads(), 2 * setting.prepared);
        }
    },

    /** Netty's pooled allocator. */
    NETTY_POOLED {
        @Override
        Pool make(final Setting setting) {
            return new NettyPool(toString(), !setting.isVirtual());
        }
    },

    /** Netty's allocator without a pool. */
    NETTY_UNPOOLED {
        @Override
        Pool make(final Setting setting) {
            return new NettyPool(toString(), !setting.isVirtual());
        }
    },

    /** Netty's adaptive allocator. */
    NETTY_ADAPTIVE {
        @Override
        Pool make(final Setting setting) {
            return new NettyPool(toString(), !setting.isVirtual());
        }
    },

    /** Netty's pool of objects. */
    NETTY_RECYCLER {
        @Override
        Pool make(final Setting setting) {
            return new RecyclerPool(Memory.named(setting.layout, 0));
        }
    },

    /** Agrona's queue for many producers and consumers. */
    AGRONA {
        @Override
        Pool make(final Setting setting) {
            return new LibraryQueuePool(setting.memory(), setting.prepared,
                    new ManyToManyConcurrentArrayQueue<>(2 * setting.prepared));
        }
    },

    /** JCTools' queue for many producers and consumers. */
    JCTOOLS {
        @Override
        Pool make(final Setting setting) {
            return new LibraryQueuePool(setting.memory(), setting.prepared,
                    new MpmcArrayQueue<>(2 * setting.prepared));
        }
    },

    /** Commons Pool. */
    COMMONS_POOL {
        @Override
        Pool make(final Setting setting) {
            return new CommonsPool(setting.memory(), setting.prepared);
        }
    },

    /** Stormpot. */
    STORMPOT {
        @Override
        Pool make(final Setting setting) {
            return new StormpotPool(setting.memory(), setting.prepared, !setting.isVirtual());
        }
    };

    abstract Pool make(Setting setting);

    /** The strategy of that name; throws {@link IllegalArgumentException} that names all there are. */
    static Pools named(final String name) {
        for (final Pools pool : values()) {
            if (pool.toString().equals(name)) {
                return pool;
            }
        }
        final String choices = Arrays.stream(values()).map(Pools::toString).collect(Collectors.joining(", "));
        throw new IllegalArgumentException("unknown strategy '" + name + "', choose one of: " + choices);
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** What a pool is made for. */
    static final class Setting {
        final String layout;
        final String topology;
        final int threads;
        final int prepared;
        final Shares shares;
        final Idle.Stop stop;
        final Spacing spacing;

        Setting(final String layout, final String topology, final int prepared, final Shares shares,
                final Idle.Stop stop, final Spacing spacing) {
            this.spacing = spacing;
            this.layout = layout;
            this.topology = topology;
            this.threads = shares.threads;
            this.prepared = prepared;
            this.shares = shares;
            this.stop = stop;
        }

        Memory memory() {
            return Memory.named(layout, prepared);
        }

        boolean isVirtual() {
            return topology.equals("virtual");
        }

        boolean hasReceiver() {
            return topology.equals("pipeline");
        }

        int users() {
            return hasReceiver() ? threads + 1 : threads;
        }

        /**
         * Of what is prepared, what each thread has at the start: all with the one that receives, or the same for
         * each.
         */
        int[] sharesOfThreads() {
            if (isVirtual()) {
                return null;
            }
            final int[] each = new int[users()];
            if (hasReceiver()) {
                each[threads] = prepared;
            } else {
                Arrays.fill(each, prepared / threads);
            }
            return each;
        }
    }
}
