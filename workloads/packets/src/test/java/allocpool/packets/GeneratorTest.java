package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Known answers for what goes into a packet and what comes out of it. */
class GeneratorTest {
    /** The first rows of seeds 0 and 1234567 are the published outputs of SplitMix64. */
    @ParameterizedTest
    @CsvSource({
        "0, 0, e220a8397b1dcdaf",
        "0, 1, 6e789e6aa1b965f4",
        "0, 2, 06c45d188009454f",
        "0, 1000000000, 85e15f4af9e82fc6",
        "1234567, 0, 599ed017fb08fc85",
        "1234567, 1, 2c73f08458540fa5",
        "1234567, 2, 883ebce5a3f27c77",
        "-1, 0, e4d971771b652c20",
        "-1, 1, e99ff867dbf682c9",
    })
    void shouldDrawTheOutputsOfSplitMix64(final long seed, final long ordinal, final String expected) {
        assertEquals(Long.parseUnsignedLong(expected, 16), SplitMix.draw(seed, ordinal));
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0, 080000540a0000c10a010097049007b211",
        "1, 1, 0800006a0a0000670a0103bb0658068511",
        "1, 2, 0800006c0a00015e0a01009507b307bb11",
        "1, 17, 0800005f0a0002f10a0102ea0572076906",
        "-1, 0, 080000490a0000200a01014b05b605dc11",
        "42, 1000000000000, 0800005c0a0003d70a0102740442058e11",
    })
    void shouldWriteTheHeaderOfTheModel(final long seed, final long sequence, final String expected) {
        final byte[] bytes = new byte[PacketFormat.BUFFER_SIZE];

        new PacketGenerator(seed).fill(packet(bytes), sequence);

        final StringBuilder header = new StringBuilder();
        for (final byte b : Arrays.copyOf(bytes, PacketFormat.TRANSPORT_OFFSET + 1)) {
            header.append(String.format("%02x", b));
        }
        assertEquals(expected, header.toString());
    }

    @Test
    void shouldWriteNothingButTheHeader() {
        final byte[] bytes = new byte[PacketFormat.BUFFER_SIZE];
        Arrays.fill(bytes, (byte) 0x5A);

        new PacketGenerator(1).fill(packet(bytes), 0);

        for (int i = PacketFormat.TRANSPORT_OFFSET + 1; i < bytes.length; i++) {
            assertEquals(0x5A, bytes[i], "byte " + i);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0, 0a0000c1, 0a010097, 1168, 1970, 17, 84",
        "1, 17, 0a0002f1, 0a0102ea, 1394, 1897, 6, 95",
        "42, 1000000000000, 0a0003d7, 0a010274, 1090, 1422, 17, 92",
    })
    void shouldParseWhatWasWritten(final long seed, final long sequence, final String source,
            final String destination, final int sourcePort, final int destinationPort, final int transport,
            final int payloadLength) {
        final Packet packet = packet(new byte[PacketFormat.BUFFER_SIZE]);
        new PacketGenerator(seed).fill(packet, sequence);

        final ParseResult parsed = ParseResult.parse(packet);

        assertEquals(Integer.parseInt(source, 16), parsed.source.bits);
        assertEquals(Integer.parseInt(destination, 16), parsed.destination.bits);
        assertEquals(sourcePort, parsed.header.sourcePort);
        assertEquals(destinationPort, parsed.header.destinationPort);
        assertEquals(transport, parsed.header.transport);
        assertEquals(payloadLength, parsed.header.payloadLength);
        final PayloadView payload = (PayloadView) parsed.payload;
        assertEquals(payloadLength, payload.length);
        assertEquals(PacketFormat.PAYLOAD_OFFSET, payload.offset);
    }

    @Test
    void shouldRefuseABufferWithoutTheProtocolMarker() {
        final Packet packet = packet(new byte[PacketFormat.BUFFER_SIZE]);
        packet.putShort(PacketFormat.MARKER_OFFSET, (short) 0x86DD);

        final Exception e = assertThrows(IllegalStateException.class, () -> ParseResult.parse(packet));

        assertTrue(e.getMessage().contains("0x86dd"), e.getMessage());
    }

    @Test
    void shouldFillTheStoreInOrderBeforeItReplaces() {
        final StorePolicy policy = new StorePolicy(42, 100);

        for (int slot = 0; slot < 100; slot++) {
            assertEquals(slot, policy.nextSlot());
        }
        for (final int slot : new int[] {53, 88, 72, 56, 67, 97, 93, 68}) {
            assertEquals(slot, policy.nextSlot());
        }
    }

    private static Packet packet(final byte[] bytes) {
        return new ByteBufferPacket(ByteBuffer.wrap(bytes), ByteBufferPacket.NO_SLOT);
    }
}
