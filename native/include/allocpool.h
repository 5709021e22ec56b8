/*
 * allocpool_native: the C++ half of the instrument, seen from C.
 *
 * This one header is both the library's API and what Python's cffi reads. cffi has no preprocessor,
 * so everything between the two cffi markers is plain C: no macros, no conditionals.
 *
 * Conventions. All times are CLOCK_MONOTONIC nanoseconds. All sizes are counts of packets or ticks unless
 * the name carries another unit. No function throws or prints. A function that can fail returns an ap_status, a
 * number that is negative, and then an ap_status, where it failed, or a pointer that is NULL where it failed. One
 * that takes (error, error_bytes) writes one line there, which names the valid choices where the user has one;
 * the line is always NUL-terminated and truncated to fit. NULL for a handle, or for a place of results, is an
 * invalid argument, except where noted. A handle belongs to one thread at a time.
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

/* How a call ended. */
typedef enum {
  AP_OK = 0,
  AP_FAULT = 1,             /* an audit found something, which its line says */
  AP_INVALID_ARGUMENT = -1, /* the request cannot be met: another one can */
  AP_OUT_OF_MEMORY = -2,    /* the handle may then only be destroyed */
  AP_FAILED = -3            /* anything else */
} ap_status;

/* Version of the library, "major.minor.patch". Static storage. */
const char* ap_version(void);

/* Compiler, flags and sanitizers that this library was built with, one line. Static storage. */
const char* ap_build_info(void);

/* Version of Boost that memory boost_pool is made with, as in "1_74"; empty where there is none. Static storage. */
const char* ap_boost_version(void);

/* ---- Packets: the message processor ------------------------------------------------------------ */

/* One processor with its queue, store and pool. Opaque. */
typedef struct ap_packets ap_packets;

/* What to run. Every size is at least 1 and at most 2^31 - 1, except where noted. */
typedef struct {
  const char* layout;    /* one of ap_packets_layouts() */
  const char* strategy;  /* one of ap_packets_strategies() */
  const char* memory;    /* one of ap_packets_memories(); NULL for what the layout takes first: new, for slab region */
  int64_t pool_size;     /* packets in the pool at start; not read by dummy and alloc;
                            pool wants at least queue_size + stored_count + 1 */
  int64_t queue_size;    /* slots of the internal FIFO */
  int64_t stored_count;  /* slots of the store of TCP packets */
  uint64_t seed;         /* seed of the packet generator */
  const char* steps;     /* names out of ap_packets_steps(), comma-separated; NULL for the layout's own: of slab all that
                            it has, of the others none */
  int32_t aged;          /* not 0: free packets wait in an order that the seed shuffles, and so does what the heap gives to
                            mix and alloc first; 0: in the order in which they were made */
  int32_t fifo;          /* not 0: mix and pool hand out first what came back first, of a ring that holds the whole pool;
                            0: what came back last, of a stack. The others have no pool and take 0 only */
  int32_t payload_touch; /* not 0: the payload is written when a packet is filled and read when it is parsed */
} ap_packets_config;

/* A region of memory. */
typedef struct {
  void* address;
  int64_t bytes;
} ap_region;

/* One measured window of work. */
typedef struct {
  int64_t start_ns;
  int64_t end_ns;
  int64_t packets; /* packets received in [start_ns, end_ns) */
} ap_iteration;

/* What was done since creation, each counted where it is done. allocated = freed + live, for every strategy but dummy. */
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

/* Valid layouts, strategies, memories and steps, comma-separated. Not every layout goes together with every memory, nor that
   with every strategy, nor has a layout every step: ap_packets_create says which do. Static storage. */
const char* ap_packets_layouts(void);
const char* ap_packets_strategies(void);
const char* ap_packets_memories(void);
const char* ap_packets_steps(void);

/* Makes a processor and, for mix and pool, its full pool. NULL with a line in error when the configuration is
   invalid or needs more memory than the machine has. */
ap_packets* ap_packets_create(const ap_packets_config* config, char* error, size_t error_bytes);

/* Receives exactly `packets` packets (>= 0), in iterations of `iteration_packets` (>= 1; the last may be shorter).
   Writes iterations to out[0 .. capacity), capacity >= 1. Iterations beyond capacity are added to the last record, so
   that records always cover all packets. Continues the sequence of earlier runs. Returns the number of
   records written. */
int64_t ap_packets_run_packets(ap_packets* packets, int64_t count, int64_t iteration_packets,
                               ap_iteration* out, int64_t capacity);

/* Receives packets for at least `duration_ns` (>= 0), in iterations of at least `iteration_ns` (>= 1). The clock is
   read every 256 packets, so an iteration ends up to 256 packets late. Otherwise as ap_packets_run_packets. */
int64_t ap_packets_run_for(ap_packets* packets, int64_t duration_ns, int64_t iteration_ns,
                           ap_iteration* out, int64_t capacity);

/* Counts so far. Walks FIFO and store: not for measured windows. */
ap_status ap_packets_get_counts(const ap_packets* packets, ap_packets_counts* counts);

/* Checksum over all that was parsed, then over the store's parse results in slot order. Changes nothing. */
ap_status ap_packets_get_checksum(const ap_packets* packets, uint64_t* checksum);

/* How far apart packets lie that the FIFO yields one after the other: the mean absolute distance of neighbours in bytes, of
   a sample of at most 10,000, between packet objects, or headers in layout slab; -1 where no two packets are there. Changes
   nothing. */
ap_status ap_packets_get_disorder(const ap_packets* packets, double* bytes);

/* Where the packets of layout slab lie, to look up what pages the kernel gave; no address and 0 bytes for other layouts. */
ap_status ap_packets_get_region(const ap_packets* packets, ap_region* region);

/* Proves that no packet is in two places of FIFO, store and pool and none is in no place, that every packet carried the
   protocol marker, that those in the FIFO have no parse result and those in the store have one, and that the counts agree;
   AP_FAULT and one line in (message, message_bytes) where not so. */
ap_status ap_packets_audit(const ap_packets* packets, char* message, size_t message_bytes);

/* Frees everything. NULL is allowed. */
void ap_packets_destroy(ap_packets* packets);

/* ---- Threads: the message processor split between threads ---------------------------------------- */

/* Workers with their queues and stores, perhaps a receiver before them, and the pool between them. Opaque. It has threads of
   its own, which rest between two calls. */
typedef struct ap_threads ap_threads;

/* What to run. Queue and store are divided between the workers. */
typedef struct {
  const char* topology;  /* sharded: each worker receives its own flows; pipeline: one more thread receives for all */
  const char* layout;    /* heap: parsing makes objects; flat: it makes none */
  const char* strategy;  /* one of ap_threads_strategies() */
  int64_t threads;       /* workers, 1 to 1024 */
  int64_t pool_size;     /* packets in the pool at start; not read by alloc and copy_on_keep */
  int64_t queue_size;    /* of all workers together, at least one each */
  int64_t stored_count;  /* of all workers together, at least one each */
  uint64_t seed;         /* of contents, flows and stores */
  int64_t padded;        /* 1: what threads exchange in a pool lies two cache lines apart; 0: side by side, of mpmc and owner */
} ap_threads_config;

/* What was done since creation, over all threads. generated = received + lost + left. */
typedef struct {
  int64_t generated;    /* packets that the source numbered */
  int64_t received;     /* packets that a worker took into its queue */
  int64_t lost;         /* packets that found no room: none here; a source of ticks has its own account */
  int64_t left;         /* packets between receiver and workers */
  int64_t parsed;       /* packets that left a queue and were parsed */
  int64_t tcp;          /* parsed packets that were TCP: each of them was stored */
  int64_t evicted;      /* stored packets that a later one replaced */
  int64_t allocated;    /* packets obtained from the strategy */
  int64_t freed;        /* packets given back to the strategy */
  int64_t live;         /* packets in queues and stores, counted by walking both */
  int64_t constructed;  /* packet objects made after start */
  int64_t discarded;    /* packet objects deleted after start */
  int64_t remote_frees; /* of freed, those that another thread had obtained */
  int64_t prepared;     /* packet objects made before the start */
  int64_t pooled;       /* free packets, counted by walking pools and caches */
} ap_threads_counts;

/* Valid strategies, comma-separated. Static storage. */
const char* ap_threads_strategies(void);

/* Makes pool and threads. NULL with a line in error. */
ap_threads* ap_threads_create(const ap_threads_config* config, char* error, size_t error_bytes);

/* Receives the next `packets` packets (>= 1) on all threads; writes what it took to `part`. */
ap_status ap_threads_run(ap_threads* threads, int64_t packets, ap_iteration* part);

/* Processes all that is queued, so that every packet was parsed. */
ap_status ap_threads_drain(ap_threads* threads);

/* Counts so far. Walks everything: not for measured windows. */
ap_status ap_threads_get_counts(const ap_threads* threads, ap_threads_counts* counts);

/* What each of `rings` workers received; there are as many as threads were asked for. */
ap_status ap_threads_get_received(const ap_threads* threads, int64_t* received, int64_t rings);

/* The sum, over all that was parsed, of a hash of sequence number and fields: the same in any order. */
ap_status ap_threads_get_checksum(const ap_threads* threads, uint64_t* checksum);

/* Proves, after ap_threads_drain, that no packet is twice in stores and pool and none is lost, that each worker received
   what its flows have, that stores hold what was put there, and that the counts agree; AP_FAULT and one line in (message,
   message_bytes) where not so. */
ap_status ap_threads_audit(const ap_threads* threads, char* message, size_t message_bytes);

/* Ends the threads and frees everything. NULL is allowed. */
void ap_threads_destroy(ap_threads* threads);

/* ---- Messages: a workload whose parameters are a program's ---------------------------------------- */

/* Loops with their messages in flight and their stores, the strategy between them, and the rest of the program. Opaque. It
   has threads of its own, which rest between two calls. */
typedef struct ap_messages ap_messages;

/* What was done since creation, over all threads. generated = received + lost. */
typedef struct {
  int64_t generated;     /* messages that came due */
  int64_t received;      /* messages that were handled */
  int64_t lost;          /* messages that had waited too long when their turn came */
  int64_t read;          /* messages that left flight and were read */
  int64_t kept;          /* of these, those that went to a store */
  int64_t evicted;       /* kept messages that a later one replaced */
  int64_t obtained;      /* messages obtained from the strategy */
  int64_t freed;         /* messages given back to the strategy */
  int64_t constructed;   /* messages made after the start */
  int64_t discarded;     /* messages dropped, not pooled, after the start */
  int64_t prepared;      /* messages made before the start */
  int64_t in_flight;     /* messages in flight, counted by walking */
  int64_t in_store;      /* messages kept, counted by walking */
  int64_t pooled;        /* free messages, counted by walking */
  int64_t wasted_bytes;  /* of buffers in use, what lies beyond their messages */
  int64_t pool_bytes;    /* of buffers that the strategy holds, used or free */
  int64_t changed_bytes; /* linked objects that the rest of the program replaced */
  int64_t garbage_bytes; /* what it made and dropped */
} ap_messages_counts;

/* Settings are lines of name=value; trace is NULL, or records of (time_ns, fold, length, 0) as 64, 64, 32 and 32 bits that
   outlive the handle. NULL with a line in error. */
ap_messages* ap_messages_create(const char* settings, const void* trace, size_t trace_bytes, char* error,
                                size_t error_bytes);

/* Handles the next `count` messages (>= 1) on all threads as fast as they go; writes what it took to `part`. */
ap_status ap_messages_run(ap_messages* messages, int64_t count, ap_iteration* part);

/* Takes the messages that come due in so many nanoseconds (>= 1), or loses them; `part` counts those handled. */
ap_status ap_messages_run_for(ap_messages* messages, int64_t length_ns, ap_iteration* part);

/* The rest of the program begins (1), or ends (0). */
ap_status ap_messages_rest(ap_messages* messages, int runs);

/* Reads all that is in flight. */
ap_status ap_messages_drain(ap_messages* messages);

/* Counts so far. Walks everything: not for measured windows. */
ap_status ap_messages_get_counts(const ap_messages* messages, ap_messages_counts* counts);

/* The sum, over all that was read, of a hash of number, content and length: the same in any order. */
ap_status ap_messages_get_checksum(const ap_messages* messages, uint64_t* checksum);

/* Pairs of (nanoseconds, messages): delays of the last ap_messages_run_for, the shortest first. Writes up to `capacity`
   pairs; returns how many there are. */
int64_t ap_messages_delays(const ap_messages* messages, int64_t* pairs, int64_t capacity);

/* Proves, after ap_messages_drain, that what was read is what was written, that no message is in two places and none is
   missing, and that the counts agree; AP_FAULT and one line in (message, message_bytes) where not so. */
ap_status ap_messages_audit(const ap_messages* messages, char* message, size_t message_bytes);

/* Ends the threads and frees everything. NULL is allowed. */
void ap_messages_destroy(ap_messages* messages);

/* ---- Buffers: allocation, access, fragmentation ------------------------------------------------ */

/* One measured window. Allocation: buffers, with the time of obtaining (and touching) and of giving back apart. Access:
   passes over the buffer; the last two are 0. */
typedef struct {
  int64_t start_ns;
  int64_t end_ns;
  int64_t count;
  int64_t alloc_ns;
  int64_t free_ns;
} ap_buffers_iteration;

/* Rounds of obtaining `slots` buffers and giving them back. Opaque. */
typedef struct ap_allocation ap_allocation;

/* What one round's buffers are by the allocator's own counters. */
typedef struct {
  int64_t buffers;
  int64_t held_bytes;    /* what the allocator set aside for them, by malloc_usable_size */
  int64_t counted_bytes; /* what its counter rose by while they were obtained; -1 where it does not report it */
} ap_allocation_counters;

/* Buffers of `bytes` (1 to 2^30) in rounds of `slots` (1 to 2^24). strategy: alloc, pool. touch: none, first, page, zero.
   NULL with a line in error. */
ap_allocation* ap_allocation_create(const char* strategy, const char* touch, int64_t bytes, int64_t slots, char* error,
                                    size_t error_bytes);

/* One round whose buffers are looked at: none shares memory with another, and the allocator's counters agree with the
   arithmetic; AP_FAULT and one line in (message, message_bytes) where not so. */
ap_status ap_allocation_verify(ap_allocation* allocation, ap_allocation_counters* counters, char* message,
                               size_t message_bytes);

/* Rounds for at least `duration_ns`, in iterations of at least `iteration_ns`; ends early when `capacity` records are
   full. Records written. What was obtained last is lost when memory ran out. */
int64_t ap_allocation_run(ap_allocation* allocation, int64_t duration_ns, int64_t iteration_ns,
                          ap_buffers_iteration* out, int64_t capacity);

void ap_allocation_destroy(ap_allocation* allocation);

/* Passes over one buffer. Opaque. */
typedef struct ap_access ap_access;

/* operation: write (every byte in order), random_write (as many bytes at random places), copy (the whole into another
   buffer). `bytes` from 1 to 2^30. NULL with a line in error. */
ap_access* ap_access_create(const char* operation, int64_t bytes, char* error, size_t error_bytes);

/* As ap_allocation_run; a record counts passes. */
int64_t ap_access_run(ap_access* access, int64_t duration_ns, int64_t iteration_ns, ap_buffers_iteration* out,
                      int64_t capacity);

/* Checksum of the content after exactly so many passes over zeroed memory: the same in every language. */
ap_status ap_access_get_checksum(ap_access* access, int64_t passes, uint64_t* checksum);

void ap_access_destroy(ap_access* access);

/* Buffers of mixed sizes at a constant number of bytes alive. Opaque. */
typedef struct ap_fragmentation ap_fragmentation;

/* A window with one distribution of sizes. */
typedef struct {
  const int32_t* sizes;   /* each equally likely, 8 bytes to 2^18 */
  int64_t size_count;     /* a power of two */
  int64_t live_bytes;     /* alive at most */
  int64_t allocate_bytes; /* to allocate in all */
} ap_phase;

/* One window of a phase. Costs are those of obtaining a buffer and touching each of its pages, with one reading of the
   clock in each of them; the empty ones are those of nothing between two readings, taken every eighth operation. */
typedef struct {
  int64_t phase;
  int64_t start_ns;
  int64_t end_ns;
  int64_t operations;
  int64_t allocated_bytes; /* since creation */
  int64_t live_bytes;
  int64_t live_buffers;
  int64_t p50_ns;
  int64_t p99_ns;
  int64_t max_ns;
  int64_t resident_bytes;  /* of the process; -1 where the system does not report it */
  int64_t kept_bytes;      /* malloc: counted as handed out by the allocator, -1 unknown; slab: taken from the system */
  int64_t empty_p50_ns;
  int64_t empty_p99_ns;
} ap_fragment_sample;

/* technique: malloc, slab (size classes). `max_buffers` alive at once at most (1 to 2^28), `reserved_bytes` of address space
   for the slabs. NULL with a line in error. */
ap_fragmentation* ap_fragmentation_create(const char* technique, int64_t max_buffers, int64_t reserved_bytes,
                                          uint64_t seed, char* error, size_t error_bytes);

/* Runs one phase in `windows` windows of equally many bytes. Windows written. */
int64_t ap_fragmentation_run(ap_fragmentation* fragmentation, const ap_phase* phase, int64_t number,
                             ap_fragment_sample* out, int64_t windows);

/* Over tags and sizes of all buffers that were dropped, then of those alive. Changes nothing. */
ap_status ap_fragmentation_get_checksum(const ap_fragmentation* fragmentation, uint64_t* checksum);

/* Whether the bytes alive are those that were counted; AP_FAULT and one line in (message, message_bytes) where not. */
ap_status ap_fragmentation_audit(const ap_fragmentation* fragmentation, char* message, size_t message_bytes);

void ap_fragmentation_destroy(ap_fragmentation* fragmentation);

/* ---- Real time: the source, the ring and its C++ consumers ------------------------------------- */

/* A source, its ring and its logs. Opaque. A source may be started again and again, with another interval each time.
   Order of calls: create; then for each run start, consume (C++ or Java), wait or stop, and the queries. The queries
   answer for the last run and must not be called while the source runs. */
typedef struct ap_realtime ap_realtime;

/* One run of the source. */
typedef struct {
  double interval_ns;        /* time between ticks, up to 1e9, fractions allowed. 0: saturate; a full ring is then
                                waited for, nothing is lost and there are no delays */
  int64_t capacity;          /* ticks that the input queue holds, exactly; see ap_realtime_capacity */
  int64_t ticks;             /* ticks to generate, at least 1; tick i is due at t0 + i * interval */
  int64_t warmup_ticks;      /* ticks 0 .. warmup_ticks - 1 are warm-up; at most `ticks` */
  int64_t slip_threshold_ns; /* the source slipped when it did not read its clock for longer than this; at least 1000 */
  int64_t burst_gap_ns;      /* losses at most this far apart, or with no tick between them, are one burst; >= 0 */
  int64_t processor;         /* processor to tie the source to, -1 for none */
  const char* clock;         /* auto: tsc where it is invariant; tsc; clock_gettime */
  int64_t yields;            /* 1: it sleeps while no tick is due, so that it can share a processor; its ticks come late */
} ap_source_config;

/* Consecutive losses. Times are those of the losses, not of the ticks' being due. A burst never spans the end of the
   warm-up. */
typedef struct {
  int64_t start_sequence; /* first tick lost */
  int64_t end_sequence;   /* last tick lost */
  int64_t start_ns;
  int64_t end_ns;
  int64_t count;          /* ticks lost; fewer than the sequence spans where some between them got through */
} ap_burst;

/* A window during which the source was not running. */
typedef struct {
  int64_t time_ns; /* last clock read before */
  int64_t length_ns;
} ap_slip;

/* Counters of the source, every 100 ms and at the end. */
typedef struct {
  int64_t time_ns;
  int64_t generated;
  int64_t lost;
} ap_sample;

/* The source's account of a run. Warm-up figures are part of the totals.
   generated = received (by the consumer) + lost + left. */
typedef struct {
  int64_t generated;
  int64_t lost;
  int64_t left;               /* ticks that were still in the ring when both had stopped, counted by walking it */
  int64_t warmup_generated;
  int64_t warmup_lost;
  int64_t warmup_left;
  int64_t pushed;             /* ticks put into the ring */
  int64_t last_pushed;        /* number of the last of them, -1 for none */
  int64_t t0_ns;              /* due time of tick 0 */
  int64_t end_ns;             /* when the source stopped */
  int64_t slip_total_ns;      /* sum over all source stalls, also those that the log had no place for */
  int64_t cpu_ns;             /* CPU time of its thread, "ap-source" */
  double clock_drift_ppm;     /* rate of the counter over the run, against its calibration before it */
  double clock_max_error_ns;  /* largest distance from CLOCK_MONOTONIC that a check of the counter found */
  int64_t clock_is_tsc;       /* 1: time-stamp counter, 0: clock_gettime */
  int64_t pinned;             /* 1: the source was tied to its processor */
  int64_t processor;          /* where the last look found it, -1 where the system does not report it */
  int64_t moves;              /* looks, one every 100 ms, that found it elsewhere than the look before */
} ap_source_account;

/* One ring's account of a run: generated = received + lost + left. Warm-up figures are part of the totals. */
typedef struct {
  int64_t generated;
  int64_t received;         /* as its consumer has published */
  int64_t lost;
  int64_t left;
  int64_t warmup_generated;
  int64_t warmup_lost;
  int64_t warmup_left;
} ap_ring_account;

/* What a consumer does besides taking ticks. */
typedef struct {
  int64_t max_ticks;   /* stop after so many ticks; 0: until the source has finished and the ring is empty */
  int64_t stall_at_ns; /* stop consuming on purpose at t0 + this ... */
  int64_t stall_ns;    /* ... for so long; 0: never */
} ap_consumer_config;

/* The consumer's account of a run. Warm-up figures are part of the totals. */
typedef struct {
  int64_t received;
  int64_t warmup_received;
  int64_t missing;           /* numbers between two that came */
  int64_t warmup_missing;
  int64_t last_sequence;     /* -1 for none */
  int64_t start_ns;          /* first look into the ring */
  int64_t measured_start_ns; /* end of the last batch with a warm-up tick, or start_ns */
  int64_t end_ns;            /* end of the last batch, or start_ns */
  int64_t stalled_ns;        /* length of the forced stall */
} ap_consumption;

/* Ticks that a queue of `input_queue_ms` holds at `interval_ns`, rounded to the nearest; an invalid argument where
   that is not from 1 to ap_realtime_max_capacity(). */
int64_t ap_realtime_capacity(double input_queue_ms, double interval_ns, char* error, size_t error_bytes);

/* Largest capacity: 2 GiB of ring, what Java can address. */
int64_t ap_realtime_max_capacity(void);

/* Makes a ring for up to `max_capacity` ticks, and logs of the given lengths (>= 0; what does not fit is counted). All
   memory is there before a run starts. NULL with a line in error. */
ap_realtime* ap_realtime_create(int64_t max_capacity, int64_t max_bursts, int64_t max_slips, int64_t max_samples,
                                char* error, size_t error_bytes);

/* The same with 1 to 1024 rings, each for up to `max_capacity` ticks: a tick goes into the ring that its flow, 32 ticks one
   after the other, is hashed to. One source for all of them; it does not saturate several, and waits for a consumer at each.
   Capacities of a run are those of each ring. */
ap_realtime* ap_realtime_create_by_flow(int64_t rings, uint64_t seed, int64_t max_capacity, int64_t max_bursts,
                                        int64_t max_slips, int64_t max_samples, char* error, size_t error_bytes);

/* From the next start on, between input queue and consumer lies an intermediate queue of `capacity` ticks (0: none, as
   at first), filled by a thread that does nothing else, "ap-relay". Ask for the ring's memory again: it is another one.
   Losses are still those of the input queue; what is left is what is in both. */
ap_status ap_realtime_set_intermediate(ap_realtime* realtime, int64_t capacity, char* error, size_t error_bytes);

/* The ring's memory, for a direct ByteBuffer of Java. Valid until destroy. */
void* ap_realtime_memory(ap_realtime* realtime);
int64_t ap_realtime_memory_bytes(const ap_realtime* realtime);

/* That of one of several rings; NULL where there is none of that number. */
void* ap_realtime_ring_memory(ap_realtime* realtime, int64_t ring);

/* Empties the ring and starts the source's thread, which waits until a consumer is ready, calibrates its clock for
   20 ms and begins to tick. */
ap_status ap_realtime_start(ap_realtime* realtime, const ap_source_config* config, char* error, size_t error_bytes);

/* Consumes in C++, on the calling thread: into `packets`, or only reading when that is NULL. Delays of ticks after the
   warm-up go into the histogram, which is emptied first. */
ap_status ap_realtime_consume(ap_realtime* realtime, ap_packets* packets, const ap_consumer_config* config,
                              ap_consumption* out, char* error, size_t error_bytes);

/* Blocks until the source has generated all its ticks. Without a consumer it does not end: use ap_realtime_stop. */
ap_status ap_realtime_wait(ap_realtime* realtime);

/* Ends generating now. A consumer then ends when it has emptied the ring. */
ap_status ap_realtime_stop(ap_realtime* realtime);

ap_status ap_realtime_get_account(const ap_realtime* realtime, ap_source_account* account);

/* Of one ring, numbered from 0. */
ap_status ap_realtime_get_ring_account(const ap_realtime* realtime, int64_t ring, ap_ring_account* account);

/* Logs of the last run: `count` records; `overflow` receives how many more there were. Valid until the next start. */
const ap_burst* ap_realtime_bursts(const ap_realtime* realtime, int64_t* count, int64_t* overflow);
const ap_slip* ap_realtime_slips(const ap_realtime* realtime, int64_t* count, int64_t* overflow);
const ap_sample* ap_realtime_samples(const ap_realtime* realtime, int64_t* count, int64_t* overflow);

/* Delays of the last ap_realtime_consume: counts in HdrHistogram's order for lowest 1 ns, highest 3,600,000,000,000 ns
   and 3 significant digits. Valid until the next consume. */
const int64_t* ap_realtime_delays(const ap_realtime* realtime, int64_t* length);

/* Proves that the source's account, the consumer's account (of either language) and the slots left in the ring agree:
   generated = received + lost + left in all and in the warm-up, and each lost tick is a gap that the consumer saw, a
   gap among the left or after the last one. With several rings `consumption` is the sum over their consumers, and each
   ring's account must agree with itself and with what its flows have. AP_FAULT and one line in (message, message_bytes)
   where not so. */
ap_status ap_realtime_audit(const ap_realtime* realtime, const ap_consumption* consumption, char* message,
                            size_t message_bytes);

/* Receives what a source ticks, until it has finished and its rings are empty: each worker from the ring of its number, or the
   receiver from the one ring. The source has been started, with as many rings. The number of a tick is that of its packet.
   Writes `rings` accounts; delays of all of them are in ap_realtime_delays. `yields`: who waits lets others run. */
ap_status ap_threads_consume(ap_threads* threads, ap_realtime* realtime, int64_t yields, ap_consumption* out,
                             int64_t rings, char* error, size_t error_bytes);

/* Processor that the calling thread is on just now; -1 where the system does not report it. */
int64_t ap_current_processor(void);

/* Stops the source and frees everything. NULL is allowed. */
void ap_realtime_destroy(ap_realtime* realtime);

/* ---- The pace of the machine --------------------------------------------------------------------- */

/* How fast one core computes and reaches memory just now: medians over slices of fixed work. */
typedef struct {
  double compute_ns;    /* a step of fixed work in the caches of the core */
  double latency_ns;    /* a read whose address the read before it gave, somewhere in 32 MiB */
  double bandwidth_gbs; /* reading these 32 MiB in order, 10^9 bytes a second */
} ap_machine_pace;

/* Measures for about 15 ms, most of it at memory. The first call of a thread also makes the 32 MiB, which stay. */
ap_status ap_read_machine_pace(ap_machine_pace* pace);

/* cffi:end */

/* No result is to be ignored. C++ takes an attribute on a second declaration too, and so cffi need not read it. */
#ifdef __cplusplus
#define AP_NODISCARD(function) [[nodiscard]] decltype(function) function
AP_NODISCARD(ap_version);
AP_NODISCARD(ap_build_info);
AP_NODISCARD(ap_boost_version);
AP_NODISCARD(ap_packets_layouts);
AP_NODISCARD(ap_packets_strategies);
AP_NODISCARD(ap_packets_memories);
AP_NODISCARD(ap_packets_steps);
AP_NODISCARD(ap_packets_create);
AP_NODISCARD(ap_packets_run_packets);
AP_NODISCARD(ap_packets_run_for);
AP_NODISCARD(ap_packets_get_counts);
AP_NODISCARD(ap_packets_get_checksum);
AP_NODISCARD(ap_packets_get_disorder);
AP_NODISCARD(ap_packets_get_region);
AP_NODISCARD(ap_packets_audit);
AP_NODISCARD(ap_threads_strategies);
AP_NODISCARD(ap_threads_create);
AP_NODISCARD(ap_threads_run);
AP_NODISCARD(ap_threads_drain);
AP_NODISCARD(ap_threads_get_counts);
AP_NODISCARD(ap_threads_get_received);
AP_NODISCARD(ap_threads_get_checksum);
AP_NODISCARD(ap_threads_audit);
AP_NODISCARD(ap_messages_create);
AP_NODISCARD(ap_messages_run);
AP_NODISCARD(ap_messages_run_for);
AP_NODISCARD(ap_messages_rest);
AP_NODISCARD(ap_messages_drain);
AP_NODISCARD(ap_messages_get_counts);
AP_NODISCARD(ap_messages_get_checksum);
AP_NODISCARD(ap_messages_delays);
AP_NODISCARD(ap_messages_audit);
AP_NODISCARD(ap_allocation_create);
AP_NODISCARD(ap_allocation_verify);
AP_NODISCARD(ap_allocation_run);
AP_NODISCARD(ap_access_create);
AP_NODISCARD(ap_access_run);
AP_NODISCARD(ap_access_get_checksum);
AP_NODISCARD(ap_fragmentation_create);
AP_NODISCARD(ap_fragmentation_run);
AP_NODISCARD(ap_fragmentation_get_checksum);
AP_NODISCARD(ap_fragmentation_audit);
AP_NODISCARD(ap_realtime_capacity);
AP_NODISCARD(ap_realtime_max_capacity);
AP_NODISCARD(ap_realtime_create);
AP_NODISCARD(ap_realtime_create_by_flow);
AP_NODISCARD(ap_realtime_set_intermediate);
AP_NODISCARD(ap_realtime_memory);
AP_NODISCARD(ap_realtime_memory_bytes);
AP_NODISCARD(ap_realtime_ring_memory);
AP_NODISCARD(ap_realtime_start);
AP_NODISCARD(ap_realtime_consume);
AP_NODISCARD(ap_realtime_wait);
AP_NODISCARD(ap_realtime_stop);
AP_NODISCARD(ap_realtime_get_account);
AP_NODISCARD(ap_realtime_get_ring_account);
AP_NODISCARD(ap_realtime_bursts);
AP_NODISCARD(ap_realtime_slips);
AP_NODISCARD(ap_realtime_samples);
AP_NODISCARD(ap_realtime_delays);
AP_NODISCARD(ap_realtime_audit);
AP_NODISCARD(ap_threads_consume);
AP_NODISCARD(ap_current_processor);
AP_NODISCARD(ap_read_machine_pace);
#undef AP_NODISCARD
#endif

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
