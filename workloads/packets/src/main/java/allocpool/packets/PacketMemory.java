package allocpool.packets;

import java.nio.ByteBuffer;

/** Makes packets, each with its buffer: the part in which the object layouts differ. */
public abstract class PacketMemory {
    /** Whether its packets keep numbers and no objects of a parse. */
    final boolean detached;

    /** For subclasses. */
    protected PacketMemory() {
        this(false);
    }

    PacketMemory(final boolean detached) {
        this.detached = detached;
    }

    /** A packet over this buffer. */
    final Packet over(final ByteBuffer buffer, final int slot) {
        return detached ? DetachedPacket.over(buffer, slot) : new ByteBufferPacket(buffer, slot);
    }

    /**
     * A new packet.
     *
     * @return a packet with {@link PacketFormat#BUFFER_SIZE} bytes of its own, whose content is arbitrary
     */
    public abstract Packet construct();

    /**
     * Takes back what the collector does not: called once for each packet that is dropped.
     *
     * @param packet a packet of {@link #construct} that nobody refers to
     */
    public abstract void discard(Packet packet);

    /**
     * Puts what is free of this memory into the order of long use, before the trial asks for the first packet.
     *
     * @param seed seed of the trial
     * @param most as many packets as the trial will construct and have at once
     * @return packets to be handed out first, if the memory ages by what lives in it; mostly none
     */
    protected abstract Packet[] age(long seed, int most);

    /**
     * Reports every buffer that no packet has now.
     *
     * @param audit what it is reported to
     */
    protected abstract void audit(Audit audit);
}
