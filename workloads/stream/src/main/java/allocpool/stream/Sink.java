package allocpool.stream;

import com.hazelcast.jet.core.AbstractProcessor;
import com.hazelcast.jet.core.Watermark;

/** The end of the pipeline: hands every result, and the end of every result set, to the counters. */
final class Sink extends AbstractProcessor {
    private Counters counters;

    @Override
    protected void init(final Context context) {
        counters = Counters.of(context);
    }

    @Override
    protected boolean tryProcess(final int ordinal, final Object item) {
        final Result result = (Result) item;
        counters.result(result.endMs, result.key, result.count);
        return true;
    }

    @Override
    public boolean tryProcessWatermark(final Watermark watermark) {
        // It follows the last result of its window, from every processor upstream.
        counters.complete(watermark.timestamp());
        return true;
    }
}
