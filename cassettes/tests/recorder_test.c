#include "cassettes/tests/rig.h"
#include "kernel/drive/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHAT "http://h/v1/chat/completions"

/* What the inner transport and toolbox give next. */
struct piece {
    uint64_t at_ms;
    const char *text; /* NULL = the end */
};

struct plan {
    int status;
    const char *type;
    const char *coding;
    struct piece pieces[6];
    enum http_end end;
    const char *detail;
    size_t body_n; /* of a piece with NULs; 0 = strlen */
};

struct http_call {
    struct http_sink sink;
    const struct plan *plan;
    size_t next;
    struct timer *timer;
};

struct tool_run {
    struct tool_sink sink;
    struct tool_output output;
    struct timer *timer;
};

static struct {
    struct rig rig;
    char path[512];
    struct recorder *r;
    struct transport *http;
    struct toolbox *tools;
    const struct plan *plan;
    struct http_call call;
    struct tool_run run;
} t;

static void say(void *arg)
{
    struct http_call *c = arg;
    const struct plan *p = c->plan;
    const struct piece *piece = &p->pieces[c->next];
    if (c->next == 0 && p->status != 0) {
        struct http_header headers[] = {{STR("Content-Type"), str_of(p->type)},
                                        {STR("Set-Cookie"), STR("id=secret")},
                                        {STR("Content-Encoding"), str_of(p->coding)}};
        c->sink.head(c->sink.ctx, p->status, STR("OK"), headers, p->coding != NULL ? 3 : 2);
    }
    if (piece->text == NULL) {
        c->sink.end(c->sink.ctx, p->end, str_of(p->detail));
        return;
    }
    c->next++;
    uint64_t wait = p->pieces[c->next].at_ms - piece->at_ms;
    c->timer = sched_post(t.rig.sched, wait, 0, say, c);
    c->sink.body(c->sink.ctx,
                 p->body_n > 0 ? (struct str){piece->text, p->body_n} : str_of(piece->text));
}

static struct http_call *inner_start(struct transport *b, const struct http_request *rq,
                                     struct http_sink sink)
{
    (void)b;
    (void)rq;
    t.call = (struct http_call){sink, t.plan, 0, NULL};
    t.call.timer = sched_post(t.rig.sched, t.plan->pieces[0].at_ms, 0, say, &t.call);
    return &t.call;
}

static void inner_stop(struct transport *b, struct http_call *c)
{
    (void)b;
    sched_cancel(t.rig.sched, c->timer);
}

static void answer(void *arg)
{
    struct tool_run *run = arg;
    run->sink.end(run->sink.ctx, &run->output, false);
}

static struct tool_run *inner_run(struct toolbox *b, const struct tool_request *rq,
                                  struct tool_sink sink)
{
    (void)b;
    t.run.sink = sink;
    t.run.timer = sched_post(t.rig.sched, 4, rq->order, answer, &t.run);
    return &t.run;
}

static void inner_run_stop(struct toolbox *b, struct tool_run *run)
{
    (void)b;
    sched_cancel(t.rig.sched, run->timer);
}

static const struct transport_ops http_ops = {inner_start, inner_stop, NULL, NULL};
static const struct toolbox_ops tool_ops = {inner_run, inner_run_stop, NULL};
static struct transport inner_http = {&http_ops};
static struct toolbox inner_tools = {&tool_ops};

static int open_recorder(const char *path, bool overwrite, struct err *e)
{
    struct recorder_options o = {.path = path,
                                 .overwrite = overwrite,
                                 .run = STR("5f0c9a31d2e4"),
                                 .seed = 7,
                                 .started_at = STR("2026-11-29T18:00:00.000Z"),
                                 .sched = t.rig.sched};
    return recorder_new(&o, &t.r, e);
}

static void begin(void)
{
    struct err e;
    rig_begin(&t.rig);
    snprintf(t.path, sizeof t.path, "%s/x.yaml", testing_dir());
    CU_ASSERT_EQUAL_FATAL(open_recorder(t.path, false, &e), 0);
    t.http = recorder_transport(t.r, &inner_http);
    t.tools = recorder_toolbox(t.r, &inner_tools);
}

/* Asks and leaves what is heard in the rig. */
static void ask(const char *body, const struct plan *plan)
{
    t.plan = plan;
    rig_ask(&t.rig, t.http, CHAT, body);
    loop_run(t.rig.loop);
}

static void call_tool(const char *arguments, struct tool_output output)
{
    t.run.output = output;
    rig_call(&t.rig, t.tools, "f", arguments, 1);
    loop_run(t.rig.loop);
}

static struct cassette *load(void)
{
    struct cassette *c = NULL;
    struct err e;
    struct buf warning = {0};
    CU_ASSERT_EQUAL_FATAL(cassette_load(t.path, &c, &warning, &e), 0);
    CU_ASSERT_EQUAL(warning.n, 0);
    return c;
}

static void close_recorder(void)
{
    struct err e;
    CU_ASSERT_EQUAL(recorder_close(t.r, &e), 0);
}

static const struct plan json_plan = {
    200, "application/json", NULL, {{412, "{\"ok\":1}"}, {412, NULL}}, HTTP_CLEAN, NULL, 0};
static const struct plan stream_plan = {
    200,        "text/event-stream",
    NULL,       {{3, "data: a\n\n"}, {5, "data: b\n\n"}, {9, NULL}},
    HTTP_CLEAN, NULL,
    0};
static const struct plan reset_plan = {
    200, "text/plain", NULL, {{1, "ab"}, {2, "c"}, {6, NULL}}, HTTP_RESET, "it broke", 0};
static const struct plan refused_plan = {
    0, NULL, NULL, {{2, NULL}}, HTTP_REFUSED, "nobody listens on h", 0};
static const struct plan miss_plan = {0, NULL, NULL, {{0, NULL}}, HTTP_MISS, "not there", 0};
static const struct plan gzip_plan = {
    200,
    "application/json",
    "gzip",
    {{1, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\x54\xb2\x32\xac\x05\x00\xaf\xac"
         "\x1b\x56\x07\x00\x00\x00"},
     {1, NULL}},
    HTTP_CLEAN,
    NULL,
    27};

static void replay_gives_what_the_recording_heard(void)
{
    begin();
    ask("{\"i\":1}", &json_plan);
    ask("{\"i\":2}", &stream_plan);
    ask("{\"i\":3}", &reset_plan);
    ask("{\"i\":4}", &refused_plan);
    call_tool("{\"x\":1}", (struct tool_output){.ok = true, .content = STR("line\nline\n")});
    call_tool("{\"x\":2}", (struct tool_output){.code = STR("TOOL_ERROR"),
                                                .message = STR("no \"such\" order"),
                                                .hint = STR("ask"),
                                                .retryable = true});
    struct buf live = t.rig.heard;
    buf_char(&live, '\0');
    t.rig.heard = (struct buf){0};
    close_recorder();
    struct cassette *c = load();
    struct sched *real = t.rig.sched;
    t.rig.sched = sched_virtual(t.rig.loop);
    struct player *p = player_new(&(struct player_options){.cassette = c, .sched = t.rig.sched});
    t.http = player_transport(p);
    t.tools = player_toolbox(p);
    ask("{\"i\":1}", NULL);
    ask("{\"i\":2}", NULL);
    ask("{\"i\":3}", NULL);
    ask("{\"i\":4}", NULL);
    call_tool("{\"x\":1}", (struct tool_output){0});
    call_tool("{\"x\":2}", (struct tool_output){0});
    buf_char(&t.rig.heard, '\0');
    /* All but the number of headers: the cookie is not in the recording. */
    for (char *at = live.p; (at = strstr(at, "[2]")) != NULL;) {
        at[1] = '1';
    }
    CHECK_TEXT(t.rig.heard.p, live.p);
    CHECK_HOLDS(buf_str(&live), "200[1]@415 +data: a\n\n@415 +data: b\n\n@417 .clean@421");
    CHECK_HOLDS(buf_str(&live), ".reset(it broke)@427 .refused(nobody listens on h)@429");
    CU_ASSERT_EQUAL(player_report(p).unused, 0);
    player_free(p);
    cassette_free(c);
    sched_free(real);
    buf_free(&live);
    rig_end(&t.rig);
}

static void each_interaction_is_on_disk_when_it_ends(void)
{
    begin();
    struct cassette *c = load();
    CU_ASSERT_EQUAL(c->n, 0);
    cassette_free(c);
    ask("{\"i\":1}", &json_plan);
    c = load();
    CU_ASSERT_EQUAL(c->n, 1);
    CU_ASSERT_EQUAL(c->items[0].at_ms, 0);
    CU_ASSERT_EQUAL(c->items[0].took_ms, 412);
    CU_ASSERT_EQUAL(c->items[0].n_chunks, 0);
    CU_ASSERT(str_is(c->run, "5f0c9a31d2e4") && c->seed == 7 && c->ours);
    cassette_free(c);
    ask("{\"i\":2}", &stream_plan);
    c = load();
    CU_ASSERT_EQUAL(c->n, 2);
    CU_ASSERT_EQUAL(c->items[1].at_ms, 412);
    CU_ASSERT_EQUAL(c->items[1].n_chunks, 2);
    CU_ASSERT_EQUAL(c->items[1].chunks[1].at_ms, 5);
    CU_ASSERT_EQUAL(c->items[1].chunks[1].bytes, 9);
    cassette_free(c);
    close_recorder();
    rig_end(&t.rig);
}

static void what_is_stopped_is_recorded_so(void)
{
    begin();
    t.plan = &stream_plan;
    struct http_call *call = rig_ask(&t.rig, t.http, CHAT, "{}");
    struct tool_run *run = rig_call(&t.rig, t.tools, "f", "{}", 1);
    t.http->ops->stop(t.http, call);
    t.tools->ops->stop(t.tools, run);
    rig_ask(&t.rig, t.http, CHAT, "{\"open\":true}"); /* until the recorder is closed */
    close_recorder();
    struct cassette *c = load();
    CU_ASSERT_EQUAL_FATAL(c->n, 3);
    for (size_t i = 0; i < c->n; i++) {
        CU_ASSERT_EQUAL(c->items[i].ended, HTTP_STOPPED);
        CU_ASSERT_EQUAL(c->items[i].status, 0);
    }
    CU_ASSERT(c->items[1].tool);
    RIG_HEARD(&t.rig, "");
    cassette_free(c);
    rig_end(&t.rig);
}

static void what_is_stopped_after_it_was_abandoned_is_not_written(void)
{
    begin();
    ask("{\"i\":1}", &json_plan);
    t.plan = &stream_plan;
    struct http_call *call = rig_ask(&t.rig, t.http, CHAT, "{\"i\":2}");
    rig_call(&t.rig, t.tools, "f", "{}", 1); /* until the recorder is closed */
    recorder_abandon(t.r);
    t.http->ops->stop(t.http, call);
    close_recorder();
    struct cassette *c = load();
    CU_ASSERT_EQUAL(c->n, 1);
    cassette_free(c);
    rig_end(&t.rig);
}

static void folders_are_made_and_a_folder_is_refused(void)
{
    struct err e;
    char path[600];
    const char *dir = testing_dir();
    begin();
    close_recorder();
    snprintf(path, sizeof path, "%s/a/b/c.yaml", dir);
    CU_ASSERT_EQUAL_FATAL(open_recorder(path, false, &e), 0);
    close_recorder();
    CU_ASSERT(path_exists(path));
    snprintf(path, sizeof path, "%s/a/b", dir);
    CU_ASSERT_EQUAL(open_recorder(path, true, &e), ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "is a folder"));
    snprintf(path, sizeof path, "%s/new/", dir);
    CU_ASSERT_EQUAL(open_recorder(path, true, &e), ERR_INPUT);
    CU_ASSERT_FALSE(path_exists(path));
    rig_end(&t.rig);
}

static void a_miss_is_passed_on_and_not_recorded(void)
{
    begin();
    ask("{}", &miss_plan);
    RIG_HEARD(&t.rig, ".miss(not there)@0");
    struct cassette *c = load();
    CU_ASSERT_EQUAL(c->n, 0);
    cassette_free(c);
    close_recorder();
    rig_end(&t.rig);
}

static void a_coded_body_is_stored_plain(void)
{
    begin();
    ask("{}", &gzip_plan);
    close_recorder();
    struct cassette *c = load();
    CU_ASSERT_EQUAL_FATAL(c->n, 1);
    CU_ASSERT(str_is(c->items[0].body, "{\"a\":1}"));
    CU_ASSERT_EQUAL(c->items[0].n_headers, 1);
    cassette_free(c);
    rig_end(&t.rig);
}

static void an_existing_file_is_kept_unless_all_is_asked_for(void)
{
    struct err e;
    begin();
    ask("{}", &json_plan);
    close_recorder();
    CU_ASSERT_EQUAL(open_recorder(t.path, false, &e), ERR_EXISTS);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "--mode all"));
    struct cassette *c = load();
    CU_ASSERT_EQUAL(c->n, 1);
    cassette_free(c);
    CU_ASSERT_EQUAL_FATAL(open_recorder(t.path, true, &e), 0);
    close_recorder();
    c = load();
    CU_ASSERT_EQUAL(c->n, 0);
    cassette_free(c);
    rig_end(&t.rig);
}

/* Not even --mode all mixes two runs in one file. */
static void a_file_has_one_recorder_at_a_time(void)
{
    struct err e;
    begin();
    ask("{\"i\":1}", &json_plan);
    struct recorder *first = t.r;
    CU_ASSERT_EQUAL(open_recorder(t.path, true, &e), ERR_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "another run"));
    char who[40];
    snprintf(who, sizeof who, "(process %ld)", (long)getpid());
    CU_ASSERT(access("/proc/locks", R_OK) != 0 || strstr(e.message, who) != NULL);
    t.r = first;
    ask("{\"i\":2}", &json_plan);
    close_recorder();
    struct cassette *c = load();
    CU_ASSERT_EQUAL(c->n, 2);
    cassette_free(c);
    CU_ASSERT_EQUAL_FATAL(open_recorder(t.path, true, &e), 0);
    close_recorder();
    rig_end(&t.rig);
}

/* Goes on with the cassette at t.path, in `path`. */
static int go_on(const char *path, const struct cassette *c, struct err *e)
{
    struct recorder_options o = {.path = path, .after = c, .sched = t.rig.sched};
    int rc = recorder_new(&o, &t.r, e);
    if (rc == 0) {
        t.http = recorder_transport(t.r, &inner_http);
    }
    return rc;
}

/* In its own file, from each byte at which a killed recorder may have left it, or in a copy. */
static void a_recording_is_gone_on_with(void)
{
    char copy[600];
    struct err e;
    begin();
    ask("{\"i\":1}", &stream_plan);
    ask("{\"i\":2}", &json_plan);
    close_recorder();
    struct arena *arena = arena_new();
    struct str whole;
    CU_ASSERT_EQUAL_FATAL(file_read(arena, t.path, 1 << 20, &whole, &e), 0);
    snprintf(copy, sizeof copy, "%s.copy", t.path);
    size_t second = str_find(str_slice(whole, 300, whole.n), STR("\n- request:")) + 301;
    for (size_t n = str_find(whole, STR("interactions:")) + 14; n <= whole.n; n++) {
        struct cassette *c = NULL;
        struct buf warning = {0};
        bool same = n % 2 == 0;
        CU_ASSERT_EQUAL_FATAL(file_replace(t.path, str_slice(whole, 0, n), &e), 0);
        CU_ASSERT_EQUAL_FATAL(cassette_load(t.path, &c, &warning, &e), 0);
        size_t kept = c->n;
        CU_ASSERT_EQUAL(kept, n + 1 >= whole.n ? 2 : n + 1 >= second ? 1 : 0);
        CU_ASSERT_EQUAL_FATAL(go_on(same ? t.path : copy, c, &e), 0);
        ask("{\"i\":3}", &json_plan);
        CU_ASSERT_EQUAL(recorder_count(t.r), 1);
        close_recorder();
        cassette_free(c);
        CU_ASSERT_EQUAL_FATAL(cassette_load(same ? t.path : copy, &c, NULL, &e), 0);
        CU_ASSERT(c->n == kept + 1 && !c->torn);
        CU_ASSERT(str_is(c->items[kept].request_body, "{\n  \"i\": 3\n}\n"));
        CU_ASSERT(str_is(c->run, "5f0c9a31d2e4"));
        cassette_free(c);
        buf_free(&warning);
    }
    arena_free(arena);
    rig_end(&t.rig);
}

/* A file in which an interaction behind the last would not be read as one, or that another run has
 * written to since it was loaded. */
static void what_cannot_be_gone_on_with_is_told(void)
{
    static const char *const texts[] = {
        "interactions: []\nversion: 1\n",
        "version: 1\nassay: {format: 1, encoder: 1}\ninteractions: [ ]\n",
        "assay: {format: 1, encoder: 1}\ninteractions:\n- request: {method: GET, uri: "
        "\"http://h/\"}\n"
        "  response: {status: {code: 200}}\nversion: 1\n",
        "{\"version\": 1, \"assay\": {\"format\": 1, \"encoder\": 1}, \"interactions\": []}\n"};
    struct err e;
    struct cassette *c = NULL;
    begin();
    close_recorder();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CU_ASSERT_EQUAL_FATAL(file_replace(t.path, str_of(texts[i]), &e), 0);
        CU_ASSERT_EQUAL_FATAL(cassette_load(t.path, &c, NULL, &e), 0);
        CU_ASSERT_EQUAL(go_on(t.path, c, &e), ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "nothing can be added to it"));
        cassette_free(c);
    }
    CU_ASSERT_EQUAL_FATAL(open_recorder(t.path, true, &e), 0);
    close_recorder();
    CU_ASSERT_EQUAL_FATAL(cassette_load(t.path, &c, NULL, &e), 0);
    CU_ASSERT_EQUAL_FATAL(go_on(t.path, c, &e), 0);
    ask("{}", &json_plan);
    close_recorder();
    CU_ASSERT_EQUAL(go_on(t.path, c, &e), ERR_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "changed it meanwhile"));
    cassette_free(c);
    rig_end(&t.rig);
}

static void a_full_disk_disturbs_no_session_and_is_told_at_the_end(void)
{
    struct err e;
    rig_begin(&t.rig);
    CU_ASSERT_EQUAL_FATAL(open_recorder("/dev/full", true, &e), 0);
    t.http = recorder_transport(t.r, &inner_http);
    t.tools = recorder_toolbox(t.r, &inner_tools);
    ask("{}", &json_plan);
    RIG_HEARD(&t.rig, "200[2]@412 +{\"ok\":1}@412 .clean@412");
    CU_ASSERT_EQUAL(recorder_close(t.r, &e), ERR_IO);
    CU_ASSERT_EQUAL(open_recorder("/dev/null/x/y.yaml", true, &e), ERR_IO);
    rig_end(&t.rig);
}

static void credentials_never_reach_the_disk(void)
{
    static const struct plan plan = {
        200,        "application/json",
        NULL,       {{1, "{\"echo\":\"sk-abcdefghijkl0123456789\"}"}, {1, NULL}},
        HTTP_CLEAN, NULL,
        0};
    begin();
    struct http_header headers[] = {{STR("Authorization"), STR("Bearer topsecret")},
                                    {STR("X-Api-Key"), STR("topsecret")}};
    struct http_request rq = {STR("POST"), STR("http://me:topsecret@h/x?key=topsecret"), headers, 2,
                              STR("{\"k\":\"sk-abcdefghijkl0123456789\"}")};
    t.plan = &plan;
    t.http->ops->start(t.http, &rq, rig_sink(&t.rig));
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard), "sk-abcdefghijkl0123456789"); /* the session sees it all */
    call_tool("{\"t\":\"ghp_0123456789abcdefghij\"}",
              (struct tool_output){.ok = true, .content = STR("AKIAIOSFODNN7EXAMPLE")});
    close_recorder();
    struct arena *arena = arena_new();
    struct str text;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(file_read(arena, t.path, 1 << 20, &text, &e), 0);
    static const char *const gone[] = {"topsecret", "sk-abc", "ghp_", "AKIA", "secret"};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
        CU_ASSERT_EQUAL(str_find(text, str_of(gone[i])), SIZE_MAX);
    }
    CHECK_HOLDS(text, "uri: http://REDACTED@h/x?key=REDACTED\n");
    arena_free(arena);
    rig_end(&t.rig);
}

/* A key over two blocks of a reply is no part of any one text of its body: nothing of it is
 * written, and nothing after it. */
static void what_cannot_be_hidden_is_not_written(void)
{
    static const struct plan plan = {
        200,
        "application/json",
        NULL,
        {{1, "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"sk-abcdefgh\"},{"
             "\"type\":\"text\",\"text\":\"ijklmnop1234\"}],\"stop_reason\":\"end_turn\"}"},
         {1, NULL}},
        HTTP_CLEAN,
        NULL,
        0};
    struct err e;
    begin();
    ask("{}", &json_plan);
    struct http_request rq = {STR("POST"), STR("http://h/v1/messages"), NULL, 0, STR("{}")};
    t.plan = &plan;
    t.http->ops->start(t.http, &rq, rig_sink(&t.rig));
    loop_run(t.rig.loop);
    ask("{\"a\":1}", &json_plan);
    CU_ASSERT_EQUAL(recorder_close(t.r, &e), ERR_INPUT);
    CHECK_HOLDS(str_of(e.message),
                "an API key (sk-…) in the reply's text, which could not be hidden");
    struct cassette *c = load();
    CU_ASSERT_EQUAL(c->n, 1);
    CU_ASSERT_FALSE(c->torn);
    CU_ASSERT_EQUAL(str_find(c->source, STR("sk-abc")), SIZE_MAX);
    cassette_free(c);
    rig_end(&t.rig);
}

/* Whether a text is this one, whatever ids stand for its secrets. */
static bool says(struct str got, const char *want)
{
    struct buf plain = {0};
    cassette_forget_ids(got, &plain);
    bool same = str_is(buf_str(&plain), want);
    buf_free(&plain);
    return same;
}

#define DELTA(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define SAID(text)                                                                                 \
    "{\"messages\":[{\"role\":\"assistant\",\"content\":\"" text "\"},{\"role\":\"user\"}]}"

/* The session hears the key; the recording and its replay, and what the replay then asks, say
 * REDACTED. */
static void a_key_that_is_streamed_in_pieces_is_written_nowhere_and_replays(void)
{
    static const struct plan plan = {200,
                                     "text/event-stream",
                                     NULL,
                                     {{1, DELTA("It is sk-abc")},
                                      {2, DELTA("defghijklmnop")},
                                      {3, DELTA("1234567890.") "data: [DONE]\n\n"},
                                      {3, NULL}},
                                     HTTP_CLEAN,
                                     NULL,
                                     0};
    begin();
    ask("{\"messages\":[]}", &plan);
    ask(SAID("It is sk-abcdefghijklmnop1234567890."), &json_plan);
    close_recorder();
    buf_clear(&t.rig.heard);
    struct cassette *c = load();
    CU_ASSERT_EQUAL_FATAL(c->n, 2);
    CU_ASSERT(
        says(c->items[0].body, DELTA("It is REDACTED") DELTA("") DELTA(".") "data: [DONE]\n\n"));
    CU_ASSERT_EQUAL(str_find(c->source, STR("defghi")), SIZE_MAX);
    struct sched *real = t.rig.sched;
    t.rig.sched = sched_virtual(t.rig.loop);
    struct player *p = player_new(&(struct player_options){.cassette = c, .sched = t.rig.sched});
    t.http = player_transport(p);
    ask("{\"messages\":[]}", NULL);
    rig_without_ids(&t.rig.heard);
    RIG_HEARD(&t.rig, "200[1]@1 +" DELTA("It is REDACTED") "@1 +" DELTA("") "@2 +" DELTA(
                          ".") "data: [DONE]\n\n@3 .clean@3");
    ask(SAID("It is REDACTED."), NULL);
    CU_ASSERT_EQUAL(player_report(p).misses, 0);
    CU_ASSERT_EQUAL(player_report(p).unused, 0);
    player_free(p);
    cassette_free(c);
    sched_free(real);
    rig_end(&t.rig);
}

/* An odd key that has no known shape. */
static void an_error_that_quotes_its_requests_key_is_written_without(void)
{
    static const struct plan plans[] = {
        {401,
         "application/json",
         NULL,
         {{1, "{\"error\":\"my-sec"}, {2, "ret, my-secret\"}"}, {2, NULL}},
         HTTP_CLEAN,
         NULL,
         0},
        {200,
         "application/json",
         NULL,
         {{1, "{ \"error\": \"my-secret\"}"}, {1, NULL}},
         HTTP_CLEAN,
         NULL,
         0},
        {0, NULL, NULL, {{1, NULL}}, HTTP_REFUSED, "my-secret is no host", 0}};
    const struct http_header headers[][1] = {{{STR("Authorization"), STR("Bearer my-secret")}},
                                             {{STR("X-Api-Key"), STR("my-secret")}},
                                             {{STR("api-key"), STR("my-secret")}}};
    begin();
    for (size_t i = 0; i < 3; i++) {
        struct http_request rq = {STR("POST"), STR(CHAT), headers[i], 1, STR("{}")};
        t.plan = &plans[i];
        t.http->ops->start(t.http, &rq, rig_sink(&t.rig));
        loop_run(t.rig.loop);
    }
    close_recorder();
    struct cassette *c = load();
    CU_ASSERT_EQUAL_FATAL(c->n, 3);
    CU_ASSERT(says(c->items[0].body, "{\"error\":\"REDACTED, REDACTED\"}"));
    CU_ASSERT_EQUAL_FATAL(c->items[0].n_chunks, 2);
    CU_ASSERT_EQUAL(c->items[0].chunks[0].bytes, 18); /* to the end of the first REDACTED */
    CU_ASSERT_EQUAL(c->items[0].chunks[1].bytes, 12);
    CU_ASSERT(says(c->items[1].body, "{ \"error\": \"REDACTED\"}"));
    CU_ASSERT(says(c->items[2].detail, "REDACTED is no host"));
    cassette_free(c);
    rig_end(&t.rig);
}

TESTS(recorder,
      {"recorder_gives_a_replay_that_is_heard_the_same", replay_gives_what_the_recording_heard},
      {"recorder_writes_each_interaction_when_it_ends", each_interaction_is_on_disk_when_it_ends},
      {"recorder_says_what_was_stopped", what_is_stopped_is_recorded_so},
      {"recorder_writes_nothing_that_is_stopped_once_abandoned",
       what_is_stopped_after_it_was_abandoned_is_not_written},
      {"recorder_makes_folders_and_refuses_one", folders_are_made_and_a_folder_is_refused},
      {"recorder_writes_no_miss", a_miss_is_passed_on_and_not_recorded},
      {"recorder_stores_coded_bodies_plain", a_coded_body_is_stored_plain},
      {"recorder_keeps_an_existing_file", an_existing_file_is_kept_unless_all_is_asked_for},
      {"recorder_has_its_file_alone", a_file_has_one_recorder_at_a_time},
      {"recorder_goes_on_with_a_recording", a_recording_is_gone_on_with},
      {"recorder_tells_what_it_cannot_go_on_with", what_cannot_be_gone_on_with_is_told},
      {"recorder_tells_of_a_full_disk_at_the_end",
       a_full_disk_disturbs_no_session_and_is_told_at_the_end},
      {"recorder_refuses_what_it_cannot_hide", what_cannot_be_hidden_is_not_written},
      {"recorder_writes_no_credentials", credentials_never_reach_the_disk},
      {"recorder_writes_no_key_that_is_streamed_in_pieces",
       a_key_that_is_streamed_in_pieces_is_written_nowhere_and_replays},
      {"recorder_writes_no_key_that_an_error_quotes",
       an_error_that_quotes_its_requests_key_is_written_without})
