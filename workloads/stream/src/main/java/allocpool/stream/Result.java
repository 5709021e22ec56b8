package allocpool.stream;

/** The count of one key in one window; it stays inside one member, so it is never serialised. */
final class Result {
    final long endMs;
    final long key;
    final long count;

    Result(final long endMs, final long key, final long count) {
        this.endMs = endMs;
        this.key = key;
        this.count = count;
    }
}
