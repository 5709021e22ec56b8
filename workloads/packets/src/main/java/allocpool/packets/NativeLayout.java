package allocpool.packets;

/** Layout {@code native}: slices of direct buffers. */
public final class NativeLayout extends Layout {
    /**
     * The layout; made by {@link java.util.ServiceLoader}.
     */
    public NativeLayout() {
        super("native");
    }

    @Override
    protected Processor create(final StrategyName strategy, final Sizes sizes, final Options options) {
        final PacketMemory memory = new NativePacketMemory(strategy.slotCount(sizes), strategy.mostPackets(sizes),
                sizes.bufferBytes, options.detached);
        return objects(memory, strategy, sizes, options);
    }
}
