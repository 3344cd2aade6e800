/* An HTTP server on the event loop (libmicrohttpd; server.c is the one file that includes it):
 * whole requests in, answers out in pieces, as the other end of the second seam (kernel/http.h). */
#ifndef KERNEL_DRIVE_SERVER_H
#define KERNEL_DRIVE_SERVER_H

#include "kernel/base/err.h"
#include "kernel/drive/loop.h"
#include "kernel/http.h"

struct server;
struct exchange; /* one request and its answer; owned by the server */

struct server_limits {
    size_t connections;  /* open at once; more wait to be accepted */
    size_t header_bytes; /* of a request: 431 beyond */
    size_t body_bytes;   /* of a request: 413 beyond */
    size_t unsent_bytes; /* of an answer whose client reads slower than it comes: `full` is told */
    int64_t request_ms;  /* until a request is complete, counted from its connection's start or the
                            answer before: the connection is closed */
};
#define SERVER_LIMITS_DEFAULT ((struct server_limits){12000, 32 << 10, 64 << 20, 1 << 20, 60000})

struct server_options {
    struct loop *loop;
    const char *address; /* numeric: "127.0.0.1", "::1" */
    uint16_t port;       /* 0 = any that is free */
    struct server_limits limits;
    void *ctx;
    /* A complete request; views live until exchange_end or `gone`. Answer it now or later. */
    void (*request)(void *ctx, struct exchange *x, const struct http_request *rq);
    /* A request that the server has answered itself, with this status: its body (413) or headers
     * (431) are more than may be. It comes without its body. NULL = nobody wants to know. */
    void (*refused)(void *ctx, const struct http_request *rq, int status);
    /* The client went away before the answer's end: the exchange is over. */
    void (*gone)(void *ctx, struct exchange *x);
    /* Tells that more than unsent_bytes wait for the client (full), or that they are gone. NULL =
     * nobody wants to know. */
    void (*full)(void *ctx, struct exchange *x, bool full);
};

/* Listens. ERR_NET: the address or port cannot be had; ERR_UNSUPPORTED: libmicrohttpd is not there.
 * Owned by the caller. Views of options are needed only during the call. */
int server_new(const struct server_options *o, struct server **out, struct err *e) MUST_CHECK;

uint16_t server_port(const struct server *s);

/* No new connections; done(arg) is called once when every exchange has ended, maybe inside. */
void server_stop(struct server *s, void (*done)(void *arg), void *arg);

/* Closes everything at once; exchanges under way end without a word. NULL allowed. */
void server_free(struct server *s);

/* The caller's own for this exchange; NULL at first. */
void exchange_set(struct exchange *x, void *data);
void *exchange_data(const struct exchange *x);

/* The answer's status and headers: once, before any body. Content-Length and Transfer-Encoding are
 * the server's to say and passed over. A body that ends in the same turn of the loop goes out with
 * its length, others chunked. */
void exchange_head(struct exchange *x, int status, const struct http_header *headers, size_t n);
void exchange_body(struct exchange *x, struct str piece);

/* The end: clean, or anything else for a connection that is closed in the middle. The exchange is
 * out of reach then. Without a head before, a clean end is an empty 500. */
void exchange_end(struct exchange *x, enum http_end end);
#endif
