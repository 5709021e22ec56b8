import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import jdk.jfr.Recording;

/**
 * Puts a collector under a chosen pressure while Flight Recorder watches, so that its log can be compared with an
 * independent record of the same pauses.
 *
 * <p>Usage: {@code Pressure RECORDING_FILE SECONDS THREADS LIVE_MIB SHAPE EXPLICIT_GCS MIB_PER_SECOND}. {@code SHAPE} is {@code
 * steady} (a live set of constant size, of which random members are replaced) or {@code surge} (the live set grows to
 * its full size, is dropped, and grows again: nearly everything that a young collection meets then survives). {@code
 * EXPLICIT_GCS} calls of {@code System.gc()} are spread over the run. {@code MIB_PER_SECOND} bounds the allocation rate of all threads
 * together; 0 leaves it unbounded.
 *
 * <p>Prints {@code FROM_NS TO_NS}, the {@code System.nanoTime()} bounds of the recording; this is the clock of the
 * log's {@code timenanos} decoration.
 */
public final class Pressure {
    private static final int SMALLEST_BYTES = 64;
    private static final int SPAN_BYTES = 2048;
    private static final int MEAN_BYTES = SMALLEST_BYTES + SPAN_BYTES / 2;
    private static final int GARBAGE_PER_SURVIVOR = 2;

    private Pressure() {}

    public static void main(final String[] args) throws IOException, InterruptedException {
        final Path file = Path.of(args[0]);
        final double seconds = Double.parseDouble(args[1]);
        final int threads = Integer.parseInt(args[2]);
        final int liveMib = Integer.parseInt(args[3]);
        final boolean surge = args[4].equals("surge");
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
            final long from = System.nanoTime();
            final long end = from + (long) (seconds * 1e9);
            final Thread[] workers = new Thread[threads];
            for (int i = 0; i < threads; i++) {
                final long seed = i;
                workers[i] = new Thread(() -> churn(seed, (liveMib << 20) / threads, surge, bytesPerSecond / threads, end), "worker-" + i);
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
            System.out.println(from + " " + to);
        }
    }

    private static void churn(
            final long seed, final int liveBytes, final boolean surge, final long bytesPerSecond, final long end) {
        final SplittableRandom random = new SplittableRandom(seed);
        final byte[][] live = new byte[Math.max(1, liveBytes / MEAN_BYTES)][];
        final long start = System.nanoTime();
        long allocated = 0;
        int next = 0;
        for (long now = start; now < end; now = System.nanoTime()) {
            try {
                for (int i = 0; i < 64; i++) {
                    if (!surge) {
                        for (int garbage = 0; garbage < GARBAGE_PER_SURVIVOR; garbage++) {
                            allocated += make(random).length;
                        }
                    }
                    final byte[] made = make(random);
                    allocated += made.length;
                    if (next == live.length && surge) {
                        java.util.Arrays.fill(live, null);
                        next = 0;
                    }
                    live[next < live.length ? next++ : random.nextInt(live.length)] = made;
                }
            } catch (final OutOfMemoryError full) {
                java.util.Arrays.fill(live, null); // the run is about collectors that struggle, not about its own survival
                next = 0;
            }
            while (bytesPerSecond > 0 && allocated > bytesPerSecond * (System.nanoTime() - start) / 1e9) {
                java.util.concurrent.locks.LockSupport.parkNanos(200_000);
            }
        }
    }

    private static byte[] make(final SplittableRandom random) {
        return new byte[SMALLEST_BYTES + random.nextInt(SPAN_BYTES)];
    }
}
