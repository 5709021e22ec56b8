package allocpool.packets;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;

/** Pauses of the collector as Flight Recorder reports them, apart from the collector's log. */
final class PauseRecorder {
    private static final String PAUSE = "jdk.GCPhasePause";

    private final Recording recording = new Recording();

    /** Records from here. */
    void start() {
        recording.enable(PAUSE).withThreshold(Duration.ZERO);
        recording.start();
    }

    /**
     * Ends the recording.
     *
     * @param file where to write it; must not exist
     * @return pauses, and their total in nanoseconds
     * @throws IOException if the recording can't be written or read
     */
    long[] stop(final Path file) throws IOException {
        recording.stop();
        recording.dump(file);
        recording.close();
        long pauses = 0;
        long totalNs = 0;
        try (RecordingFile recorded = new RecordingFile(file)) {
            while (recorded.hasMoreEvents()) {
                final var event = recorded.readEvent();
                if (event.getEventType().getName().equals(PAUSE)) {
                    pauses++;
                    totalNs += event.getDuration().toNanos();
                }
            }
        }
        return new long[] {pauses, totalNs};
    }
}
