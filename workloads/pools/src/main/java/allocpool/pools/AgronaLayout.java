package allocpool.pools;

import allocpool.packets.FlatLayout;
import allocpool.packets.FlatMemory;

/**
 * Layout {@code agrona}: the flat layout on a buffer of Agrona, which is no pool but the off-heap buffer under many,
 * used as there: one buffer, offsets in place of objects. Its checks of bounds are on, as they are by default.
 */
public final class AgronaLayout extends FlatLayout {
    /**
     * The layout; made by {@link java.util.ServiceLoader}.
     */
    public AgronaLayout() {
        super("agrona", AgronaFlatMemory.MOST_BYTES);
    }

    @Override
    protected FlatMemory allocate(final long bytes) {
        return new AgronaFlatMemory(bytes);
    }
}
