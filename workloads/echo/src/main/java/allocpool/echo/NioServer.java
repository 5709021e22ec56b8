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
final class NioServer implements Server {
    private static final int PAUSE_MS = 10;

    private final ServerSocketChannel listener = ServerSocketChannel.open();
    private final Selector selector = Selector.open();
    private final Buffers buffers;
    private final boolean borrows;
    private final Counts counts;
    private final int port;
    private final Thread loop = new Thread(this::run, "echo selector");
    private volatile boolean stopped;

    NioServer(
            final InetSocketAddress address,
            final int backlog,
            final Buffers buffers,
            final boolean borrows,
            final Counts counts)
            throws IOException {
        this.buffers = buffers;
        this.borrows = borrows;
        this.counts = counts;
        try {
            listener.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            listener.bind(address, backlog);
            listener.configureBlocking(false);
            listener.register(selector, SelectionKey.OP_ACCEPT);
            port = ((InetSocketAddress) listener.getLocalAddress()).getPort();
        } catch (final IOException e) {
            listener.close();
            selector.close();
            throw e;
        }
        loop.start();
    }

    @Override
    public int port() {
        return port;
    }

    private void run() {
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
                final NioConnection connection = new NioConnection(channel, buffers, borrows, counts);
                channel.register(selector, SelectionKey.OP_READ, connection);
            }
        } catch (final IOException e) {
            // No descriptor left: the connection stays in the kernel's queue until one is given back.
            counts.refused.increment();
            pause();
        }
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MS);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
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
            loop.join();
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
