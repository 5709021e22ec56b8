package allocpool.packets;

import java.util.EnumSet;

/** A layout without an object per packet: packets are numbers of slots in one region of memory. */
public abstract class FlatLayout extends Layout {
    private final long mostBytes;

    /**
     * A flat layout by its name. It has every strategy but {@code alloc}: there is nothing to allocate.
     *
     * @param name what users call it
     * @param mostBytes of a region that it can have
     */
    protected FlatLayout(final String name, final long mostBytes) {
        super(name, EnumSet.complementOf(EnumSet.of(StrategyName.ALLOC)));
        this.mostBytes = mostBytes;
    }

    /**
     * The region of memory, all zeros.
     *
     * @param bytes how large it must be
     * @return memory whose start is a multiple of {@link FlatMemory#ALIGNMENT}
     */
    protected abstract FlatMemory allocate(long bytes);

    @Override
    final void check(final Options options) {
        if (options.leanView) {
            throw new IllegalArgumentException("layout " + name() + " makes no view of a payload, lean or not");
        }
        if (options.detached) {
            throw new IllegalArgumentException("layout " + name() + " makes no parse result, detached or not");
        }
    }

    @Override
    protected final Processor create(final StrategyName strategy, final Sizes sizes, final Options options) {
        final Steps steps = Steps.named(options.steps);
        final int slotCount = strategy.slotCount(sizes);
        final FlatGeometry geometry = new FlatGeometry(steps, slotCount, sizes.bufferBytes);
        Sizes.requireAtLeast("slot count of layout " + name(), slotCount, strategy.mostPackets(sizes));
        Sizes.requireAtMost("slot count of layout " + name(), slotCount, mostBytes / geometry.slotBytes);
        final SlotSource source = strategy.slots(sizes, options.fifo);
        if (options.aged) {
            source.age(options.seed);
        }
        final FlatMemory memory = allocate(slotCount * geometry.slotBytes);
        return new FlatProcessor(memory, geometry, steps.prefetch, source, sizes, options);
    }
}
