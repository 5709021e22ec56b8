package allocpool.pools;

import allocpool.packets.FlatMemoryContract;

/** The contract of flat memory in a buffer of Agrona. */
class AgronaFlatMemoryTest extends FlatMemoryContract {
}
