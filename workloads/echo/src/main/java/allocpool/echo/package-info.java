/**
 * Echo servers with selectable I/O, to measure what a connection costs in memory.
 *
 * <p>A message is a line: at most {@code messageBytes} bytes, of which the last is a newline. A server echoes each
 * message as soon as it is whole, and closes a connection that sends a longer one. It listens on 127.0.0.1 only.
 */
package allocpool.echo;
