package allocpool.messages;

import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Strategies {@code pool} and {@code mix}: a stack of free messages for each size class. Where one is empty a message
 * is made; a pool keeps it when it comes back, a mix only while there are fewer free ones than at the start.
 */
final class Pool implements Source {
    private final Memory memory;
    private final int[] capacities;
    private final int[] sizes;
    private final int[] limits;
    private final Message[][] stacks;
    private final boolean zeroing;
    private final long prepared;
    private long heldBytes;

    Pool(final Memory memory, final int[] capacities, final int[] counts, final boolean grows, final boolean zeroing,
            final long seed) {
        this.memory = memory;
        this.capacities = capacities.clone();
        this.zeroing = zeroing;
        sizes = counts.clone();
        limits = counts.clone();
        stacks = new Message[counts.length][];
        for (int i = 0; i < counts.length; i++) {
            stacks[i] = new Message[Math.max(1, counts[i])];
            for (int k = 0; k < counts[i]; k++) {
                stacks[i][k] = memory.construct(capacities[i]);
            }
            shuffle(stacks[i], counts[i], seed + i);
            heldBytes += (long) counts[i] * capacities[i];
        }
        if (grows) {
            Arrays.fill(limits, Integer.MAX_VALUE);
        }
        prepared = Arrays.stream(counts).asLongStream().sum();
    }

    /** Free messages of a program that has run for long lie in no order. */
    private static void shuffle(final Message[] stack, final int count, final long seed) {
        for (int i = count - 1; i > 0; i--) {
            final int other = Mix.place(Mix.draw(seed, i), i + 1);
            final Message message = stack[i];
            stack[i] = stack[other];
            stack[other] = message;
        }
    }

    @Override
    public Message obtain(final int length, final Counters counters) {
        final Message message = take(length);
        return message == null ? grown(length, counters) : cleared(message, length);
    }

    /** A free message, or null. */
    Message take(final int length) {
        final int number = classOf(length);
        final Message[] stack = stacks[number];
        final int size = sizes[number];
        if (size == 0) {
            return null;
        }
        final Message message = stack[size - 1];
        stack[size - 1] = null;
        sizes[number] = size - 1;
        return message;
    }

    Message grown(final int length, final Counters counters) {
        final Message message = memory.construct(capacities[classOf(length)]);
        counters.constructed++;
        counters.heldBytes += message.capacity;
        return message;
    }

    Message cleared(final Message message, final int length) {
        if (zeroing) {
            message.clear(length);
        }
        return message;
    }

    @Override
    public void free(final Message message, final Counters counters) {
        final int number = classOf(message.capacity);
        final int size = sizes[number];
        if (size >= limits[number]) {
            counters.discarded++;
            counters.heldBytes -= message.capacity;
            return;
        }
        if (size == stacks[number].length) {
            stacks[number] = Arrays.copyOf(stacks[number], 2 * size);
        }
        stacks[number][size] = message;
        sizes[number] = size + 1;
    }

    /** The smallest class that is long enough. */
    private int classOf(final int length) {
        int low = 0;
        int high = capacities.length - 1;
        while (low < high) {
            final int middle = (low + high) >>> 1;
            if (capacities[middle] < length) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    @Override
    public long prepared() {
        return prepared;
    }

    @Override
    public void forEachFree(final Consumer<Message> action) {
        for (int i = 0; i < stacks.length; i++) {
            for (int k = 0; k < sizes[i]; k++) {
                action.accept(stacks[i][k]);
            }
        }
    }

    @Override
    public long heldBytes() {
        return heldBytes;
    }
}
