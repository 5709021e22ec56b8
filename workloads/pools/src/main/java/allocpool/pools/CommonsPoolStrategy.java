package allocpool.pools;

import allocpool.packets.Ageing;
import allocpool.packets.Packet;
import allocpool.packets.PacketMemory;
import allocpool.packets.Strategy;
import java.util.function.Consumer;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;

/**
 * A {@link GenericObjectPool} of packets with its defaults, last in first out unless asked otherwise, but for its
 * limits: as many idle packets as the pool is to hold, any number in use.
 */
final class CommonsPoolStrategy extends Strategy {
    private final GenericObjectPool<Packet> pool;
    private final int poolSize;
    private final boolean fifo;

    CommonsPoolStrategy(final PacketMemory memory, final int poolSize, final boolean fifo) {
        this.poolSize = poolSize;
        this.fifo = fifo;
        final GenericObjectPoolConfig<Packet> config = new GenericObjectPoolConfig<>();
        config.setLifo(!fifo);
        config.setMaxTotal(-1);
        config.setMaxIdle(poolSize);
        // A bean for the management of the pool is of no use to a trial.
        config.setJmxEnabled(false);
        pool = new GenericObjectPool<>(new Factory(memory), config);
        try {
            pool.addObjects(poolSize);
        } catch (final Exception e) {
            throw new IllegalStateException("A pool of " + poolSize + " packets could not be filled", e);
        }
        constructed = 0;
    }

    @Override
    protected Packet make() {
        try {
            return pool.borrowObject();
        } catch (final Exception e) {
            throw new IllegalStateException("No packet could be borrowed", e);
        }
    }

    @Override
    protected void drop(final Packet packet) {
        pool.returnObject(packet);
    }

    @Override
    protected void forEachFree(final Consumer<Packet> action) {
        final Packet[] idle = borrowAll();
        for (final Packet packet : idle) {
            action.accept(packet);
            drop(packet);
        }
    }

    @Override
    protected void age(final long seed) {
        final Packet[] idle = borrowAll();
        Ageing.shuffle(idle, idle.length, seed);
        for (final Packet packet : idle) {
            drop(packet);
        }
    }

    /** All that is idle, in the order in which it came: given back in this order, all lie as they did. */
    private Packet[] borrowAll() {
        final Packet[] idle = new Packet[pool.getNumIdle()];
        for (int i = 0; i < idle.length; i++) {
            idle[fifo ? i : idle.length - 1 - i] = make();
        }
        return idle;
    }

    @Override
    protected int preparedCount() {
        return poolSize;
    }

    /** Makes and drops packets for the pool, and counts them. */
    private final class Factory extends BasePooledObjectFactory<Packet> {
        private final PacketMemory memory;

        Factory(final PacketMemory memory) {
            this.memory = memory;
        }

        @Override
        public Packet create() {
            constructed++;
            return memory.construct();
        }

        @Override
        public PooledObject<Packet> wrap(final Packet packet) {
            return new DefaultPooledObject<>(packet);
        }

        @Override
        public void passivateObject(final PooledObject<Packet> pooled) {
            pooled.getObject().reset();
        }

        @Override
        public void destroyObject(final PooledObject<Packet> pooled) {
            discarded++;
            memory.discard(pooled.getObject());
        }
    }
}
