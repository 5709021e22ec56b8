package allocpool.packets;

/** An IPv4 address, its 32 bits in an {@code int}. */
final class Address {
    final int bits;

    Address(final int bits) {
        this.bits = bits;
    }
}
