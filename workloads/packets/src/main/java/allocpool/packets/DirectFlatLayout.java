package allocpool.packets;

/** Layout {@code flat}: the region is a direct buffer. */
final class DirectFlatLayout extends FlatLayout {
    DirectFlatLayout() {
        super("flat");
    }

    @Override
    protected FlatMemory allocate(final int slotCount) {
        return new DirectFlatMemory(slotCount);
    }
}
