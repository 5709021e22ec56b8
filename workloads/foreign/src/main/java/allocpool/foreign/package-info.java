/**
 * The flat layout of the packets workload once more, its memory reached through the Foreign Function and Memory API
 * (<a href="https://openjdk.org/jeps/454">JEP 454</a>), which takes the place of direct buffers and has no limit of
 * 2 GiB. A jar of its own, because the layouts next to it run on Java 11.
 */
package allocpool.foreign;
