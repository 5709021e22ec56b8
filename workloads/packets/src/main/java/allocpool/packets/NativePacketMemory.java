package allocpool.packets;

import java.nio.ByteBuffer;

/**
 * Layout {@code native}: direct buffers for all packets, each of which is an object with a slice of one.
 * Packet objects come and go as the strategy wants; the slots behind them are always pooled.
 */
final class NativePacketMemory extends PacketMemory {
    private final ByteBuffer[] regions;
    private final int bufferBytes;

    /** Of the number of slots of a region: a power of two, for one direct buffer holds less than 2^31 bytes. */
    private final int regionShift;
    private final SlotStack freeSlots;

    /**
     * Allocates the regions; throws {@link IllegalArgumentException} if they would not do.
     *
     * @param slotCount packets there is room for
     * @param neededCount packets that may exist at once
     * @param bufferBytes of a packet
     * @param detached whether its packets keep numbers and no objects of a parse
     */
    NativePacketMemory(final int slotCount, final long neededCount, final int bufferBytes, final boolean detached) {
        this(slotCount, neededCount, bufferBytes, detached,
                Integer.SIZE - 1 - Integer.numberOfLeadingZeros(Integer.MAX_VALUE / bufferBytes));
    }

    /** The same with regions of two to the power of {@code regionShift} slots. */
    NativePacketMemory(final int slotCount, final long neededCount, final int bufferBytes, final boolean detached,
            final int regionShift) {
        super(detached);
        Sizes.requireAtLeast("slot count of native memory", slotCount, neededCount);
        this.bufferBytes = bufferBytes;
        this.regionShift = regionShift;
        final int most = 1 << regionShift;
        regions = new ByteBuffer[(slotCount - 1 >> regionShift) + 1];
        for (int i = 0; i < regions.length; i++) {
            regions[i] = ByteBuffer.allocateDirect(Math.min(most, slotCount - i * most) * bufferBytes);
        }
        freeSlots = SlotStack.allOf(slotCount);
    }

    @Override
    public Packet construct() {
        if (freeSlots.isEmpty()) {
            throw new IllegalStateException("All " + freeSlots.capacity() + " slots of native memory are in use");
        }
        final int slot = freeSlots.pop();
        final ByteBuffer region = regions[slot >> regionShift];
        final int offset = (slot & (1 << regionShift) - 1) * bufferBytes;
        region.limit(offset + bufferBytes).position(offset);
        return over(region.slice(), slot);
    }

    @Override
    public void discard(final Packet packet) {
        freeSlots.push(((ByteBufferPacket) packet).slot);
    }

    @Override
    protected Packet[] age(final long seed, final int most) {
        freeSlots.age(seed);
        return new Packet[0];
    }

    @Override
    protected void audit(final Audit audit) {
        freeSlots.forEach(audit::freeSlot);
        audit.allSlotsSeen(freeSlots.capacity());
    }
}
