/**
 * Pools between threads under jcstress: whatever the interleaving, no message is handed out twice and none is lost.
 */
package allocpool.threads;
