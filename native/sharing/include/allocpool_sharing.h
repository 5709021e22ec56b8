/* allocpool_sharing: the packets workload on many threads, in C++, before a simulated cache. No time that it takes means
   anything: it reports how often a thread finds a cache line gone because another one wrote to it, and whether the two
   of them had anything in common there.

   Functions that take `error` write one line to it when they fail. */
#ifndef ALLOCPOOL_SHARING_H
#define ALLOCPOOL_SHARING_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && __GNUC__ >= 4
#pragma GCC visibility push(default)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* cffi:begin */

/* As ap_threads_config, with what is simulated. */
typedef struct {
  const char* topology; /* sharded or pipeline */
  const char* layout;   /* heap or flat */
  const char* strategy; /* one of ap_threads_strategies() */
  int64_t threads;      /* workers, 1 to 15 */
  int64_t pool_size;
  int64_t queue_size;
  int64_t stored_count;
  uint64_t seed;
  int64_t padded;
  int64_t fill;    /* packets before those that count */
  int64_t packets; /* those that count */
  int64_t turn;    /* accesses that a thread makes before it is another one's turn, in the mean; 1 or more */
} ap_sharing_config;

/* Misses of all threads by what the code was doing. A cold miss is a thread's first access to a line. Every other one is for
   an invalidation: true sharing if, until it loses the line again, the thread touches a byte that another one wrote since; false
   sharing if not. */
typedef struct {
  int64_t accesses;
  int64_t cold_misses;
  int64_t true_sharing;
  int64_t false_sharing;
} ap_sharing_misses;

/* What a run came to. */
typedef struct {
  ap_sharing_misses ring;    /* the queue between receiver and worker */
  ap_sharing_misses pool;    /* taking a message from the pool and giving it back */
  ap_sharing_misses message; /* filling, parsing, hashing and freeing it */
  ap_sharing_misses other;
  int64_t received;
  int64_t freed;
  int64_t remote_frees;
  uint64_t checksum; /* as ap_threads_get_checksum, over all packets */
} ap_sharing_outcome;

/* 0, or -1 with a line in error: a setting out of bounds, or an audit that found something. */
int ap_sharing_run(const ap_sharing_config* config, ap_sharing_outcome* outcome, char* error, size_t error_bytes);

/* Known answers: two threads take turns at adding to a counter, so many times each. `apart`: bytes between their counters, 0
   for one counter that both add to. */
int ap_sharing_counters(int64_t apart, int64_t rounds, ap_sharing_misses* misses, char* error, size_t error_bytes);

/* cffi:end */

/* No result is to be ignored. C++ takes an attribute on a second declaration too, and so cffi need not read it. */
#ifdef __cplusplus
#define AP_NODISCARD(function) [[nodiscard]] decltype(function) function
AP_NODISCARD(ap_sharing_run);
AP_NODISCARD(ap_sharing_counters);
#undef AP_NODISCARD
#endif

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__) && __GNUC__ >= 4
#pragma GCC visibility pop
#endif

#endif
