package allocpool.stream;

import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.function.SupplierEx;
import com.hazelcast.jet.Job;
import com.hazelcast.jet.aggregate.AggregateOperation1;
import com.hazelcast.jet.core.DAG;
import com.hazelcast.jet.core.Edge;
import com.hazelcast.jet.core.Partitioner;
import com.hazelcast.jet.core.Processor;
import com.hazelcast.jet.core.SlidingWindowPolicy;
import com.hazelcast.jet.core.TimestampKind;
import com.hazelcast.jet.core.Vertex;
import com.hazelcast.jet.core.processor.Processors;
import com.hazelcast.jet.datamodel.KeyedWindowResult;
import java.util.List;

/**
 * Hazelcast Jet: one member, one job. The job is the graph that Jet's planner makes of a keyed sliding window with an
 * aggregate, in two stages: sources, counts by slide, windows out of slides, one sink. Items are bare, without the
 * planner's wrapper that carries a time stamp, so that the aggregate is most of what allocates.
 */
final class JetEngine implements Engine {
    private final HazelcastInstance member;
    private final Events events;
    private final SlidingWindowPolicy policy;
    private final String aggregate;
    private final int threads;
    private final int sources;
    private final Hiccup hiccup;
    private final boolean cooperative;
    private Job job;

    JetEngine(final Events events, final long windowMs, final String aggregate, final int threads, final int sources,
            final Hiccup hiccup, final boolean cooperative, final int port) {
        this.events = events;
        this.policy = SlidingWindowPolicy.slidingWinPolicy(windowMs, events.slideMs);
        this.aggregate = aggregate;
        this.threads = threads;
        this.sources = sources;
        this.hiccup = hiccup;
        this.cooperative = cooperative;
        this.member = Member.start(threads, port);
    }

    @Override
    public void start(final Counters counters, final long originNs, final long giveUpNs) {
        member.getUserContext().put(Counters.name(), counters);
        job = member.getJet().newJob(graph(originNs, giveUpNs));
    }

    private DAG graph(final long originNs, final long giveUpNs) {
        final Events all = events;
        final Hiccup held = hiccup;
        final AggregateOperation1<Long, ?, Long> counting = Counting.named(aggregate);
        final Keys key = new Keys(events.keys);
        final DAG dag = new DAG();
        final Vertex source = vertex(dag, "source", () -> new Source(all, originNs, giveUpNs, held), sources);
        final Vertex slides = vertex(dag, "slides", Processors.accumulateByFrameP(
                List.of(key), List.of((Long event) -> all.timeMs(event)), TimestampKind.EVENT,
                policy.toTumblingByFrame(), counting.withIdentityFinish()), threads);
        final Vertex windows = vertex(dag, "windows", Processors.<Long, Object, Long, Result>combineToSlidingWindowP(
                policy, anyOf(counting),
                (startMs, endMs, of, count, early) -> new Result(endMs, of, count)), threads);
        final Vertex sink = vertex(dag, "sink", Sink::new, 1);
        return dag
                .edge(Edge.between(source, slides).partitioned(key, Partitioner.HASH_CODE))
                .edge(Edge.between(slides, windows).partitioned(
                        (KeyedWindowResult<Long, ?> partial) -> partial.getKey(), Partitioner.HASH_CODE))
                .edge(Edge.between(windows, sink));
    }

    @SuppressWarnings("unchecked") // the engine treats the accumulator as opaque
    private static AggregateOperation1<Long, Object, Long> anyOf(final AggregateOperation1<Long, ?, Long> counting) {
        return (AggregateOperation1<Long, Object, Long>) counting;
    }

    private Vertex vertex(final DAG dag, final String name, final SupplierEx<Processor> made, final int parallelism) {
        final SupplierEx<Processor> placed = cooperative ? made : () -> new NativeThread(made.get());
        return dag.newVertex(name, placed).localParallelism(parallelism);
    }

    @Override
    public void join() {
        job.join();
    }

    @Override
    public void close() {
        member.getLifecycleService().terminate();
    }
}
