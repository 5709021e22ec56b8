package allocpool.foreign;

import allocpool.packets.FlatMemoryContract;

/** The contract of flat memory in a segment. */
class SegmentFlatMemoryTest extends FlatMemoryContract {
}
