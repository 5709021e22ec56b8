package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

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

        PacketGenerator.fill(packet(bytes), PacketGenerator.draw(seed, sequence));

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

        PacketGenerator.fill(packet(bytes), PacketGenerator.draw(1, 0));

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
        PacketGenerator.fill(packet, PacketGenerator.draw(seed, sequence));

        final ParseResult parsed = ParseResult.parse(packet, false);

        assertEquals(Integer.parseInt(source, 16), parsed.source.bits);
        assertEquals(Integer.parseInt(destination, 16), parsed.destination.bits);
        assertEquals(sourcePort, parsed.header.sourcePort);
        assertEquals(destinationPort, parsed.header.destinationPort);
        assertEquals(transport, parsed.header.transport);
        assertEquals(payloadLength, parsed.header.payloadLength);
        final ByteBuffer payload = (ByteBuffer) parsed.payload;
        assertEquals(payloadLength, payload.remaining());
        assertEquals(PacketFormat.PAYLOAD_OFFSET, payload.position());
        assertTrue(payload.isReadOnly());
    }

    @Test
    void shouldMakeTheSmallestViewWhenAskedTo() {
        final Packet packet = packet(new byte[PacketFormat.BUFFER_SIZE]);
        PacketGenerator.fill(packet, PacketGenerator.draw(1, 0));

        final PayloadView payload = (PayloadView) ParseResult.parse(packet, true).payload;

        packet.putWord(PacketFormat.PAYLOAD_OFFSET + 76, 5);
        assertEquals(5, payload.word(PacketFormat.PAYLOAD_OFFSET + 76));
        assertThrows(IndexOutOfBoundsException.class, () -> payload.word(PacketFormat.PAYLOAD_OFFSET + 77));
        assertThrows(IndexOutOfBoundsException.class, () -> payload.word(PacketFormat.PAYLOAD_OFFSET - 1));
    }

    /** Of packets with a payload of 84 and 95 bytes. */
    @ParameterizedTest
    @CsvSource({"1, 0", "1, 17"})
    void shouldWriteThePayloadThatRepeatsItsWordAndNothingBehindIt(final long seed, final long sequence) {
        final byte[] bytes = new byte[PacketFormat.BUFFER_SIZE];
        Arrays.fill(bytes, (byte) 0x5A);
        final long bits = PacketGenerator.draw(seed, sequence);
        final long word = PacketGenerator.payloadWord(seed, sequence);
        final int length = PacketGenerator.payloadLength(bits);

        packet(bytes).writePayload(word, length);

        for (int i = 0; i < bytes.length; i++) {
            final int k = i - PacketFormat.PAYLOAD_OFFSET;
            final byte expected = k >= 0 && k < length ? (byte) (word >>> k % 8 * 8) : 0x5A;
            assertEquals(expected, bytes[i], "byte " + i);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8, 50, 55, 56, 57, 113})
    void shouldSumThePayloadsWordsTheLastOneExtendedByZeros(final int length) {
        final byte[] bytes = new byte[PacketFormat.BUFFER_SIZE];
        Arrays.fill(bytes, (byte) -1);
        final Packet packet = packet(bytes);
        long expected = 0;
        for (int k = 0; k < length; k++) {
            final int value = k * 29 & 0xFF;
            bytes[PacketFormat.PAYLOAD_OFFSET + k] = (byte) value;
            expected += (long) value << k % 8 * 8;
        }
        packet.putShort(PacketFormat.MARKER_OFFSET, PacketFormat.PROTOCOL_MARKER);
        packet.putShort(PacketFormat.PAYLOAD_LENGTH_OFFSET, (short) length);

        for (final boolean leanView : new boolean[] {false, true}) {
            assertEquals(expected, packet.payloadSum(ParseResult.parse(packet, leanView)));
        }
    }

    @Test
    void shouldRefuseABufferWithoutTheProtocolMarker() {
        final Packet packet = packet(new byte[PacketFormat.BUFFER_SIZE]);
        packet.putShort(PacketFormat.MARKER_OFFSET, (short) 0x86DD);

        final Exception e = assertThrows(IllegalStateException.class, () -> ParseResult.parse(packet, false));

        assertTrue(e.getMessage().contains("0x86dd"), e.getMessage());
    }

    @Test
    void shouldFillTheStoreInOrderBeforeItReplaces() {
        for (int stored = 0; stored < 100; stored++) {
            assertEquals(stored, StorePolicy.slot(42, stored, 100));
        }
        final int[] replaced = {53, 88, 72, 56, 67, 97, 93, 68};
        for (int i = 0; i < replaced.length; i++) {
            assertEquals(replaced[i], StorePolicy.slot(42, 100 + i, 100));
        }
    }

    private static Packet packet(final byte[] bytes) {
        return new ByteBufferPacket(ByteBuffer.wrap(bytes), ByteBufferPacket.NO_SLOT);
    }
}
