package allocpool.stream;

import com.hazelcast.function.FunctionEx;

/** The key of an event, taken from a table: making a box for each event would hide what the aggregate allocates. */
final class Keys implements FunctionEx<Long, Long> {
    private static final long serialVersionUID = 1L;

    private final int count;
    private transient Long[] boxes;

    Keys(final int count) {
        this.count = count;
    }

    @Override
    public Long applyEx(final Long event) {
        if (boxes == null) {
            final Long[] made = new Long[count];
            for (int key = 0; key < count; key++) {
                made[key] = (long) key;
            }
            boxes = made;
        }
        return boxes[(int) (event % count)];
    }
}
