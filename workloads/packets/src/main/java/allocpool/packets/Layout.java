package allocpool.packets;

import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Where buffers and parse results live. Each jar on the class path names its layouts, this one too, in
 * {@code META-INF/services/allocpool.packets.Layout}.
 */
public abstract class Layout {
    private final String name;
    private final Set<StrategyName> strategies;

    /**
     * A layout that goes with every strategy.
     *
     * @param name what users call it
     */
    protected Layout(final String name) {
        this(name, EnumSet.allOf(StrategyName.class));
    }

    /**
     * A layout by its name.
     *
     * @param name what users call it
     * @param strategies those that make sense with it
     */
    protected Layout(final String name, final Set<StrategyName> strategies) {
        this.name = name;
        this.strategies = Collections.unmodifiableSet(strategies);
    }

    /**
     * A processor of this layout; everything but what the strategy allocates later is there afterwards.
     *
     * @param strategy one of those that make sense with it
     * @param sizes sizes that are valid for this strategy
     * @param options what is done in one of several ways
     * @return the processor
     * @throws IllegalArgumentException if the layout can't do with the sizes, in one line that says why
     */
    protected abstract Processor create(StrategyName strategy, Sizes sizes, Options options);

    /**
     * The processor of the object layouts, in which a packet is an object.
     *
     * @param memory makes the packets
     * @param strategy provides them and takes them back
     * @param sizes sizes of the queue and the store
     * @param options what is done in one of several ways
     * @return the processor
     */
    protected static Processor objects(final PacketMemory memory, final Strategy strategy, final Sizes sizes,
            final Options options) {
        if (options.detached && !memory.detached) {
            throw new IllegalArgumentException("detached belongs to layouts of a ByteBuffer per packet, as heap is");
        }
        if (options.aged) {
            final long most = strategy.reusesPacketsInUse() ? 0 : sizes.mostInUse() - strategy.preparedCount();
            strategy.age(options.seed);
            strategy.prepare(memory.age(options.seed, (int) Math.max(0, most)));
        }
        return new ObjectProcessor(memory, strategy, sizes, options);
    }

    /**
     * The processor of the object layouts with one of our own strategies.
     *
     * @param memory makes the packets
     * @param strategy provides them and takes them back
     * @param sizes sizes of pool, queue and store
     * @param options what is done in one of several ways
     * @return the processor
     */
    protected static Processor objects(final PacketMemory memory, final StrategyName strategy, final Sizes sizes,
            final Options options) {
        return objects(memory, strategy.objects(memory, sizes, options.fifo), sizes, options);
    }

    /**
     * The memory of layout {@code heap}.
     *
     * @param options what is done in one of several ways
     * @return makes packets with a byte array each
     */
    protected static PacketMemory heapMemory(final Options options) {
        return new HeapPacketMemory(options.detached);
    }

    final Processor checkedCreate(final StrategyName strategy, final Sizes sizes, final Options options) {
        if (!strategies.contains(strategy)) {
            final String choices = strategies.stream().map(StrategyName::toString).collect(Collectors.joining(", "));
            throw new IllegalArgumentException("layout " + name + " has no strategy '" + strategy
                    + "', choose one of: " + choices);
        }
        strategy.check(sizes, options);
        check(options);
        return create(strategy, sizes, options);
    }

    /** Throws {@link IllegalArgumentException} if an option makes no sense with it. */
    void check(final Options options) {
        if (options.steps != null) {
            throw new IllegalArgumentException("steps belong to flat layouts, not to layout " + name);
        }
    }

    /** What users call it. */
    final String name() {
        return name;
    }

    /** The strategies that make sense with it. */
    final Set<StrategyName> strategies() {
        return strategies;
    }

    /** Every layout of the jars on the class path, by its name. */
    static Map<String, Layout> all() {
        final Map<String, Layout> all = new LinkedHashMap<>();
        // The loader of this class: the thread that asks may be Python's, with a loader that sees less.
        for (final Layout layout : ServiceLoader.load(Layout.class, Layout.class.getClassLoader())) {
            all.put(layout.name, layout);
        }
        return all;
    }

    /** The layout of that name; throws {@link IllegalArgumentException} that names all there are. */
    static Layout named(final String name) {
        final Map<String, Layout> all = all();
        final Layout layout = all.get(name);
        if (layout == null) {
            throw new IllegalArgumentException(
                    "unknown layout '" + name + "', choose one of: " + String.join(", ", all.keySet()));
        }
        return layout;
    }
}
