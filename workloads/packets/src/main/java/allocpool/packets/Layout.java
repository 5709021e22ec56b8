package allocpool.packets;

import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Where buffers and parse results live. This jar has {@code heap}, {@code native} and {@code flat}; a jar beside
 * it on the class path adds its own by naming subclasses in {@code META-INF/services/allocpool.packets.Layout}.
 */
public abstract class Layout {
    private final String name;
    private final Set<StrategyName> strategies;

    /**
     * A layout by its name.
     *
     * @param name what users call it
     * @param first a strategy that makes sense with it
     * @param others the other ones
     */
    protected Layout(final String name, final StrategyName first, final StrategyName... others) {
        this.name = name;
        strategies = Collections.unmodifiableSet(EnumSet.of(first, others));
    }

    /**
     * A processor of this layout; everything but what the strategy allocates later is there afterwards.
     *
     * @param strategy one of the strategies given to the constructor
     * @param sizes sizes that are valid for this strategy
     * @param seed seed of the packets' contents and of the store's replacement
     * @return the processor
     * @throws IllegalArgumentException if the layout can't do with the sizes, in one line that says why
     */
    protected abstract Processor create(StrategyName strategy, Sizes sizes, long seed);

    /**
     * The processor of the object layouts, in which a packet is an object.
     *
     * @param memory makes the packets
     * @param strategy provides them and takes them back
     * @param sizes sizes of the queue and the store
     * @param seed seed of the packets' contents and of the store's replacement
     * @return the processor
     */
    protected static Processor objects(final PacketMemory memory, final Strategy strategy, final Sizes sizes,
            final long seed) {
        return new ObjectProcessor(memory, strategy, sizes, seed);
    }

    /**
     * The processor of the object layouts with one of our own strategies.
     *
     * @param memory makes the packets
     * @param strategy provides them and takes them back
     * @param sizes sizes of pool, queue and store
     * @param seed seed of the packets' contents and of the store's replacement
     * @return the processor
     */
    protected static Processor objects(final PacketMemory memory, final StrategyName strategy, final Sizes sizes,
            final long seed) {
        return objects(memory, strategy.create(memory, sizes), sizes, seed);
    }

    /**
     * The memory of layout {@code heap}.
     *
     * @return makes packets with a byte array each
     */
    protected static PacketMemory heapMemory() {
        return new HeapMemory();
    }

    final Processor checkedCreate(final StrategyName strategy, final Sizes sizes, final long seed) {
        if (!strategies.contains(strategy)) {
            final String choices = strategies.stream().map(Names::of).collect(Collectors.joining(", "));
            throw new IllegalArgumentException("layout " + name + " has no strategy '" + Names.of(strategy)
                    + "', choose one of: " + choices);
        }
        strategy.check(sizes);
        return create(strategy, sizes, seed);
    }

    /** The strategies that make sense with it. */
    final Set<StrategyName> strategies() {
        return strategies;
    }

    /** The layout of that name; throws {@link IllegalArgumentException} that names all there are. */
    static Layout named(final String name) {
        final Map<String, Layout> known = new LinkedHashMap<>();
        for (final Layout layout : Arrays.asList(new HeapLayout(), new NativeLayout(), new DirectFlatLayout())) {
            known.put(layout.name, layout);
        }
        // The loader of this class: the thread that asks may be Python's, with a loader that sees less.
        for (final Layout layout : ServiceLoader.load(Layout.class, Layout.class.getClassLoader())) {
            known.put(layout.name, layout);
        }
        final Layout layout = known.get(name);
        if (layout == null) {
            throw new IllegalArgumentException(
                    "unknown layout '" + name + "', choose one of: " + String.join(", ", known.keySet()));
        }
        return layout;
    }
}
