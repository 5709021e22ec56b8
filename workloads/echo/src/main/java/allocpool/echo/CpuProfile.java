package allocpool.echo;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/** Where threads spend processor time, by Flight Recorder's samples of it (JEP 509: Linux, Java 25). */
public final class CpuProfile {
    private static final String SAMPLE = "jdk.CPUTimeSample";
    /** Far less than a message takes: a timer is a thread's own, and most threads have few messages. */
    private static final String PERIOD = "10us";

    private final Recording recording = new Recording();

    /** Prepares it; nothing is sampled yet. */
    public CpuProfile() {
        recording.enable(SAMPLE).with("throttle", PERIOD);
    }

    /** Samples from now on. */
    public void start() {
        recording.start();
    }

    /**
     * Ends it and reads what was sampled.
     *
     * @param file of the recording, which is made
     * @param type name of a class
     * @param method name of a method of the class
     * @return samples that have a stack, and how many of these have the method on it
     * @throws IOException the file can't be written or read
     */
    public long[] stop(final String file, final String type, final String method) throws IOException {
        recording.stop();
        recording.dump(Path.of(file));
        recording.close();
        long samples = 0;
        long inside = 0;
        for (final RecordedEvent event : RecordingFile.readAllEvents(Path.of(file))) {
            if (SAMPLE.equals(event.getEventType().getName()) && event.getStackTrace() != null) {
                samples++;
                inside += has(event.getStackTrace().getFrames(), type, method) ? 1 : 0;
            }
        }
        return new long[] {samples, inside};
    }

    private static boolean has(final List<RecordedFrame> frames, final String type, final String method) {
        return frames.stream().map(RecordedFrame::getMethod)
                .anyMatch(of -> type.equals(of.getType().getName()) && method.equals(of.getName()));
    }
}
