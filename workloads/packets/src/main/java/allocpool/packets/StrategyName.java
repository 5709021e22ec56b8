package allocpool.packets;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * The strategies there are, by name: who provides a packet and who takes it back. A row says how large its pool must
 * be, how many packets it makes, and who does it where packets are objects and where they are slots of flat memory.
 */
public enum StrategyName {
    /** One packet reused: the cost of the test itself. */
    DUMMY {
        @Override
        long mostPackets(final Sizes sizes) {
            return 1;
        }

        @Override
        int slotCount(final Sizes sizes) {
            return 1;
        }

        @Override
        Strategy objects(final PacketMemory memory, final Sizes sizes, final boolean fifo) {
            return new DummyStrategy(memory);
        }

        @Override
        SlotSource slots(final Sizes sizes, final boolean fifo) {
            return new SlotSource.One();
        }
    },

    /** A fresh packet each time. */
    ALLOC {
        @Override
        Strategy objects(final PacketMemory memory, final Sizes sizes, final boolean fifo) {
            return new PoolStrategy(memory, 0);
        }

        @Override
        SlotSource slots(final Sizes sizes, final boolean fifo) {
            throw new IllegalStateException("Flat memory has nothing to allocate");
        }
    },

    /** A pool that may be too small, allocation beyond it. */
    MIX {
        @Override
        long leastPoolSize(final Sizes sizes) {
            return 1;
        }
    },

    /** A pool that always suffices. */
    POOL {
        @Override
        long leastPoolSize(final Sizes sizes) {
            return sizes.mostInUse();
        }
    };

    /** The smallest pool that makes sense. */
    long leastPoolSize(final Sizes sizes) {
        return 0;
    }

    /** The most packets that exist at once: those of the pool, or as many as are in use. */
    long mostPackets(final Sizes sizes) {
        return Math.max(sizes.pool, sizes.mostInUse());
    }

    /** The slots of shared memory that a trial needs. */
    int slotCount(final Sizes sizes) {
        return sizes.slots;
    }

    /** The strategy over packet objects of {@code memory}; its pool, if it has one, is full. */
    Strategy objects(final PacketMemory memory, final Sizes sizes, final boolean fifo) {
        return fifo ? new RingStrategy(memory, sizes.pool) : new PoolStrategy(memory, sizes.pool);
    }

    /** The same over the slots of flat memory. */
    SlotSource slots(final Sizes sizes, final boolean fifo) {
        return fifo ? new SlotSource.Ring(sizes.slots, sizes.pool) : new SlotSource.Pool(sizes.slots, sizes.pool);
    }

    /** Throws {@link IllegalArgumentException} if the pool is too small for this strategy, or no pool is asked for. */
    final void check(final Sizes sizes, final Options options) {
        if (options.fifo && leastPoolSize(sizes) == 0) {
            throw new IllegalArgumentException("strategy " + this + " has no pool to hand out in another order,"
                    + " choose one of: " + MIX + ", " + POOL);
        }
        Sizes.requireAtLeast("pool size of strategy " + this, sizes.pool, leastPoolSize(sizes));
    }

    /** The strategy of that name; throws {@link IllegalArgumentException} that names all there are. */
    static StrategyName named(final String name) {
        for (final StrategyName strategy : values()) {
            if (strategy.toString().equals(name)) {
                return strategy;
            }
        }
        final String choices = Arrays.stream(values()).map(StrategyName::toString).collect(Collectors.joining(", "));
        throw new IllegalArgumentException("unknown strategy '" + name + "', choose one of: " + choices);
    }

    /** The name as users write it. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
