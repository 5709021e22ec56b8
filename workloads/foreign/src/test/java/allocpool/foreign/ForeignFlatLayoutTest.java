package allocpool.foreign;

import allocpool.packets.SameWork;

/** The contract of packets in foreign memory. */
class ForeignFlatLayoutTest extends SameWork {
}
