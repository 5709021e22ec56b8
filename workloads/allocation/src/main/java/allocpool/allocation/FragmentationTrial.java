package allocpool.allocation;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Buffers of mixed sizes come and go while the bytes alive stay constant: before a new one is made, others drawn at
 * random are dropped until it fits. Sizes and victims are a pure function of seed and operation, the same as in C++.
 *
 * <p>A record is {@value #RECORD} numbers: phase, start and end, operations, bytes allocated so far, bytes and buffers
 * alive, median, 99th percentile and largest cost of one allocation with its pages touched, resident bytes of the
 * process, bytes outside the heap that were not given back yet, median and 99th percentile of the empty interval, used
 * and committed bytes of the heap. In each cost is one reading of the clock: the empty interval is what lies between
 * two readings with nothing between them.
 */
public final class FragmentationTrial {
    /** Numbers in a record. */
    public static final int RECORD = 16;

    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final int EMPTY_EVERY = 8;

    private final SizedBuffers memory;
    private final long seed;
    private final Object[] buffers;
    private final CostHistogram costs = new CostHistogram();
    private final CostHistogram empty = new CostHistogram();
    private final Resident resident = new Resident();
    private long draws;
    private int count;
    private long liveBytes;
    private long allocated;
    private long operations;
    private long checksum;

    /**
     * Sets up; allocates nothing yet.
     *
     * @param memory where the buffers come from
     * @param maxBuffers alive at once at most
     * @param seed of sizes and victims
     */
    public FragmentationTrial(final SizedBuffers memory, final int maxBuffers, final long seed) {
        this.memory = memory;
        this.seed = seed;
        buffers = new Object[maxBuffers];
    }

    /**
     * Runs one phase in windows of equally many bytes.
     *
     * @param sizes each equally likely, at least 8 bytes; their number is a power of two
     * @param phaseLiveBytes alive at most
     * @param allocateBytes to allocate in all
     * @param number of the phase, for the records
     * @param windows how many
     * @return the records, one after the other
     */
    public long[] run(
            final int[] sizes,
            final long phaseLiveBytes,
            final long allocateBytes,
            final int number,
            final int windows) {
        final long[] records = new long[windows * RECORD];
        for (int window = 0; window < windows; window++) {
            final long until = allocated + allocateBytes / windows;
            final long before = operations;
            costs.clear();
            empty.clear();
            final long start = System.nanoTime();
            while (allocated < until) {
                step(sizes, phaseLiveBytes);
            }
            final long end = System.nanoTime();
            sample(records, window * RECORD, number, start, end, operations - before);
        }
        return records;
    }

    private void sample(
            final long[] records, final int at, final int number, final long start, final long end, final long done) {
        final Runtime runtime = Runtime.getRuntime();
        records[at] = number;
        records[at + 1] = start;
        records[at + 2] = end;
        records[at + 3] = done;
        records[at + 4] = allocated;
        records[at + 5] = liveBytes;
        records[at + 6] = count;
        records[at + 7] = costs.at(500);
        records[at + 8] = costs.at(990);
        records[at + 9] = costs.maxNs();
        records[at + 10] = resident.bytes();
        records[at + 11] = memory.keptBytes();
        records[at + 12] = empty.at(500);
        records[at + 13] = empty.at(990);
        records[at + 14] = runtime.totalMemory() - runtime.freeMemory();
        records[at + 15] = runtime.totalMemory();
    }

    private void step(final int[] sizes, final long phaseLiveBytes) {
        final long drawn = draw();
        final int bytes = sizes[(int) (drawn & (sizes.length - 1))];
        while (count > 0 && (liveBytes + bytes > phaseLiveBytes || count == buffers.length)) {
            dropOne();
        }
        final long begin = System.nanoTime();
        final Object buffer = memory.obtain(bytes);
        buffers[count] = buffer;
        costs.add(System.nanoTime() - begin);
        memory.setTag(buffer, drawn);
        count++;
        liveBytes += bytes;
        allocated += bytes;
        if (operations % EMPTY_EVERY == 0) {
            final long nothing = System.nanoTime();
            empty.add(System.nanoTime() - nothing);
        }
        operations++;
    }

    private void dropOne() {
        final int victim = (int) (((draw() >>> 32) * count) >>> 32);
        count--;
        final Object dropped = buffers[victim];
        buffers[victim] = buffers[count];
        buffers[count] = null;
        checksum = fold(checksum, dropped);
        liveBytes -= memory.bytes(dropped);
        memory.release(dropped);
    }

    private long fold(final long sum, final Object buffer) {
        return sum * 0xD1342543DE82EF95L + (memory.tag(buffer) ^ memory.bytes(buffer));
    }

    private long draw() {
        draws++;
        long z = seed + draws * GOLDEN;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /**
     * Over tags and sizes of all buffers that were dropped, then of those alive; changes nothing.
     *
     * @return the checksum
     */
    public long checksum() {
        long sum = checksum;
        for (int i = 0; i < count; i++) {
            sum = fold(sum, buffers[i]);
        }
        return sum;
    }

    /**
     * Whether the bytes alive are those that were counted.
     *
     * @return the line that says what is wrong, or nothing
     */
    public String audit() {
        final long bytes = Arrays.stream(buffers, 0, count).mapToLong(memory::bytes).sum();
        return bytes == liveBytes ? "" : "the bytes alive are not those that were counted";
    }

    /**
     * What the heap and the process hold now, with nothing running.
     *
     * @return resident bytes of the process, used and committed bytes of the heap
     */
    public long[] memoryNow() {
        final Runtime runtime = Runtime.getRuntime();
        return new long[] {resident.bytes(), runtime.totalMemory() - runtime.freeMemory(), runtime.totalMemory()};
    }

    /** Resident memory of this process, from /proc/self/statm; -1 where there is none. */
    private static final class Resident {
        private static final int PAGE_BYTES = 4096;
        private final byte[] text = new byte[64];

        long bytes() {
            try (RandomAccessFile file = new RandomAccessFile("/proc/self/statm", "r")) {
                final int length = file.read(text);
                final String[] fields = new String(text, 0, length, StandardCharsets.US_ASCII).trim().split(" ");
                return Long.parseLong(fields[1]) * PAGE_BYTES;
            } catch (final FileNotFoundException missing) {
                return -1;
            } catch (final IOException failure) {
                throw new UncheckedIOException(failure);
            }
        }
    }
}
