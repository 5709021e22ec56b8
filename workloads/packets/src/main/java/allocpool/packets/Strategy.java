package allocpool.packets;

import java.util.function.Consumer;

/** Who provides packets and who takes them back. */
abstract class Strategy {
    /** Packets made since the start, without those a pool was filled with. */
    long constructed;

    /** Packets dropped. */
    long discarded;

    /** A packet to be filled, its {@code parsed} null; what is in the buffer is arbitrary. */
    abstract Packet obtain();

    /** Takes back a packet that nobody else refers to. */
    abstract void free(Packet packet);

    /** Calls {@code action} with each packet now held ready. */
    abstract void forEachFree(Consumer<Packet> action);

    /** How many packets were made before the first was asked for. */
    abstract int preparedCount();

    /** Whether packets are handed out while they are in use: only the dummy does. */
    boolean reusesPacketsInUse() {
        return false;
    }
}
