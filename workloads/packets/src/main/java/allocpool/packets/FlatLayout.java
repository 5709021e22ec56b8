package allocpool.packets;

import java.util.EnumSet;

/** A layout without an object per packet: packets are numbers of slots in one region of memory. */
public abstract class FlatLayout extends Layout {
    /**
     * A flat layout by its name. It has every strategy but {@code alloc}: there is nothing to allocate.
     *
     * @param name what users call it
     */
    protected FlatLayout(final String name) {
        super(name, EnumSet.complementOf(EnumSet.of(StrategyName.ALLOC)));
    }

    /**
     * The region of memory, all zeros.
     *
     * @param slotCount slots that it must have
     * @return memory for so many slots
     * @throws IllegalArgumentException if there can't be so many, in one line that says how many
     */
    protected abstract FlatMemory allocate(int slotCount);

    @Override
    protected final Processor create(final StrategyName strategy, final Sizes sizes, final long seed) {
        final int slotCount = strategy.slotCount(sizes);
        Sizes.requireAtLeast("slot count of flat memory", slotCount, strategy.mostPackets(sizes));
        final SlotSource source = strategy.slots(sizes);
        return new FlatProcessor(allocate(slotCount), source, sizes, seed);
    }
}
