/* The second seam: something that answers HTTP requests. curl, a cassette, a recorder around
 * either, a script. */
#ifndef KERNEL_HTTP_H
#define KERNEL_HTTP_H

#include "kernel/base/str.h"

struct http_header {
    struct str name;
    struct str value;
};

struct http_request {
    struct str method; /* "POST" */
    struct str url;
    const struct http_header *headers;
    size_t n_headers;
    struct str body;
};

/* How an answer ended. */
#define HTTP_ENDS(X)                                                                               \
    X(HTTP_CLEAN, "clean")                                                                         \
    X(HTTP_RESET, "reset")       /* the connection broke after it stood */                         \
    X(HTTP_TIMEOUT, "timeout")   /* a deadline passed */                                           \
    X(HTTP_REFUSED, "refused")   /* no connection, no status */                                    \
    X(HTTP_STOPPED, "stopped")   /* we stopped it; in a recording only: never ends by itself */    \
    X(HTTP_MISS, "miss")         /* a cassette that does not hold the request */                   \
    X(HTTP_MISMATCH, "mismatch") /* a script that expected another request */
#define HTTP_ENUM(name, text) name,
enum http_end { HTTP_ENDS(HTTP_ENUM) };
#undef HTTP_ENUM

const char *http_end_name(enum http_end end); /* the word in cassettes */
bool http_end_of_name(struct str name, enum http_end *out);

/* Where the answer goes: head at most once, then body pieces as they come, then exactly one end;
 * `detail` says for people why it was not clean. Views are valid during the call. Never called from
 * inside start. */
struct http_sink {
    void *ctx;
    void (*head)(void *ctx, int status, struct str reason, const struct http_header *headers,
                 size_t n_headers);
    void (*body)(void *ctx, struct str piece);
    void (*end)(void *ctx, enum http_end end, struct str detail);
};

struct transport;
struct http_call; /* one request under way; owned by the transport, gone after its end or stop */

struct transport_ops {
    /* Views of rq need to live only during start. */
    struct http_call *(*start)(struct transport *t, const struct http_request *rq,
                               struct http_sink sink);
    /* No sink call follows. May be called from inside the call's own head or body. */
    void (*stop)(struct transport *t, struct http_call *call);
    void (*free)(struct transport *t);
    /* The call's body shall wait, or come again; a little may still come meanwhile, and its end
     * may. NULL = it never waits. */
    void (*pause)(struct transport *t, struct http_call *call, bool paused);
};

/* The first member of every implementation. */
struct transport {
    const struct transport_ops *ops;
};

/* Pauses a call where what answers it can wait; it must not have ended. */
void http_pause(struct transport *t, struct http_call *call, bool paused);

/* The value of the header called `name` (without case), or the empty view with p NULL. */
struct str http_header_get(const struct http_header *headers, size_t n, const char *name);
#endif
