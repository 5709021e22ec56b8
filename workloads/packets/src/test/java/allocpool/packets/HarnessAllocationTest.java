package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The measured loop allocates what the strategy and the parse allocate, and not one object more. */
class HarnessAllocationTest {
    private static final int PACKETS = 200_000;
    private static final int ITERATION_PACKETS = 10_000;
    private static final int QUEUE_SIZE = 1_000;

    /** What the JVM does for us in passing. */
    private static final long BYTES_PER_CALL = 16 * 1024;

    private final AllocatedBytes allocated = new AllocatedBytes();
    private final Object[] keep = new Object[20_000];

    @ParameterizedTest(name = "{0} {1}")
    @CsvSource({
        "heap, dummy", "heap, pool", "heap, mix", "native, dummy", "native, pool", "native, mix",
    })
    void shouldAllocateNothingButParseResults(final String layout, final String strategy) {
        assertBytesPerPacket(bytesPerParse(layout, false), layout, strategy, Options.published(3));
    }

    @ParameterizedTest
    @CsvSource({"heap", "native"})
    void shouldAllocateNothingForATouchOfThePayloadAndLessForALeanView(final String layout) {
        final Options options = new Options(3, null, true, true, true);
        assertBytesPerPacket(bytesPerParse(layout, true), layout, "pool", options);
    }

    /** Nothing outlives its parse, and the compiler must not see that. */
    @ParameterizedTest
    @CsvSource({"heap", "native"})
    void shouldAllocateTheSameParseResultsWhereNoPacketKeepsThem(final String layout) {
        assertBytesPerPacket(bytesPerParse(layout, false), layout, "pool", Options.published(3).detached());
    }

    /** As the published program does: a duplicate of the buffer, where references have 4 bytes. */
    @ParameterizedTest
    @CsvSource({"heap", "native"})
    void shouldMakeADuplicateOfTheBufferOrAViewOfHalfItsSize(final String layout) {
        final Packet packet = memory(layout).construct();
        final long duplicate = bytesEach(() -> packet.payload(PacketFormat.PAYLOAD_OFFSET, 50));

        assertTrue(duplicate >= 48 && duplicate <= 64, duplicate + " bytes");
        assertEquals(duplicate - 24, bytesPerParse(layout, false) - bytesPerParse(layout, true));
    }

    @ParameterizedTest
    @CsvSource({"heap", "native"})
    void shouldAllocateNothingButPacketsAndParseResultsWithAlloc(final String layout) {
        assertBytesPerPacket(bytesPerParse(layout, false) + bytesPerPacket(layout), layout, "alloc",
                Options.published(3));
    }

    @Test
    void shouldCountTheBytesOfAnArray() {
        allocated.start();
        keep[0] = new byte[1_000_000];
        final long bytes = allocated.sinceStart();

        assertTrue(bytes >= 1_000_000 && bytes < 1_000_100, bytes + " bytes");
    }

    /** Every packet leads to one parse once the queue is full. */
    private void assertBytesPerPacket(final long expected, final String layout, final String strategy,
            final Options options) {
        final Sizes sizes = new Sizes(3_000, 3_000, QUEUE_SIZE, QUEUE_SIZE);
        final BatchTrial trial = Trials.trial(layout, strategy, sizes, options);
        trial.runPackets(PACKETS, ITERATION_PACKETS);

        trial.runPackets(PACKETS, ITERATION_PACKETS);
        final long bytes = trial.allocatedBytes();

        assertEquals(expected, bytes / PACKETS, "bytes per packet");
        assertTrue(bytes - expected * PACKETS <= BYTES_PER_CALL, bytes + " bytes");
    }

    private long bytesPerParse(final String layout, final boolean leanView) {
        final Packet packet = memory(layout).construct();
        PacketGenerator.fill(packet, PacketGenerator.draw(1, 0));
        return bytesEach(() -> ParseResult.parse(packet, leanView));
    }

    private long bytesPerPacket(final String layout) {
        final PacketMemory memory = memory(layout);
        return bytesEach(memory::construct);
    }

    private PacketMemory memory(final String layout) {
        return "heap".equals(layout) ? new HeapPacketMemory(false)
                : new NativePacketMemory(keep.length + 1, 0, PacketFormat.BUFFER_SIZE, false);
    }

    private long bytesEach(final Supplier<Object> supplier) {
        keep[0] = supplier.get();
        allocated.start();
        for (int i = 0; i < keep.length; i++) {
            keep[i] = supplier.get();
        }
        return allocated.sinceStart() / keep.length;
    }
}
