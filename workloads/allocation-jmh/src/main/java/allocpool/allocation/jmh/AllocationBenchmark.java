package allocpool.allocation.jmh;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * One fresh buffer at each call; the live set climbs to slots times bytes and falls to nothing, as in our own rounds.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class AllocationBenchmark {
    /** Bytes of each buffer. */
    @Param("1024")
    private int bytes;

    /** Buffers of a round. */
    @Param("16384")
    private int slots;

    private Object[] live;
    private int next;

    /** Nothing is alive at the start. */
    @Setup
    public void setUp() {
        live = new Object[slots];
        next = 0;
    }

    /**
     * An array.
     *
     * @return the buffer
     */
    @Benchmark
    public Object byteArray() {
        return keep(new byte[bytes]);
    }

    /**
     * A buffer on the heap.
     *
     * @return the buffer
     */
    @Benchmark
    public Object heapBuffer() {
        return keep(ByteBuffer.allocate(bytes));
    }

    /**
     * A buffer in native memory.
     *
     * @return the buffer
     */
    @Benchmark
    public Object directBuffer() {
        return keep(ByteBuffer.allocateDirect(bytes));
    }

    private Object keep(final Object buffer) {
        live[next] = buffer;
        next++;
        if (next == live.length) {
            Arrays.fill(live, null);
            next = 0;
        }
        return buffer;
    }
}
