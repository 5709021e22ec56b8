package allocpool.echo;

import java.io.IOException;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** A running echo server, whichever way it does its I/O: what a trial sees of it. */
public final class EchoServer {
    private final Server server;
    private final ServerCounts counts;

    private EchoServer(final Server server, final ServerCounts counts) {
        this.server = server;
        this.counts = counts;
    }

    /**
     * Starts a server.
     *
     * @param io buffered_reader, observed_reader, buffered_stream, stream, nio_buffer_per_connection, nio_pooled,
     *     netty_pooled or netty_unpooled
     * @param buffer size of the reader's and the writer's buffer in chars, or of the streams' in bytes; not read by the
     *     others
     * @param threads of the blocking ones: platform or virtual; not read by the others
     * @param workers platform threads that are started before the first connection
     * @param messageBytes longest message, newline included
     * @param port to listen on; 0 takes any free one
     * @return the server, listening
     * @throws IOException the port is taken, or another reason not to listen
     * @throws IllegalArgumentException an unknown io or threads, or threads that this Java does not have
     */
    public static EchoServer start(
            final String io,
            final int buffer,
            final String threads,
            final int workers,
            final int messageBytes,
            final int port)
            throws IOException {
        final ServerCounts counts = new ServerCounts();
        final InetSocketAddress address =
                new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port);
        try {
            return new EchoServer(make(io, buffer, threads, workers, messageBytes, address, counts), counts);
        } catch (final BindException e) {
            final String line = "port " + port + " of 127.0.0.1 is taken: choose another, or 0 for any free one";
            throw new IOException(line, e);
        }
    }

    private static Server make(
            final String io,
            final int buffer,
            final String threads,
            final int workers,
            final int messageBytes,
            final InetSocketAddress address,
            final ServerCounts counts)
            throws IOException {
        switch (io) {
            case "buffered_reader":
                return blocking(
                        new ReaderConversation(buffer, messageBytes, counts), threads, workers, address, counts);
            case "observed_reader":
                return blocking(
                        new ObservedReaderConversation(messageBytes, counts), threads, workers, address, counts);
            case "buffered_stream":
            case "stream":
                final int size = "stream".equals(io) ? 0 : buffer;
                return blocking(
                        new StreamConversation(size, messageBytes, counts), threads, workers, address, counts);
            case "nio_buffer_per_connection":
                return new NioServer(address, new DirectBufferPool(messageBytes, 0), false, counts);
            case "nio_pooled":
                return new NioServer(address, new DirectBufferPool(messageBytes, DirectBufferPool.KEPT), true, counts);
            case "netty_pooled":
                return new NettyServer(address, true, messageBytes, counts);
            case "netty_unpooled":
                return new NettyServer(address, false, messageBytes, counts);
            default:
                throw new IllegalArgumentException("unknown io " + io);
        }
    }

    private static Server blocking(
            final Conversation<?, ?> conversation,
            final String threads,
            final int workers,
            final InetSocketAddress address,
            final ServerCounts counts)
            throws IOException {
        return new BlockingServer(address, conversation, Workers.of(threads, workers), counts);
    }

    /**
     * Where it listens.
     *
     * @return the port of 127.0.0.1
     */
    public int port() {
        return server.port();
    }

    /**
     * What happened since the start.
     *
     * @return accepted and closed connections, echoed messages, connections closed for a message that was too long, and
     *     accepts that failed
     */
    public long[] counts() {
        return counts.snapshot();
    }

    /**
     * Memory of direct buffers: the JDK's, those that its sockets keep for each thread among them, and Netty's.
     *
     * @return bytes
     */
    public long directBytes() {
        long bytes = server.libraryDirectBytes();
        for (final BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            if ("direct".equals(pool.getName())) {
                bytes += pool.getMemoryUsed();
            }
        }
        return bytes;
    }

    /** Closes every connection and ends every thread; returns when that is done. */
    public void stop() {
        server.stop();
    }
}
