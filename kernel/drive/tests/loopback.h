/* A small HTTP server on the loop of the test: it takes whole requests, and what it answers is the
 * test's business. */
#ifndef KERNEL_DRIVE_TESTS_LOOPBACK_H
#define KERNEL_DRIVE_TESTS_LOOPBACK_H

#include "kernel/base/str.h"

#include <uv.h>

struct loopback_peer;

struct loopback {
    int port;                                    /* of 127.0.0.1, once started */
    void (*on_request)(struct loopback_peer *p); /* a whole request has come: it is `request` */
    void (*on_left)(struct loopback_peer *p);    /* the other side closed; NULL = no matter */
    bool greets; /* the first bytes of any kind count as a request */
    size_t connections;
    size_t requests;
    struct buf request; /* the newest; freed by the test */
    uv_tcp_t listener;
    struct loopback_peer *peers; /* the connections that are open */
};

/* A connection. */
struct loopback_peer {
    uv_tcp_t tcp;
    uv_timer_t pause; /* for the test's answers in pieces */
    uv_write_t write;
    size_t at; /* likewise: the next piece */
    struct loopback *server;
    struct loopback_peer *next, **at_me;
    struct buf got;
    char input[4096];
};

/* Listens; neither the listener nor an idle connection keeps the loop going. on_request must be
 * set. */
void loopback_start(struct loopback *s, uv_loop_t *loop);

/* Closes the listener and all connections, before the loop is freed: a client that gives up leaves
 * bytes behind, and the end of the connection is read only after them. */
void loopback_stop(struct loopback *s);

/* Sends text, then calls sent with write->data = p. */
void loopback_send(struct loopback_peer *p, const char *text, uv_write_cb sent);

/* The same with n bytes of any kind, which must live until then. */
void loopback_send_bytes(struct loopback_peer *p, const char *bytes, size_t n, uv_write_cb sent);

/* Closes the connection, once, and frees it. */
void loopback_close(struct loopback_peer *p);
bool loopback_closing(const struct loopback_peer *p);
#endif
