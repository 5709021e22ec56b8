/*
 * allocpool_native: the C++ half of the instrument, seen from C.
 *
 * This one header is both the library's API and what Python's cffi reads. cffi has no preprocessor,
 * so everything between the two cffi markers is plain C: no macros, no conditionals.
 *
 * Conventions. All times are CLOCK_MONOTONIC nanoseconds. All sizes are counts of packets or ticks unless
 * the name carries another unit. A function that can fail because of what the user asked for writes one
 * line, which names the valid choices, into (error, error_bytes); the line is always NUL-terminated and
 * truncated to fit. No function throws or prints. A handle belongs to one thread at a time.
 */
#ifndef ALLOCPOOL_H
#define ALLOCPOOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* cffi:begin */

/* Version of the library, "major.minor.patch". Static storage. */
const char* ap_version(void);

/* Compiler, flags and sanitizers that this library was built with, one line. Static storage. */
const char* ap_build_info(void);

/* ---- Packets: the message processor ------------------------------------------------------------ */

/* One processor with its queue, store and pool. Opaque. */
typedef struct ap_packets ap_packets;

/* What to run. Every size is at least 1 and at most 2^31 - 1, except where noted. */
typedef struct {
  const char* layout;    /* one of ap_packets_layouts() */
  const char* strategy;  /* one of ap_packets_strategies() */
  int64_t pool_size;     /* packets in the pool at start; not read by dummy and alloc;
                            pool wants at least queue_size + stored_count + 1 */
  int64_t queue_size;    /* slots of the internal FIFO */
  int64_t stored_count;  /* slots of the store of TCP packets */
  uint64_t seed;         /* seed of the packet generator */
  const char* steps;     /* of layout slab: names out of ap_packets_steps(); NULL for all, and for other layouts */
} ap_packets_config;

/* A stretch of memory. */
typedef struct {
  void* address;
  int64_t bytes;
} ap_region;

/* One measured stretch of work. */
typedef struct {
  int64_t start_ns;
  int64_t end_ns;
  int64_t packets; /* packets received in [start_ns, end_ns) */
} ap_iteration;

/* What was done since creation. allocated = freed + live, for every strategy but dummy. */
typedef struct {
  int64_t received;    /* packets obtained, filled and queued */
  int64_t parsed;      /* packets that left the FIFO and were parsed */
  int64_t tcp;         /* parsed packets that were TCP: each of them was stored */
  int64_t evicted;     /* stored packets that a later one replaced */
  int64_t allocated;   /* packets obtained from the strategy */
  int64_t freed;       /* packets given back to the strategy */
  int64_t live;        /* packets in FIFO and store, counted by walking both */
  int64_t constructed; /* packet objects made after start */
  int64_t discarded;   /* packet objects dropped after start: pool full, or no pool */
} ap_packets_counts;

/* Valid layouts, strategies and steps of layout slab, comma-separated. A layout may not have all strategies: ap_packets_create
   says which it has. Static storage. */
const char* ap_packets_layouts(void);
const char* ap_packets_strategies(void);
const char* ap_packets_steps(void);

/* Makes a processor and, for mix and pool, its full pool. NULL with a line in error when the configuration is
   invalid or needs more memory than the machine has. */
ap_packets* ap_packets_create(const ap_packets_config* config, char* error, size_t error_bytes);

/* Receives exactly `packets` packets (>= 0), in iterations of `iteration_packets` (>= 1; the last may be shorter).
   Writes iterations to out[0 .. capacity), capacity >= 1. Iterations beyond capacity are added to the last record, so
   that records always cover all packets. Continues the sequence of earlier runs. Returns the number of
   records written, -1 for an invalid argument, -2 when memory ran out (the processor may then only be destroyed). */
int64_t ap_packets_run_packets(ap_packets* packets, int64_t count, int64_t iteration_packets,
                               ap_iteration* out, int64_t capacity);

/* Receives packets for at least `duration_ns` (>= 0), in iterations of at least `iteration_ns` (>= 1). The clock is
   read every 256 packets, so an iteration ends up to 256 packets late. Otherwise as ap_packets_run_packets. */
int64_t ap_packets_run_for(ap_packets* packets, int64_t duration_ns, int64_t iteration_ns,
                           ap_iteration* out, int64_t capacity);

/* Counts so far. Walks FIFO and store: not for measured stretches. */
void ap_packets_get_counts(const ap_packets* packets, ap_packets_counts* counts);

/* Checksum over all that was parsed, then over the store's parse results in slot order. Changes nothing. */
uint64_t ap_packets_checksum(const ap_packets* packets);

/* Where the packets of layout slab lie, to look up what pages the kernel gave; no address and 0 bytes for other layouts. */
ap_region ap_packets_region(const ap_packets* packets);

/* Proves that no packet is in two places of FIFO, store and pool, that every packet carried the protocol marker and
   that the counts agree. Returns 0 when so; otherwise 1 and one line in (message, message_bytes). */
int ap_packets_audit(const ap_packets* packets, char* message, size_t message_bytes);

/* Frees everything. NULL is allowed. */
void ap_packets_destroy(ap_packets* packets);

/* cffi:end */

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
