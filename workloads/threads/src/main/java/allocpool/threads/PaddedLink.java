package allocpool.threads;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** The first of a list of messages that threads exchange, with two cache lines to itself on either side. */
final class PaddedLink extends LinkCell {
    private static final VarHandle VALUE = Cells.handle(MethodHandles.lookup(), LinkCell.class, Message.class);

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

    Message get() {
        return value;
    }

    boolean compareAndSet(final Message seen, final Message next) {
        return VALUE.compareAndSet(this, seen, next);
    }

    Message takeAll() {
        return (Message) VALUE.getAndSet(this, null);
    }
}
