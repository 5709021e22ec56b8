/**
 * The packets workload split between threads: a receiver obtains and fills a message, a worker parses, keeps and frees
 * it. {@link allocpool.threads.ThreadsTrial} is a trial; a <em>topology</em> says which thread does which part, a
 * <em>pool</em> where messages come from and go to. A new pool is a subclass of {@code Pool} and a row of {@code
 * Pools}.
 */
package allocpool.threads;
