package allocpool.packets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The shared test vectors, computed by an independent model: what trials of given sizes end with. */
final class Vectors {
    private static final String FILE = "/packets-vectors.csv";
    private static final String COLUMNS =
            "seed,queue_size,stored_count,packets,received,parsed,tcp,evicted,freed,live,checksum_hex,"
                    + "payload_checksum_hex";

    private Vectors() {
    }

    static List<Vector> all() {
        return rows(FILE, COLUMNS, Vector::new);
    }

    /** What each row of a file of known answers says. */
    static <T> List<T> rows(final String file, final String columns, final Function<String, T> read) {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                Vectors.class.getResourceAsStream(file), StandardCharsets.UTF_8))) {
            if (!columns.equals(reader.readLine())) {
                throw new IllegalStateException(file + " has other columns than " + columns);
            }
            return reader.lines().map(read).collect(Collectors.toUnmodifiableList());
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
        /** With a touch of every payload. */
        final long payloadChecksum;

        Vector(final String row) {
            final String[] fields = row.split(",");
            seed = Long.parseLong(fields[0]);
            queueSize = Integer.parseInt(fields[1]);
            storedCount = Integer.parseInt(fields[2]);
            packets = Long.parseLong(fields[3]);
            counts = List.of(fields).subList(4, 10).stream().map(Long::valueOf)
                    .collect(Collectors.toUnmodifiableList());
            checksum = Long.parseUnsignedLong(fields[10], 16);
            payloadChecksum = Long.parseUnsignedLong(fields[11], 16);
        }

        /** The least that the strategy can do with, or half the packets in use if that is more; 0 without a pool. */
        int poolSize(final String strategy) {
            final long least = StrategyName.named(strategy).leastPoolSize(new Sizes(0, 0, queueSize, storedCount));
            return least == 0 ? 0 : (int) Math.max(least, (queueSize + storedCount) / 2);
        }

        BatchTrial trial(final String layout, final String strategy) {
            return trial(layout, strategy, Options.published(seed));
        }

        BatchTrial trial(final String layout, final String strategy, final Options options) {
            final Sizes sizes = new Sizes(poolSize(strategy), mostInUse(), queueSize, storedCount);
            return Trials.trial(layout, strategy, sizes, options);
        }

        long evicted() {
            return counts.get(3);
        }

        int mostInUse() {
            return queueSize + storedCount + 1;
        }

        /** The checksum of a trial with these options. */
        long checksum(final Options options) {
            return options.payloadTouch ? payloadChecksum : checksum;
        }

        @Override
        public String toString() {
            return "seed " + seed + ", queue " + queueSize + ", store " + storedCount + ", " + packets
                    + " packets";
        }
    }
}
