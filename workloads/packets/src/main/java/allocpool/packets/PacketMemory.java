package allocpool.packets;

/** Makes packets, each with its buffer: the part in which the object layouts differ. */
abstract class PacketMemory {
    /** A new packet with a buffer of its own, {@link PacketFormat#BUFFER_SIZE} bytes, big-endian. */
    abstract Packet construct();

    /** Takes back what the collector does not: called once for each packet that is dropped. */
    abstract void discard(Packet packet);

    /** Reports every buffer that no packet has now. */
    abstract void audit(Audit audit);
}
