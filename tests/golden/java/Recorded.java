import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * Prints the events of a recording as tab-separated lines, all times in nanoseconds
 * (starts since 1970), all sizes in bytes:
 *
 * <pre>
 * pause            GC_ID         START  DURATION  NAME
 * heap             GC_ID         START  USED      WHEN
 * stall            0             START  DURATION  THREAD
 * safepoint_begin  SAFEPOINT_ID  START  DURATION
 * safepoint_end    SAFEPOINT_ID  START  DURATION
 * </pre>
 */
public final class Recorded {
    private Recorded() {}

    public static void main(final String[] args) throws IOException {
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                final RecordedEvent event = file.readEvent();
                switch (event.getEventType().getName()) {
                    case "jdk.GCPhasePause":
                        print("pause", event.getInt("gcId"), event, nanos(event.getDuration()), event.getString("name"));
                        break;
                    case "jdk.GCHeapSummary":
                        print("heap", event.getInt("gcId"), event, event.getLong("heapUsed"), event.getString("when"));
                        break;
                    case "jdk.ZAllocationStall":
                        print("stall", 0, event, nanos(event.getDuration()), event.getThread().getJavaName());
                        break;
                    case "jdk.SafepointBegin":
                        print("safepoint_begin", event.getLong("safepointId"), event, nanos(event.getDuration()), "");
                        break;
                    case "jdk.SafepointEnd":
                        print("safepoint_end", event.getLong("safepointId"), event, nanos(event.getDuration()), "");
                        break;
                    default:
                        break;
                }
            }
        }
    }

    private static void print(
            final String kind, final long id, final RecordedEvent event, final long value, final String text) {
        System.out.println(kind + "\t" + id + "\t" + nanos(event.getStartTime()) + "\t" + value + "\t" + text);
    }

    private static long nanos(final Duration duration) {
        return duration.toNanos();
    }

    private static long nanos(final Instant instant) {
        return instant.getEpochSecond() * 1_000_000_000L + instant.getNano();
    }
}
