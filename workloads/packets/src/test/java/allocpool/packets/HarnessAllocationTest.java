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
        assertBytesPerPacket(bytesPerParse(layout), layout, strategy);
    }

    @ParameterizedTest
    @CsvSource({"heap", "native"})
    void shouldAllocateNothingButPacketsAndParseResultsWithAlloc(final String layout) {
        assertBytesPerPacket(bytesPerParse(layout) + bytesPerPacket(layout), layout, "alloc");
    }

    @Test
    void shouldCountTheBytesOfAnArray() {
        allocated.start();
        keep[0] = new byte[1_000_000];
        final long bytes = allocated.sinceStart();

        assertTrue(bytes >= 1_000_000 && bytes < 1_000_100, bytes + " bytes");
    }

    /** Every packet leads to one parse once the queue is full. */
    private void assertBytesPerPacket(final long expected, final String layout, final String strategy) {
        final BatchTrial trial = new BatchTrial(layout, strategy, 3_000, 3_000, QUEUE_SIZE, QUEUE_SIZE, 3, 100);
        trial.runPackets(PACKETS, ITERATION_PACKETS);

        trial.runPackets(PACKETS, ITERATION_PACKETS);
        final long bytes = trial.allocatedBytes();

        assertEquals(expected, bytes / PACKETS, "bytes per packet");
        assertTrue(bytes - expected * PACKETS <= BYTES_PER_CALL, bytes + " bytes");
    }

    private long bytesPerParse(final String layout) {
        final Packet packet = memory(layout).construct();
        new PacketGenerator(1).fill(packet, 0);
        return bytesEach(() -> ParseResult.parse(packet));
    }

    private long bytesPerPacket(final String layout) {
        final PacketMemory memory = memory(layout);
        return bytesEach(memory::construct);
    }

    private PacketMemory memory(final String layout) {
        return "heap".equals(layout) ? new HeapPacketMemory() : new NativePacketMemory(keep.length + 1, 0);
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
