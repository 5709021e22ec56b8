package allocpool.echo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Iterator;

/** One thread and a selector for all connections. */
final class NioServer extends AcceptingServer {
    private final ServerSocketChannel listener = ServerSocketChannel.open();
    private final Selector selector = Selector.open();
    private final DirectBufferPool pool;
    private final boolean borrows;
    private final int port;
    private volatile boolean stopped;

    NioServer(
            final InetSocketAddress address,
            final DirectBufferPool pool,
            final boolean borrows,
            final ServerCounts counts)
            throws IOException {
        super("echo selector", counts);
        this.pool = pool;
        this.borrows = borrows;
        try {
            listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            listener.bind(address, BACKLOG);
            listener.configureBlocking(false);
            listener.register(selector, SelectionKey.OP_ACCEPT);
            port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
        } catch (final IOException e) {
            listener.close();
            selector.close();
            throw e;
        }
        start();
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    void run() {
        try {
            while (!stopped) {
                selector.select();
                final Iterator<SelectionKey> ready = selector.selectedKeys().iterator();
                while (ready.hasNext()) {
                    final SelectionKey key = ready.next();
                    ready.remove();
                    if (key.channel() == listener) {
                        accept();
                    } else {
                        goOn(key);
                    }
                }
            }
            for (final SelectionKey key : selector.keys()) {
                if (key.attachment() != null) {
                    end(key);
                }
            }
            selector.close();
            listener.close();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void accept() {
        try {
            for (SocketChannel channel = listener.accept(); channel != null; channel = listener.accept()) {
                counts.accepted.increment();
                channel.configureBlocking(false);
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                final NioConnection connection = new NioConnection(channel, pool, borrows, counts);
                channel.register(selector, SelectionKey.OP_READ, connection);
            }
        } catch (final IOException e) {
            refuse();
        }
    }

    private void goOn(final SelectionKey key) throws IOException {
        boolean goesOn;
        try {
            goesOn = ((NioConnection) key.attachment()).goOn(key);
        } catch (final IOException e) {
            goesOn = false; // the client broke it off
        }
        if (!goesOn) {
            end(key);
        }
    }

    private void end(final SelectionKey key) throws IOException {
        key.cancel();
        ((NioConnection) key.attachment()).end();
        counts.closed.increment();
    }

    @Override
    public void stop() {
        stopped = true;
        selector.wakeup();
        try {
            join();
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
