#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/drive/limiter.h"
#include "kernel/drive/loop.h"

#include <stdlib.h>
#include <string.h>

/* ---- decisions ---- */

static const struct wire_quotas silent = {-1, {-1, -1, -1}, {-1, -1, -1}};

static uint64_t when(struct limits *l, int64_t tokens, uint64_t now, enum limits_why expected)
{
    enum limits_why why;
    uint64_t at = limits_when(l, tokens, now, &why);
    CU_ASSERT_EQUAL(why, expected);
    return at;
}

static struct limits_ticket start(struct limits *l, int64_t tokens, uint64_t now)
{
    CU_ASSERT_EQUAL(when(l, tokens, now, LIMITS_NOTHING), now);
    return limits_start(l, tokens, now);
}

static void requests_a_minute(void)
{
    struct limits *l = limits_new(&(struct limits_options){.rpm = 3, .in_flight = 100});
    start(l, 1, 1000);
    start(l, 1, 2000);
    start(l, 1, 2000);
    CU_ASSERT_EQUAL(when(l, 1, 3000, LIMITS_RPM), 61000);
    CU_ASSERT_EQUAL(when(l, 1, 60999, LIMITS_RPM), 61000);
    start(l, 1, 61000);
    CU_ASSERT_EQUAL(when(l, 1, 61000, LIMITS_RPM), 62000);
    start(l, 1, 62000);
    start(l, 1, 62000);
    CU_ASSERT_EQUAL(when(l, 1, 62000, LIMITS_RPM), 121000);
    limits_free(l);
}

static void tokens_a_minute(void)
{
    struct limits *l = limits_new(&(struct limits_options){.tpm = 1000, .in_flight = 100});
    start(l, 400, 0);
    struct limits_ticket second = start(l, 400, 10000);
    CU_ASSERT_EQUAL(when(l, 201, 20000, LIMITS_TPM), 60000);
    CU_ASSERT_EQUAL(when(l, 601, 20000, LIMITS_TPM), 70000);
    start(l, 200, 20000);
    limits_used(l, second, 100); /* fewer than thought */
    CU_ASSERT_EQUAL(when(l, 300, 20000, LIMITS_NOTHING), 20000);
    CU_ASSERT_EQUAL(when(l, 301, 20000, LIMITS_TPM), 60000);
    limits_used(l, second, 5000); /* more */
    CU_ASSERT_EQUAL(when(l, 1, 60000, LIMITS_TPM), 70000);
    limits_used(l, second, -1); /* not known */
    CU_ASSERT_EQUAL(when(l, 1, 60000, LIMITS_TPM), 70000);
    CU_ASSERT_EQUAL(when(l, 5000, 79999, LIMITS_TPM), 80000);
    start(l, 5000, 80000); /* larger than all, so alone */
    CU_ASSERT_EQUAL(when(l, 1, 80000, LIMITS_TPM), 140000);
    limits_used(l, second, 1); /* long gone */
    CU_ASSERT_EQUAL(when(l, 1, 80000, LIMITS_TPM), 140000);
    limits_free(l);
}

static void calls_at_once(void)
{
    struct limits *l = limits_new(&(struct limits_options){.in_flight = 8});
    struct limits_ticket t[8];
    for (size_t i = 0; i < 8; i++) {
        t[i] = start(l, 1, i);
    }
    CU_ASSERT_EQUAL(when(l, 1, 9, LIMITS_IN_FLIGHT), UINT64_MAX);
    CU_ASSERT_TRUE(limits_answer(l, t[0], 429, &silent, 10));
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 4);
    CU_ASSERT_FALSE(limits_answer(l, t[1], 429, &silent, 11)); /* of the same burst */
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 4);
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(when(l, 1, 12, LIMITS_IN_FLIGHT), UINT64_MAX);
        limits_over(l, LIMITS_OTHER);
    }
    struct limits_ticket after = start(l, 1, 13);
    CU_ASSERT_TRUE(limits_answer(l, after, 529, &silent, 14));
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 2);
    static const int64_t grows[] = {2, 3, 3, 3, 4}; /* by one for as many good ends */
    for (size_t i = 0; i < 4; i++) {
        limits_over(l, LIMITS_GOOD);
        CU_ASSERT_EQUAL(limits_in_flight_max(l), grows[i]);
    }
    start(l, 1, 15);
    limits_over(l, LIMITS_GOOD);
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 4);
    for (int i = 0; i < 100; i++) {
        start(l, 1, 16);
        limits_over(l, LIMITS_GOOD);
    }
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 8); /* never above what was asked for */
    for (int i = 0; i < 10; i++) {
        CU_ASSERT_EQUAL(limits_answer(l, start(l, 1, 17), 503, &silent, 17), i == 0);
        limits_over(l, LIMITS_OTHER);
    }
    CU_ASSERT_EQUAL(limits_in_flight_max(l), 1); /* never below one */
    limits_free(l);
}

static void pauses(void)
{
    struct limits *l = limits_new(&(struct limits_options){.in_flight = 8});
    struct wire_quotas q = silent;
    q.retry_after_ms = 2000;
    limits_answer(l, start(l, 1, 0), 200, &q, 10);
    CU_ASSERT_EQUAL(when(l, 1, 10, LIMITS_NOTHING), 10); /* a good answer asks for none */
    limits_answer(l, start(l, 1, 20), 429, &q, 30);
    limits_over(l, LIMITS_OTHER);
    limits_over(l, LIMITS_OTHER);
    CU_ASSERT_EQUAL(when(l, 1, 40, LIMITS_PAUSE), 2030);
    CU_ASSERT_EQUAL(when(l, 1, 2030, LIMITS_NOTHING), 2030);
    q.retry_after_ms = 3600000;
    limits_answer(l, start(l, 1, 2030), 429, &q, 3000);
    limits_over(l, LIMITS_OTHER);
    CU_ASSERT_EQUAL(when(l, 1, 3000, LIMITS_PAUSE), 63000);
    limits_free(l);
}

/* A bucket of 60 that is full again after 60 s gives one a second. */
static void providers_limits(void)
{
    struct limits *l = limits_new(&(struct limits_options){.in_flight = 8});
    struct wire_quotas q = silent;
    q.requests = (struct wire_quota){60, 1, 60000};
    limits_answer(l, start(l, 1, 0), 200, &q, 1000);
    start(l, 1, 1000);
    CU_ASSERT_EQUAL(when(l, 1, 1000, LIMITS_REQUESTS), 2000);
    q.requests = (struct wire_quota){-1, 0, 5000};
    limits_answer(l, start(l, 1, 2000), 200, &q, 3000);
    CU_ASSERT_EQUAL(when(l, 1, 3000, LIMITS_REQUESTS), 8000);
    CU_ASSERT_EQUAL(when(l, 1, 8000, LIMITS_NOTHING), 8000);
    q = silent;
    q.tokens = (struct wire_quota){1000, 100, 10000};
    limits_answer(l, start(l, 1, 8000), 200, &q, 9000);
    CU_ASSERT_EQUAL(when(l, 100, 9000, LIMITS_NOTHING), 9000);
    CU_ASSERT_EQUAL(when(l, 101, 9000, LIMITS_TOKENS), 9012); /* 1/900 of 10 s, rounded up */
    CU_ASSERT_EQUAL(when(l, 5000, 9000, LIMITS_TOKENS), 19000);
    limits_free(l);
}

static void long_limits_are_tried(void)
{
    struct limits *l = limits_new(&(struct limits_options){.in_flight = 8});
    struct wire_quotas q = silent;
    q.requests = (struct wire_quota){-1, 0, 8 * 3600 * 1000};
    limits_answer(l, start(l, 1, 0), 200, &q, 0);
    CU_ASSERT_EQUAL(when(l, 1, 0, LIMITS_REQUESTS), 60000);
    start(l, 1, 60000);
    CU_ASSERT_EQUAL(when(l, 1, 60000, LIMITS_REQUESTS), 120000); /* one asks, the others wait */
    limits_free(l);
}

/* ---- the transport ---- */

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

TESTS(limits, {"limits_count_requests_in_a_window_that_slides", requests_a_minute},
      {"limits_count_tokens_as_known", tokens_a_minute},
      {"limits_halve_calls_at_once_and_grow_again", calls_at_once},
      {"limits_pause_when_asked_to_but_not_for_ever", pauses},
      {"limits_heed_what_the_provider_says_is_left", providers_limits},
      {"limits_that_last_long_are_tried_once_a_minute", long_limits_are_tried},
      {"limiter_starts_calls_in_order", calls_start_in_order},
      {"limiter_starts_calls_as_others_end", ends_let_others_start},
      {"limiter_counts_the_tokens_of_its_calls", tokens_are_those_of_its_calls},
      {"limiter_stops_calls_that_wait", waiting_calls_can_be_stopped})
