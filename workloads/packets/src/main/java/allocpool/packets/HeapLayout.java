package allocpool.packets;

/** Layout {@code heap}: array-backed buffers, one per packet. */
public final class HeapLayout extends Layout {
    /**
     * The layout; made by {@link java.util.ServiceLoader}.
     */
    public HeapLayout() {
        super("heap");
    }

    @Override
    protected Processor create(final StrategyName strategy, final Sizes sizes, final Options options) {
        return objects(heapMemory(options), strategy, sizes, options);
    }
}
