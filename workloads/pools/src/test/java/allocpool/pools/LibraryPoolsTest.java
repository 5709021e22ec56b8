package allocpool.pools;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import allocpool.packets.Ageing;
import allocpool.packets.BatchTrial;
import allocpool.packets.Options;
import allocpool.packets.Packet;
import allocpool.packets.PacketFormat;
import allocpool.packets.SameWork;
import allocpool.packets.Sizes;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.IllegalReferenceCountException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The contract, for every layout of this jar, and that the libraries are what serves it. */
class LibraryPoolsTest extends SameWork {
    private final NettyPacketMemory memory = new NettyPacketMemory(PooledByteBufAllocator.DEFAULT);

    @Test
    void shouldGiveTheBufferBackToNetty() {
        final Packet packet = memory.construct();
        final ByteBuf buffer = ((NettyPacket) packet).buffer;
        assertTrue(buffer.isDirect());
        assertEquals(PacketFormat.BUFFER_SIZE, buffer.capacity());

        memory.discard(packet);

        assertEquals(0, buffer.refCnt());
        assertThrows(IllegalReferenceCountException.class, () -> memory.discard(packet));
    }

    @Test
    void shouldViewThePayloadWithoutACopy() {
        final NettyPacket packet = new NettyPacket(Unpooled.directBuffer(PacketFormat.BUFFER_SIZE));

        final ByteBuf payload = assertInstanceOf(ByteBuf.class, packet.payload(20, 50));
        packet.putByte(20, (byte) 7);

        assertTrue(payload.isReadOnly());
        assertEquals(50, payload.readableBytes());
        assertEquals(7, payload.readByte());
    }

    @Test
    void shouldRefuseASecondReturnToThePoolOfCommons() {
        final CommonsPoolStrategy strategy = new CommonsPoolStrategy(memory, 2, false);
        final Packet packet = strategy.make();
        strategy.drop(packet);

        assertThrows(IllegalStateException.class, () -> strategy.drop(packet));
    }

    @Test
    void shouldLeaveThePoolOfCommonsAsItWasWhenWalkingIt() {
        final CommonsPoolStrategy strategy = new CommonsPoolStrategy(memory, 3, false);
        final List<Packet> first = new ArrayList<>();
        final List<Packet> second = new ArrayList<>();

        strategy.forEachFree(first::add);
        strategy.forEachFree(second::add);

        assertEquals(3, first.size());
        for (int i = 0; i < 3; i++) {
            assertSame(first.get(i), second.get(i));
        }
        assertNotEquals(first.get(0), first.get(1));
        assertSame(first.get(2), strategy.make());
    }

    @Test
    void shouldAgeThePoolOfCommonsInTheOrderOfEveryOther() {
        final CommonsPoolStrategy strategy = new CommonsPoolStrategy(memory, 100, false);
        final List<Packet> fresh = new ArrayList<>();
        final List<Packet> aged = new ArrayList<>();
        strategy.forEachFree(fresh::add);

        strategy.age(7);

        strategy.forEachFree(aged::add);
        final Packet[] expected = fresh.toArray(new Packet[0]);
        Ageing.shuffle(expected, expected.length, 7);
        assertArrayEquals(expected, aged.toArray());
    }

    @Test
    void shouldHandOutPacketsThatNettyMadeBeforeInTheOrderOfLongUse() {
        final Packet[] prepared = memory.age(7, 100);

        final Set<Long> addresses = new TreeSet<>();
        int ascending = 0;
        long previous = 0;
        for (final Packet packet : prepared) {
            final long address = ((NettyPacket) packet).buffer.memoryAddress();
            ascending += address > previous ? 1 : 0;
            previous = address;
            addresses.add(address);
            memory.discard(packet);
        }
        assertEquals(100, addresses.size());
        assertTrue(ascending > 30 && ascending < 70, ascending + " addresses above the one before");
    }

    @ParameterizedTest
    @CsvSource({
        "netty_pooled, pool, 'dummy, alloc'",
        "commons_pool, alloc, 'mix, pool'",
        "agrona, alloc, 'dummy, '",
    })
    void shouldRefuseAStrategyThatMakesNoSense(final String layout, final String strategy, final String choices) {
        final Exception e = assertThrows(IllegalArgumentException.class,
                () -> new BatchTrial(layout, strategy, new Sizes(100, 100, 10, 10), Options.published(1), 20));

        assertTrue(e.getMessage().contains("choose one of: " + choices), e.getMessage());
    }

    @ParameterizedTest
    @CsvSource({"netty_pooled", "netty_unpooled", "netty_adaptive"})
    void shouldRefuseToDetachParseResultsFromAPacketOfALibrary(final String layout) {
        final Exception e = assertThrows(IllegalArgumentException.class,
                () -> new BatchTrial(layout, "alloc", new Sizes(0, 0, 10, 10),
                        new Options(1, null, true, false, false, false, true), 20));

        assertTrue(e.getMessage().contains("ByteBuffer"), e.getMessage());
    }
}
