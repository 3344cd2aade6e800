#include "ci/testing/testing.h"
#include "kernel/base/arena.h"
#include "kernel/drive/curl.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/tests/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

/* ---- a small server: plays the same pieces for every request ---- */

enum after {
    AFTER_CLOSE,
    AFTER_HANG,
    AFTER_DRIP,  /* a byte every so often, without end */
    AFTER_FLOOD, /* `flood` over and over */
    AFTER_NEXT   /* another request may follow */
};

struct play {
    const char *const *pieces; /* sent one after another; NULL-terminated */
    enum after after;
};

static struct {
    struct loop *loop;
    struct sched *sched;
    struct transport *transport;
    struct llm *llm;
    struct llm_call *call;
    struct loopback server;
    uv_timer_t later; /* to stop a call */
    struct play play;
    struct buf flood;
    struct transport_net net;
    struct endpoint_options more; /* key_from, headers and format of the endpoint */
    struct buf shown;             /* deltas */
    struct buf said;              /* the reply's or failure's text */
    struct buf noted;             /* the transport's words */
    struct failure failure;
    size_t ends;
    bool ok;
    bool stop_in_delta;
    bool both;
    struct loopback_peer *other;
} t;

static void send_next(uv_timer_t *pause);

static void on_flooded(uv_write_t *write, int status)
{
    struct loopback_peer *p = write->data;
    if (status != 0 || loopback_closing(p)) {
        loopback_close(p);
    } else {
        send_next(&p->pause);
    }
}

static void on_sent(uv_write_t *write, int status)
{
    struct loopback_peer *p = write->data;
    if (status != 0 || loopback_closing(p)) {
        loopback_close(p);
        return;
    }
    uv_timer_start(&p->pause, send_next, 1, 0); /* so that pieces come apart */
}

static void send_next(uv_timer_t *pause)
{
    struct loopback_peer *p = pause->data;
    const char *piece = t.play.pieces[p->at];
    if (piece != NULL) {
        p->at++;
        loopback_send(p, piece, on_sent);
        return;
    }
    switch (t.play.after) {
    case AFTER_CLOSE: loopback_close(p); return;
    case AFTER_HANG: return;
    case AFTER_DRIP: loopback_send(p, " ", on_sent); return;
    case AFTER_FLOOD: loopback_send_bytes(p, t.flood.p, t.flood.n, on_flooded); return;
    case AFTER_NEXT: p->at = 0; return;
    }
}

static void on_request(struct loopback_peer *p)
{
    if (t.other == NULL && t.both) {
        t.other = p; /* the first of two that are answered together */
        return;
    }
    if (t.both) {
        send_next(&t.other->pause);
    }
    send_next(&p->pause);
}

static void server_start(void)
{
    t.server.on_request = on_request;
    loopback_start(&t.server, loop_uv(t.loop));
}

/* ---- the client ---- */

static void on_delta(void *ctx, struct str text)
{
    (void)ctx;
    buf_add(&t.shown, text);
    buf_char(&t.shown, '|');
    if (t.stop_in_delta) {
        t.llm->ops->stop(t.llm, t.call);
    }
}

static void on_end(void *ctx, const struct reply *reply, const struct failure *failure)
{
    (void)ctx;
    CU_ASSERT_TRUE((reply == NULL) != (failure == NULL));
    t.ends++;
    t.ok = reply != NULL;
    buf_clear(&t.said);
    buf_add(&t.said, reply != NULL ? reply->content : failure->message);
    if (failure != NULL) {
        t.failure = *failure;
    }
}

static void on_note(void *ctx, struct str text)
{
    (void)ctx;
    buf_clear(&t.noted);
    buf_add(&t.noted, text);
}

/* Without a server: what is asked is looked at before it would be sent. */
static void begin_alone(void)
{
    memset(&t, 0, sizeof t);
    t.loop = loop_new();
    t.sched = sched_virtual(t.loop);
}

static void end_alone(void)
{
    sched_free(t.sched);
    loop_free(t.loop);
    buf_free(&t.server.request);
    buf_free(&t.shown);
    buf_free(&t.said);
    buf_free(&t.noted);
    buf_free(&t.flood);
}

static void begin(const char *const *pieces, enum after after)
{
    memset(&t, 0, sizeof t);
    t.loop = loop_new();
    t.sched = sched_real(t.loop);
    t.play = (struct play){pieces, after};
    server_start();
}

static void connect_with(int port, struct transport_limits limits, struct str key)
{
    struct buf url = {0};
    if (t.more.base_url.n == 0) {
        buf_fmt(&url, "http://127.0.0.1:%d", port);
    } else {
        buf_fmt(&url, "%.*s", STR_FMT(t.more.base_url));
    }
    struct endpoint_options o = {.format = t.more.format,
                                 .base_url = buf_str(&url),
                                 .api_key = key,
                                 .key_from = t.more.key_from,
                                 .headers = t.more.headers,
                                 .n_headers = t.more.n_headers,
                                 .sched = t.sched,
                                 .note = on_note};
    transport_set_net(t.loop, &t.net);
    t.transport = transport_curl(t.loop, t.sched, limits);
    t.llm = llm_endpoint(t.transport, &o);
    buf_free(&url);
}

static void connect_to(int port, struct transport_limits limits)
{
    connect_with(port, limits, STR("k-1\n"));
}

static void ask(bool stream)
{
    static struct message messages[1];
    messages[0] = (struct message){.role = ROLE_USER, .content = STR("Hi.")};
    static struct llm_request rq;
    rq = (struct llm_request){.model = STR("m-1"),
                              .messages = messages,
                              .n_messages = 1,
                              .stream = stream,
                              .max_tokens = -1};
    struct llm_sink sink = {.delta = on_delta, .end = on_end};
    t.call = t.llm->ops->start(t.llm, &rq, sink);
    CU_ASSERT_EQUAL(t.ends, 0);
}

static void end(void)
{
    t.llm->ops->free(t.llm);
    t.transport->ops->free(t.transport);
    loopback_stop(&t.server);
    end_alone();
}

static const char *text(struct buf *b)
{
    buf_char(b, '\0');
    b->n--;
    return b->p;
}

static void check_part(struct buf *b, const char *part)
{
    if (strstr(text(b), part) == NULL) {
        printf("\n  got  %s\n  want %s\n", b->p, part);
        CU_FAIL("text");
    }
}

#define REPLY                                                                                      \
    "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Hello.\"},"                  \
    "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}"

/* Everything but the body's length, which whole_answer adds. */
static const char *whole_answer(const char *status, const char *headers, const char *body)
{
    static char out[2000];
    int n = snprintf(out, sizeof out, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status,
                     headers, strlen(body), body);
    CU_ASSERT_FATAL(n > 0 && (size_t)n < sizeof out);
    return out;
}

static void json_answer_is_a_reply(void)
{
    const char *pieces[] = {whole_answer("200 OK", "Content-Type: application/json\r\n", REPLY),
                            NULL};
    begin(pieces, AFTER_NEXT);
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(false);
    loop_run(t.loop);
    CU_ASSERT_TRUE(t.ok);
    CHECK_TEXT(text(&t.said), "Hello.");
    CU_ASSERT_EQUAL(t.shown.n, 0);
    check_part(&t.server.request, "POST /v1/chat/completions HTTP/1.1\r\n");
    check_part(&t.server.request, "Content-Type: application/json\r\n");
    check_part(&t.server.request, "Authorization: Bearer k-1\r\n");
    check_part(&t.server.request, "Accept-Encoding: identity\r\n");
    check_part(&t.server.request, "{\"model\":\"m-1\"");
    CU_ASSERT_PTR_NULL(strstr(t.server.request.p, "Expect"));
    t.ends = 0;
    ask(false); /* over the same connection */
    loop_run(t.loop);
    CU_ASSERT_TRUE(t.ok);
    CU_ASSERT_EQUAL(t.server.requests, 2);
    CU_ASSERT_EQUAL(t.server.connections, 1);
    end();
}

#define EVENT(delta, finish)                                                                       \
    "data: {\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":" finish "}]}\n\n"

static const char *const stream_pieces[] = {
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n",
    EVENT("{\"role\":\"assistant\",\"content\":\"Hel\"}", "null"),
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"cont",
    "ent\":\"lo.\"},\"finish_reason\":null}]}\n\n",
    EVENT("{}", "\"stop\""),
    "data: [DONE]\n\n",
    NULL};

static void stream_is_shown_piece_by_piece(void)
{
    begin(stream_pieces, AFTER_CLOSE);
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(true);
    loop_run(t.loop);
    CU_ASSERT_TRUE(t.ok);
    CHECK_TEXT(text(&t.said), "Hello.");
    CHECK_TEXT(text(&t.shown), "Hel|lo.|");
    check_part(&t.server.request, "\"stream\":true");
    CU_ASSERT_EQUAL(t.ends, 1);
    end();
}

static void cut_stream_fails_and_says_it_was_shown(void)
{
    static const char *const pieces[] = {
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n",
        EVENT("{\"role\":\"assistant\",\"content\":\"Hel\"}", "null"), NULL};
    begin(pieces, AFTER_CLOSE);
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(true);
    loop_run(t.loop);
    CU_ASSERT_FALSE(t.ok);
    CU_ASSERT_EQUAL(t.failure.class, FAIL_CONNECT);
    CU_ASSERT_TRUE(t.failure.shown);
    check_part(&t.said, "closed the connection before its answer was complete");
    check_part(&t.noted, "bytes remaining to read");
    end();
}

/* What a bad answer is taken for. */
struct bad_case {
    const char *status;
    const char *headers;
    const char *body;
    enum fail_class class;
    int code;
    int64_t retry_after_ms;
    const char *said;
};

static void bad_answers_fail_by_kind(void)
{
    static const struct bad_case cases[] = {
        {"200 OK", "Content-Type: text/html\r\n", "<html><body>Welcome</body></html>",
         FAIL_PROTOCOL, 200, -1, "HTML"},
        {"200 OK", "", "{\"choices\":[", FAIL_PROTOCOL, 200, -1, "cut"},
        {"429 Too Many Requests", "Retry-After: 2\r\n", "{\"error\":{\"message\":\"slow down\"}}",
         FAIL_RATE_LIMIT, 429, 2000, "slow down"},
        {"500 Internal Server Error", "", "oops", FAIL_SERVER, 500, -1, ""},
        {"401 Unauthorized", "", "{\"error\":{\"message\":\"bad key\"}}", FAIL_AUTH, 401, -1,
         "bad key"},
        {"302 Found", "Location: http://127.0.0.1:1/\r\n", "", FAIL_REQUEST, 302, -1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct bad_case *c = &cases[i];
        const char *pieces[] = {whole_answer(c->status, c->headers, c->body), NULL};
        begin(pieces, AFTER_NEXT);
        connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
        ask(false);
        loop_run(t.loop);
        CU_ASSERT_FALSE(t.ok);
        CHECK_TEXT(fail_name(t.failure.class), fail_name(c->class));
        CU_ASSERT_EQUAL(t.failure.status, c->code);
        CU_ASSERT_EQUAL(t.failure.retry_after_ms, c->retry_after_ms);
        CU_ASSERT_FALSE(t.failure.shown);
        CU_ASSERT_TRUE(t.said.n > 0);
        check_part(&t.said, c->said);
        CU_ASSERT_EQUAL(t.server.requests, 1);
        end();
    }
}

static void no_failure_holds_the_key(void)
{
    static const struct {
        const char *status;
        const char *body;
        const char *said;
    } cases[] = {
        {"401 Unauthorized",
         "{\"error\":{\"message\":\"my-secret? (my-secret-my-secret) no my-secre, my-secret\"}}",
         "REDACTED? (REDACTED-REDACTED) no my-secre, REDACTED"},
        {"200 OK", "{\"error\":{\"message\":\"my-secret\"}}", "REDACTED"},
        {"500 Oh", "my-secret is wrong", "REDACTED is wrong"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *pieces[] = {whole_answer(cases[i].status, "", cases[i].body), NULL};
        begin(pieces, AFTER_NEXT);
        connect_with(t.server.port, TRANSPORT_LIMITS_DEFAULT, STR(" my-secret\n"));
        ask(false);
        loop_run(t.loop);
        CU_ASSERT_FALSE(t.ok);
        check_part(&t.server.request, "Authorization: Bearer my-secret\r\n");
        check_part(&t.said, cases[i].said);
        CU_ASSERT_PTR_NULL(strstr(text(&t.said), "my-secret"));
        CU_ASSERT_PTR_NULL(strstr(text(&t.noted), "my-secret"));
        end();
    }
}

static void early_close_is_a_broken_connection(void)
{
    static const char *const nothing[] = {NULL};
    static const char *const half[] = {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", "{\"choi",
                                       NULL};
    static const char *const head[] = {"HTTP/1.1 200 OK\r\nContent-Le", NULL};
    const char *const *const all[] = {nothing, half, head};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        begin(all[i], AFTER_CLOSE);
        connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
        ask(false);
        loop_run(t.loop);
        CU_ASSERT_FALSE(t.ok);
        CHECK_TEXT(fail_name(t.failure.class), "connection");
        check_part(&t.said, "closed the connection before its answer was complete");
        end();
    }
}

static void silence_is_a_timeout(void)
{
    static const char *const nothing[] = {NULL};
    static const char *const half[] = {"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n",
                                       "{\"choi", NULL};
    static const struct transport_limits first = {10000, 50, 0, 600000, false},
                                         idle = {10000, 0, 50, 600000, false},
                                         total = {10000, 0, 0, 80, false};
    static const struct {
        const char *const *pieces;
        enum after after;
        const struct transport_limits *limits;
        const char *noted;
    } cases[] = {{nothing, AFTER_HANG, &first, "first-byte=0.05 s passed"},
                 {half, AFTER_HANG, &idle, "idle=0.05 s passed"},
                 {half, AFTER_HANG, &total, "total=0.08 s passed"},
                 {half, AFTER_DRIP, &total, "total=0.08 s passed"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(cases[i].pieces, cases[i].after);
        connect_to(t.server.port, *cases[i].limits);
        ask(false);
        loop_run(t.loop);
        CU_ASSERT_FALSE(t.ok);
        CHECK_TEXT(fail_name(t.failure.class), "timeout");
        check_part(&t.said, "hangs or is overloaded");
        check_part(&t.noted, cases[i].noted);
        end();
    }
}

/* Until TLS stands there is no connection. */
static void unfinished_connection_is_a_timeout(void)
{
    static const char *const nothing[] = {NULL};
    struct buf url = {0};
    begin(nothing, AFTER_HANG);
    buf_fmt(&url, "https://127.0.0.1:%d/v1", t.server.port);
    t.more.base_url = buf_str(&url);
    connect_to(t.server.port, (struct transport_limits){50, 0, 0, 600000, false});
    ask(false);
    loop_run(t.loop);
    CHECK_TEXT(fail_name(t.failure.class), "timeout");
    check_part(&t.noted, "connect=0.05 s passed");
    buf_free(&url);
    end();
}

/* A name that cannot be one (RFC 1035: 63 letters at most), so that no name server is asked. */
#define NOWHERE "nowhere-nowhere-nowhere-nowhere-nowhere-nowhere-nowhere-nowhere-nowhere.invalid"

/* What is no TLS at all, and a name that does not exist. */
static void no_connection_is_explained(void)
{
    static const char *const pieces[] = {"HTTP/1.1 200 OK\r\n\r\n", NULL};
    static const struct {
        const char *url, *noted;
    } cases[] = {{"https://127.0.0.1:%d/v1", "speak https?"},
                 {"http://" NOWHERE "/v1", "is the host's name right"}};
    for (size_t i = 0; i < 2; i++) {
        struct buf url = {0};
        begin(pieces, AFTER_CLOSE);
        if (i == 0) {
            buf_fmt(&url, "https://127.0.0.1:%d/v1", t.server.port);
        } else {
            buf_addz(&url, cases[i].url);
        }
        /* plain text is sent to whoever connects */
        t.server.greets = true;
        t.more.base_url = buf_str(&url);
        connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
        ask(false);
        loop_run(t.loop);
        CHECK_TEXT(fail_name(t.failure.class), "connection");
        check_part(&t.noted, cases[i].noted);
        buf_free(&url);
        end();
    }
}

static void proxies_are_those_that_were_set(void)
{
    const char *pieces[] = {whole_answer("200 OK", "Content-Type: application/json\r\n", REPLY),
                            NULL};
    struct buf proxy = {0};
    begin(pieces, AFTER_NEXT);
    buf_fmt(&proxy, "http://user:pass@127.0.0.1:%d", t.server.port);
    t.net = (struct transport_net){.http_proxy = buf_str(&proxy), .no_proxy = STR("127.0.0.1")};
    t.more.base_url = STR("http://nowhere.invalid/v1");
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(false);
    loop_run(t.loop);
    CU_ASSERT_TRUE(t.ok);
    check_part(&t.server.request, "POST http://nowhere.invalid/v1/chat/completions HTTP/1.1\r\n");
    check_part(&t.server.request, "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n");
    end();
    begin(pieces, AFTER_NEXT);
    t.net = (struct transport_net){.http_proxy = STR("http://127.0.0.1:1"),
                                   .no_proxy = STR("127.0.0.1")};
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(false);
    loop_run(t.loop);
    CU_ASSERT_TRUE(t.ok); /* not through it */
    CU_ASSERT_EQUAL(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    t.net = (struct transport_net){.http_proxy = {NULL, 0}};
    end();
    begin(pieces, AFTER_NEXT);
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(false);
    loop_run(t.loop);
    CU_ASSERT_TRUE(t.ok); /* the environment is for others to read */
    CU_ASSERT_EQUAL(unsetenv("http_proxy"), 0);
    end();
    buf_free(&proxy);
}

/* A body and headers without end, and a body that unpacks to far more than it is. */
static void too_large_answers_are_cut_off(void)
{
    static const char *const body[] = {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"a\":\"", NULL};
    static const char *const head[] = {"HTTP/1.1 200 OK\r\n", NULL};
    static const char *const coded[] = {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n",
        NULL};
    static const struct {
        const char *const *pieces;
        const char *flood;
        const char *said, *noted;
    } cases[] = {{body, "xxxxxxxxxxxxxxxx", "larger than 64 MiB", "bigger than"},
                 {head, "X-A: xxxxxxxx\r\n", "", "headers"},
                 {coded, NULL, "larger than 64 MiB", "bigger than"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(cases[i].pieces, AFTER_FLOOD);
        if (cases[i].flood == NULL) {
            FILE *gzip = popen("head -c 80000000 /dev/zero | gzip -1", "r");
            char part[4096];
            CU_ASSERT_PTR_NOT_NULL_FATAL(gzip);
            for (size_t n; (n = fread(part, 1, sizeof part, gzip)) > 0;) {
                buf_add(&t.flood, (struct str){part, n});
            }
            CU_ASSERT_EQUAL(pclose(gzip), 0);
        }
        while (cases[i].flood != NULL && t.flood.n < (1 << 18)) {
            buf_addz(&t.flood, cases[i].flood);
        }
        connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
        ask(false);
        loop_run(t.loop);
        CU_ASSERT_FALSE(t.ok);
        check_part(&t.said, cases[i].said);
        check_part(&t.noted, cases[i].noted);
        end();
    }
}

/* What a user reads beside the failure itself. */
static void notes_say_what_to_try(void)
{
    static const struct {
        const char *status, *headers, *body, *key;
        const char *noted;
    } cases[] = {
        {"401 Unauthorized", "x-request-id: req_1\r\n", "{}", "k-12345",
         "is the API key right? It is from MY_KEY; x-request-id req_1"},
        {"401 Unauthorized", "request-id: req_2\r\ncf-ray: r\r\n", "{}", "",
         "is the API key right? MY_KEY is not set; request-id req_2"},
        {"404 Not Found", "cf-ray: 8c13-SYD\r\n", "{}", "k-12345",
         "are the base URL and the name of the model right? Asked http://127.0.0.1:"},
        {"404 Not Found", "cf-ray: 8c13-SYD\r\n", "{}", "k-12345", "; cf-ray 8c13-SYD"},
        {"429 Too Many Requests", "", "{\"error\":{\"code\":\"insufficient_quota\"}}", "",
         "quota is used up"},
        {"429 Too Many Requests", "", "{}", "", "--rpm"},
        {"503 Service Unavailable", "apim-request-id: a-1\r\n", "{}", "",
         "in trouble; try again later; apim-request-id a-1"},
        {"307 Temporary Redirect", "Location: https://b.example/v1?key=s3cret\r\n", "", "k-12345",
         "is the base URL right?; to https://b.example/v1"},
        {"200 OK", "x-request-id: req_3\r\n", "{\"error\":{\"message\":\"odd\"}}", "",
         "x-request-id req_3"},
        {"200 OK", "Content-Type: text/html\r\n", "<html></html>", "", "asked http://127.0.0.1:"},
        {"401 Unauthorized", "x-request-id: k-12345\r\n", "{}", "k-12345", "x-request-id REDACTED"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *pieces[] = {whole_answer(cases[i].status, cases[i].headers, cases[i].body),
                                NULL};
        begin(pieces, AFTER_NEXT);
        t.more.key_from = STR("MY_KEY");
        connect_with(t.server.port, TRANSPORT_LIMITS_DEFAULT, str_of(cases[i].key));
        ask(false);
        loop_run(t.loop);
        CU_ASSERT_FALSE(t.ok);
        check_part(&t.noted, cases[i].noted);
        CU_ASSERT_PTR_NULL(strstr(text(&t.noted), "s3cret"));
        CU_ASSERT_EQUAL(t.server.requests, 1);
        end();
    }
}

/* How servers that speak OpenAI's format say that something is wrong. */
static void other_servers_errors_are_understood(void)
{
    static const struct {
        const char *status, *body;
        enum fail_class class;
        const char *said;
    } cases[] = {
        /* llama.cpp while it loads */
        {"503 Service Unavailable",
         "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}",
         FAIL_OVERLOADED, "Loading model"},
        /* vLLM */
        {"400 Bad Request",
         "{\"object\":\"error\",\"message\":\"max context is 4096\",\"type\":"
         "\"BadRequestError\",\"param\":null,\"code\":400}",
         FAIL_REQUEST, "max context is 4096"},
        /* Ollama's own API, and behind /v1 */
        {"404 Not Found", "{\"error\":\"model 'x' not found\"}", FAIL_REQUEST,
         "model 'x' not found"},
        {"404 Not Found",
         "{\"error\":{\"message\":\"model 'x' not found\",\"type\":\"api_error\",\"param\":null,"
         "\"code\":null}}",
         FAIL_REQUEST, "model 'x' not found"},
        /* OpenRouter: its code is a number */
        {"429 Too Many Requests",
         "{\"error\":{\"code\":429,\"message\":\"Rate limit exceeded\",\"metadata\":{}}}",
         FAIL_RATE_LIMIT, "Rate limit exceeded"},
        {"200 OK", "{\"error\":{\"code\":502,\"message\":\"Provider returned error\"}}",
         FAIL_SERVER, "Provider returned error"},
        /* Azure */
        {"404 Not Found", "{\"error\":{\"code\":\"404\",\"message\":\"Resource not found\"}}",
         FAIL_REQUEST, "Resource not found"},
        {"401 Unauthorized",
         "{\"statusCode\":401,\"message\":\"Access denied due to invalid subscription key\"}",
         FAIL_AUTH, "Access denied"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *pieces[] = {whole_answer(cases[i].status, "", cases[i].body), NULL};
        begin(pieces, AFTER_NEXT);
        connect_with(t.server.port, TRANSPORT_LIMITS_DEFAULT, STR(""));
        ask(false);
        loop_run(t.loop);
        CU_ASSERT_FALSE(t.ok);
        CHECK_TEXT(fail_name(t.failure.class), fail_name(cases[i].class));
        check_part(&t.said, cases[i].said);
        CU_ASSERT_PTR_NULL(strstr(text(&t.server.request), "Authorization"));
        end();
    }
}

/* Nobody knows yet whether the first connection could be shared. */
static void calls_do_not_wait_for_each_other(void)
{
    const char *pieces[] = {whole_answer("200 OK", "", REPLY), NULL};
    begin(pieces, AFTER_NEXT);
    t.both = true;
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(false);
    ask(false);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.ends, 2);
    CU_ASSERT_TRUE(t.ok);
    CU_ASSERT_EQUAL(t.server.connections, 2);
    end();
}

/* Whether so many files may be open at once, the limit being raised where that helps. */
static bool may_open(rlim_t n)
{
    struct rlimit files;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_cur < n && files.rlim_max >= n) {
        files.rlim_cur = n;
        CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &files), 0);
    }
    return files.rlim_cur >= n;
}

/* More calls than one hub takes; each ends. */
static void many_calls_are_spread(void)
{
    const char *pieces[] = {whole_answer("200 OK", "", REPLY), NULL};
    enum { MANY = 600, SPARE = 100 };
    if (!may_open(2 * MANY + SPARE)) { /* both ends of each connection are ours */
        testing_skip("too few files may be open (ulimit -n)");
        return;
    }
    begin(pieces, AFTER_NEXT);
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    for (size_t round = 1; round <= 2; round++) {
        for (int i = 0; i < MANY; i++) {
            t.ends = 0;
            ask(false);
        }
        loop_run(t.loop);
        CU_ASSERT_EQUAL(t.ends, MANY);
        CU_ASSERT_EQUAL(t.server.requests, round * MANY);
        CU_ASSERT_TRUE(t.server.connections <= MANY); /* the second time over those of the first */
    }
    end();
}

/* Ollama's missing usage. */
static void reply_without_usage_is_one(void)
{
    const char *pieces[] = {
        whole_answer("200 OK", "",
                     "{\"choices\":[{\"message\":{\"content\":\"Hi.\"},\"finish_reason\":"
                     "\"stop\"}]}"),
        NULL};
    begin(pieces, AFTER_NEXT);
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(false);
    loop_run(t.loop);
    CU_ASSERT_TRUE(t.ok);
    CHECK_TEXT(text(&t.said), "Hi.");
    CHECK_TEXT(text(&t.noted), "");
    end();
}

static void closed_port_is_refused(void)
{
    static const char *const nothing[] = {NULL};
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    begin(nothing, AFTER_CLOSE);
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* bound, but it does not listen */
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&address, size), 0);
    CU_ASSERT_EQUAL(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    connect_to(ntohs(address.sin_port), TRANSPORT_LIMITS_DEFAULT);
    ask(false);
    loop_run(t.loop);
    CU_ASSERT_FALSE(t.ok);
    CHECK_TEXT(fail_name(t.failure.class), "connection");
    CU_ASSERT_EQUAL(t.failure.status, 0);
    check_part(&t.said, "is the server running");
    check_part(&t.noted, "127.0.0.1");
    close(fd);
    end();
}

static void stop_now(uv_timer_t *timer)
{
    t.llm->ops->stop(t.llm, t.call);
    uv_close((uv_handle_t *)timer, NULL);
}

static void stopped_call_is_silent(void)
{
    static const char *const half[] = {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", "{\"choi",
                                       NULL};
    begin(half, AFTER_HANG);
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    ask(false);
    uv_timer_init(loop_uv(t.loop), &t.later);
    uv_timer_start(&t.later, stop_now, 20, 0);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.ends, 0);
    end();
}

static void may_be_stopped_from_its_own_delta(void)
{
    begin(stream_pieces, AFTER_CLOSE);
    connect_to(t.server.port, TRANSPORT_LIMITS_DEFAULT);
    t.stop_in_delta = true;
    ask(true);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.ends, 0);
    CHECK_TEXT(text(&t.shown), "Hel|");
    end();
}

/* ---- without a network: what is asked of the transport ---- */

static struct http_call *capture_start(struct transport *transport, const struct http_request *rq,
                                       struct http_sink sink)
{
    (void)transport;
    (void)sink;
    t.server.requests++;
    buf_clear(&t.server.request);
    buf_add(&t.server.request, rq->url);
    for (size_t i = 0; i < rq->n_headers; i++) {
        buf_addz(&t.shown, "|");
        buf_add(&t.shown, rq->headers[i].name);
        buf_addz(&t.shown, ": ");
        buf_add(&t.shown, rq->headers[i].value);
    }
    return (struct http_call *)&t;
}

static void capture_stop(struct transport *transport, struct http_call *call)
{
    (void)transport;
    (void)call;
}

static const struct transport_ops capture_ops = {capture_start, capture_stop, NULL, NULL};

static void addresses_are_made_whole(void)
{
    static const struct {
        enum wire_format format;
        const char *base, *url;
    } cases[] = {
        {WIRE_CHAT, "", "https://api.openai.com/v1/chat/completions"},
        {WIRE_CHAT, "http://h:1", "http://h:1/v1/chat/completions"},
        {WIRE_CHAT, "http://h:1/", "http://h:1/v1/chat/completions"},
        {WIRE_CHAT, "http://h:1/v1", "http://h:1/v1/chat/completions"},
        {WIRE_CHAT, " http://h:1/v1// ", "http://h:1/v1/chat/completions"},
        {WIRE_CHAT, "http://h:1/api/x", "http://h:1/api/x/chat/completions"},
        {WIRE_CHAT, "h:1", "h:1/v1/chat/completions"},
        {WIRE_CHAT, "http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"},
        {WIRE_CHAT, "http://h:1/d/x?api-version=2",
         "http://h:1/d/x/chat/completions?api-version=2"},
        {WIRE_CHAT, "http://h:1?k=v", "http://h:1/v1/chat/completions?k=v"},
        {WIRE_CHAT, "http://h:1/v1/#top", "http://h:1/v1/chat/completions"},
        {WIRE_RESPONSES, "", "https://api.openai.com/v1/responses"},
        {WIRE_RESPONSES, "http://h:1/v1/", "http://h:1/v1/responses"},
        {WIRE_MESSAGES, "", "https://api.anthropic.com/v1/messages"},
        {WIRE_MESSAGES, "http://h:1", "http://h:1/v1/messages"},
        {WIRE_MESSAGES, "http://h:1/v1/", "http://h:1/v1/messages"},
        {WIRE_MESSAGES, "http://h:1/v1/messages", "http://h:1/v1/messages"},
        /* "Using the Anthropic API" of DeepSeek, "Claude in Microsoft Foundry" of Anthropic */
        {WIRE_MESSAGES, "https://api.deepseek.com/anthropic",
         "https://api.deepseek.com/anthropic/v1/messages"},
        {WIRE_MESSAGES, "https://x.services.ai.azure.com/anthropic/",
         "https://x.services.ai.azure.com/anthropic/v1/messages"},
        {WIRE_MESSAGES, "https://x.services.ai.azure.com",
         "https://x.services.ai.azure.com/anthropic/v1/messages"},
        {WIRE_CHAT, "https://x.openai.azure.com",
         "https://x.openai.azure.com/openai/v1/"
         "chat/completions"},
        {WIRE_RESPONSES, "https://x.openai.azure.com/openai/v1/",
         "https://x.openai.azure.com/openai/v1/responses"},
        {WIRE_CHAT, "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
         "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version="
         "2024-10-21"},
        {WIRE_CHAT, "https://openrouter.ai/api/v1",
         "https://openrouter.ai/api/v1/"
         "chat/completions"},
    };
    struct message hi = {.role = ROLE_USER, .content = STR("Hi.")};
    struct llm_request rq = {
        .model = STR("m-1"), .messages = &hi, .n_messages = 1, .max_tokens = -1};
    struct transport capture = {&capture_ops};
    begin_alone();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint_options o = {
            .format = cases[i].format, .base_url = str_of(cases[i].base), .sched = t.sched};
        struct llm *m = llm_endpoint(&capture, &o);
        struct llm_call *c = m->ops->start(m, &rq, (struct llm_sink){0});
        CHECK_TEXT(text(&t.server.request), cases[i].url);
        buf_free(&t.shown);
        m->ops->stop(m, c);
        m->ops->free(m);
    }
    end_alone();
}

/* Sources: "Authentication" of OpenAI's and Anthropic's API references, "REST API reference" of
 * Azure OpenAI. */
static void headers_are_the_providers(void)
{
    const struct http_header own[] = {{STR("X-Title"), STR("t")},
                                      {STR("anthropic-version"), STR("2030-01-01")}};
    static const struct {
        enum wire_format format;
        const char *base, *key;
        size_t n_own;
        const char *headers;
    } cases[] = {
        {WIRE_CHAT, "http://h", "k-1", 0, "|Authorization: Bearer k-1"},
        {WIRE_RESPONSES, "", "k-1", 1, "|Authorization: Bearer k-1|X-Title: t"},
        {WIRE_CHAT, "http://h", "", 0, ""},
        {WIRE_MESSAGES, "", "k-1", 0, "|x-api-key: k-1|anthropic-version: 2023-06-01"},
        {WIRE_MESSAGES, "", "k-1", 2, "|x-api-key: k-1|X-Title: t|anthropic-version: 2030-01-01"},
        {WIRE_CHAT, "https://X.OpenAI.Azure.com:443/openai/v1", "k-1", 0, "|api-key: k-1"},
        {WIRE_CHAT, "https://x.openai.azure.com.evil.org/v1", "k-1", 0,
         "|Authorization: Bearer k-1"},
        {WIRE_CHAT, "https://openai.azure.com/v1", "k-1", 0, "|Authorization: Bearer k-1"},
    };
    struct message hi = {.role = ROLE_USER, .content = STR("Hi.")};
    struct llm_request rq = {
        .model = STR("m-1"), .messages = &hi, .n_messages = 1, .max_tokens = 10};
    struct transport capture = {&capture_ops};
    begin_alone();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct endpoint_options o = {.format = cases[i].format,
                                     .base_url = str_of(cases[i].base),
                                     .api_key = str_of(cases[i].key),
                                     .headers = own,
                                     .n_headers = cases[i].n_own,
                                     .sched = t.sched};
        struct llm *m = llm_endpoint(&capture, &o);
        struct llm_call *c = m->ops->start(m, &rq, (struct llm_sink){0});
        struct buf all = {0};
        buf_fmt(&all, "|Content-Type: application/json%s", cases[i].headers);
        CHECK_TEXT(text(&t.shown), text(&all));
        buf_free(&all);
        buf_free(&t.shown);
        m->ops->stop(m, c);
        m->ops->free(m);
    }
    end_alone();
}

static void broken_history_is_never_sent(void)
{
    struct message messages[] = {
        {.role = ROLE_USER, .content = STR("Hi.")},
        {.role = ROLE_TOOL, .content = STR("4.2"), .call_id = STR("c9")},
    };
    struct llm_request rq = {
        .model = STR("m-1"), .messages = messages, .n_messages = 2, .max_tokens = -1};
    struct transport capture = {&capture_ops};
    begin_alone();
    struct endpoint_options o = {.format = WIRE_CHAT, .sched = t.sched};
    struct llm *m = llm_endpoint(&capture, &o);
    struct llm_call *c = m->ops->start(m, &rq, (struct llm_sink){.end = on_end});
    CU_ASSERT_EQUAL(t.ends, 0);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.ends, 1);
    CU_ASSERT_FALSE(t.ok);
    CHECK_TEXT(fail_name(t.failure.class), "history");
    CU_ASSERT_TRUE(t.said.n > 0);
    CU_ASSERT_EQUAL(t.server.requests, 0);
    c = m->ops->start(m, &rq, (struct llm_sink){.end = on_end});
    m->ops->stop(m, c);
    loop_run(t.loop);
    CU_ASSERT_EQUAL(t.ends, 1);
    m->ops->free(m);
    end_alone();
}

TESTS(endpoint, {"endpoint_makes_a_reply_of_a_json_answer", json_answer_is_a_reply},
      {"endpoint_shows_a_stream_piece_by_piece", stream_is_shown_piece_by_piece},
      {"endpoint_says_that_a_cut_stream_was_shown", cut_stream_fails_and_says_it_was_shown},
      {"endpoint_tells_bad_answers_by_kind", bad_answers_fail_by_kind},
      {"endpoint_failures_never_hold_the_key", no_failure_holds_the_key},
      {"endpoint_takes_an_early_close_for_a_broken_connection", early_close_is_a_broken_connection},
      {"endpoint_takes_silence_for_a_timeout", silence_is_a_timeout},
      {"endpoint_says_what_to_check_when_refused", closed_port_is_refused},
      {"endpoint_is_silent_after_stop", stopped_call_is_silent},
      {"endpoint_may_be_stopped_from_its_own_delta", may_be_stopped_from_its_own_delta},
      {"endpoint_makes_addresses_whole", addresses_are_made_whole},
      {"endpoint_sends_the_providers_headers", headers_are_the_providers},
      {"endpoint_takes_a_connection_without_tls_for_a_timeout", unfinished_connection_is_a_timeout},
      {"endpoint_explains_why_there_is_no_connection", no_connection_is_explained},
      {"endpoint_uses_the_proxies_that_were_set", proxies_are_those_that_were_set},
      {"endpoint_cuts_off_what_is_too_large", too_large_answers_are_cut_off},
      {"endpoint_notes_say_what_to_try", notes_say_what_to_try},
      {"endpoint_understands_other_servers_errors", other_servers_errors_are_understood},
      {"endpoint_calls_do_not_wait_for_each_other", calls_do_not_wait_for_each_other},
      {"endpoint_spreads_many_calls_and_keeps_their_connections", many_calls_are_spread},
      {"endpoint_takes_a_reply_without_usage", reply_without_usage_is_one},
      {"endpoint_never_sends_a_broken_history", broken_history_is_never_sent})
