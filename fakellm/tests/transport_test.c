#include "ci/testing/testing.h"
#include "fakellm/tests/scripted.h"
#include "kernel/drive/loop.h"

#include <stdlib.h>

/* What a call heard, as "word@ms " each. */
struct heard {
    struct scripted script;
    struct loop *loop;
    struct sched *sched;
    struct transport *transport;
    struct http_call *call;
    struct buf log;
    struct buf body;
    size_t stop_at; /* stop inside the piece of this number; 0 = never */
    size_t pieces;
    bool free_at_end;
};

static void head(void *ctx, int status, struct str reason, const struct http_header *headers,
                 size_t n)
{
    struct heard *h = ctx;
    (void)reason;
    struct str wait = http_header_get(headers, n, "retry-after");
    buf_fmt(&h->log, "head %d@%llu ", status, (unsigned long long)sched_now(h->sched));
    if (wait.p != NULL) {
        buf_fmt(&h->log, "wait %.*s ", STR_FMT(wait));
    }
}

static void body(void *ctx, struct str piece)
{
    struct heard *h = ctx;
    h->pieces++;
    buf_add(&h->body, piece);
    buf_fmt(&h->log, "piece@%llu ", (unsigned long long)sched_now(h->sched));
    if (h->pieces == h->stop_at) {
        h->transport->ops->stop(h->transport, h->call);
    }
}

static void end(void *ctx, enum http_end how, struct str detail)
{
    struct heard *h = ctx;
    buf_fmt(&h->log, "%s@%llu%s", http_end_name(how), (unsigned long long)sched_now(h->sched),
            how == HTTP_MISMATCH && detail.n > 0 ? " told" : "");
    if (h->free_at_end) {
        h->transport->ops->free(h->transport);
        h->transport = NULL;
    }
}

static void begin(struct heard *h, const char *yaml, const char *request)
{
    h->script = scripted_new(yaml);
    h->loop = loop_new();
    h->sched = sched_virtual(h->loop);
    h->transport = transport_fake(h->script.session, h->sched);
    struct http_request rq = {STR("POST"), STR("http://x/v1/chat/completions"), NULL, 0,
                              str_of(request)};
    h->call = h->transport->ops->start(h->transport, &rq, (struct http_sink){h, head, body, end});
    CU_ASSERT_EQUAL(h->log.n, 0);
}

static void finish(struct heard *h, const char *want)
{
    loop_run(h->loop);
    buf_char(&h->log, '\0');
    CHECK_TEXT(h->log.p, want);
    if (h->transport != NULL) {
        h->transport->ops->free(h->transport);
    }
    sched_free(h->sched);
    loop_free(h->loop);
    scripted_free(&h->script);
    buf_free(&h->log);
    buf_free(&h->body);
}

static void delivers_each_piece_at_its_time(void)
{
    struct heard h = {0};
    begin(&h, "version: 1\nsteps: [{reply: {text: a, ttft_ms: 50, chunk_ms: 10}}]\n", ask_plain);
    finish(&h, "head 200@50 piece@50 clean@50");
    h = (struct heard){0};
    begin(&h,
          "version: 1\nsteps: [{reply: {text: abcdefghi}, fault: {kind: drip, bytes: 80, "
          "chunk_ms: 9, delay_ms: 5}}]\n",
          ask_plain);
    finish(&h, "head 200@5 piece@5 piece@14 piece@23 clean@23");
}

static void ends_say_what_happened(void)
{
    static const struct {
        const char *step;
        const char *want;
    } cases[] = {
        {"{fault: {kind: reset, delay_ms: 7}}", "reset@7"},
        {"{fault: {kind: reset, after_bytes: 10}}", "head 200@0 piece@0 reset@0"},
        {"{fault: {kind: hang}}", "timeout@60000"},
        {"{fault: {kind: hang, after_bytes: 10}}", "head 200@0 piece@0 timeout@60000"},
        {"{fault: {status: 429, retry_after_s: 3}}", "head 429@0 wait 3 piece@0 clean@0"},
        {"{expect: {turn: 9}, reply: {}}", "mismatch@0 told"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf yaml = {0};
        struct heard h = {0};
        buf_fmt(&yaml, "version: 1\nsteps: [%s]\n", cases[i].step);
        buf_char(&yaml, '\0');
        begin(&h, yaml.p, ask_plain);
        finish(&h, cases[i].want);
        buf_free(&yaml);
    }
}

static void nothing_follows_a_stop(void)
{
    struct heard h = {.stop_at = 2};
    begin(&h, "version: 1\nsteps: [{reply: {text: a, chunk_ms: 4}}]\n", ask_stream);
    finish(&h, "head 200@0 piece@0 piece@4 ");
    h = (struct heard){0};
    begin(&h, "version: 1\nsteps: [{reply: {text: a}}]\n", ask_stream);
    h.transport->ops->stop(h.transport, h.call);
    finish(&h, "");
    h = (struct heard){0};
    begin(&h, "version: 1\nsteps: [{reply: {text: a}}]\n", ask_stream);
    h.transport->ops->free(h.transport);
    h.transport = NULL;
    finish(&h, "");
}

static void may_be_freed_in_its_end(void)
{
    struct heard h = {.free_at_end = true};
    begin(&h, "version: 1\nsteps: [{reply: {text: a}}]\n", ask_plain);
    finish(&h, "head 200@0 piece@0 clean@0");
}

TESTS(fake_transport, {"delivers_each_piece_at_its_time", delivers_each_piece_at_its_time},
      {"ends_say_what_happened", ends_say_what_happened},
      {"nothing_follows_a_stop", nothing_follows_a_stop},
      {"may_be_freed_in_its_end", may_be_freed_in_its_end})
