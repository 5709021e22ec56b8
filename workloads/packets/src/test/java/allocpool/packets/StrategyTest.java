package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the strategies do with the packets they are asked for and given back. */
class StrategyTest {
    @Test
    void shouldHandOutThePacketThatWasFreedLast() {
        final ObjectProcessor processor = processor("pool", 3);
        final Packet last = processor.strategy.stack[2];
        final Packet middle = processor.strategy.stack[1];

        final Packet[] queued = queuedAfterEach(processor, 4);

        assertArrayEquals(new Packet[] {last, middle, last, middle}, queued);
    }

    @Test
    void shouldSweepTheWholePoolWhenItIsFirstInFirstOut() {
        final Options ring = new Options(1, null, false, false, false).withFifo(true);
        final Processor heap = Trials.processor("heap", "pool", new Sizes(5, 0, 1, 1), ring);
        final Packet[] queued = queuedAfterEach((ObjectProcessor) heap, 10);

        assertEquals(5, Set.of(Arrays.copyOf(queued, 5)).size());
        assertArrayEquals(Arrays.copyOf(queued, 5), Arrays.copyOfRange(queued, 5, 10));
        final FlatProcessor flat = (FlatProcessor) Trials.processor("flat", "pool", new Sizes(5, 6, 1, 1), ring);
        final int[] slots = new int[7];
        for (int i = 0; i < slots.length; i++) {
            flat.receive(new long[] {i}, 1);
            slots[i] = flat.queue.places[0];
        }
        assertArrayEquals(new int[] {0, 1, 2, 3, 4, 0, 1}, slots);
    }

    @Test
    void shouldConstructWhenARingIsEmptyAndDropWhatDoesNotFit() {
        final ObjectProcessor processor = (ObjectProcessor) Trials.processor("heap", "mix", new Sizes(1, 0, 1, 1),
                new Options(1, null, false, false, false).withFifo(true));

        final Packet[] queued = queuedAfterEach(processor, 4);

        assertSame(queued[0], queued[2]);
        assertSame(queued[1], queued[3]);
        assertEquals(1, processor.strategy.constructed);
        processor.strategy.drop(queued[0]);
        assertEquals(1, processor.strategy.discarded);
    }

    @Test
    void shouldConstructWhenThePoolIsEmpty() {
        final ObjectProcessor processor = processor("mix", 1);
        final Packet pooled = processor.strategy.stack[0];

        final Packet[] queued = queuedAfterEach(processor, 3);

        assertSame(pooled, queued[0]);
        assertNotSame(pooled, queued[1]);
        assertSame(pooled, queued[2]);
        assertEquals(1, processor.strategy.constructed);
        assertEquals(0, processor.strategy.discarded);
    }

    @Test
    void shouldForgetTheParseResultOfAPooledPacket() {
        final ObjectProcessor processor = processor("pool", 3);
        final Packet packet = queuedAfterEach(processor, 1)[0];

        processor.receive(new long[] {1}, 1);

        assertSame(packet, processor.strategy.stack[1]);
        assertNull(packet.parsed);
    }

    @Test
    void shouldAllocateAFreshPacketEachTime() {
        final ObjectProcessor processor = processor("alloc", 0);

        final Packet[] queued = queuedAfterEach(processor, 3);

        assertNotSame(queued[0], queued[2]);
        assertEquals(3, processor.strategy.constructed);
        assertEquals(2, processor.strategy.discarded);
    }

    @Test
    void shouldReuseOnePacketInTheDummy() {
        final Packet[] queued = queuedAfterEach(processor("dummy", 0), 2);

        assertSame(queued[0], queued[1]);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void shouldReuseNativeSlotsAndKeepThemApart(final int regionShift) {
        final NativePacketMemory memory = new NativePacketMemory(2, 2, PacketFormat.BUFFER_SIZE, false, regionShift);
        final ByteBufferPacket first = (ByteBufferPacket) memory.construct();
        final ByteBufferPacket second = (ByteBufferPacket) memory.construct();
        first.putInt(0, 1);
        second.putInt(0, 2);
        first.putInt(PacketFormat.BUFFER_SIZE - 4, 3);

        assertEquals(1, first.getInt(0));
        assertEquals(2, second.getInt(0));
        assertEquals(PacketFormat.BUFFER_SIZE, first.buffer.capacity());
        assertThrows(IllegalStateException.class, memory::construct);

        memory.discard(first);
        assertEquals(first.slot, ((ByteBufferPacket) memory.construct()).slot);
    }

    @Test
    void shouldMakeASlotOfTheRestWhenThePoolIsEmptyAndGiveBackWhatDoesNotFit() {
        final SlotSource mix = new SlotSource.Pool(4, 2);
        assertArrayEquals(new int[] {0, 1}, mix.pool.slots);
        assertEquals(2, mix.make());
        assertEquals(3, mix.make());
        assertEquals(2, mix.constructed);
        assertThrows(IllegalStateException.class, mix::make);

        mix.drop(1);

        assertEquals(1, mix.discarded);
        assertEquals(1, mix.make());
    }

    /**
     * With a queue of one packet and none of TCP among the first of the seed, so that each packet frees the one
     * before.
     */
    private static ObjectProcessor processor(final String strategy, final int poolSize) {
        return (ObjectProcessor) Trials.processor("heap", strategy, new Sizes(poolSize, 0, 1, 1),
                new Options(1, null, false, false, false));
    }

    private static Packet[] queuedAfterEach(final ObjectProcessor processor, final int packets) {
        final Packet[] queued = new Packet[packets];
        for (int i = 0; i < packets; i++) {
            processor.receive(new long[] {i}, 1);
            queued[i] = processor.queue.slots[0];
        }
        return queued;
    }
}
