package allocpool.echo;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every way of I/O echoes the same, survives the same clients, and leaves nothing behind. */
@Timeout(60)
final class EchoServerTest {
    private static final int MESSAGE_BYTES = 512;
    private static final int WORKERS = 4;
    private static final int ACCEPTED = 0;
    private static final int CLOSED = 1;
    private static final int MESSAGES = 2;
    private static final int OVERSIZE = 3;

    static Stream<Arguments> servers() {
        final Stream<Arguments> blocking = Stream.of("platform", "virtual")
                .filter(kind -> "platform".equals(kind) || Runtime.version().feature() >= 21)
                .flatMap(kind -> Stream.of(
                        Arguments.of("buffered_reader", 256, kind),
                        Arguments.of("buffered_reader", 512, kind),
                        Arguments.of("buffered_reader", 8192, kind),
                        Arguments.of("observed_reader", 0, kind),
                        Arguments.of("buffered_stream", 512, kind),
                        Arguments.of("buffered_stream", 8192, kind),
                        Arguments.of("stream", 0, kind)));
        final Stream<Arguments> others = Stream.of(
                        "nio_buffer_per_connection", "nio_pooled", "netty_pooled", "netty_unpooled")
                .map(io -> Arguments.of(io, 0, ""));
        return Stream.concat(blocking, others);
    }

    private static EchoServer start(final String io, final int buffer, final String threads) throws IOException {
        return EchoServer.start(io, buffer, threads, WORKERS, MESSAGE_BYTES, 0);
    }

    private static Socket connect(final EchoServer server) throws IOException {
        return new Socket(InetAddress.getLoopbackAddress(), server.port());
    }

    private static byte[] message(final int bytes, final int number) {
        final byte[] message = new byte[bytes];
        Arrays.fill(message, (byte) ('a' + number % 26));
        message[bytes - 1] = '\n';
        return message;
    }

    private static void exchange(final Socket socket, final byte[] message) throws IOException {
        socket.getOutputStream().write(message);
        assertArrayEquals(message, socket.getInputStream().readNBytes(message.length));
    }

    /** Waits until the server has closed every connection that it accepted; the test's time limit bounds it. */
    private static void awaitAllClosed(final EchoServer server) throws InterruptedException {
        while (server.counts()[CLOSED] < server.counts()[ACCEPTED]) {
            Thread.sleep(5);
        }
    }

    @ParameterizedTest
    @MethodSource("servers")
    void echoesMessagesOfEverySizeUpToTheLargest(final String io, final int buffer, final String threads)
            throws IOException, InterruptedException {
        final EchoServer server = start(io, buffer, threads);
        int number = 0;
        try (Socket first = connect(server);
                Socket second = connect(server)) {
            for (final int bytes : new int[] {1, 2, 255, 256, 511, MESSAGE_BYTES, 7}) {
                exchange(first, message(bytes, number++));
                exchange(second, message(bytes, number++));
            }
        }
        awaitAllClosed(server);
        assertEquals(number, server.counts()[MESSAGES]);
        server.stop();
    }

    @ParameterizedTest
    @MethodSource("servers")
    void echoesSeveralMessagesThatComeAtOnceAndOneThatComesByteByByte(
            final String io, final int buffer, final String threads) throws IOException {
        final EchoServer server = start(io, buffer, threads);
        try (Socket socket = connect(server)) {
            final byte[] several = "one\ntwo\nthree\n".getBytes(StandardCharsets.US_ASCII);
            exchange(socket, several);
            final byte[] slow = message(MESSAGE_BYTES, 3);
            for (final byte one : slow) {
                socket.getOutputStream().write(one);
            }
            assertArrayEquals(slow, socket.getInputStream().readNBytes(slow.length));
        }
        server.stop();
    }

    @ParameterizedTest
    @MethodSource("servers")
    void closesAConnectionWhoseMessageIsTooLongAndServesTheNext(
            final String io, final int buffer, final String threads) throws IOException {
        final EchoServer server = start(io, buffer, threads);
        try (Socket greedy = connect(server)) {
            final byte[] endless = message(2 * MESSAGE_BYTES, 0);
            endless[endless.length - 1] = 'a';
            greedy.getOutputStream().write(endless);
            assertTrue(isClosed(greedy.getInputStream()), "the connection is closed without an echo");
        }
        assertEquals(1, server.counts()[OVERSIZE]);
        try (Socket next = connect(server)) {
            exchange(next, message(MESSAGE_BYTES, 1));
        }
        server.stop();
    }

    /** Whether the stream ends, or breaks off because the server had not read everything when it closed. */
    private static boolean isClosed(final InputStream in) {
        try {
            return in.read() < 0;
        } catch (final IOException e) {
            return true;
        }
    }

    @ParameterizedTest
    @MethodSource("servers")
    void answersAClientThatHasClosedItsHalf(final String io, final int buffer, final String threads)
            throws IOException, InterruptedException {
        final EchoServer server = start(io, buffer, threads);
        try (Socket socket = connect(server)) {
            final byte[] last = message(MESSAGE_BYTES, 2);
            socket.getOutputStream().write(last);
            socket.shutdownOutput();
            assertArrayEquals(last, socket.getInputStream().readNBytes(last.length));
            assertEquals(-1, socket.getInputStream().read());
        }
        awaitAllClosed(server);
        server.stop();
    }

    @ParameterizedTest
    @MethodSource("servers")
    void stopsWhileClientsAreSilentInTheMiddleOfAMessageOrDoNotRead(
            final String io, final int buffer, final String threads) throws IOException, InterruptedException {
        final EchoServer server = start(io, buffer, threads);
        try (Socket silent = connect(server);
                Socket deaf = connect(server)) {
            silent.getOutputStream().write(new byte[] {'x'});
            deaf.getOutputStream().write(message(MESSAGE_BYTES, 0));
            while (server.counts()[MESSAGES] < 1) {
                Thread.sleep(5);
            }
            server.stop();
            assertTrue(isClosed(silent.getInputStream()));
            assertArrayEquals(message(MESSAGE_BYTES, 0), deaf.getInputStream().readNBytes(MESSAGE_BYTES));
            assertTrue(isClosed(deaf.getInputStream()));
        }
        assertEquals(server.counts()[ACCEPTED], server.counts()[CLOSED]);
    }

    @ParameterizedTest
    @MethodSource("servers")
    void aTakenPortIsToldInOneLine(final String io, final int buffer, final String threads) throws IOException {
        final EchoServer server = start(io, buffer, threads);
        final IOException found = assertThrows(
                IOException.class,
                () -> EchoServer.start(io, buffer, threads, WORKERS, MESSAGE_BYTES, server.port()));
        assertTrue(found.getMessage().startsWith("port " + server.port() + " of 127.0.0.1 is taken: choose another"));
        server.stop();
    }

    @Test
    void buffersGrowToTheLongestMessageThatWasObserved() throws IOException {
        final ReaderConversation conversation = new ObservedReaderConversation(4096, new ServerCounts());
        assertEquals(ObservedReaderConversation.FIRST, conversation.size());
        for (final int bytes : new int[] {2048, 512}) {
            final String twice = new String(message(bytes, 0), StandardCharsets.US_ASCII).repeat(2);
            conversation.write(new StringWriter(), twice.toCharArray(), twice.length());
            assertEquals(2048, conversation.size());
        }
    }

    @Test
    void aPoolTakesBackOnlySoManyBuffers() {
        final DirectBufferPool pool = new DirectBufferPool(MESSAGE_BYTES, 1);
        final ByteBuffer first = pool.take();
        final ByteBuffer second = pool.take();
        first.put((byte) 1);
        pool.giveBack(first);
        pool.giveBack(second);
        assertTrue(pool.take() == first && first.position() == 0, "the first came back, empty");
        assertTrue(pool.take() != second, "there was no room for the second");
    }
}
