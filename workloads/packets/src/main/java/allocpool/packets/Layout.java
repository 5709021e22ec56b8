package allocpool.packets;

/** The layouts there are, by name. */
enum Layout {
    /** Array-backed buffers, one per packet. */
    HEAP {
        @Override
        Processor create(final StrategyName strategy, final Sizes sizes, final long seed) {
            return objects(new HeapMemory(), strategy, sizes, seed);
        }
    },

    /** Slices of one direct buffer. */
    NATIVE {
        @Override
        Processor create(final StrategyName strategy, final Sizes sizes, final long seed) {
            // The reused packet of dummy needs one slot, whatever the others are given.
            final int slotCount = strategy == StrategyName.DUMMY ? 1 : sizes.slots;
            return objects(new NativeMemory(slotCount, strategy.mostPackets(sizes)), strategy, sizes, seed);
        }
    };

    /** The processor of this layout; throws {@link IllegalArgumentException} for sizes it can't do with. */
    abstract Processor create(StrategyName strategy, Sizes sizes, long seed);

    static Layout named(final String name) {
        return Names.constant(Layout.class, "layout", name);
    }

    private static Processor objects(final PacketMemory memory, final StrategyName strategy, final Sizes sizes,
            final long seed) {
        return new ObjectProcessor(memory, strategy.create(memory, sizes), sizes.queue, sizes.store, seed);
    }
}
