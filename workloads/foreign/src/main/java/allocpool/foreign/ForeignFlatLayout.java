package allocpool.foreign;

import allocpool.packets.FlatLayout;
import allocpool.packets.FlatMemory;

/** Layout {@code flat_ffm}: the region is a memory segment. */
public final class ForeignFlatLayout extends FlatLayout {
    /**
     * The layout; made by {@link java.util.ServiceLoader}.
     */
    public ForeignFlatLayout() {
        super("flat_ffm", Long.MAX_VALUE);
    }

    @Override
    protected FlatMemory allocate(final long bytes) {
        return new SegmentFlatMemory(bytes);
    }
}
