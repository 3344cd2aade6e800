/* Live HTTP by libcurl's multi interface on the loop (curl.c, the one file that includes curl).
 * HTTP/2 where the server has it. Connections are shared by the loop; curl is started at first
 * need. */
#ifndef KERNEL_DRIVE_CURL_H
#define KERNEL_DRIVE_CURL_H

#include "kernel/drive/loop.h"
#include "kernel/drive/sched.h"
#include "kernel/http.h"

/* Limits of a call; deadlines of 0 are none. They count from when the call really starts. */
struct transport_limits {
    int64_t connect_ms;    /* until a connection stands, TLS and proxy with it */
    int64_t first_byte_ms; /* from then on until the answer's first byte */
    int64_t idle_ms;       /* between two pieces of an answer */
    int64_t total_ms;
    bool endless; /* bodies of any size; else the call breaks off at one that no decoder takes */
};
#define TRANSPORT_LIMITS_DEFAULT ((struct transport_limits){10000, 300000, 60000, 600000, false})

/* A transport whose calls have these limits. One may serve many sessions when each starts its calls
 * through its own handle: this handle is for one session, whose clock is touched before each sink
 * call. Owned by the caller. */
struct transport *transport_curl(struct loop *loop, struct sched *s,
                                 struct transport_limits limits);

/* What the network around this process wants, for every call of a loop. */
struct transport_net {
    struct str http_proxy; /* for http: URLs; n 0 = none. curl itself reads no environment */
    struct str https_proxy;
    struct str no_proxy; /* hosts without proxy, with commas; "*" = all */
    struct str ca_file;  /* PEM certificates that are trusted besides the system's; n 0 = none */
};

/* Sets it, once for a loop and before its first call. Texts are copied. */
void transport_set_net(struct loop *loop, const struct transport_net *options);

/* How many connections the process may have open by its limit on open files. */
size_t transport_connections_max(void);
#endif
