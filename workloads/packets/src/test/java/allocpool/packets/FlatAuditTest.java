package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The audit of the flat layouts must find what is planted, or finding nothing would mean nothing. */
class FlatAuditTest {
    private static final int QUEUE_SIZE = 50;
    private static final int STORED_COUNT = 20;
    private static final int IN_USE = QUEUE_SIZE + STORED_COUNT + 1;

    @ParameterizedTest
    @ValueSource(strings = {"mix", "pool"})
    void shouldFindAStoredPacketThatWasFreed(final String strategy) {
        final FlatProcessor processor = processor(strategy);

        processor.source.pool.push(processor.store.places[3]);

        assertTrue(processor.audit().contains("slot " + processor.store.places[3]), processor.audit());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mix", "pool"})
    void shouldFindAQueuedPacketThatWasFreedTwice(final String strategy) {
        final FlatProcessor processor = processor(strategy);

        processor.source.pool.push(processor.queue.places[7]);
        processor.source.pool.push(processor.queue.places[7]);

        assertTrue(processor.audit().contains("slot " + processor.queue.places[7]), processor.audit());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mix", "pool"})
    void shouldFindAPacketInQueueAndStore(final String strategy) {
        final FlatProcessor processor = processor(strategy);

        processor.queue.places[7] = processor.store.places[3];

        assertTrue(processor.audit().contains("parsed already"), processor.audit());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mix", "pool"})
    void shouldFindAPacketTwiceInTheStore(final String strategy) {
        final FlatProcessor processor = processor(strategy);

        processor.store.places[4] = processor.store.places[3];

        assertTrue(processor.audit().contains("another place"), processor.audit());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mix", "pool"})
    void shouldFindALostPacket(final String strategy) {
        final FlatProcessor processor = processor(strategy);

        processor.queue.places[7] = SlotPlaces.NONE;

        assertNotEquals("", processor.audit());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mix", "pool"})
    void shouldFindASlotThatWasTakenAndForgotten(final String strategy) {
        final FlatProcessor processor = processor(strategy);

        processor.source.pool.pop();

        assertNotEquals("", processor.audit());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mix", "pool"})
    void shouldChangeTheChecksumWhenAStoredPacketIsReusedTooEarly(final String strategy) {
        final FlatProcessor processor = processor(strategy);
        final long checksum = processor.checksum();

        processor.memory.putLong(processor.result(processor.store.places[3]) + FlatProcessor.PAYLOAD, 0);

        assertNotEquals(checksum, processor.checksum());
        assertTrue(processor.audit().contains("freed or not parsed"), processor.audit());
    }

    @ParameterizedTest
    @ValueSource(strings = {"mix", "pool"})
    void shouldFindAFreePacketWithAParseResult(final String strategy) {
        final FlatProcessor processor = processor(strategy);

        final int free = processor.source.pool.slots[0];
        processor.memory.putLong(processor.result(free) + FlatProcessor.PAYLOAD, 1);

        assertTrue(processor.audit().contains("still holds a parse result"), processor.audit());
    }

    @Test
    void shouldFindAForeignPacketInTheDummy() {
        final FlatProcessor processor = processor("dummy");

        processor.store.places[3] = 1;

        assertTrue(processor.audit().contains("another packet"), processor.audit());
    }

    /** A processor with a full queue and a full store, nothing wrong, and two slots to spare. */
    private static FlatProcessor processor(final String strategy) {
        final int poolSize = "mix".equals(strategy) ? IN_USE / 2 : IN_USE;
        final FlatProcessor processor = (FlatProcessor) Trials.processor("flat", strategy,
                new Sizes(poolSize, IN_USE + 2, QUEUE_SIZE, STORED_COUNT), Options.published(5));
        Trials.feed(processor, 0, 2_000, 1);
        assertEquals("", processor.audit());
        return processor;
    }
}
