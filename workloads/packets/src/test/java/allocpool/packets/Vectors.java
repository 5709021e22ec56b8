package allocpool.packets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;

/** The shared test vectors, computed by an independent model: what trials of given sizes end with. */
final class Vectors {
    private static final String FILE = "/packets-vectors.csv";
    private static final String COLUMNS =
            "seed,queue_size,stored_count,packets,received,parsed,tcp,evicted,freed,live,checksum_hex";

    private Vectors() {
    }

    static List<Vector> all() {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                Vectors.class.getResourceAsStream(FILE), StandardCharsets.UTF_8))) {
            if (!COLUMNS.equals(reader.readLine())) {
                throw new IllegalStateException(FILE + " has other columns than " + COLUMNS);
            }
            return reader.lines().map(Vector::new).collect(Collectors.toUnmodifiableList());
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** One row. */
    static final class Vector {
        final long seed;
        final int queueSize;
        final int storedCount;
        final long packets;
        /** received, parsed, tcp, evicted, freed, live. */
        final List<Long> counts;
        final long checksum;

        Vector(final String row) {
            final String[] fields = row.split(",");
            seed = Long.parseLong(fields[0]);
            queueSize = Integer.parseInt(fields[1]);
            storedCount = Integer.parseInt(fields[2]);
            packets = Long.parseLong(fields[3]);
            counts = List.of(fields).subList(4, 10).stream().map(Long::valueOf)
                    .collect(Collectors.toUnmodifiableList());
            checksum = Long.parseUnsignedLong(fields[10], 16);
        }

        /** The least that the strategy can do with, or half the packets in use if that is more; 0 without a pool. */
        int poolSize(final String strategy) {
            final long least = StrategyName.named(strategy).leastPoolSize(new Sizes(0, 0, queueSize, storedCount));
            return least == 0 ? 0 : (int) Math.max(least, (queueSize + storedCount) / 2);
        }

        BatchTrial trial(final String layout, final String strategy) {
            return new BatchTrial(layout, strategy, poolSize(strategy), queueSize + storedCount + 1, queueSize,
                    storedCount, seed, 100);
        }

        @Override
        public String toString() {
            return "seed " + seed + ", queue " + queueSize + ", store " + storedCount + ", " + packets
                    + " packets";
        }
    }
}
