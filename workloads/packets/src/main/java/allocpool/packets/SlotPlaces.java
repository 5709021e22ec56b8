package allocpool.packets;

import java.util.Arrays;
import java.util.function.IntConsumer;

/** Places that hold a packet of the flat layouts or none: queue and store are two of these. */
final class SlotPlaces {
    static final int NONE = -1;

    /** For the processor, whose loop reaches them without a call. */
    final int[] places;

    SlotPlaces(final int size) {
        places = new int[size];
        Arrays.fill(places, NONE);
    }

    /** Calls {@code action} with each packet, in the order of the places. */
    void forEach(final IntConsumer action) {
        for (final int slot : places) {
            if (slot != NONE) {
                action.accept(slot);
            }
        }
    }

    /** How many places hold a packet, found by looking at each. */
    int count() {
        int count = 0;
        for (final int slot : places) {
            if (slot != NONE) {
                count++;
            }
        }
        return count;
    }
}
