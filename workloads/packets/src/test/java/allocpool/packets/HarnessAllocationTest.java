package allocpool.packets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The measured loop allocates what the strategy and the parse allocate, and not one object more. */
class HarnessAllocationTest {
    private static final int PACKETS = 200_000;
    private static final int ITERATION_PACKETS = 10_000;
    private static final int QUEUE_SIZE = 1_000;

    /** What a call allocates besides: the record it returns, and what the JVM does for us in passing. */
    private static final long BYTES_PER_CALL = 16 * 1024;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

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

    /** Every packet leads to one parse once the queue is full. */
    private void assertBytesPerPacket(final long expected, final String layout, final String strategy) {
        final BatchTrial trial = new BatchTrial(layout, strategy, 3_000, 3_000, QUEUE_SIZE, QUEUE_SIZE, 3, 100);
        trial.runPackets(PACKETS, ITERATION_PACKETS);

        final long before = allocatedBytes();
        trial.runPackets(PACKETS, ITERATION_PACKETS);
        final long bytes = allocatedBytes() - before;

        assertEquals(expected, bytes / PACKETS, "bytes per packet");
        assertTrue(bytes - expected * PACKETS <= BYTES_PER_CALL, bytes + " bytes");
    }

    private long bytesPerParse(final String layout) {
        final ByteBuffer buffer = memory(layout).construct().buffer;
        new PacketGenerator(1).fill(buffer, 0);
        return bytesEach(() -> ParseResult.parse(buffer));
    }

    private long bytesPerPacket(final String layout) {
        final PacketMemory memory = memory(layout);
        return bytesEach(memory::construct);
    }

    private PacketMemory memory(final String layout) {
        return "heap".equals(layout) ? new HeapMemory() : new NativeMemory(keep.length + 1, 0);
    }

    private long bytesEach(final Supplier<Object> supplier) {
        keep[0] = supplier.get();
        final long before = allocatedBytes();
        for (int i = 0; i < keep.length; i++) {
            keep[i] = supplier.get();
        }
        return (allocatedBytes() - before) / keep.length;
    }

    private static long allocatedBytes() {
        return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }
}
