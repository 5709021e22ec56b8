package allocpool.packets;

import java.nio.ByteBuffer;

/**
 * Layout {@code native}: one direct buffer for all packets, each of which is an object with a slice of it.
 * Packet objects come and go as the strategy wants; the slots behind them are always pooled.
 */
final class NativePacketMemory extends PacketMemory {
    /** One direct buffer holds less than 2^31 bytes. */
    private static final int MAX_SLOT_COUNT = Integer.MAX_VALUE / PacketFormat.BUFFER_SIZE;

    private final ByteBuffer region;
    private final SlotStack freeSlots;

    /**
     * Allocates the region; throws {@link IllegalArgumentException} if it can't be or would not do.
     *
     * @param slotCount packets there is room for
     * @param neededCount packets that may exist at once
     * @param detached whether its packets keep numbers and no objects of a parse
     */
    NativePacketMemory(final int slotCount, final long neededCount, final boolean detached) {
        super(detached);
        Sizes.requireAtLeast("slot count of native memory", slotCount, neededCount);
        Sizes.requireAtMost("slot count of native memory", slotCount, MAX_SLOT_COUNT);
        region = ByteBuffer.allocateDirect(slotCount * PacketFormat.BUFFER_SIZE);
        freeSlots = SlotStack.allOf(slotCount);
    }

    @Override
    public Packet construct() {
        if (freeSlots.isEmpty()) {
            throw new IllegalStateException("All " + freeSlots.capacity() + " slots of native memory are in use");
        }
        final int slot = freeSlots.pop();
        final int offset = slot * PacketFormat.BUFFER_SIZE;
        region.limit(offset + PacketFormat.BUFFER_SIZE).position(offset);
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
