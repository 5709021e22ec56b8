package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.BitSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract of the flat layout of this jar; what it writes is a packet to the byte, where C++ has it. */
class FlatMemoryTest extends FlatMemoryContract {
    private static final int SLOTS = 201;
    private static final int LINE = 64;
    private static final int RESULT_BYTES = 24;

    @ParameterizedTest
    @ValueSource(strings = {"contiguous", "stride", "one_line", "one_line,stride", "one_line,stride,prefetch"})
    void shouldWriteTheBytesThatTheObjectLayoutsWrite(final String steps) {
        final Sizes sizes = new Sizes(SLOTS, SLOTS, 100, 100);
        final FlatProcessor flat = (FlatProcessor) Trials.processor("flat", "pool", sizes,
                new Options(1, steps, true, true, false));
        final ObjectProcessor heap = (ObjectProcessor) Trials.processor("heap", "pool", sizes,
                new Options(1, null, true, true, false));
        Trials.feed(flat, 0, 50, 1);
        Trials.feed(heap, 0, 50, 1);

        for (int place = 0; place < 50; place++) {
            final int slot = flat.queue.places[place];
            final Packet packet = heap.queue.slots[place];
            for (int i = 0; i < PacketFormat.PAYLOAD_OFFSET; i++) {
                assertEquals(packet.getByte(i), flat.memory.getByte(slot * flat.geometry.headerBytes + i));
            }
            final int length = packet.getShort(PacketFormat.PAYLOAD_LENGTH_OFFSET);
            final long payload = flat.geometry.payloadBase + slot * flat.geometry.payloadBytes;
            for (int i = 0; i < length; i++) {
                assertEquals(packet.getByte(PacketFormat.PAYLOAD_OFFSET + i), flat.memory.getByte(payload + i));
            }
        }
    }

    /** The table of native/src/packets/layout_slab.hpp, for three packets: where the last one's parts are. */
    @ParameterizedTest
    @CsvSource({
        "contiguous, 2048, 3136, 2068, 3168",
        "'contiguous,stride', 2176, 3328, 2196, 3360",
        "'contiguous,one_line', 2048, 2072, 2112, 3264",
        "'contiguous,one_line,stride,prefetch', 128, 152, 2240, 3264",
    })
    void shouldLieAsInCpp(final String steps, final long header, final long result, final long payload,
            final long bytes) {
        final FlatGeometry geometry = new FlatGeometry(Steps.named(steps), 3, PacketFormat.BUFFER_SIZE);

        assertEquals(header, 2 * geometry.headerBytes);
        assertEquals(result, geometry.resultBase + 2 * geometry.resultBytes);
        assertEquals(payload, geometry.payloadBase + 2 * geometry.payloadBytes);
        assertEquals(bytes, 3 * geometry.slotBytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"contiguous", "stride", "one_line", "one_line,stride"})
    void shouldKeepPacketsApart(final String steps) {
        final FlatGeometry geometry = new FlatGeometry(Steps.named(steps), SLOTS, PacketFormat.BUFFER_SIZE);
        final BitSet used = new BitSet();
        for (long slot = 0; slot < SLOTS; slot++) {
            claim(used, slot * geometry.headerBytes, PacketFormat.PAYLOAD_OFFSET);
            claim(used, geometry.resultBase + slot * geometry.resultBytes, RESULT_BYTES);
            claim(used, geometry.payloadBase + slot * geometry.payloadBytes, PacketGenerator.payloadLength(-1L));
        }

        assertTrue(used.length() <= SLOTS * geometry.slotBytes);
    }

    @Test
    void shouldKeepParseResultAndHeaderInOneLine() {
        final FlatGeometry geometry = new FlatGeometry(Steps.named("one_line"), SLOTS, PacketFormat.BUFFER_SIZE);

        assertEquals(0, FlatMemory.ALIGNMENT % LINE);
        assertEquals(0, geometry.headerBytes % LINE);
        assertTrue(geometry.resultBase + RESULT_BYTES <= LINE);
    }

    private static void claim(final BitSet used, final long from, final int length) {
        assertEquals(0, used.get((int) from, (int) from + length).cardinality());
        used.set((int) from, (int) from + length);
    }
}
