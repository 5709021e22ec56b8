package allocpool.packets;

/** The strategies there are, by name: who provides a packet and who takes it back. */
public enum StrategyName {
    /** One packet reused: the cost of the test itself. */
    DUMMY {
        @Override
        long leastPoolSize(final Sizes sizes) {
            return 0;
        }

        @Override
        long mostPackets(final Sizes sizes) {
            return 1;
        }

        @Override
        Strategy create(final PacketMemory memory, final Sizes sizes) {
            return new DummyStrategy(memory);
        }
    },

    /** A fresh packet each time. */
    ALLOC {
        @Override
        long leastPoolSize(final Sizes sizes) {
            return 0;
        }

        @Override
        long mostPackets(final Sizes sizes) {
            return sizes.mostInUse();
        }

        @Override
        Strategy create(final PacketMemory memory, final Sizes sizes) {
            return new AllocStrategy(memory);
        }
    },

    /** A pool that may be too small, allocation beyond it. */
    MIX {
        @Override
        long leastPoolSize(final Sizes sizes) {
            return 1;
        }

        @Override
        long mostPackets(final Sizes sizes) {
            return Math.max(sizes.pool, sizes.mostInUse());
        }

        @Override
        Strategy create(final PacketMemory memory, final Sizes sizes) {
            return new PoolStrategy(memory, sizes.pool);
        }
    },

    /** A pool that always suffices. */
    POOL {
        @Override
        long leastPoolSize(final Sizes sizes) {
            return sizes.mostInUse();
        }

        @Override
        long mostPackets(final Sizes sizes) {
            return sizes.pool;
        }

        @Override
        Strategy create(final PacketMemory memory, final Sizes sizes) {
            return new PoolStrategy(memory, sizes.pool);
        }
    };

    /** The smallest pool that makes sense. */
    abstract long leastPoolSize(Sizes sizes);

    /** The most packets that exist at once. */
    abstract long mostPackets(Sizes sizes);

    /** The strategy over {@code memory}; its pool, if it has one, is full. */
    abstract Strategy create(PacketMemory memory, Sizes sizes);

    /** The slots of shared memory that a trial needs: the reused packet of dummy takes one, whatever the sizes. */
    int slotCount(final Sizes sizes) {
        return this == DUMMY ? 1 : sizes.slots;
    }

    static StrategyName named(final String name) {
        return Names.constant(StrategyName.class, "strategy", name);
    }

    /** Throws {@link IllegalArgumentException} if the pool is too small for this strategy. */
    void check(final Sizes sizes) {
        Sizes.requireAtLeast("pool size of strategy " + Names.of(this), sizes.pool, leastPoolSize(sizes));
    }
}
