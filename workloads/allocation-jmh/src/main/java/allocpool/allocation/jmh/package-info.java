/**
 * The allocation workload written for JMH, so that another harness can contradict ours.
 */
package allocpool.allocation.jmh;
