package allocpool.stream;

import com.hazelcast.jet.aggregate.AggregateOperation;
import com.hazelcast.jet.aggregate.AggregateOperation1;

/** Two ways to count events that give the same sums: one allocates at every update, one never does. */
final class Counting {
    private Counting() {
    }

    /** The counting aggregate of this name: {@code boxed} or {@code garbage_free}. */
    static AggregateOperation1<Long, ?, Long> named(final String name) {
        switch (name) {
            case "boxed":
                return boxed();
            case "garbage_free":
                return garbageFree();
            default:
                throw new IllegalArgumentException("no aggregate " + name + ": choose boxed, garbage_free");
        }
    }

    private static AggregateOperation1<Long, Holder, Long> boxed() {
        return AggregateOperation.withCreate(Holder::new)
                .<Long>andAccumulate((sum, event) -> sum.count = new Count(sum.count.value + 1))
                .andCombine((sum, other) -> sum.count = new Count(sum.count.value + other.count.value))
                .andDeduct((sum, other) -> sum.count = new Count(sum.count.value - other.count.value))
                .andExportFinish(sum -> sum.count.value);
    }

    private static AggregateOperation1<Long, Sum, Long> garbageFree() {
        return AggregateOperation.withCreate(Sum::new)
                .<Long>andAccumulate((sum, event) -> sum.value++)
                .andCombine((sum, other) -> sum.value += other.value)
                .andDeduct((sum, other) -> sum.value -= other.value)
                .andExportFinish(sum -> sum.value);
    }

    /** Updated in place. */
    private static final class Sum {
        private long value;

        // The engine drops a key whose sum equals that of an empty aggregate.
        @Override
        public boolean equals(final Object other) {
            return other instanceof Sum && ((Sum) other).value == value;
        }

        @Override
        public int hashCode() {
            return Long.hashCode(value);
        }
    }

    /** Holds an immutable count, as a box is; no {@code Long}, whose small values are cached. */
    private static final class Holder {
        private Count count = new Count(0);

        @Override
        public boolean equals(final Object other) {
            return other instanceof Holder && ((Holder) other).count.value == count.value;
        }

        @Override
        public int hashCode() {
            return Long.hashCode(count.value);
        }
    }

    /** An immutable count. */
    private static final class Count {
        private final long value;

        Count(final long value) {
            this.value = value;
        }
    }
}
