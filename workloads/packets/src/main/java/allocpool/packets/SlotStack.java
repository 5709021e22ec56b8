package allocpool.packets;

import java.util.function.IntConsumer;

/** Numbers of slots of one memory, last in first out: what is free of it. */
final class SlotStack {
    /** Of which the first {@link #size} are free; the flat processor works on both in local variables. */
    final int[] slots;
    int size;

    SlotStack(final int capacity) {
        slots = new int[capacity];
    }

    /** All slots of a memory, the first on top. */
    static SlotStack allOf(final int slotCount) {
        final SlotStack all = new SlotStack(slotCount);
        for (int slot = slotCount - 1; slot >= 0; slot--) {
            all.push(slot);
        }
        return all;
    }

    boolean isEmpty() {
        return size == 0;
    }

    boolean isFull() {
        return size == slots.length;
    }

    int capacity() {
        return slots.length;
    }

    void push(final int slot) {
        slots[size++] = slot;
    }

    int pop() {
        return slots[--size];
    }

    /** Puts the slots here into the order of long use. */
    void age(final long seed) {
        Ageing.shuffle(slots, size, seed);
    }

    /** Calls {@code action} with each slot here. */
    void forEach(final IntConsumer action) {
        for (int i = 0; i < size; i++) {
            action.accept(slots[i]);
        }
    }
}
