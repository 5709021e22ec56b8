/**
 * The packets workload: a message processor that receives packets, keeps some and frees the rest, after the
 * article "To allocate or to pool?".
 *
 * <p>What is done with a packet never varies: {@link allocpool.packets.Processor} says it. What varies is the
 * <em>layout</em> (where buffers and parse results live) and the <em>strategy</em> (who provides a packet and
 * who takes it back); {@link allocpool.packets.Options} says what is done in one of several ways. One JVM runs one
 * trial with one of each, so the virtual calls between them have one target and are inlined.
 *
 * <p>Where to add more, in this jar or in one next to it on the class path:
 * <ul>
 *   <li>a layout: a subclass of {@link allocpool.packets.Layout}, named in the module's
 *   {@code META-INF/services/allocpool.packets.Layout};</li>
 *   <li>with packet objects over other buffers: subclasses of {@link allocpool.packets.Packet} and
 *   {@link allocpool.packets.PacketMemory};</li>
 *   <li>with a pool of a library: a subclass of {@link allocpool.packets.Strategy};</li>
 *   <li>without packet objects, over other memory: subclasses of {@link allocpool.packets.FlatLayout} and
 *   {@link allocpool.packets.FlatMemory};</li>
 *   <li>a strategy: a subclass of {@link allocpool.packets.Strategy} and one of {@code SlotSource}, and a row of
 *   {@link allocpool.packets.StrategyName}.</li>
 * </ul>
 *
 * <p>The contract test {@code SameWork}, in the jar of tests, is for all of them; that of flat memory is
 * {@code FlatMemoryContract}.
 */
package allocpool.packets;
