import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import jdk.jfr.Recording;

/**
 * Puts a collector under a chosen pressure while Flight Recorder watches, so that its log can be compared with an
 * independent record of the same pauses.
 *
 * <p>Usage: {@code Pressure RECORDING_FILE SECONDS THREADS LIVE_MIB SHAPE EXPLICIT_GCS MIB_PER_SECOND}. {@code SHAPE} is
 *
 * <ul>
 *   <li>{@code steady}: a live set of constant size, of which random members are replaced;
 *   <li>{@code surge}: the live set grows to its full size, is dropped, and grows again, so nearly everything that a
 *       young collection meets survives;
 *   <li>{@code burst}: a constant live set and much garbage, then suddenly twice as much again that survives, so that a
 *       collector that expects little to survive is surprised.
 * </ul>
 *
 * <p>{@code EXPLICIT_GCS} calls of {@code System.gc()} are spread over the run. {@code MIB_PER_SECOND} bounds the
 * allocation rate of all threads together; 0 leaves it unbounded.
 *
 * <p>Prints {@code FROM_NS TO_NS FROM_EPOCH_NS}: the {@code System.nanoTime()} bounds of the recording, which is the
 * clock of the log's {@code timenanos} decoration, and the wall clock at its begin, which is the recording's.
 */
public final class Pressure {
    private Pressure() {}

    public static void main(final String[] args) throws IOException, InterruptedException {
        final Path file = Path.of(args[0]);
        final double seconds = Double.parseDouble(args[1]);
        final int threads = Integer.parseInt(args[2]);
        final int liveMib = Integer.parseInt(args[3]);
        final String shape = args[4];
        final int explicit = Integer.parseInt(args[5]);
        final long bytesPerSecond = Long.parseLong(args[6]) << 20;

        try (Recording recording = new Recording()) {
            for (final String event :
                    new String[] {
                        "jdk.GCPhasePause",
                        "jdk.GCHeapSummary",
                        "jdk.ZAllocationStall",
                        "jdk.SafepointBegin",
                        "jdk.SafepointEnd"
                    }) {
                recording.enable(event).withoutThreshold().withoutStackTrace();
            }
            recording.start();
            final Instant wall = Instant.now();
            final long from = System.nanoTime();
            final long end = from + (long) (seconds * 1e9);
            final Thread[] workers = new Thread[threads];
            for (int i = 0; i < threads; i++) {
                final long seed = i;
                final Churn churn = new Churn(seed, (liveMib << 20) / threads, bytesPerSecond / threads, end);
                workers[i] = new Thread(() -> churn.run(shape), "worker-" + i);
                workers[i].start();
            }
            for (int i = 0; i < explicit; i++) {
                Thread.sleep((long) (seconds * 1e3 / (explicit + 1)));
                System.gc();
            }
            for (final Thread worker : workers) {
                worker.join();
            }
            final long to = System.nanoTime();
            recording.dump(file);
            System.out.println(from + " " + to + " " + (wall.getEpochSecond() * 1_000_000_000L + wall.getNano()));
        }
    }

    /** What one thread does to the heap. */
    private static final class Churn {
        private static final int SMALLEST_BYTES = 64;
        private static final int SPAN_BYTES = 2048;
        private static final int MEAN_BYTES = SMALLEST_BYTES + SPAN_BYTES / 2;
        private static final int GARBAGE_PER_SURVIVOR = 2;
        private static final int GARBAGE_BEFORE_A_BURST = 16;
        private static final int BURST = 2;

        private final SplittableRandom random;
        private final byte[][] live;
        private final byte[][] burst;
        private final long bytesPerSecond;
        private final long start = System.nanoTime();
        private final long end;
        private long allocated;

        Churn(final long seed, final int liveBytes, final long bytesPerSecond, final long end) {
            this.random = new SplittableRandom(seed);
            this.live = new byte[Math.max(2, liveBytes / MEAN_BYTES)][];
            this.burst = new byte[BURST * live.length][];
            this.bytesPerSecond = bytesPerSecond;
            this.end = end;
        }

        void run(final String shape) {
            while (System.nanoTime() < end) {
                try {
                    fill(live);
                    while (shape.equals("steady") && System.nanoTime() < end) {
                        for (int i = 0; i < GARBAGE_PER_SURVIVOR; i++) {
                            make();
                        }
                        live[random.nextInt(live.length)] = make();
                    }
                    while (shape.equals("burst") && System.nanoTime() < end) {
                        for (int i = 0; i < GARBAGE_BEFORE_A_BURST * live.length && System.nanoTime() < end; i++) {
                            make();
                        }
                        fill(burst);
                        Arrays.fill(burst, null);
                    }
                } catch (final OutOfMemoryError full) {
                    Arrays.fill(burst, null); // the run is about a collector in trouble, not about its own survival
                }
                Arrays.fill(live, null);
            }
        }

        private void fill(final byte[][] members) {
            for (int i = 0; i < members.length && System.nanoTime() < end; i++) {
                members[i] = make();
            }
        }

        private byte[] make() {
            while (bytesPerSecond > 0 && allocated > bytesPerSecond * (System.nanoTime() - start) / 1e9) {
                LockSupport.parkNanos(200_000);
            }
            final byte[] made = new byte[SMALLEST_BYTES + random.nextInt(SPAN_BYTES)];
            allocated += made.length;
            return made;
        }
    }
}
