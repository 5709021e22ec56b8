package allocpool.echo;

import java.io.IOException;
import java.net.Socket;

/** What a thread does with its connection, from the first message to the last. */
interface Conversation {
    /** Echoes until the client has sent its last message, or a message that is too long; an IOException ends it too. */
    void hold(Socket socket) throws IOException;
}
