package allocpool.packets;

/**
 * Where the parts of a packet lie in flat memory. The region has a front and a back with a slot each per packet, and
 * the steps decide what of a packet lies where, as in C++'s slab:
 *
 * <pre>
 *                      front                                      back
 *   contiguous         buffer, 1024 bytes                         parse result
 *   + stride           buffer, 1088 bytes apart                   parse result
 *   + one_line         line, then buffer, 1024 bytes together     the buffer's end, for which the slot has no room
 *   + both             line, 64 bytes apart                       the buffer without its header
 * </pre>
 *
 * <p>A line is 64 bytes: header and parse result. Headers 1024 bytes apart share 4 of the 64 sets of a usual
 * first-level cache. A part of packet n is always a base plus n times a distance, so a step that is off costs
 * nothing.
 */
final class FlatGeometry {
    static final int LINE = 64;
    private static final int RESULT_BYTES = 32;

    /** In a line, behind the header's 20 bytes. */
    private static final int RESULT_OFFSET = 24;

    /** From one packet's header to the next; the first is where the region begins. */
    final long headerBytes;

    /** Of the first packet's parse result. */
    final long resultBase;
    final long resultBytes;

    /** Of the first byte of the first packet's payload. */
    final long payloadBase;
    final long payloadBytes;

    /** Of front and back, for one packet. */
    final long slotBytes;

    FlatGeometry(final Steps steps, final int slotCount, final int bufferBytes) {
        final long front = !steps.stride ? bufferBytes : steps.oneLine ? LINE : bufferBytes + LINE;
        final long back = !steps.oneLine ? RESULT_BYTES : steps.stride ? bufferBytes : LINE;
        final long backBase = slotCount * front;
        final boolean payloadInBack = steps.oneLine && steps.stride;
        headerBytes = front;
        resultBase = steps.oneLine ? RESULT_OFFSET : backBase;
        resultBytes = steps.oneLine ? front : back;
        payloadBase = payloadInBack ? backBase : steps.oneLine ? LINE : PacketFormat.PAYLOAD_OFFSET;
        payloadBytes = payloadInBack ? back : front;
        slotBytes = front + back;
    }

    /** Whether parse results are not in the line of the header. */
    boolean hasResultsApart() {
        return resultBase != RESULT_OFFSET;
    }
}
