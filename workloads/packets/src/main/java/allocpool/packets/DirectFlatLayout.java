package allocpool.packets;

/** Layout {@code flat}: the region is a direct buffer. */
public final class DirectFlatLayout extends FlatLayout {
    /**
     * The layout; made by {@link java.util.ServiceLoader}.
     */
    public DirectFlatLayout() {
        super("flat", DirectFlatMemory.MOST_BYTES);
    }

    @Override
    protected FlatMemory allocate(final long bytes) {
        return new DirectFlatMemory(bytes);
    }
}
