package allocpool.stream;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.jet.core.Watermark;
import com.hazelcast.jet.core.test.TestOutbox;
import com.hazelcast.jet.core.test.TestProcessorContext;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A source keeps to the contract of {@code Outbox.offer}: what was refused is offered again before anything else. */
class SourceTest {
    private static final long LENGTH_MS = 100;
    private static final long LATE_NS = 10_000_000_000L;
    private static final long PATIENCE_NS = 1_000_000_000L;

    private static final Hiccup NEVER = new Hiccup(0, 0);

    private final Events events = new Events(1000, 1, 10, 10, LENGTH_MS);
    private final List<Object> taken = new ArrayList<>();

    /** Each room refuses other items: events or watermarks. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 10, 11, 12, 13})
    void everyEventAndEveryWatermarkComesOnceAndInOrderThroughAnyRoom(final int room) throws Exception {
        final long nowNs = System.nanoTime();
        final Source source = new Source(events, nowNs - LATE_NS, Long.MAX_VALUE, NEVER);
        final TestOutbox outbox = new TestOutbox(room);
        source.init(outbox, context(counters(nowNs)));
        while (!source.complete()) {
            outbox.drainQueueAndReset(0, taken, false);
        }
        outbox.drainQueueAndReset(0, taken, false);
        final List<Object> due = new ArrayList<>();
        for (long event = 0; event <= LENGTH_MS; event++) {
            if (event > 0 && event % 10 == 0) {
                due.add(new Watermark(event));
            }
            if (event < LENGTH_MS) {
                due.add(event);
            }
        }
        assertEquals(due, taken);
    }

    @Test
    void aSourceThatGivesUpFirstOffersAgainWhatWasRefused() throws Exception {
        final long nowNs = System.nanoTime();
        final Counters counters = counters(nowNs);
        final Source source = new Source(events, nowNs - LATE_NS, nowNs + PATIENCE_NS, NEVER);
        final TestOutbox outbox = new TestOutbox(10);
        source.init(outbox, context(counters));
        assertFalse(source.complete());
        assertTrue(outbox.hasUnfinishedItem(), "the watermark after ten events has no room");
        while (System.nanoTime() - nowNs <= PATIENCE_NS) {
            LockSupport.parkNanos(1_000_000);
        }
        outbox.reset();
        assertFalse(source.complete(), "there still is no room");
        assertFalse(counters.hasGivenUp());
        outbox.drainQueueAndReset(0, taken, false);
        assertTrue(source.complete());
        outbox.drainQueueAndReset(0, taken, false);
        assertTrue(counters.hasGivenUp());
        assertFalse(outbox.hasUnfinishedItem());
        assertEquals(new Watermark(10), taken.get(taken.size() - 1));
        assertEquals(11, taken.size());
    }

    @Test
    void aSourceThatIsHeldSendsNothingAndThenEverything() throws Exception {
        final long nowNs = System.nanoTime();
        final Source held = new Source(events, nowNs - LATE_NS, Long.MAX_VALUE, new Hiccup(0, 3_600_000));
        final TestOutbox outbox = new TestOutbox(1000);
        held.init(outbox, context(counters(nowNs)));
        assertFalse(held.complete());
        outbox.drainQueueAndReset(0, taken, false);
        assertEquals(List.of(), taken);
        final Source released = new Source(events, nowNs - LATE_NS, Long.MAX_VALUE, new Hiccup(0, 5000));
        released.init(outbox, context(counters(nowNs)));
        assertTrue(released.complete());
        outbox.drainQueueAndReset(0, taken, false);
        assertEquals(110, taken.size());
    }

    private Counters counters(final long originNs) {
        return new Counters(events, originNs, 0, LENGTH_MS);
    }

    private static TestProcessorContext context(final Counters counters) {
        final ConcurrentMap<String, Object> user = new ConcurrentHashMap<>();
        user.put(Counters.name(), counters);
        final HazelcastInstance member = (HazelcastInstance) Proxy.newProxyInstance(
                SourceTest.class.getClassLoader(), new Class<?>[] {HazelcastInstance.class},
                (proxy, method, arguments) -> "getUserContext".equals(method.getName()) ? user : null);
        return new TestProcessorContext().setHazelcastInstance(member);
    }
}
