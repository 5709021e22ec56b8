package allocpool.messages;

import java.util.function.Consumer;

/** Where messages come from and go to: a strategy. */
interface Source {
    /** A message with room for so many bytes, whose content is arbitrary unless it was to be cleared. */
    Message obtain(int length, Counters counters);

    /** Takes a message back. */
    void free(Message message, Counters counters);

    /** Messages that were made before the start. */
    default long prepared() {
        return 0;
    }

    /** Visits every free message; only while the threads rest. */
    default void forEachFree(final Consumer<Message> action) {
        // Nothing waits.
    }

    /** Bytes of the buffers that it holds, used or free; 0 where it holds none. */
    default long heldBytes() {
        return 0;
    }

    /** Whether {@link #forEachFree} visits every free message. */
    default boolean tellsFree() {
        return true;
    }
}
