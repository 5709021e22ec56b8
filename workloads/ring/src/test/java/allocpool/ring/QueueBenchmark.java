package allocpool.ring;

import java.nio.ByteBuffer;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import org.agrona.concurrent.AtomicBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.OneToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;
import org.jctools.queues.SpscArrayQueue;

/**
 * Moves longs from one Java thread to another, through queues that the ring is measured against: JCTools'
 * SpscArrayQueue and Agrona's OneToOneRingBuffer. Called from {@code native/bench/bench_ring.py}, which interleaves
 * their rounds with those of the ring.
 */
public final class QueueBenchmark {
    private static final int AGRONA_MESSAGE_TYPE = 1;
    private static final int AGRONA_BATCH = 256;

    private final Contender contender;

    /**
     * Creates a queue.
     *
     * @param queue {@code jctools} or {@code agrona}
     * @param capacity longs that it has room for, a power of two
     * @throws IllegalArgumentException if there is no such queue here
     */
    public QueueBenchmark(final String queue, final int capacity) {
        switch (queue) {
            case "jctools":
                contender = new JctoolsContender(capacity);
                break;
            case "agrona":
                contender = new AgronaContender(capacity);
                break;
            default:
                throw new IllegalArgumentException("unknown queue '" + queue + "': choose one of jctools, agrona");
        }
    }

    /**
     * Moves longs from a new thread to this one.
     *
     * @param longs how many
     * @return nanoseconds per long
     * @throws InterruptedException if interrupted
     * @throws IllegalStateException if other longs came out than went in
     */
    public double measure(final long longs) throws InterruptedException {
        final CyclicBarrier barrier = new CyclicBarrier(2);
        final Thread producer = new Thread(() -> {
            await(barrier);
            contender.produce(longs);
        });
        producer.start();
        await(barrier);
        final long start = System.nanoTime();
        final long sum = contender.consume(longs);
        final long end = System.nanoTime();
        producer.join();
        if (sum != longs * (longs - 1) / 2) {
            throw new IllegalStateException("longs were lost or changed: their sum is " + sum);
        }
        return (double) (end - start) / longs;
    }

    private static void await(final CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (final InterruptedException | BrokenBarrierException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private interface Contender {
        void produce(long longs);

        /** Returns the sum of what came. */
        long consume(long longs);
    }

    /** Moves boxed longs that exist beforehand: boxing would be the benchmark otherwise. */
    private static final class JctoolsContender implements Contender {
        private static final int BOXES = 1 << 10;

        private final SpscArrayQueue<Long> queue;
        private final Long[] boxes = new Long[BOXES];

        JctoolsContender(final int capacity) {
            queue = new SpscArrayQueue<>(capacity);
            for (int i = 0; i < BOXES; i++) {
                boxes[i] = (long) i;
            }
        }

        @Override
        public void produce(final long longs) {
            for (long i = 0; i < longs; i++) {
                final Long box = boxes[(int) (i & (BOXES - 1))];
                while (!queue.relaxedOffer(box)) {
                    Thread.onSpinWait();
                }
            }
        }

        @Override
        public long consume(final long longs) {
            long sum = 0;
            for (long i = 0; i < longs; i++) {
                Long box = queue.relaxedPoll();
                while (box == null) {
                    Thread.onSpinWait();
                    box = queue.relaxedPoll();
                }
                sum += box + (i & ~(BOXES - 1L));
            }
            return sum;
        }
    }

    private static final class AgronaContender implements Contender {
        private static final int RECORD_BYTES = 2 * Long.BYTES;

        private final OneToOneRingBuffer ring;
        private long sum;

        AgronaContender(final int capacity) {
            ring = new OneToOneRingBuffer(new UnsafeBuffer(
                    ByteBuffer.allocateDirect(capacity * RECORD_BYTES + RingBufferDescriptor.TRAILER_LENGTH)));
        }

        @Override
        public void produce(final long longs) {
            final AtomicBuffer buffer = ring.buffer();
            for (long i = 0; i < longs; i++) {
                int index = ring.tryClaim(AGRONA_MESSAGE_TYPE, Long.BYTES);
                while (index < 0) {
                    Thread.onSpinWait();
                    index = ring.tryClaim(AGRONA_MESSAGE_TYPE, Long.BYTES);
                }
                buffer.putLong(index, i);
                ring.commit(index);
            }
        }

        @Override
        public long consume(final long longs) {
            sum = 0;
            long count = 0;
            while (count < longs) {
                final int read = ring.read((type, buffer, index, length) -> sum += buffer.getLong(index), AGRONA_BATCH);
                if (read == 0) {
                    Thread.onSpinWait();
                }
                count += read;
            }
            return sum;
        }
    }
}
