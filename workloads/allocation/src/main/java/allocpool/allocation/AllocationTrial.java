package allocpool.allocation;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * Rounds of the same simple work: obtain {@code slots} buffers and touch each, then release all of them; both parts
 * timed apart. The live set climbs from nothing to slots times bytes and falls again, in Java as in C++.
 *
 * <p>A record is five numbers: start and end, buffers, time of obtaining, time of releasing.
 */
public final class AllocationTrial {
    /** Numbers in a record. */
    public static final int RECORD = 5;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final BufferSource buffers;
    private final Touch touch;
    private final long bytes;
    private final Object[] slots;
    private final long[] records;
    private int used;
    private long allocatedBytes;
    private long directBuffersHeld;
    private long directBytesHeld;

    /**
     * Sets up; obtains nothing yet.
     *
     * @param buffers where buffers come from
     * @param touch name of a policy of {@link Touch}
     * @param bytes of each buffer
     * @param slots buffers of a round
     * @param maxRecords records of one run at most
     * @throws IllegalArgumentException no such policy
     */
    public AllocationTrial(
            final BufferSource buffers, final String touch, final long bytes, final int slots, final int maxRecords) {
        this.buffers = buffers;
        this.touch = Touch.named(touch);
        this.bytes = bytes;
        this.slots = new Object[slots];
        records = new long[maxRecords * RECORD];
    }

    /**
     * Rounds until the time has passed, the records are full, or so many buffers were obtained.
     *
     * @param durationNs length of the run, ns
     * @param iterationNs least length of an iteration, ns
     * @param maxBuffers after which it ends early
     * @return the records, one after the other
     */
    public long[] runFor(final long durationNs, final long iterationNs, final long maxBuffers) {
        used = 0;
        final long bytesBefore = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        final long begin = System.nanoTime();
        long now = begin;
        long count = 0;
        while (now - begin < durationNs && used < records.length && count < maxBuffers) {
            final long start = now;
            final long countBefore = count;
            long obtaining = 0;
            long releasing = 0;
            do {
                fill();
                final long full = System.nanoTime();
                obtaining += full - now;
                drain();
                now = System.nanoTime();
                releasing += now - full;
                count += slots.length;
            } while (now - start < iterationNs && now - begin < durationNs && count < maxBuffers);
            record(start, now, count - countBefore, obtaining, releasing);
        }
        allocatedBytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - bytesBefore;
        return Arrays.copyOf(records, used);
    }

    private void record(
            final long start, final long end, final long count, final long obtaining, final long releasing) {
        records[used] = start;
        records[used + 1] = end;
        records[used + 2] = count;
        records[used + 3] = obtaining;
        records[used + 4] = releasing;
        used += RECORD;
    }

    private void fill() {
        if (touch == Touch.NONE) {
            // Looking at the policy each time would be a tenth of a small buffer's cost.
            for (int i = 0; i < slots.length; i++) {
                slots[i] = buffers.obtain();
            }
            return;
        }
        for (int i = 0; i < slots.length; i++) {
            final Object buffer = buffers.obtain();
            buffers.touch(buffer, touch);
            slots[i] = buffer;
        }
    }

    private void drain() {
        for (int i = 0; i < slots.length; i++) {
            buffers.release(slots[i]);
            slots[i] = null;
        }
        buffers.releaseAll();
    }

    /**
     * What the JVM counted on the heap for this thread during the last run.
     *
     * @return bytes
     */
    public long allocatedBytes() {
        return allocatedBytes;
    }

    /**
     * One round by the very code that is measured, whose buffers are looked at: each is another object, none shares
     * native memory with another, and each is as large as asked.
     *
     * @return the line that says what is wrong, or nothing
     */
    public String verify() {
        fill();
        final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        final long[] addresses = new long[slots.length];
        for (int i = 0; i < slots.length; i++) {
            if (slots[i] == null || !seen.add(slots[i])) {
                return "two slots hold the same buffer: an allocation was skipped";
            }
            if (buffers.bytes(slots[i]) < bytes) {
                return "a buffer is smaller than asked for";
            }
            addresses[i] = buffers.address(slots[i]);
        }
        Arrays.sort(addresses);
        for (int i = 1; i < addresses.length; i++) {
            if (addresses[i] != 0 && addresses[i] - addresses[i - 1] < bytes) {
                return "two live buffers share memory: an allocation was skipped";
            }
        }
        final DirectMemory direct = new DirectMemory();
        directBuffersHeld = direct.buffers();
        directBytesHeld = direct.capacityBytes();
        drain();
        return "";
    }

    /**
     * Direct buffers that existed while the round that was verified was alive, by the JVM's own counters.
     *
     * @return how many, dead ones that no collection had found included
     */
    public long directBuffersHeld() {
        return directBuffersHeld;
    }

    /**
     * The capacity of these.
     *
     * @return bytes
     */
    public long directBytesHeld() {
        return directBytesHeld;
    }
}
