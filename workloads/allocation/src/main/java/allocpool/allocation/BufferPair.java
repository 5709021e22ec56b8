package allocpool.allocation;

/** Two buffers in one kind of memory: a target that is written by index, and a source that is copied into it. */
public interface BufferPair {
    /**
     * Writes one pass of bytes in order: byte i becomes i + pass.
     *
     * @param pass number of the pass
     */
    void write(long pass);

    /**
     * Writes as many bytes as there are, at places that a generator draws.
     *
     * @param pass number of the pass; seeds the places
     */
    void writeAtRandom(long pass);

    /**
     * Changes one byte of the source, then copies it all into the target.
     *
     * @param pass number of the pass
     */
    void copy(long pass);

    /**
     * One byte of the target.
     *
     * @param index from 0
     * @return the byte
     */
    byte at(int index);

    /** Zeroes both buffers. */
    void clear();
}
