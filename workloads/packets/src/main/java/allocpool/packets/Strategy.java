package allocpool.packets;

import java.util.function.Consumer;

/**
 * Who provides packet objects and who takes them back: a stack of packets that lie ready, last in first out, and what
 * happens when there is none or no place for one more. A strategy without a pool of ours has an empty stack.
 *
 * <p>The stack is worked on by the {@link Processor}, which keeps its top in a local variable.
 */
public abstract class Strategy {
    /** Packets made since the start, without those a pool was filled with. */
    protected long constructed;

    /** Packets dropped. */
    protected long discarded;

    /** The packets that lie ready, the first of which is the last to be handed out. */
    Packet[] stack;

    /** How many there are. */
    int ready;

    /** How many there may be when one comes back. */
    final int capacity;

    /**
     * A strategy without a pool of ours.
     */
    protected Strategy() {
        this(0);
    }

    Strategy(final int poolSize) {
        capacity = poolSize;
        stack = new Packet[poolSize];
    }

    /**
     * A packet to be filled, when none lies ready.
     *
     * @return a packet without a parse result; what is in its buffer is arbitrary
     */
    protected abstract Packet make();

    /**
     * Takes back a packet that nobody else refers to, when there is no place for it among those that lie ready.
     *
     * @param packet one of {@link #make} or of the stack
     */
    protected abstract void drop(Packet packet);

    /**
     * Calls {@code action} with each packet now held ready; leaves everything as it was.
     *
     * @param action to be called
     */
    protected void forEachFree(final Consumer<Packet> action) {
        for (int i = 0; i < ready; i++) {
            action.accept(stack[i]);
        }
    }

    /**
     * How many packets were made before the first was asked for.
     *
     * @return number of packets
     */
    protected int preparedCount() {
        return stack.length;
    }

    /**
     * Puts the packets held ready into the order of long use, before the first is asked for.
     *
     * @param seed seed of the trial
     */
    protected void age(final long seed) {
        Ageing.shuffle(stack, ready, seed);
    }

    /** Hands out these packets first, where there is no pool. */
    final void prepare(final Packet[] packets) {
        if (packets.length > 0) {
            stack = packets;
            ready = packets.length;
        }
    }

    /** Whether packets are handed out while they are in use: only the dummy does. */
    boolean reusesPacketsInUse() {
        return false;
    }
}
