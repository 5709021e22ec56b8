package allocpool.stream;

import com.hazelcast.jet.core.Inbox;
import com.hazelcast.jet.core.Outbox;
import com.hazelcast.jet.core.Processor;
import com.hazelcast.jet.core.Watermark;

/** Any processor, said to block: so the engine gives it a native thread of its own instead of a cooperative one. */
final class NativeThread implements Processor {
    private final Processor inner;

    NativeThread(final Processor inner) {
        this.inner = inner;
    }

    @Override
    public boolean isCooperative() {
        return false;
    }

    @Override
    public void init(final Outbox outbox, final Context context) throws Exception {
        inner.init(outbox, context);
    }

    @Override
    public void process(final int ordinal, final Inbox inbox) {
        inner.process(ordinal, inbox);
    }

    @Override
    public boolean tryProcessWatermark(final Watermark watermark) {
        return inner.tryProcessWatermark(watermark);
    }

    @Override
    public boolean tryProcessWatermark(final int ordinal, final Watermark watermark) {
        return inner.tryProcessWatermark(ordinal, watermark);
    }

    @Override
    public boolean tryProcess() {
        return inner.tryProcess();
    }

    @Override
    public boolean completeEdge(final int ordinal) {
        return inner.completeEdge(ordinal);
    }

    @Override
    public boolean complete() {
        return inner.complete();
    }

    @Override
    public void close() throws Exception {
        inner.close();
    }
}
