package allocpool.echo;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.LineBasedFrameDecoder;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.util.internal.PlatformDependent;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** Netty with one event loop, its buffers pooled or made anew for every read. */
final class NettyServer implements Server {
    private static final long LONGEST_STOP_S = 30;

    private final EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Channel listener;

    NettyServer(
            final InetSocketAddress address,
            final boolean pooled,
            final int messageBytes,
            final ServerCounts counts)
            throws IOException {
        final ByteBufAllocator allocator = pooled ? PooledByteBufAllocator.DEFAULT : UnpooledByteBufAllocator.DEFAULT;
        final ServerBootstrap bootstrap = new ServerBootstrap()
                .group(loop)
                .channel(NioServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, BACKLOG)
                .option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.ALLOCATOR, allocator)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(final SocketChannel channel) {
                        counts.accepted.increment();
                        // The decoder's limit leaves out the newline.
                        channel.pipeline()
                                .addLast(new LineBasedFrameDecoder(messageBytes - 1, false, true), new Echo(counts));
                    }
                });
        try {
            listener = bootstrap.bind(address).syncUninterruptibly().channel();
        } catch (final Throwable e) {
            stop();
            throw e;
        }
    }

    @Override
    public int port() {
        return ((InetSocketAddress) listener.localAddress()).getPort();
    }

    @Override
    public long libraryDirectBytes() {
        return Math.max(0, PlatformDependent.usedDirectMemory());
    }

    @Override
    public void stop() {
        loop.shutdownGracefully(0, LONGEST_STOP_S, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    /** Sends whole messages back; stops reading while the client does. */
    private static final class Echo extends ChannelInboundHandlerAdapter {
        private final ServerCounts counts;

        Echo(final ServerCounts counts) {
            this.counts = counts;
        }

        @Override
        public void channelRead(final ChannelHandlerContext context, final Object message) {
            final ByteBuf line = (ByteBuf) message;
            counts.messages.increment();
            context.write(line, context.voidPromise());
        }

        @Override
        public void channelReadComplete(final ChannelHandlerContext context) {
            context.flush();
        }

        @Override
        public void channelWritabilityChanged(final ChannelHandlerContext context) {
            context.channel().config().setAutoRead(context.channel().isWritable());
            context.fireChannelWritabilityChanged();
        }

        @Override
        public void channelInactive(final ChannelHandlerContext context) {
            counts.closed.increment();
            context.fireChannelInactive();
        }

        @Override
        public void exceptionCaught(final ChannelHandlerContext context, final Throwable cause) {
            if (cause instanceof TooLongFrameException) {
                counts.oversize.increment();
            }
            context.close();
        }
    }
}
