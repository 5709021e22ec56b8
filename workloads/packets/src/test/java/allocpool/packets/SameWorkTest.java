package allocpool.packets;

/** The contract of the layouts that this jar has. */
class SameWorkTest extends SameWork {
}
