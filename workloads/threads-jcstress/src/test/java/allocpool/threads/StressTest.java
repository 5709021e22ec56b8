package allocpool.threads;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One quick run of the harness over all pools, and over one that is none, so that it is known to find faults. */
class StressTest {
    private static final Pattern FAILED = Pattern.compile("\\[FAILED\\] (\\S+)");

    private static final String LAX = LaxStress.class.getName();
    private static final int TESTS = 5;
    private static final int SHORTEST_MS = 250;
    private static final int LONGEST_MS = 16_000;

    @TempDir
    private Path folder;

    @Test
    void onlyWhatIsNoPoolHandsOutTwiceOrLoses() throws IOException, InterruptedException {
        final Set<String> failed = new TreeSet<>(stress("", SHORTEST_MS, TESTS));
        // Threads that seldom run at the same time, because others have the processors, take longer to meet.
        for (int lengthMs = 4 * SHORTEST_MS; !failed.contains(LAX) && lengthMs <= LONGEST_MS; lengthMs *= 4) {
            failed.addAll(stress("LaxStress", lengthMs, 1));
        }
        assertEquals(Set.of(LAX), failed);
    }

    /** The tests that failed, of those whose names go on like this; all of them ran. */
    private Set<String> stress(final String names, final int lengthMs, final int tests)
            throws IOException, InterruptedException {
        final Process process = new ProcessBuilder(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                // Of the harness itself; the JVMs that it starts have these flags too, and then those of theirs.
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"),
                "org.openjdk.jcstress.Main", "-t", "allocpool[.]threads[.]" + names,
                "-m", "quick", "-f", "1", "-iters", "1", "-time", String.valueOf(lengthMs),
                // One way of starting and of compiling: a start takes longer than a test.
                "-sc", "false", "-af", "NONE", "-c", "2", "-jvmArgs", "-XX:TieredStopAtLevel=4 -Xmx64m",
                // It tries some twenty flags, a JVM for each, whose heaps would all be touched beforehand.
                "-hs", "64", "-pth", "false",
                "-r", folder.resolve("report").toString()))
                .directory(folder.toFile()).redirectErrorStream(true).start();
        process.getOutputStream().close();
        final String found = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        final int code = process.waitFor();
        final Set<String> failed = new TreeSet<>();
        final Matcher matcher = FAILED.matcher(found);
        while (matcher.find()) {
            failed.add(matcher.group(1));
        }
        assertEquals(failed.isEmpty() ? 0 : 1, code, found);
        assertTrue(Set.of(LAX).containsAll(failed), found);
        final int passed = tests - failed.size();
        assertTrue(found.contains("All remaining tests: " + (passed == 0 ? "No" : passed) + " match"), found);
        assertTrue(found.contains("Error tests: No matches"), found);
        return failed;
    }
}
