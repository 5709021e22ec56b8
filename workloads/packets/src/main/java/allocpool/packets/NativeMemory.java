package allocpool.packets;

import java.nio.ByteBuffer;

/**
 * Layout {@code native}: one direct buffer for all packets, each of which is an object with a slice of it.
 * Packet objects come and go as the strategy wants; the slots behind them are always pooled.
 */
final class NativeMemory extends PacketMemory {
    /** One direct buffer holds less than 2^31 bytes. */
    private static final int MAX_SLOT_COUNT = Integer.MAX_VALUE / PacketFormat.BUFFER_SIZE;

    private final ByteBuffer region;
    private final int[] freeSlots;
    private int freeCount;

    /**
     * Allocates the region; throws {@link IllegalArgumentException} if it can't be or would not do.
     *
     * @param slotCount packets there is room for
     * @param neededCount packets that may exist at once
     */
    NativeMemory(final int slotCount, final long neededCount) {
        Sizes.requireAtLeast("slot count of native memory", slotCount, neededCount);
        if (slotCount > MAX_SLOT_COUNT) {
            throw new IllegalArgumentException(
                    "slot count of native memory is " + slotCount + ", must be at most " + MAX_SLOT_COUNT);
        }
        region = ByteBuffer.allocateDirect(slotCount * PacketFormat.BUFFER_SIZE);
        freeSlots = new int[slotCount];
        for (int i = 0; i < slotCount; i++) {
            freeSlots[i] = slotCount - 1 - i;
        }
        freeCount = slotCount;
    }

    @Override
    Packet construct() {
        if (freeCount == 0) {
            throw new IllegalStateException("All " + freeSlots.length + " slots of native memory are in use");
        }
        final int slot = freeSlots[--freeCount];
        final int offset = slot * PacketFormat.BUFFER_SIZE;
        region.limit(offset + PacketFormat.BUFFER_SIZE).position(offset);
        return new Packet(region.slice(), slot);
    }

    @Override
    void discard(final Packet packet) {
        freeSlots[freeCount++] = packet.slot;
    }

    @Override
    void audit(final Audit audit) {
        for (int i = 0; i < freeCount; i++) {
            audit.freeSlot(freeSlots[i]);
        }
        audit.allSlotsSeen(freeSlots.length);
    }
}
