package allocpool.threads;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** A number that threads exchange, with two cache lines to itself on either side. */
final class PaddedLong extends LongCell {
    private static final VarHandle VALUE = Cells.handle(MethodHandles.lookup(), LongCell.class, long.class);

    long q00;
    long q01;
    long q02;
    long q03;
    long q04;
    long q05;
    long q06;
    long q07;
    long q08;
    long q09;
    long q10;
    long q11;
    long q12;
    long q13;
    long q14;
    long q15;

    PaddedLong(final long first) {
        value = first;
    }

    long get() {
        return value;
    }

    long getPlain() {
        return (long) VALUE.get(this);
    }

    long getAcquire() {
        return (long) VALUE.getAcquire(this);
    }

    void setRelease(final long next) {
        VALUE.setRelease(this, next);
    }

    boolean compareAndSet(final long seen, final long next) {
        return VALUE.compareAndSet(this, seen, next);
    }
}
