#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/drive/limiter.h"
#include "kernel/drive/loop.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 12 };

/* A transport whose calls end when the test says. */
static struct {
    struct loop *loop;
    struct sched *clock;
    struct limiter *limiter;
    struct transport *transport;
    struct http_sink sinks[CALLS];
    uint64_t started_at[CALLS];
    char bodies[CALLS];
    size_t started;
    size_t stopped;
    size_t ended;
    struct buf told;
} t;

static struct http_call *inner_start(struct transport *transport, const struct http_request *rq,
                                     struct http_sink sink)
{
    (void)transport;
    CU_ASSERT_FATAL(t.started < CALLS);
    t.sinks[t.started] = sink;
    t.started_at[t.started] = sched_now(t.clock);
    t.bodies[t.started] = rq->body.p[0];
    CU_ASSERT_TRUE(str_is(rq->headers[0].value, "v"));
    return (struct http_call *)&t.sinks[t.started++];
}

static void inner_stop(struct transport *transport, struct http_call *call)
{
    (void)transport;
    (void)call;
    t.stopped++;
}

static void inner_free(struct transport *transport)
{
    free(transport);
}

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n)
{
    (void)ctx;
    (void)status;
    (void)reason;
    (void)headers;
    (void)n;
}

static void on_end(void *ctx, enum http_end end, struct str detail)
{
    (void)ctx;
    (void)end;
    (void)detail;
    t.ended++;
}

static void on_tell(void *ctx, struct str text)
{
    (void)ctx;
    buf_add(&t.told, text);
    buf_char(&t.told, '|');
}

static void begin(struct limits_options limits)
{
    static const struct transport_ops ops = {inner_start, inner_stop, inner_free, NULL};
    struct transport *inner = mem_zero(sizeof *inner);
    inner->ops = &ops;
    memset(&t, 0, sizeof t);
    t.loop = loop_new();
    t.clock = sched_virtual(t.loop);
    t.limiter = limiter_new(t.clock, &(struct limiter_options){limits, on_tell, NULL});
    t.transport = limiter_transport(t.limiter, inner);
}

static void end(void)
{
    t.transport->ops->free(t.transport);
    limiter_free(t.limiter);
    sched_free(t.clock);
    loop_free(t.loop);
    buf_free(&t.told);
}

static struct http_call *call(char name)
{
    char body[] = {name, '\0'};
    char value[] = "v";
    struct http_header header = {STR("h"), {value, 1}};
    struct http_request rq = {STR("POST"), STR("http://h/"), &header, 1, {body, 1}};
    struct http_sink sink = {.head = on_head, .end = on_end};
    struct http_call *c = t.transport->ops->start(t.transport, &rq, sink);
    memset(body, '?', sizeof body); /* the request is the caller's again */
    value[0] = '?';
    return c;
}

static void answer(size_t i, int status)
{
    t.sinks[i].head(t.sinks[i].ctx, status, STR(""), NULL, 0);
    t.sinks[i].end(t.sinks[i].ctx, HTTP_CLEAN, STR(""));
}

static void calls_start_in_order(void)
{
    begin((struct limits_options){.rpm = 2, .in_flight = 100});
    for (char c = 'a'; c < 'f'; c++) {
        call(c);
    }
    CU_ASSERT_EQUAL(t.started, 2);
    loop_run(t.loop); /* virtual time jumps */
    CU_ASSERT_EQUAL(t.started, 5);
    CU_ASSERT_EQUAL(memcmp(t.bodies, "abcde", 5), 0);
    static const uint64_t at[] = {0, 0, 60000, 60000, 120000};
    CU_ASSERT_EQUAL(memcmp(t.started_at, at, sizeof at), 0);
    for (size_t i = 0; i < 5; i++) {
        answer(i, 200);
    }
    CU_ASSERT_EQUAL(t.ended, 5);
    buf_char(&t.told, '\0');
    CHECK_TEXT(t.told.p, "calls wait for 60 s: 2 requests a minute|");
    end();
}

static void ends_let_others_start(void)
{
    begin((struct limits_options){.in_flight = 2});
    for (char c = 'a'; c < 'e'; c++) {
        call(c);
    }
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.started, 2);
    answer(1, 200);
    CU_ASSERT_EQUAL(t.started, 3);
    CU_ASSERT_EQUAL(t.bodies[2], 'c');
    answer(0, 429); /* at most one at once now */
    CU_ASSERT_EQUAL(t.started, 3);
    answer(2, 200);
    CU_ASSERT_EQUAL(t.started, 4);
    answer(3, 200);
    CU_ASSERT_EQUAL(t.ended, 4);
    buf_char(&t.told, '\0');
    CHECK_TEXT(t.told.p, "HTTP 429: at most 1 at once from now on|");
    end();
}

/* A reply that none of its calls brought changes nothing. */
static void tokens_are_those_of_its_calls(void)
{
    begin((struct limits_options){.tpm = 100, .in_flight = 100});
    limiter_used(t.transport, 1000);
    call('a');
    limiter_used(t.transport, 99);
    limiter_used(t.transport, 1);
    call('b');
    CU_ASSERT_EQUAL(t.started, 2);
    call('c');
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.started_at[2], 60000);
    for (size_t i = 0; i < 3; i++) {
        answer(i, 200);
    }
    end();
}

static void waiting_calls_can_be_stopped(void)
{
    begin((struct limits_options){.in_flight = 1});
    struct http_call *calls[4];
    for (size_t i = 0; i < 4; i++) {
        calls[i] = call((char)('a' + i));
    }
    t.transport->ops->stop(t.transport, calls[2]);
    CU_ASSERT_EQUAL(t.stopped, 0); /* it had not begun */
    t.transport->ops->stop(t.transport, calls[0]);
    CU_ASSERT_EQUAL(t.stopped, 1);
    CU_ASSERT_EQUAL(t.started, 1); /* who stops may be about to stop all */
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.started, 2);
    CU_ASSERT_EQUAL(t.bodies[1], 'b');
    t.transport->ops->stop(t.transport, calls[3]);
    t.transport->ops->stop(t.transport, calls[1]);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.started, 2);
    CU_ASSERT_EQUAL(t.ended, 0);
    end();
}

TESTS(limiter, {"limiter_starts_calls_in_order", calls_start_in_order},
      {"limiter_starts_calls_as_others_end", ends_let_others_start},
      {"limiter_counts_the_tokens_of_its_calls", tokens_are_those_of_its_calls},
      {"limiter_stops_calls_that_wait", waiting_calls_can_be_stopped})
