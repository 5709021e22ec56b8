package allocpool.packets;

/** Layout {@code native}: slices of one direct buffer. */
final class NativeLayout extends Layout {
    NativeLayout() {
        super("native", StrategyName.DUMMY, StrategyName.ALLOC, StrategyName.MIX, StrategyName.POOL);
    }

    @Override
    protected Processor create(final StrategyName strategy, final Sizes sizes, final long seed) {
        final PacketMemory memory = new NativeMemory(strategy.slotCount(sizes), strategy.mostPackets(sizes));
        return objects(memory, strategy, sizes, seed);
    }
}
