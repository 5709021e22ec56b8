/**
 * The packets workload: a message processor that receives packets, keeps some and frees the rest, after the
 * article "To allocate or to pool?".
 *
 * <p>What is done with a packet never varies: {@link allocpool.packets.Processor} says it. What varies is the
 * <em>layout</em> (where buffers and parse results live) and the <em>strategy</em> (who provides a packet and
 * who takes it back). One JVM runs one trial with one of each, so the virtual calls between them have one
 * target and are inlined.
 *
 * <p>Where to add more:
 * <ul>
 *   <li>a pool of a library, over packets as they are: a subclass of {@code Strategy}, named in
 *   {@code StrategyName};</li>
 *   <li>other memory for the same packet objects: a subclass of {@code PacketMemory} and a constant of
 *   {@code Layout};</li>
 *   <li>a layout without packet objects: a subclass of {@link allocpool.packets.Processor} of its own and a
 *   constant of {@code Layout}, built on {@code PacketGenerator}, {@code Checksum}, {@code StorePolicy}
 *   and {@code Counts}.</li>
 * </ul>
 */
package allocpool.packets;
