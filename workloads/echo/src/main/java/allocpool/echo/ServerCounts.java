package allocpool.echo;

import java.util.concurrent.atomic.LongAdder;

/** What a server's threads count, together. */
final class ServerCounts {
    final LongAdder accepted = new LongAdder();
    final LongAdder closed = new LongAdder();
    final LongAdder messages = new LongAdder();
    final LongAdder oversize = new LongAdder();
    final LongAdder refused = new LongAdder();

    long[] snapshot() {
        return new long[] {accepted.sum(), closed.sum(), messages.sum(), oversize.sum(), refused.sum()};
    }
}
