/**
 * Buffers in foreign memory: segments out of arenas of each kind (JEP 454).
 */
package allocpool.allocation.foreign;
