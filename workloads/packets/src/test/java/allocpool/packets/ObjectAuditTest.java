package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The audit must find what is planted behind the processor's back, or finding nothing would mean nothing. */
class ObjectAuditTest {
    private static final int QUEUE_SIZE = 50;
    private static final int STORED_COUNT = 20;
    private static final int IN_USE = QUEUE_SIZE + STORED_COUNT + 1;

    static Stream<Arguments> everySolution() {
        return Stream.of("heap", "native").flatMap(layout ->
                Stream.of("alloc", "mix", "pool").map(strategy -> Arguments.of(layout, strategy)));
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldFindAStoredPacketThatWasFreed(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy);

        free(processor.strategy, processor.store.slots[3]);

        assertNotEquals("", processor.audit());
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldFindTheSameOfPacketsThatKeepNumbersAndNoObject(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy, Options.published(5).detached());
        final Packet stored = processor.store.slots[3];
        final long checksum = processor.checksum();
        assertTrue(stored.isParsed());
        assertNull(stored.parsed);

        PacketGenerator.fill(stored, PacketGenerator.draw(99, 0));
        assertEquals(checksum, processor.checksum());
        stored.keep(ParseResult.parse(stored, false));
        assertNotEquals(checksum, processor.checksum());
        stored.reset();

        assertTrue(processor.audit().contains("freed or not parsed"), processor.audit());
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldFindAQueuedPacketThatWasFreedTwice(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy);

        free(processor.strategy, processor.queue.slots[7]);
        free(processor.strategy, processor.queue.slots[7]);

        assertNotEquals("", processor.audit());
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldFindAPacketInQueueAndStore(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy);

        processor.queue.slots[7] = processor.store.slots[3];

        assertTrue(processor.audit().contains("parsed already") || processor.audit().contains("another place"),
                processor.audit());
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldFindAPacketTwiceInTheStore(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy);

        processor.store.slots[4] = processor.store.slots[3];

        assertTrue(processor.audit().contains("another place"), processor.audit());
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldFindTwoPacketsOverTheSameMemory(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy);

        final ByteBufferPacket victim = (ByteBufferPacket) processor.store.slots[3];
        final Packet twin = new ByteBufferPacket(victim.buffer.duplicate(), victim.slot);
        twin.parsed = victim.parsed;
        processor.store.slots[4] = twin;

        assertTrue(processor.audit().contains("another place"), processor.audit());
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldFindALostPacket(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy);

        processor.queue.slots[7] = null;

        assertNotEquals("", processor.audit());
    }

    @ParameterizedTest
    @CsvSource({"alloc", "mix", "pool"})
    void shouldFindANativeSlotThatIsFreeAndInUse(final String strategy) {
        final ObjectProcessor processor = processor("native", strategy);

        // Constructing takes a free slot, so that giving back another leaves their number unchanged.
        processor.memory.construct();
        processor.memory.discard(processor.store.slots[3]);

        final int slot = ((ByteBufferPacket) processor.store.slots[3]).slot;
        assertTrue(processor.audit().contains("slot " + slot), processor.audit());
    }

    @ParameterizedTest
    @CsvSource({"alloc", "mix", "pool"})
    void shouldFindALostNativeSlot(final String strategy) {
        final ObjectProcessor processor = processor("native", strategy);

        processor.memory.construct();

        assertTrue(processor.audit().startsWith("slots free or in use"), processor.audit());
    }

    @ParameterizedTest
    @CsvSource({"heap", "native"})
    void shouldFindAForeignPacketInTheDummy(final String layout) {
        final ObjectProcessor processor = processor(layout, "dummy");

        processor.queue.slots[7] = new HeapPacketMemory(false).construct();

        assertTrue(processor.audit().contains("another packet"), processor.audit());
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldChangeTheChecksumWhenAStoredPacketIsReusedTooEarly(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy);
        final long checksum = processor.checksum();

        final Packet reused = processor.store.slots[3];
        PacketGenerator.fill(reused, PacketGenerator.draw(99, 0));
        reused.parsed = ParseResult.parse(reused, false);

        assertNotEquals(checksum, processor.checksum());
    }

    @ParameterizedTest(name = "{0} {1}")
    @MethodSource("everySolution")
    void shouldLeaveWhatIsInThePacketsAsItWas(final String layout, final String strategy) {
        final ObjectProcessor processor = processor(layout, strategy);

        assertEquals("", processor.audit());

        for (final Packet queued : processor.queue.slots) {
            assertEquals(PacketFormat.PROTOCOL_MARKER, queued.getShort(PacketFormat.MARKER_OFFSET));
        }
    }

    /** A processor with a full queue and a full store, nothing wrong, and two native slots to spare. */
    private static ObjectProcessor processor(final String layout, final String strategy) {
        return processor(layout, strategy, Options.published(5));
    }

    private static ObjectProcessor processor(final String layout, final String strategy, final Options options) {
        final int poolSize = "mix".equals(strategy) ? IN_USE / 2 : IN_USE;
        final ObjectProcessor processor = (ObjectProcessor) Trials.processor(layout, strategy,
                new Sizes(poolSize, IN_USE + 2, QUEUE_SIZE, STORED_COUNT), options);
        Trials.feed(processor, 0, 2_000, 1);
        assertEquals("", processor.audit());
        return processor;
    }

    /** What the processor does with a packet that nobody needs. */
    private static void free(final Strategy strategy, final Packet packet) {
        if (strategy.ready == strategy.capacity) {
            strategy.drop(packet);
        } else {
            packet.reset();
            strategy.stack[strategy.ready++] = packet;
        }
    }
}
