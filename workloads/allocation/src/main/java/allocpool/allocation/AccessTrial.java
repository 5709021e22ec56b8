package allocpool.allocation;

import java.util.Arrays;

/**
 * Passes over a pair of buffers. A record is five numbers: start and end, passes, and twice 0.
 */
public final class AccessTrial {
    private final BufferPair buffers;
    private final String operation;
    private final int bytes;
    private final long[] records;
    private long passes;

    /**
     * Sets up.
     *
     * @param buffers what to write to
     * @param operation write, random_write or copy
     * @param bytes of each buffer
     * @param maxRecords records of one run at most
     * @throws IllegalArgumentException no such operation; names those that there are
     */
    public AccessTrial(final BufferPair buffers, final String operation, final int bytes, final int maxRecords) {
        this.buffers = buffers;
        this.operation = operation;
        this.bytes = bytes;
        records = new long[maxRecords * AllocationTrial.RECORD];
        if (!Arrays.asList("write", "random_write", "copy").contains(operation)) {
            throw new IllegalArgumentException(
                    "unknown operation '" + operation + "': choose one of write, random_write, copy");
        }
    }

    /**
     * Passes until the time has passed or the records are full.
     *
     * @param durationNs length of the run, ns
     * @param iterationNs least length of an iteration, ns
     * @return the records, one after the other
     */
    public long[] runFor(final long durationNs, final long iterationNs) {
        final long begin = System.nanoTime();
        long now = begin;
        int used = 0;
        while (now - begin < durationNs && used < records.length) {
            final long start = now;
            final long before = passes;
            do {
                pass(passes);
                passes++;
                now = System.nanoTime();
            } while (now - start < iterationNs && now - begin < durationNs);
            records[used] = start;
            records[used + 1] = now;
            records[used + 2] = passes - before;
            records[used + 3] = 0;
            records[used + 4] = 0;
            used += AllocationTrial.RECORD;
        }
        return Arrays.copyOf(records, used);
    }

    private void pass(final long number) {
        switch (operation) {
            case "write":
                buffers.write(number);
                break;
            case "random_write":
                buffers.writeAtRandom(number);
                break;
            default:
                buffers.copy(number);
                break;
        }
    }

    /**
     * Checksum of the content after exactly so many passes over zeroed buffers: the same in every memory and language.
     *
     * @param count passes
     * @return the checksum
     */
    public long checksumAfter(final long count) {
        buffers.clear();
        for (long number = 0; number < count; number++) {
            pass(number);
        }
        long sum = 0;
        for (int i = 0; i < bytes; i++) {
            sum = sum * 31 + Byte.toUnsignedInt(buffers.at(i));
        }
        return sum;
    }

    /**
     * Buffers in the memory of that name, as far as it exists on every Java.
     *
     * @param name heap or direct
     * @param bytes of each buffer
     * @return the buffers, all zeros
     * @throws IllegalArgumentException no such memory; names those that there are
     */
    public static BufferPair memory(final String name, final int bytes) {
        switch (name) {
            case "heap":
                return new ArrayPair(bytes);
            case "direct":
                return new DirectBufferPair(bytes);
            default:
                throw new IllegalArgumentException("unknown memory '" + name + "': choose one of heap, direct");
        }
    }
}
