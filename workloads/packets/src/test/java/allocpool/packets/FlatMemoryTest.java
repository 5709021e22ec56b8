package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** The contract of the flat layout of this jar; what it writes is a packet to the byte. */
class FlatMemoryTest extends FlatMemoryContract {
    private static final int LINE = 64;

    @Test
    void shouldWriteTheBytesThatTheObjectLayoutsWrite() {
        final FlatProcessor flat = (FlatProcessor) Processor.create("flat", "pool", 201, 201, 100, 100, 1);
        final ObjectProcessor heap = (ObjectProcessor) Processor.create("heap", "pool", 201, 0, 100, 100, 1);
        for (int sequence = 0; sequence < 50; sequence++) {
            flat.receive(sequence);
            heap.receive(sequence);
        }

        for (int place = 0; place < 50; place++) {
            for (int i = 0; i < PacketFormat.BUFFER_SIZE; i++) {
                assertEquals(heap.queue.get(place).getByte(i),
                        flat.memory.getByte(flat.queue.get(place), FlatMemory.BUFFER + i),
                        "packet " + place + ", byte " + i);
            }
        }
    }

    @Test
    void shouldKeepParseResultAndHeaderInOneLineAndTheLinesInDifferentSets() {
        assertEquals(0, FlatMemory.ALIGNMENT % LINE);
        assertEquals(0, FlatMemory.STRIDE % LINE);
        assertEquals(1, FlatMemory.STRIDE / LINE % 2, "an odd number of lines");
        assertEquals(0, (FlatMemory.BUFFER + PacketFormat.TRANSPORT_OFFSET) / LINE);
        assertEquals(true, FlatMemory.BUFFER + PacketFormat.BUFFER_SIZE <= FlatMemory.STRIDE);
    }
}
