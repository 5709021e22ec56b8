package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** What the strategies do with the packets they are asked for and given back. */
class StrategyTest {
    private final PacketMemory heap = new HeapPacketMemory();

    @Test
    void shouldHandOutLastThePooledPacketThatCameFirst() {
        final Strategy pool = new PoolStrategy(heap, 3);
        final Packet first = pool.obtain();
        final Packet second = pool.obtain();

        pool.free(first);
        pool.free(second);

        assertSame(second, pool.obtain());
        assertSame(first, pool.obtain());
    }

    @Test
    void shouldConstructWhenThePoolIsEmptyAndDiscardWhatDoesNotFitBack() {
        final Strategy mix = new PoolStrategy(heap, 2);
        final Packet[] packets = {mix.obtain(), mix.obtain(), mix.obtain(), mix.obtain(), mix.obtain()};
        assertEquals(3, mix.constructed);

        for (final Packet packet : packets) {
            mix.free(packet);
        }

        assertEquals(3, mix.discarded);
        assertSame(packets[1], mix.obtain());
        assertSame(packets[0], mix.obtain());
        assertNotSame(packets[2], mix.obtain());
    }

    @Test
    void shouldForgetTheParseResultOfAPooledPacket() {
        final Strategy pool = new PoolStrategy(heap, 1);
        final Packet packet = pool.obtain();
        new PacketGenerator(1).fill(packet, 0);
        packet.parsed = ParseResult.parse(packet);

        pool.free(packet);

        assertNull(pool.obtain().parsed);
    }

    @Test
    void shouldAllocateAFreshPacketEachTime() {
        final Strategy alloc = new AllocStrategy(heap);
        final Packet packet = alloc.obtain();

        alloc.free(packet);

        assertNotSame(packet, alloc.obtain());
        assertEquals(2, alloc.constructed);
        assertEquals(1, alloc.discarded);
    }

    @Test
    void shouldReuseOnePacketInTheDummy() {
        final Strategy dummy = new DummyStrategy(heap);

        assertSame(dummy.obtain(), dummy.obtain());
    }

    @Test
    void shouldReuseNativeSlotsAndKeepThemApart() {
        final NativePacketMemory memory = new NativePacketMemory(2, 2);
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
    void shouldConstructASlotWhenThePoolIsEmptyAndGiveBackWhatDoesNotFit() {
        final SlotSource mix = new SlotSource.Pool(4, 2);
        final int[] slots = {mix.obtain(), mix.obtain(), mix.obtain(), mix.obtain()};
        assertEquals(2, mix.constructed);
        assertThrows(IllegalStateException.class, mix::obtain);

        for (final int slot : slots) {
            mix.free(slot);
        }

        assertEquals(2, mix.discarded);
        assertEquals(slots[1], mix.obtain());
        assertEquals(slots[0], mix.obtain());
        assertEquals(slots[3], mix.obtain());
    }
}
