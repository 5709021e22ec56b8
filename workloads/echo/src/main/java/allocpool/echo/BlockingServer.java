package allocpool.echo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.TimeUnit;

/** A thread accepts, others hold one conversation each. */
final class BlockingServer extends AcceptingServer {
    private final ServerSocket listener = new ServerSocket();
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final Conversation<?, ?> conversation;
    private final ExecutorService workers;

    BlockingServer(
            final InetSocketAddress address,
            final Conversation<?, ?> conversation,
            final ExecutorService workers,
            final ServerCounts counts)
            throws IOException {
        super("echo acceptor", counts);
        this.conversation = conversation;
        this.workers = workers;
        try {
            listener.setReuseAddress(true);
            listener.bind(address, BACKLOG);
        } catch (final IOException e) {
            workers.shutdownNow();
            listener.close();
            throw e;
        }
        start();
    }

    @Override
    public int port() {
        return listener.getLocalPort();
    }

    @Override
    void run() {
        while (!listener.isClosed()) {
            try {
                final Socket socket = listener.accept();
                counts.accepted.increment();
                open.add(socket);
                workers.execute(() -> serve(socket));
            } catch (final IOException e) {
                if (!listener.isClosed()) {
                    refuse();
                }
            }
        }
    }

    private void serve(final Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            conversation.hold(socket);
        } catch (final IOException e) {
            // The client or stop() closed it: to the server both are the end of a conversation.
            Thread.interrupted();
        } finally {
            open.remove(socket);
            counts.closed.increment();
        }
    }

    @Override
    public void stop() {
        try {
            listener.close();
            join();
            for (final Socket socket : open) {
                socket.close();
            }
            workers.shutdown();
            workers.awaitTermination(1, TimeUnit.MINUTES);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
