/**
 * The packets workload on pools and buffers of libraries, each used as its own documentation does and with its
 * defaults, so that readers recognise what they have: Netty's three buffer allocators, Apache Commons Pool 2 over
 * packets on the heap, and Agrona's off-heap buffers under the flat layout. A jar of its own, because the workload
 * itself has no dependency.
 */
package allocpool.pools;
