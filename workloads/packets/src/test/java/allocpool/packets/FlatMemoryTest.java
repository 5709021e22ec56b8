package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** What the flat layouts write is a packet to the byte, and slots keep out of each other's way. */
class FlatMemoryTest {
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
    void shouldKeepSlotsApart() {
        final FlatMemory memory = new DirectFlatMemory(3);
        memory.putLong(1, 0, -1);
        memory.putByte(1, FlatMemory.BUFFER + PacketFormat.BUFFER_SIZE - 1, (byte) -1);

        for (final int slot : new int[] {0, 2}) {
            for (int offset = 0; offset < FlatMemory.STRIDE; offset++) {
                assertEquals(0, memory.getByte(slot, offset));
            }
        }
    }

    @Test
    void shouldStoreNumbersInNetworkByteOrder() {
        final FlatMemory memory = new DirectFlatMemory(1);

        memory.putLong(0, 8, 0x0102030405060708L);
        memory.putInt(0, 16, 0x090A0B0C);

        for (int i = 0; i < 12; i++) {
            assertEquals(i + 1, memory.getByte(0, 8 + i));
        }
        assertEquals(0x0102030405060708L, memory.getLong(0, 8));
        assertEquals(0x090A0B0C, memory.getInt(0, 16));
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
