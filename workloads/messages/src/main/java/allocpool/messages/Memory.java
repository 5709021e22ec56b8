package allocpool.messages;

import java.nio.ByteBuffer;

/** Makes messages: a layout. */
enum Memory {
    ARRAY {
        @Override
        Message construct(final int capacity) {
            return new ArrayMessage(capacity);
        }
    },
    HEAP {
        @Override
        Message construct(final int capacity) {
            return new BufferMessage(ByteBuffer.allocate(capacity));
        }
    },
    NATIVE {
        @Override
        Message construct(final int capacity) {
            return new BufferMessage(ByteBuffer.allocateDirect(capacity));
        }
    };

    abstract Message construct(int capacity);

    static Memory named(final String layout) {
        for (final Memory memory : values()) {
            if (memory.name().equalsIgnoreCase(layout)) {
                return memory;
            }
        }
        throw new IllegalArgumentException("unknown layout '" + layout + "', choose one of: array, heap, native");
    }
}
