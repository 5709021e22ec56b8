package allocpool.packets;

import java.util.function.Consumer;

/** Who provides packet objects and who takes them back. */
public abstract class Strategy {
    /** Packets made since the start, without those a pool was filled with. */
    protected long constructed;

    /** Packets dropped. */
    protected long discarded;

    /** For subclasses. */
    protected Strategy() {
    }

    /**
     * A packet to be filled.
     *
     * @return a packet without a parse result; what is in its buffer is arbitrary
     */
    protected abstract Packet obtain();

    /**
     * Takes back a packet that nobody else refers to.
     *
     * @param packet one of {@link #obtain}
     */
    protected abstract void free(Packet packet);

    /**
     * Calls {@code action} with each packet now held ready; leaves everything as it was.
     *
     * @param action to be called
     */
    protected abstract void forEachFree(Consumer<Packet> action);

    /**
     * How many packets were made before the first was asked for.
     *
     * @return number of packets
     */
    protected abstract int preparedCount();

    /** Whether packets are handed out while they are in use: only the dummy does. */
    boolean reusesPacketsInUse() {
        return false;
    }
}
