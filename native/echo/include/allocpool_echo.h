/*
 * allocpool_echo: C++ echo servers, seen from C.
 *
 * A message is a line: at most message_bytes bytes of which the last is a newline. A server echoes each message as soon
 * as it is whole, and closes a connection that sends a longer one. Servers listen on 127.0.0.1 only.
 *
 * As in allocpool.h: everything between the two markers is plain C; no function throws or prints; one that can fail
 * returns an ap_echo_status, a number that is negative, and then an ap_echo_status, where it failed, or a pointer that
 * is NULL where it failed; one that takes (error, error_bytes) writes one line there.
 */
#ifndef ALLOCPOOL_ECHO_H
#define ALLOCPOOL_ECHO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* cffi:begin */

/* How a call ended; the values are those of ap_status in allocpool.h. */
typedef enum {
  AP_ECHO_OK = 0,
  AP_ECHO_INVALID_ARGUMENT = -1, /* the request cannot be met: another one can */
  AP_ECHO_OUT_OF_MEMORY = -2,
  AP_ECHO_FAILED = -3 /* anything else */
} ap_echo_status;

/* A running server. Opaque. */
typedef struct ap_echo ap_echo;

/* What happened since the start. */
typedef struct {
  int64_t accepted; /* connections */
  int64_t closed;   /* of these, closed again, for whatever reason */
  int64_t messages; /* echoed */
  int64_t oversize; /* connections closed because of a message longer than message_bytes */
  int64_t refused;  /* connections that no thread or no memory could be had for, and accepts that failed */
} ap_echo_counts;

/* Starts a server. `io` is "threads" (one thread per connection) or "epoll" (one thread for all); `port` 0 takes any
   free one. Returns NULL with a line in `error`: unknown io, a port that is taken, message_bytes out of 2 to 65536. */
ap_echo* ap_echo_start(const char* io, int port, int64_t message_bytes, char* error, size_t error_bytes);

/* The port that it listens on. */
int ap_echo_port(const ap_echo* echo);

ap_echo_status ap_echo_get_counts(const ap_echo* echo, ap_echo_counts* counts);

/* Closes every connection, ends every thread, frees the handle. NULL is allowed. */
void ap_echo_stop(ap_echo* echo);

/* cffi:end */

/* No result is to be ignored. C++ takes an attribute on a second declaration too, and so cffi need not read it. */
#ifdef __cplusplus
#define AP_NODISCARD(function) [[nodiscard]] decltype(function) function
AP_NODISCARD(ap_echo_start);
AP_NODISCARD(ap_echo_port);
AP_NODISCARD(ap_echo_get_counts);
#undef AP_NODISCARD
#endif

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
