#include "kernel/drive/limiter.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "kernel/base/arena.h"
#include "kernel/drive/curl.h"
#include "kernel/drive/loop_int.h"

enum {
    BYTES_PER_TOKEN = 4, /* of a request, before its answer says better */
    TOLD_MS_MIN = 1000   /* shorter waits are nobody's business */
};

#define NO_CALL UINT64_MAX

struct limiter {
    struct sched *clock;
    bool own_clock;
    struct limiter_options o;
    struct limits *limits;
    struct http_call *first; /* of those that wait */
    struct http_call *last;
    struct timer *wake;
    enum limits_why told; /* what the first one waits for, as told */
};

/* A session's way in. */
struct limited {
    struct transport transport;
    struct limiter *limiter;
    struct transport *inner;
    struct limits_ticket newest;
};

enum call_state { CALL_WAITS, CALL_STARTED };

struct http_call {
    enum call_state state;
    struct limited *t;
    struct http_sink sink;
    int64_t tokens;
    struct http_call *prev; /* CALL_WAITS */
    struct http_call *next;
    struct arena *arena; /* of the request while it waits */
    struct http_request request;
    struct http_call *inner; /* CALL_STARTED */
    struct limits_ticket ticket;
    int status; /* 0 = no head yet */
};

/* ---- the queue ---- */

static void enqueue(struct limiter *l, struct http_call *c)
{
    c->prev = l->last;
    if (l->last == NULL) {
        l->first = c;
    } else {
        l->last->next = c;
    }
    l->last = c;
}

static void dequeue(struct limiter *l, struct http_call *c)
{
    if (c->prev == NULL) {
        l->first = c->next;
    } else {
        c->prev->next = c->next;
    }
    if (c->next == NULL) {
        l->last = c->prev;
    } else {
        c->next->prev = c->prev;
    }
    c->prev = NULL;
    c->next = NULL;
}

static void keep_request(struct http_call *c, const struct http_request *rq)
{
    c->arena = arena_new();
    struct http_header *headers = arena_array(c->arena, rq->n_headers, sizeof *headers);
    for (size_t i = 0; i < rq->n_headers; i++) {
        headers[i].name = arena_str(c->arena, rq->headers[i].name);
        headers[i].value = arena_str(c->arena, rq->headers[i].value);
    }
    c->request = (struct http_request){.method = arena_str(c->arena, rq->method),
                                       .url = arena_str(c->arena, rq->url),
                                       .headers = headers,
                                       .n_headers = rq->n_headers,
                                       .body = arena_str(c->arena, rq->body)};
}

static void call_free(struct http_call *c)
{
    arena_free(c->arena);
    free(c);
}

/* ---- what is told ---- */

static void tell(struct limiter *l, struct buf *text)
{
    if (l->o.tell != NULL) {
        l->o.tell(l->o.ctx, buf_str(text));
    }
    buf_free(text);
}

/* Waits that follow each other for the same reason are told once. */
static void tell_wait(struct limiter *l, enum limits_why why, uint64_t ms)
{
    struct buf text = {0};
    if (why == l->told || ms < TOLD_MS_MIN) {
        return;
    }
    l->told = why;
    buf_fmt(&text, "calls wait for %" PRIu64 " s: ", (ms + 999) / 1000);
    switch (why) {
    case LIMITS_NOTHING:
    case LIMITS_IN_FLIGHT: break;
    case LIMITS_RPM: buf_fmt(&text, "%" PRId64 " requests a minute", l->o.limits.rpm); break;
    case LIMITS_TPM: buf_fmt(&text, "%" PRId64 " tokens a minute", l->o.limits.tpm); break;
    case LIMITS_PAUSE: buf_addz(&text, "the endpoint asked for it (Retry-After)"); break;
    case LIMITS_REQUESTS: buf_addz(&text, "the endpoint's limit of requests is used up"); break;
    case LIMITS_TOKENS: buf_addz(&text, "the endpoint's limit of tokens is used up"); break;
    }
    tell(l, &text);
}

static void tell_cut(struct limiter *l, int status)
{
    struct buf text = {0};
    buf_fmt(&text, "HTTP %d: at most %" PRId64 " at once from now on", status,
            limits_in_flight_max(l->limits));
    tell(l, &text);
}

/* ---- starting ---- */

static void pump(struct limiter *l);

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n)
{
    struct http_call *c = ctx;
    struct limiter *l = c->t->limiter;
    struct wire_quotas quotas = wire_quotas_read(headers, n);
    c->status = status;
    sched_touch(l->clock);
    if (limits_answer(l->limits, c->ticket, status, &quotas, sched_now(l->clock))) {
        tell_cut(l, status);
    }
    c->sink.head(c->sink.ctx, status, reason, headers, n);
}

static void on_body(void *ctx, struct str piece)
{
    struct http_call *c = ctx;
    c->sink.body(c->sink.ctx, piece);
}

/* The sink may free the transport, so it comes last. */
static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct http_call *c = ctx;
    struct http_sink sink = c->sink;
    bool good = end == HTTP_CLEAN && c->status >= 200 && c->status <= 299;
    limits_over(c->t->limiter->limits, good ? LIMITS_GOOD : LIMITS_OTHER);
    pump(c->t->limiter);
    call_free(c);
    sink.end(sink.ctx, end, detail);
}

static void begin(struct http_call *c, const struct http_request *rq)
{
    struct limited *t = c->t;
    struct limiter *l = t->limiter;
    struct http_sink sink = {c, on_head, on_body, on_end};
    c->state = CALL_STARTED;
    c->ticket = limits_start(l->limits, c->tokens, sched_now(l->clock));
    t->newest = c->ticket;
    c->inner = t->inner->ops->start(t->inner, rq, sink);
}

static void on_wake(void *arg)
{
    struct limiter *l = arg;
    l->wake = NULL;
    pump(l);
}

/* Starts what may start, in order; no sink is called. */
static void pump(struct limiter *l)
{
    sched_touch(l->clock);
    sched_cancel(l->clock, l->wake);
    l->wake = NULL;
    while (l->first != NULL) {
        struct http_call *c = l->first;
        enum limits_why why;
        uint64_t now = sched_now(l->clock);
        uint64_t when = limits_when(l->limits, c->tokens, now, &why);
        if (when > now) {
            if (when != UINT64_MAX) {
                l->wake = sched_post(l->clock, when - now, 0, on_wake, l);
                tell_wait(l, why, when - now);
            }
            return;
        }
        dequeue(l, c);
        begin(c, &c->request);
        arena_free(c->arena);
        c->arena = NULL;
    }
    l->told = LIMITS_NOTHING;
}

/* ---- the transport ---- */

static struct http_call *limited_start(struct transport *transport, const struct http_request *rq,
                                       struct http_sink sink)
{
    struct limited *t = (struct limited *)transport; /* its first member */
    struct limiter *l = t->limiter;
    struct http_call *c = mem_zero(sizeof *c);
    enum limits_why why;
    c->t = t;
    c->sink = sink;
    c->tokens = (int64_t)(rq->body.n / BYTES_PER_TOKEN) + 1;
    sched_touch(l->clock);
    uint64_t now = sched_now(l->clock);
    if (l->first == NULL && limits_when(l->limits, c->tokens, now, &why) <= now) {
        begin(c, rq);
        return c;
    }
    keep_request(c, rq);
    enqueue(l, c);
    if (l->first == c) {
        pump(l);
    }
    return c;
}

static void limited_stop(struct transport *transport, struct http_call *c)
{
    struct limited *t = (struct limited *)transport;
    struct limiter *l = t->limiter;
    switch (c->state) {
    case CALL_WAITS: dequeue(l, c); break;
    case CALL_STARTED:
        t->inner->ops->stop(t->inner, c->inner);
        limits_over(l->limits, LIMITS_OTHER);
        break;
    }
    call_free(c);
    /* not at once: who stops one call may be about to stop all that wait */
    sched_cancel(l->clock, l->wake);
    l->wake = l->first == NULL ? NULL : sched_post(l->clock, 0, 0, on_wake, l);
}

static void limited_pause(struct transport *transport, struct http_call *c, bool paused)
{
    struct limited *t = (struct limited *)transport;
    if (c->state == CALL_STARTED) {
        http_pause(t->inner, c->inner, paused);
    }
}

static void limited_free(struct transport *transport)
{
    struct limited *t = (struct limited *)transport;
    t->inner->ops->free(t->inner);
    free(t);
}

struct transport *limiter_transport(struct limiter *l, struct transport *inner)
{
    static const struct transport_ops ops = {limited_start, limited_stop, limited_free,
                                             limited_pause};
    struct limited *t = mem_zero(sizeof *t);
    t->transport.ops = &ops;
    t->limiter = l;
    t->inner = inner;
    t->newest.number = NO_CALL;
    return &t->transport;
}

void limiter_used(struct transport *transport, int64_t tokens)
{
    struct limited *t = (struct limited *)transport;
    limits_used(t->limiter->limits, t->newest, tokens);
    t->newest.number = NO_CALL; /* the next reply may be none of ours: a recording's */
}

/* ---- limiters ---- */

struct limiter *limiter_new(struct sched *clock, const struct limiter_options *o)
{
    struct limiter *l = mem_zero(sizeof *l);
    l->clock = clock;
    l->o = *o;
    if (l->o.limits.in_flight == 0) {
        l->o.limits.in_flight = (int64_t)transport_connections_max();
    }
    l->limits = limits_new(&l->o.limits);
    return l;
}

void limiter_free(struct limiter *l)
{
    if (l == NULL) {
        return;
    }
    assert(l->first == NULL);
    sched_cancel(l->clock, l->wake);
    limits_free(l->limits);
    if (l->own_clock) {
        sched_free(l->clock);
    }
    free(l);
}

static void slot_free(void *p)
{
    limiter_free(p);
}

void limiter_set(struct loop *loop, const struct limiter_options *o)
{
    struct limiter *l = limiter_new(sched_real(loop), o);
    l->own_clock = true;
    loop_slot_set(loop, LOOP_SLOT_LIMITER, l, slot_free);
}

struct limiter *limiter_of(struct loop *loop)
{
    if (loop_slot(loop, LOOP_SLOT_LIMITER) == NULL) {
        limiter_set(loop, &(struct limiter_options){.tell = NULL});
    }
    return loop_slot(loop, LOOP_SLOT_LIMITER);
}
