package allocpool.packets;

/** Makes packets, each with its buffer: the part in which the object layouts differ. */
public abstract class PacketMemory {
    /** For subclasses. */
    protected PacketMemory() {
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
     * @param audit to be told
     */
    protected abstract void audit(Audit audit);
}
