package allocpool.packets;

/** Layout {@code heap}: array-backed buffers, one per packet. */
final class HeapLayout extends Layout {
    HeapLayout() {
        super("heap", StrategyName.DUMMY, StrategyName.ALLOC, StrategyName.MIX, StrategyName.POOL);
    }

    @Override
    protected Processor create(final StrategyName strategy, final Sizes sizes, final long seed) {
        return objects(heapMemory(), strategy, sizes, seed);
    }
}
