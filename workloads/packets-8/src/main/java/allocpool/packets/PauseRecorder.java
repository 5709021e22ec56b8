package allocpool.packets;

import java.nio.file.Path;

/** Flight Recorder can't be compiled against for Java 8. */
final class PauseRecorder {
    /** Throws. */
    void start() {
        throw new UnsupportedOperationException("no recording on Java 8: leave it out");
    }

    /** Throws. */
    long[] stop(final Path file) {
        throw new UnsupportedOperationException("no recording on Java 8: leave out " + file);
    }
}
