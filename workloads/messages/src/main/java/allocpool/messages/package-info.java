/**
 * A message workload whose parameters are a program's: sizes, rate, messages in flight and kept, and the rest of the
 * program.
 */
package allocpool.messages;
