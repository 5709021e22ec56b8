/**
 * The Java end of the ring through which the native source sends its ticks.
 *
 * <p>The ring is memory of the native library, seen here as a direct {@link java.nio.ByteBuffer}; its protocol and
 * invariants are written down where the ring is made, in {@code native/src/realtime/ring.hpp}, and
 * {@link allocpool.ring.RingLayout} repeats the offsets. {@link allocpool.ring.RingConsumer} takes the ticks and hands
 * each to a subclass; {@link allocpool.ring.DrainConsumer} only reads.
 */
package allocpool.ring;
