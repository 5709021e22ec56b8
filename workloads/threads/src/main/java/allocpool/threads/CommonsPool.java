package allocpool.threads;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;

/** Strategy {@code commons_pool}: a {@link GenericObjectPool} with its defaults, but for its limits. */
final class CommonsPool extends Pool {
    private final GenericObjectPool<Message> pool;
    private final AtomicLong made = new AtomicLong();

    CommonsPool(final Memory memory, final int prepared) {
        super(memory, prepared);
        final GenericObjectPoolConfig<Message> config = new GenericObjectPoolConfig<>();
        config.setMaxTotal(-1);
        config.setMaxIdle(-1);
        config.setJmxEnabled(false);
        pool = new GenericObjectPool<>(new Factory(), config);
        try {
            pool.addObjects(prepared);
        } catch (final Exception e) {
            throw new IllegalStateException("The pool could not be filled", e);
        }
    }

    @Override
    User user(final int thread) {
        return new User(thread) {
            @Override
            Message take(final int ring) {
                try {
                    return pool.borrowObject();
                } catch (final Exception e) {
                    throw new IllegalStateException("No message could be borrowed", e);
                }
            }

            @Override
            void give(final Message message) {
                pool.returnObject(message);
            }
        };
    }

    @Override
    long constructedInside() {
        return made.get() - prepared;
    }

    @Override
    void forEachFree(final Consumer<Message> action) {
        final List<Message> all = new ArrayList<>();
        try {
            while (pool.getNumIdle() > 0) {
                all.add(pool.borrowObject());
            }
        } catch (final Exception e) {
            throw new IllegalStateException("No message could be borrowed", e);
        }
        all.forEach(action);
        all.forEach(pool::returnObject);
    }

    /** Makes messages for the pool, and counts them. */
    private final class Factory extends BasePooledObjectFactory<Message> {
        @Override
        public Message create() {
            made.incrementAndGet();
            return memory.construct();
        }

        @Override
        public PooledObject<Message> wrap(final Message message) {
            return new DefaultPooledObject<>(message);
        }
    }
}
