package allocpool.echo;

/** Serves from its construction until it is stopped. */
interface Server {
    /** Connections that may wait in the kernel's queue. */
    int BACKLOG = 4096;

    /** The port of 127.0.0.1 that it listens on. */
    int port();

    /** Direct memory that a library took past the JDK's own accounts, bytes. */
    default long libraryDirectBytes() {
        return 0;
    }

    /** Closes every connection, ends every thread, and returns when that is done. */
    void stop();
}
