package allocpool.pools;

import allocpool.packets.Layout;
import allocpool.packets.Options;
import allocpool.packets.PacketMemory;
import allocpool.packets.Processor;
import allocpool.packets.Sizes;
import allocpool.packets.StrategyName;
import java.util.EnumSet;

/**
 * Layout {@code commons_pool}: packets on the heap, as in layout {@code heap}, kept by a pool of Apache Commons. What
 * varies is who keeps them; with strategy {@code mix} the pool is too small, and makes and drops packets.
 */
public final class CommonsPoolLayout extends Layout {
    /**
     * The layout; made by {@link java.util.ServiceLoader}.
     */
    public CommonsPoolLayout() {
        super("commons_pool", EnumSet.of(StrategyName.MIX, StrategyName.POOL));
    }

    @Override
    protected Processor create(final StrategyName strategy, final Sizes sizes, final Options options) {
        final PacketMemory memory = heapMemory(options);
        return objects(memory, new CommonsPoolStrategy(memory, sizes.pool(), options.fifo()), sizes, options);
    }
}
