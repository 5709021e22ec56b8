package allocpool.messages;

/**
 * A message: a buffer and how much of it is used. Its first word is its number, the others follow from a key and their
 * place, so that a buffer that was handed out too early is found wherever it is read.
 *
 * <p>It has nothing but its name in common with a message between threads, which is a packet of the article: that one
 * has headers in places of their own, and one size. Here it has any size, and is read and written a word at a time.
 */
abstract class Message {
    static final int WORD_BYTES = 8;

    /** What content grows by from word to word. */
    static final long STEP = 0x9E3779B97F4A7C15L;

    final int capacity;
    int length;

    /** What reading it made: objects that lead one to the next, and are dropped with it. */
    Object[] results;

    Message(final int capacity) {
        this.capacity = capacity;
    }

    abstract long word(int place);

    /** Writes the number, and words from 1 to before {@code words}. */
    abstract void fill(long number, long key, int words);

    /** The sum of the words from {@code from} to before {@code to}. */
    abstract long sum(int from, int to);

    /** Writes zeros over the first bytes. */
    abstract void clear(int bytes);

    /** The bytes that its memory takes, of a message that does not itself know its class. */
    int heldBytes() {
        return capacity;
    }

    /** The sum that words 1 to before {@code words} of a message with this key have. */
    static long sumOf(final long key, final int words) {
        final long count = words - 1L;
        return count * key + STEP * (count * (count + 1) / 2);
    }

    /** What one message adds to a checksum. */
    static long hash(final long number, final long sum, final int length) {
        return Mix.draw(sum, number ^ (long) length << 40);
    }
}
