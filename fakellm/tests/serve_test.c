#include "fakellm/serve.h"

#include "ci/testing/testing.h"
#include "fakellm/fake.h"
#include "kernel/base/arena.h"
#include "kernel/drive/curl.h"
#include "kernel/drive/files.h"

#include <string.h>

/* A server, and a client on the same loop. */
static struct {
    struct loop *loop;
    struct sched *sched;
    struct transport *client;
    struct arena *arena;
    struct buf notes; /* a line each */
    struct buf got;   /* "STATUS\nNAME: VALUE\n…\n\nBODY" */
    enum http_end ended;
    size_t under_way;
} t;

static void begin(void)
{
    memset(&t, 0, sizeof t);
    t.loop = loop_new();
    t.sched = sched_real(t.loop);
    t.client = transport_curl(t.loop, t.sched, TRANSPORT_LIMITS_DEFAULT);
    t.arena = arena_new();
}

static void finish(void)
{
    t.client->ops->free(t.client);
    sched_free(t.sched);
    loop_run(t.loop);
    loop_free(t.loop);
    arena_free(t.arena);
    buf_free(&t.notes);
    buf_free(&t.got);
}

static void on_note(void *ctx, struct str line)
{
    (void)ctx;
    buf_add(&t.notes, line);
    buf_char(&t.notes, '\n');
}

static struct serve_options options(enum serve_source source, const char *path)
{
    return (struct serve_options){
        .loop = t.loop,
        .address = "127.0.0.1",
        .source = source,
        .path = path,
        .limits = SERVER_LIMITS_DEFAULT,
        .sessions_max = 1000,
        .note = on_note,
    };
}

static struct serve *serve_with(const struct serve_options *o)
{
    struct serve *v = NULL;
    struct err e = {0};
    int rc = serve_new(o, &v, &e);
    if (rc != 0) {
        printf("\n%s\n", e.message);
    }
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return v;
}

static void serve_end(struct serve *v)
{
    struct err e = {0};
    int rc = serve_free(v, &e);
    if (rc != 0) {
        printf("\n%s\n", e.message);
    }
    CU_ASSERT_EQUAL(rc, 0);
}

static const char *write_file(const char *dir, const char *name, const char *text)
{
    struct err e = {0};
    const char *path = path_join(t.arena, dir, name);
    int rc = file_replace(path, str_of(text), &e);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return path;
}

static struct serve *serve_script(const char *text)
{
    const char *path = write_file(testing_dir(), "s.script.yaml", text);
    struct serve_options o = options(SERVE_SCRIPT, path);
    return serve_with(&o);
}

/* ---- the client ---- */

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n)
{
    (void)ctx;
    (void)reason;
    buf_fmt(&t.got, "%d\n", status);
    for (size_t i = 0; i < n; i++) {
        buf_fmt(&t.got, "%.*s: %.*s\n", STR_FMT(headers[i].name), STR_FMT(headers[i].value));
    }
    buf_char(&t.got, '\n');
}

static void on_body(void *ctx, struct str piece)
{
    (void)ctx;
    buf_add(&t.got, piece);
}

static void on_end(void *ctx, enum http_end end, struct str detail)
{
    (void)ctx;
    (void)detail;
    t.ended = end;
    t.under_way--;
    loop_stop(t.loop);
}

struct asked {
    const char *method; /* NULL: POST */
    const char *path;
    const char *header; /* "name: value", or NULL */
    const char *body;
};

/* What came, with a NUL behind; valid until the next question. */
static const char *ask(const struct serve *v, struct asked a)
{
    struct http_header headers[2] = {{STR("Content-Type"), STR("application/json")}};
    size_t n = 1;
    if (a.header != NULL) {
        size_t colon = str_find(str_of(a.header), STR(": "));
        headers[n].name = str_slice(str_of(a.header), 0, colon);
        headers[n++].value = str_slice(str_of(a.header), colon + 2, SIZE_MAX);
    }
    struct http_request rq = {
        .method = str_of(a.method != NULL ? a.method : "POST"),
        .url = arena_printf(t.arena, "%.*s%s", STR_FMT(serve_url(v)), a.path),
        .headers = headers,
        .n_headers = n,
        .body = str_of(a.body != NULL ? a.body : ""),
    };
    buf_clear(&t.got);
    t.under_way = 1;
    sched_touch(t.sched);
    (void)t.client->ops->start(t.client, &rq, (struct http_sink){NULL, on_head, on_body, on_end});
    while (t.under_way > 0) {
        loop_run(t.loop);
    }
    buf_char(&t.got, '\0');
    return t.got.p;
}

#define CHECK_HAS(text, part) check_has(__LINE__, (text), (part))
static void check_has(int line, const char *text, const char *part)
{
    bool has = strstr(text, part) != NULL;
    if (!has) {
        printf("\n%s:%d: no \"%s\" in\n%s\n", __FILE__, line, part, text);
    }
    CU_ASSERT_TRUE(has);
}

#define CHAT      "/v1/chat/completions"
#define RESPONSES "/v1/responses"
#define MESSAGES  "/v1/messages"
#define VERSION   "anthropic-version: 2023-06-01"
static const char chat_hi[] =
    "{\"model\":\"fake-1\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
static const char chat_streamed[] =
    "{\"model\":\"fake-1\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
static const char responses_hi[] = "{\"model\":\"fake-1\",\"input\":\"hi\"}";
static const char messages_hi[] = "{\"model\":\"fake-1\",\"max_tokens\":9,\"messages\":[{\"role\":"
                                  "\"user\",\"content\":\"hi\"}]}";
static const char forever[] =
    "version: 1\nrules:\n- reply: {text: hello, usage: {input: 3, output: 2}}\n";

/* ---- scripts ---- */

static void formats(void)
{
    static const struct {
        struct asked asked;
        const char *parts[4];
    } cases[] = {
        {{NULL, CHAT, NULL, chat_hi},
         {"200\n", "\"object\":\"chat.completion\"", "x-request-id: req_1\n", "hello"}},
        {{NULL, CHAT, NULL, chat_streamed},
         {"text/event-stream", "\"object\":\"chat.completion.chunk\"", "data: [DONE]\n\n"}},
        {{NULL, RESPONSES, NULL, responses_hi},
         {"200\n", "\"object\":\"response\"", "x-request-id: req_3\n", "\"output_text\""}},
        {{NULL, RESPONSES, NULL, "{\"model\":\"m\",\"input\":\"hi\",\"stream\":true}"},
         {"text/event-stream", "event: response.created\n", "event: response.completed\n"}},
        {{NULL, MESSAGES, VERSION, messages_hi},
         {"200\n", "\"type\":\"message\"", "\nrequest-id: req_5\n",
          "\"stop_reason\":\"end_turn\""}},
        {{NULL, MESSAGES, VERSION,
          "{\"model\":\"m\",\"max_tokens\":9,\"stream\":true,\"messages\":[{\"role\":"
          "\"user\",\"content\":\"hi\"}]}"},
         {"text/event-stream", "event: message_start\n", "event: message_stop\n"}},
    };
    begin();
    struct serve *v = serve_script(forever);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = ask(v, cases[i].asked);
        CU_ASSERT_EQUAL(t.ended, HTTP_CLEAN);
        for (size_t j = 0; j < 4 && cases[i].parts[j] != NULL; j++) {
            CHECK_HAS(got, cases[i].parts[j]);
        }
    }
    serve_end(v);
    finish();
}

static void errors(void)
{
    static const struct {
        struct asked asked;
        const char *parts[3];
    } cases[] = {
        {{NULL, CHAT, NULL, chat_hi},
         {"429\n", "Retry-After: 2\n", "{\"error\":{\"message\":\"slow down\",\"type\":"}},
        {{NULL, RESPONSES, NULL, responses_hi}, {"401\n", "{\"error\":{\"message\":"}},
        {{NULL, MESSAGES, VERSION, messages_hi},
         {"529\n", "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"",
          "\nrequest-id: "}},
        /* The script has ended: the provider's own form of a refusal, not to be tried again. */
        {{NULL, MESSAGES, VERSION, messages_hi},
         {"400\n", "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\"",
          "x-should-retry: false\n"}},
        {{NULL, CHAT, NULL, "{\"messages\":"},
         {"400\n", "{\"error\":{\"message\":", "parse the JSON body"}},
        {{NULL, "/v1/embeddings", NULL, "{}"}, {"404\n", "Invalid URL (POST /v1/embeddings)"}},
        {{NULL, "/v1/complete", VERSION, "{}"}, {"404\n", "\"type\":\"not_found_error\""}},
        {{"GET", CHAT, NULL, NULL}, {"405\n", "\"code\":\"method_not_supported\""}},
        {{NULL, MESSAGES, VERSION, "{\"model\":\"m\"}"},
         {"400\n", "max_tokens: Field required", "\"type\":\"invalid_request_error\""}},
        {{"GET", "/v1/models/other", NULL, NULL}, {"404\n", "\"code\":\"model_not_found\""}},
    };
    begin();
    struct serve *v = serve_script("version: 1\nsteps:\n"
                                   "- fault: {status: 429, retry_after_s: 2, message: slow down}\n"
                                   "- fault: {status: 401}\n"
                                   "- fault: {status: 529}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = ask(v, cases[i].asked);
        for (size_t j = 0; j < 3 && cases[i].parts[j] != NULL; j++) {
            CHECK_HAS(got, cases[i].parts[j]);
        }
    }
    CU_ASSERT_EQUAL(serve_report(v).refused, 7);
    CU_ASSERT_EQUAL(serve_report(v).leftover, 0);
    buf_char(&t.notes, '\0');
    CHECK_HAS(t.notes.p, "session main, request 4: ");
    CHECK_HAS(t.notes.p, "session main, request 5: the provider would refuse this request: ");
    CHECK_HAS(t.notes.p, "session main, request 6: the provider would refuse this request: ");
    serve_end(v);
    finish();
}

/* A hang lasts until the client goes, whatever the server's clock says. */
static void hang(void)
{
    begin();
    struct serve *v =
        serve_script("version: 1\nrules:\n- when: {last_user: wait}\n"
                     "  fault: {kind: hang, after_bytes: 9}\n- reply: {text: hello}\n");
    const struct http_header type = {STR("Content-Type"), STR("application/json")};
    struct http_request rq = {
        .method = STR("POST"),
        .url = arena_printf(t.arena, "%.*s" CHAT, STR_FMT(serve_url(v))),
        .headers = &type,
        .n_headers = 1,
        .body = STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"wait\"}]}"),
    };
    struct http_sink sink = {NULL, on_head, on_body, on_end};
    t.under_way = 2;
    struct http_call *waiting = t.client->ops->start(t.client, &rq, sink);
    for (int i = 0; i < 5; i++) {
        CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "hello");
    }
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/journal", NULL, NULL}),
              "\"ended\":\"timeout\"");
    t.client->ops->stop(t.client, waiting); /* it is there still */
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "hello");
    serve_end(v);
    finish();
}

static void key(void)
{
    static const struct {
        struct asked asked;
        const char *parts[2];
    } cases[] = {
        {{NULL, CHAT, NULL, chat_hi}, {"401\n", "You didn't provide an API key."}},
        {{NULL, CHAT, "authorization: Bearer sk-no", chat_hi},
         {"401\n", "\"code\":\"invalid_api_key\""}},
        {{NULL, CHAT, "authorization: Bearer sk-yes", chat_hi}, {"200\n", "hello"}},
        {{NULL, MESSAGES, NULL, messages_hi}, {"401\n", "x-api-key header is required"}},
        {{NULL, MESSAGES, "x-api-key: sk-no", messages_hi}, {"401\n", "authentication_error"}},
        {{NULL, MESSAGES, "x-api-key: sk-yes", messages_hi}, {"200\n", "hello"}},
        {{"GET", "/v1/models", NULL, NULL}, {"401\n"}},
    };
    begin();
    struct serve *v = serve_script("version: 1\napi_key: sk-yes\nrules:\n- reply: {text: hello}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = ask(v, cases[i].asked);
        for (size_t j = 0; j < 2 && cases[i].parts[j] != NULL; j++) {
            CHECK_HAS(got, cases[i].parts[j]);
        }
    }
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/journal", NULL, NULL}), "\"status\":401");
    CU_ASSERT_EQUAL(serve_report(v).refused, 5);
    serve_end(v);
    finish();
}

static void broken(void)
{
    begin();
    struct serve *v = serve_script("version: 1\nsteps:\n"
                                   "- fault: {kind: reset, after_bytes: 10}\n"
                                   "- fault: {kind: reset}\n"
                                   "- fault: {kind: truncate, after_bytes: 5}\n");
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "\n\n{\"id\":\"cha");
    CU_ASSERT_EQUAL(t.ended, HTTP_RESET);
    CHECK_TEXT(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "");
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "\n\n{\"id\"");
    CU_ASSERT_EQUAL(t.ended, HTTP_CLEAN);
    serve_end(v);
    finish();
}

static void sessions(void)
{
    static const struct {
        const char *path, *header, *part;
    } cases[] = {
        {CHAT, NULL, "one"},
        {"/s/a" CHAT, NULL, "one"},
        {"/s/a" CHAT, NULL, "two"},
        {CHAT, "x-assay-session: b", "one"},
        {"/s/b" CHAT, NULL, "two"},
        {"/s/a" CHAT, "x-assay-session: c", "400\n"}, /* the path says it: a third one of a */
        {CHAT, NULL, "two"},
    };
    begin();
    struct serve *v =
        serve_script("version: 1\nsteps:\n- reply: {text: one}\n- reply: {text: two}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_HAS(ask(v, (struct asked){NULL, cases[i].path, cases[i].header, chat_hi}),
                  cases[i].part);
    }
    CU_ASSERT_EQUAL(serve_report(v).sessions, 3);
    CU_ASSERT_EQUAL(serve_report(v).requests, 7);
    serve_end(v);
    finish();
}

static void folder(void)
{
    static const struct {
        const char *path, *header, *part;
    } cases[] = {
        {"/s/a" CHAT, NULL, "from a"},
        {"/s/a~2" CHAT, NULL, "from a"},
        {CHAT, "x-assay-session: b", "from b"},
        {CHAT, "x-assay-session: b~x", "from b"},
        {CHAT, NULL, "404\n"},
        {"/s/c" CHAT, NULL, "there is no "},
        {"/s/..a" CHAT, NULL, "400\n"},
        {"/s/%61" CHAT, NULL, "400\n"},
        {"/s//a" CHAT, NULL, "400\n"},
        {"/s/" CHAT, NULL, "400\n"},
        {"/s", NULL, "404\n"},
        {CHAT, "x-assay-session: ../a", "400\n"},
        {CHAT, "x-assay-session: .a", "400\n"},
    };
    begin();
    const char *dir = testing_dir();
    write_file(dir, "a.script.yaml", "version: 1\nsteps:\n- reply: {text: from a}\n");
    write_file(dir, "b.script.yaml", "version: 1\nsteps:\n- reply: {text: from b}\n");
    struct serve_options o = options(SERVE_SCRIPT, dir);
    struct serve *v = serve_with(&o);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_HAS(ask(v, (struct asked){NULL, cases[i].path, cases[i].header, chat_hi}),
                  cases[i].part);
    }
    serve_end(v);
    finish();
}

static void session_limit(void)
{
    begin();
    const char *path = write_file(testing_dir(), "s.script.yaml", forever);
    struct serve_options o = options(SERVE_SCRIPT, path);
    o.sessions_max = 2;
    struct serve *v = serve_with(&o);
    CHECK_HAS(ask(v, (struct asked){NULL, "/s/a" CHAT, NULL, chat_hi}), "200\n");
    CHECK_HAS(ask(v, (struct asked){NULL, "/s/b" CHAT, NULL, chat_hi}), "200\n");
    CHECK_HAS(ask(v, (struct asked){NULL, "/s/c" CHAT, NULL, chat_hi}), "500\n");
    CHECK_HAS(ask(v, (struct asked){NULL, "/s/a" CHAT, NULL, chat_hi}), "200\n");
    serve_end(v);
    finish();
}

static void facts(void)
{
    static const struct {
        struct asked asked;
        const char *part;
    } cases[] = {
        {{"GET", "/v1/models", NULL, NULL}, "{\"object\":\"list\",\"data\":[{\"id\":\"fake-1\""},
        {{"GET", "/v1/models", VERSION, NULL}, "{\"data\":[{\"type\":\"model\",\"id\":\"fake-1\""},
        {{"GET", "/v1/models/fake-1", NULL, NULL}, "\"object\":\"model\""},
        {{NULL, "/v1/messages/count_tokens", VERSION, messages_hi}, "{\"input_tokens\":"},
        {{NULL, "/v1/responses/input_tokens", NULL, responses_hi},
         "{\"object\":\"response.input_tokens\",\"input_tokens\":"},
    };
    begin();
    struct serve *v = serve_script(forever);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_HAS(ask(v, cases[i].asked), cases[i].part);
    }
    CU_ASSERT_EQUAL(serve_report(v).requests, 0); /* they are no part of the script */
    serve_end(v);
    finish();
}

/* ---- looking in ---- */

static void admin(void)
{
    begin();
    struct serve *v =
        serve_script("version: 1\nsteps:\n- reply: {text: one}\n- reply: {text: two}\n");
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "one");
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/leftover", NULL, NULL}), "409\n");
    CHECK_HAS(t.got.p, "step 2 (line 4) left over");
    CHECK_HAS(
        ask(v, (struct asked){"GET", "/_assay/journal?session=main", NULL, NULL}),
        "{\"requests\":[{\"session\":\"main\",\"n\":1,\"method\":\"POST\",\"path\":\"/v1/chat/"
        "completions\",\"body\":{\"model\":\"fake-1\",\"messages\":[{\"role\":\"user\","
        "\"content\":\"hi\"}]},\"status\":200,\"ended\":\"clean\",\"refused\":false,"
        "\"message\":null}],\"left_out\":0}\n");
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/journal?session=nobody", NULL, NULL}),
              "{\"requests\":[],");
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/leftover?session=nobody", NULL, NULL}),
              "404\n");
    CHECK_HAS(
        ask(v, (struct asked){"GET", "/_assay/sessions", NULL, NULL}),
        "{\"sessions\":[{\"session\":\"main\",\"requests\":1,\"refused\":0,\"leftover\":true}]}");
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "two");
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/leftover", NULL, NULL}), "200\n");
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "one too many");
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/leftover", NULL, NULL}), "409\n");
    CHECK_HAS(ask(v, (struct asked){NULL, "/_assay/reset", NULL, NULL}), "{\"reset\":1}");
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/journal", NULL, NULL}), "{\"requests\":[],");
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "one");
    CHECK_HAS(ask(v, (struct asked){NULL, "/_assay/journal", NULL, NULL}), "405\n");
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/secrets", NULL, NULL}), "404\n");
    serve_end(v);
    finish();
}

/* More than the journal takes is counted, and answered all the same. */
static void full_journal(void)
{
    begin();
    struct serve *v = serve_script(forever);
    struct buf large = {0};
    buf_addz(&large, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (size_t i = 0; i < (3 << 20); i++) {
        buf_char(&large, 'x');
    }
    buf_addz(&large, "\"}]}");
    buf_char(&large, '\0');
    for (int i = 0; i < 4; i++) {
        CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, large.p}), "200\n");
    }
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/journal", NULL, NULL}), "\"left_out\":2}");
    CHECK_HAS(ask(v, (struct asked){NULL, "/_assay/reset", NULL, NULL}), "200\n");
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, large.p}), "200\n");
    CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/journal", NULL, NULL}), "\"left_out\":0}");
    buf_free(&large);
    serve_end(v);
    finish();
}

/* ---- who may ask ---- */

static void token(void)
{
    static const struct {
        const char *header;
        bool in;
    } cases[] = {
        {NULL, false},
        {"x-assay-token: secret", true},
        {"x-assay-token: secre", false},
        {"x-assay-token: secrets", false},
        {"Authorization: Bearer secret", true},
        {"authorization: bearer  secret ", true},
        {"Authorization: secret2", false},
        {"x-api-key: secret", true},
        {"x-api-key: other", false},
    };
    struct err e = {0};
    struct serve *v = NULL;
    begin();
    struct serve_options o =
        options(SERVE_SCRIPT, write_file(testing_dir(), "s.script.yaml", forever));
    o.token = STR("secret");
    v = serve_with(&o);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_HAS(ask(v, (struct asked){NULL, CHAT, cases[i].header, chat_hi}),
                  cases[i].in ? "200\n" : "401\n");
        CHECK_HAS(ask(v, (struct asked){"GET", "/_assay/journal", cases[i].header, NULL}),
                  cases[i].in ? "200\n" : "401\n");
    }
    serve_end(v);
    o.address = "0.0.0.0";
    o.token = STR("");
    int rc = serve_new(&o, &v, &e);
    CU_ASSERT_EQUAL(rc, ERR_USAGE);
    CHECK_HAS(e.message, "--token-file");
    finish();
}

/* ---- the same again ---- */

static void same_bytes(void)
{
    static const char script[] = "version: 1\nseed: 7\nrules:\n"
                                 "- reply: {text: hello there and goodbye, chunk: random}\n";
    begin();
    struct serve *a = serve_script(script);
    struct serve *b = serve_script(script);
    static const struct asked questions[] = {{NULL, CHAT, NULL, chat_streamed},
                                             {NULL, RESPONSES, NULL, responses_hi},
                                             {NULL, MESSAGES, VERSION, messages_hi},
                                             {"GET", "/v1/models", NULL, NULL}};
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        struct str first = arena_str(t.arena, str_of(ask(a, questions[i])));
        CHECK_TEXT(ask(b, questions[i]), first.p);
    }
    serve_end(a);
    serve_end(b);
    finish();
}

/* ---- recordings ---- */

static void record_and_replay(void)
{
    struct err e = {0};
    struct serve *again = NULL;
    begin();
    const char *dir = testing_dir();
    const char *cassettes = path_join(t.arena, dir, "cassettes");
    struct serve *upstream =
        serve_script("version: 1\nsteps:\n- fault: {status: 429, retry_after_s: 1}\n"
                     "- reply: {text: hello, chunk: {bytes: 2}}\n"
                     "- fault: {kind: reset, after_bytes: 20}\n");
    struct serve_options o = options(SERVE_RECORD, cassettes);
    for (enum wire_format f = WIRE_CHAT; f <= WIRE_MESSAGES; f++) {
        o.upstream[f] = arena_printf(t.arena, "%.*s/v1", STR_FMT(serve_url(upstream)));
    }
    struct serve *v = serve_with(&o);
    static const struct asked questions[] = {
        {NULL, "/s/a" CHAT, "authorization: Bearer sk-live-0123456789abcdef", chat_hi},
        {NULL, "/s/a" CHAT, "authorization: Bearer sk-live-0123456789abcdef", chat_streamed},
        {NULL, "/s/a" CHAT, "authorization: Bearer sk-live-0123456789abcdef",
         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"last\"}]}"},
    };
    struct str bodies[3];
    enum http_end ends[3];
    for (size_t i = 0; i < 3; i++) {
        struct str got = str_of(ask(v, questions[i]));
        bodies[i] = arena_str(t.arena, str_slice(got, str_find(got, STR("\n\n")), got.n));
        ends[i] = t.ended;
    }
    CHECK_HAS(ask(v, (struct asked){NULL, "/_assay/reset", NULL, NULL}), "409\n");
    serve_end(v);
    CU_ASSERT_EQUAL(ends[2], HTTP_RESET);
    CU_ASSERT_EQUAL(serve_report(upstream).refused, 0);
    serve_end(upstream); /* what follows is from the recording */
    struct str text;
    int rc = file_read(t.arena, path_join(t.arena, cassettes, "a.yaml"), 1 << 20, &text, &e);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    CU_ASSERT_EQUAL(str_find(text, STR("sk-live")), SIZE_MAX);
    struct serve_options r = options(SERVE_REPLAY, cassettes);
    v = serve_with(&r);
    for (size_t i = 0; i < 3; i++) {
        struct str got = str_of(ask(v, questions[i]));
        struct str body = arena_str(t.arena, str_slice(got, str_find(got, STR("\n\n")), got.n));
        CHECK_TEXT(body.p, bodies[i].p);
        CU_ASSERT_EQUAL(t.ended, ends[i]);
    }
    CHECK_HAS(ask(v, questions[2]), "400\n"); /* once more than recorded */
    CU_ASSERT_EQUAL(serve_report(v).refused, 1);
    serve_end(v);
    r.path = path_join(t.arena, cassettes, "b.yaml");
    rc = serve_new(&r, &again, &e);
    CU_ASSERT_EQUAL(rc, ERR_NOT_FOUND);
    finish();
}

static void existing_cassette(void)
{
    struct err e = {0};
    struct serve *v = NULL;
    begin();
    const char *dir = testing_dir();
    struct serve_options o = options(SERVE_RECORD, write_file(dir, "main.yaml", "kept"));
    o.upstream[WIRE_CHAT] = STR("http://127.0.0.1:1/v1");
    int rc = serve_new(&o, &v, &e);
    CU_ASSERT_EQUAL(rc, ERR_EXISTS);
    CHECK_HAS(e.message, "--mode all");
    o.path = dir; /* of a folder it is known when its session begins */
    v = serve_with(&o);
    CHECK_HAS(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "409\n");
    CHECK_HAS(t.got.p, "--mode all");
    buf_char(&t.notes, '\0');
    CHECK_HAS(t.notes.p, "session main: ");
    CU_ASSERT_EQUAL(serve_free(v, &e), ERR_EXISTS); /* what should be recorded was not */
    struct str text;
    rc = file_read(t.arena, path_join(t.arena, dir, "main.yaml"), 100, &text, &e);
    CU_ASSERT(rc == 0 && str_is(text, "kept"));
    finish();
}

static void no_upstream(void)
{
    begin();
    struct serve_options o = options(SERVE_RECORD, testing_dir());
    o.upstream[WIRE_CHAT] = STR("http://127.0.0.1:1");
    struct serve *v = serve_with(&o);
    CHECK_TEXT(ask(v, (struct asked){NULL, CHAT, NULL, chat_hi}), "");
    CU_ASSERT_NOT_EQUAL(t.ended, HTTP_CLEAN);
    buf_char(&t.notes, '\0');
    CHECK_HAS(t.notes.p, "session main, request 1: ");
    serve_end(v);
    finish();
}

/* Two sessions of the caller's, and none besides. */
static void placed(void)
{
    begin();
    struct err e = {0};
    const char *path = write_file(testing_dir(), "s.script.yaml",
                                  "version: 1\nrules:\n- when: {}\n  reply: {text: mine}\n");
    struct fake_script *script = NULL;
    CU_ASSERT_EQUAL_FATAL(fake_load(path, &script, &e), 0);
    struct fake_session *fake = fake_session_new(script);
    struct sched *clock = sched_virtual(t.loop);
    struct transport *transport = transport_fake(fake, clock);
    struct serve_options o = options(SERVE_PLACED, NULL);
    struct serve *v = serve_with(&o);
    struct serve_placement p = {
        .name = STR("a"), .transport = transport, .sched = clock, .fake = fake};
    struct session *first = NULL, *other = NULL;
    CU_ASSERT_EQUAL_FATAL(serve_place(v, &p, &first, &e), 0);
    CU_ASSERT_EQUAL(serve_place(v, &p, &other, &e), ERR_EXISTS);
    p.name = STR("b");
    CU_ASSERT_EQUAL_FATAL(serve_place(v, &p, &other, &e), 0);
    CHECK_HAS(ask(v, (struct asked){NULL, "/s/a/v1/chat/completions", NULL, chat_hi}), "mine");
    serve_displace(first);
    CHECK_HAS(ask(v, (struct asked){NULL, "/s/a/v1/chat/completions", NULL, chat_hi}),
              "no session \\\"a\\\" is open");
    CHECK_HAS(ask(v, (struct asked){NULL, "/s/b/v1/chat/completions", NULL, chat_hi}), "mine");
    serve_displace(other);
    serve_end(v);
    transport->ops->free(transport);
    fake_session_free(fake);
    fake_free(script);
    sched_free(clock);
    finish();
}

TESTS(serve, {"serve_speaks_every_format_streamed_and_not", formats},
      {"serve_tells_errors_in_the_form_of_the_provider", errors},
      {"serve_wants_the_scripts_key", key}, {"serve_hangs_until_the_client_goes", hang},
      {"serve_breaks_where_the_script_says", broken}, {"serve_keeps_sessions_apart", sessions},
      {"serve_finds_a_sessions_script_in_a_folder", folder},
      {"serve_has_a_limit_of_sessions", session_limit},
      {"serve_lists_its_model_and_counts_tokens", facts},
      {"serve_shows_what_it_was_asked_and_begins_anew", admin},
      {"serve_answers_when_its_journal_is_full", full_journal},
      {"serve_wants_its_token_in_full", token}, {"serve_answers_the_same_bytes_twice", same_bytes},
      {"serve_replays_what_it_recorded_without_keys", record_and_replay},
      {"serve_never_records_over_a_cassette_unasked", existing_cassette},
      {"serve_passes_a_refusing_upstream_on", no_upstream},
      {"serve_answers_sessions_of_its_callers_and_no_others", placed})
