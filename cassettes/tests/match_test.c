/* How a player finds recordings: rules, the nearest, what is answered live, pieces. */
#include "cassettes/tests/rig.h"
#include "kernel/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAT "http://h/v1/chat/completions"
#define HEAD(rules)                                                                                \
    "version: 1\nassay: {format: 1, encoder: 1, run: ab, seed: 7, started_at: "                    \
    "\"2026-11-29T18:00:00.000Z\"" rules "}\n"                                                     \
    "interactions:\n"
#define ITEM(uri, body, answer, timing)                                                            \
    "- request: {method: POST, uri: \"" uri "\", headers: {}, body: '" body "'}\n  response:\n"    \
    "    status: {code: 200, message: OK}\n    headers: {}\n"                                      \
    "    body: {string: '" answer "'}\n    assay: {at_ms: 0, " timing "}\n"

static struct playing t;

static void ask(const char *body, const char *want)
{
    rig_ask(&t.rig, t.http, CHAT, body);
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, want);
}

/* ---- rules ---- */

/* What a request comes to by one rule. */
static const struct {
    enum cassette_rule_kind kind;
    const char *rule, *uri, *body, *want;
} applied[] = {
    {RULE_IGNORE, "metadata.user", CHAT, "{\"metadata\":{\"user\":1,\"x\":2},\"user\":3}",
     "{\"metadata\":{\"x\":2},\"user\":3}"},
    {RULE_IGNORE, "$.user", CHAT, "{\"user\":3,\"m\":[]}", "{\"m\":[]}"},
    {RULE_IGNORE, "messages[0].content", CHAT,
     "{\"messages\":[{\"content\":\"a\",\"role\":\"u\"},{\"content\":\"b\"}]}",
     "{\"messages\":[{\"role\":\"u\"},{\"content\":\"b\"}]}"},
    {RULE_IGNORE, "messages[*].id", CHAT, "{\"messages\":[{\"id\":1},{\"id\":2,\"k\":0}]}",
     "{\"messages\":[{},{\"k\":0}]}"},
    {RULE_IGNORE, "a[1]", CHAT, "{\"a\":[1,2,3]}", "{\"a\":[1,null,3]}"},
    {RULE_IGNORE, "a[7]", CHAT, "{\"a\":[1]}", "{\"a\":[1]}"},
    {RULE_IGNORE, "[\"odd.key\\\"]\"].b", CHAT, "{\"odd.key\\\"]\":{\"b\":1}}",
     "{\"odd.key\\\"]\":{}}"},
    {RULE_IGNORE, "a.b.c", CHAT, "{\"a\":\"b\"}", "{\"a\":\"b\"}"},
    {RULE_IGNORE, "a", "tool:f", "{\"a\":1}", "{\"a\":1}"},
    {RULE_IGNORE, "tool:f:a", "tool:f", "{\"a\":1,\"b\":2}", "{\"b\":2}"},
    {RULE_IGNORE, "tool:f:a", "tool:g", "{\"a\":1}", "{\"a\":1}"},
    {RULE_IGNORE, "tool:f:a", CHAT, "{\"a\":1}", "{\"a\":1}"},
    {RULE_NORMALISE, "a=[0-9]+=>N", CHAT, "{\"a\":\"x12y3\",\"b\":\"4\"}",
     "{\"a\":\"xNyN\",\"b\":\"4\"}"},
    {RULE_NORMALISE, "$=/tmp/[a-z]+=>/tmp/X", CHAT, "{\"a\":[\"/tmp/abc/d\"],\"/tmp/k\":{}}",
     "{\"/tmp/k\":{},\"a\":[\"/tmp/X/d\"]}"},
    {RULE_NORMALISE, "$=b*=>-", CHAT, "{\"a\":\"abé\"}", "{\"a\":\"-a--é-\"}"},
    {RULE_NORMALISE, "a=x=>=>", CHAT, "{\"a\":\"x=\"}", "{\"a\":\"x=\"}"},
    {RULE_NORMALISE, "a=^x=>", CHAT, "{\"a\":\"xx\"}", "{\"a\":\"x\"}"},
    {RULE_NORMALISE, "$=[0-9]+=>N", "http://h/other", "a 1 b", "a N b"},
    {RULE_NORMALISE, "a=1=>2", CHAT, "{\"a\":1}", "{\"a\":1}"},
};

static void rules_leave_out_what_they_name(void)
{
    for (size_t i = 0; i < sizeof applied / sizeof applied[0]; i++) {
        struct arena *arena = arena_new();
        struct rules *rules = cassette_rules_new();
        struct buf out = {0};
        struct val *json = NULL;
        struct err e = {.message = ""};
        if (json_parse(arena, NULL, str_of(applied[i].body), &json, NULL) != 0) {
            json = NULL;
        }
        CU_ASSERT_EQUAL(cassette_rules_add(rules, applied[i].kind, str_of(applied[i].rule), &e), 0);
        CHECK_TEXT(e.message, "");
        cassette_meaning_by(rules, str_of(applied[i].uri), str_of(applied[i].body), json, &out);
        buf_char(&out, '\0');
        CHECK_TEXT(out.p, applied[i].want);
        buf_free(&out);
        cassette_rules_free(rules);
        arena_free(arena);
    }
}

static void bad_rules(void)
{
    static const struct {
        enum cassette_rule_kind kind;
        const char *rule, *want;
    } cases[] = {
        {RULE_IGNORE, "", "expected a path"},
        {RULE_IGNORE, "$", "leaves nothing to compare"},
        {RULE_IGNORE, "a.", "wrong at its character 3: expected a key"},
        {RULE_IGNORE, ".a", "wrong at its character 1: expected a key"},
        {RULE_IGNORE, "a[", "wrong at its character 3: expected a number"},
        {RULE_IGNORE, "a[1", "wrong at its character 4: expected ]"},
        {RULE_IGNORE, "a[1234567890]", "expected ]"},
        {RULE_IGNORE, "a[-1]", "expected a number"},
        {RULE_IGNORE, "[\"a]", "expected a key as a JSON string"},
        {RULE_IGNORE, "['a]", "expected a key in quotes"},
        {RULE_IGNORE, "a\"b", "wrong at its character 2: expected a key"},
        {RULE_IGNORE, "a[1]b", "wrong at its character 5: expected a key behind a dot"},
        {RULE_NORMALISE, "a", "expected PATH=REGEX=>TEXT"},
        {RULE_NORMALISE, "a=>b", "expected PATH=REGEX=>TEXT"},
        {RULE_NORMALISE, "=a=>b", "expected a path"},
        {RULE_NORMALISE, "a=[=>b", "bad regular expression"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rules *rules = cassette_rules_new();
        struct err e = {.message = ""};
        CU_ASSERT(cassette_rules_add(rules, cases[i].kind, str_of(cases[i].rule), &e) != 0);
        if (strstr(e.message, cases[i].want) == NULL) {
            CHECK_TEXT(e.message, cases[i].want);
        }
        CU_ASSERT_EQUAL(cassette_rules_count(rules), 0);
        cassette_rules_free(rules);
    }
}

/* Of keys and of differences alike; in the head they are read as they were written. */
static void rules_of_the_head_count(void)
{
    rig_play(&t,
             HEAD(", ignore: [\"user\"], normalise: [\"p=[0-9]+=>N\"]")
                 ITEM(CHAT, "{\"user\":\"a\",\"p\":\"run 1\"}", "x", "took_ms: 0"),
             (struct player_options){.mend = STR("")});
    rig_ask(&t.rig, t.http, CHAT, "{\"user\":\"b\",\"p\":\"walk 2\"}");
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard), "nearest is interaction 1: p: recorded \"run N\", sent "
                                       "\"walk N\")@0");
    buf_clear(&t.rig.heard);
    ask("{\"p\":\"run 22\"}", "200[0]@0 +x@0 .clean@0");
    struct buf head = {0};
    cassette_add_head(&head, &(struct cassette_head){.rules = t.c->rules});
    CHECK_HOLDS(buf_str(&head), "ignore: [\"user\"], normalise: [\"p=[0-9]+=>N\"]}\n");
    buf_free(&head);
    rig_stop(&t);
}

/* ---- the nearest ---- */

#define SAID(text) "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"

static void relaxed_takes_the_nearest_unused(void)
{
    rig_play(&t,
             HEAD("") ITEM(CHAT, "{\"model\":\"other\",\"messages\":[1,2,3]}", "far", "took_ms: 0")
                 ITEM(CHAT, SAID("a"), "a", "took_ms: 0") ITEM(CHAT, SAID("b"), "b", "took_ms: 0")
                     ITEM("http://h/v1/responses", SAID("c"), "c", "took_ms: 0"),
             (struct player_options){.match = CASSETTE_RELAXED});
    ask(SAID("b"), "200[0]@0 +b@0 .clean@0"); /* its own before all others */
    CU_ASSERT_EQUAL(player_report(t.p).drifts, 0);
    ask(SAID("c"), "200[0]@0 +a@0 .clean@0"); /* the nearer of two, of this path */
    CU_ASSERT(str_is(player_report(t.p).drift_text,
                     "interaction 2: messages[0].content: recorded \"a\", sent \"c\""));
    ask(SAID("a"), "200[0]@0 +far@0 .clean@0");
    CU_ASSERT_EQUAL(player_report(t.p).drifts, 2);
    rig_ask(&t.rig, t.http, CHAT, SAID("a"));
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard), "the recording holds 3 requests to chat/completions; this "
                                       "is request 4");
    rig_stop(&t);
}

static void equally_near_ones_come_in_the_order_of_the_file(void)
{
    rig_play(&t,
             HEAD("") ITEM(CHAT, SAID("a"), "1", "took_ms: 0")
                 ITEM(CHAT, SAID("b"), "2", "took_ms: 0") ITEM(CHAT, SAID("a"), "3", "took_ms: 0"),
             (struct player_options){.match = CASSETTE_RELAXED});
    ask(SAID("x"), "200[0]@0 +1@0 .clean@0");
    ask(SAID("a"), "200[0]@0 +3@0 .clean@0"); /* the first of its meaning went to another */
    ask(SAID("a"), "200[0]@0 +2@0 .clean@0");
    rig_stop(&t);
}

static void a_miss_says_what_was_used(void)
{
    rig_play(&t,
             HEAD("") ITEM(CHAT, SAID("a"), "1", "took_ms: 0")
                 ITEM(CHAT, SAID("b"), "2", "took_ms: 0")
                     ITEM("http://h/v1/responses", "{}", "3", "took_ms: 0"),
             (struct player_options){.mend = STR("assay run x")});
    ask(SAID("a"), "200[0]@0 +1@0 .clean@0");
    rig_ask(&t.rig, t.http, CHAT, SAID("c"));
    loop_run(t.rig.loop);
    CHECK_HOLDS(player_report(t.p).miss_text,
                "\n  1 of 3 recorded interactions were used; never asked for: 2 "
                "(chat/completions), 3 (responses)\n  to record it anew: assay run x");
    rig_stop(&t);
}

/* Ten thousand requests that all miss, or all drift, among ten thousand recordings. */
static void ten_thousand_misses_take_no_time(void)
{
    enum { N = 10000 };
    static const enum cassette_match ways[] = {CASSETTE_BODY, CASSETTE_RELAXED};
    struct buf text = {0};
    buf_addz(&text, HEAD(""));
    for (int i = 0; i < N; i++) {
        buf_fmt(&text,
                "- request: {method: POST, uri: \"" CHAT "\", headers: {}, body: "
                "'{\"i\":%d}'}\n  response:\n    status: {code: 200, message: OK}\n    "
                "headers: {}\n    body: {string: 'x'}\n    assay: {took_ms: 0}\n",
                i);
    }
    buf_char(&text, '\0');
    for (size_t w = 0; w < 2; w++) {
        rig_play(&t, text.p, (struct player_options){.match = ways[w]});
        for (int i = 0; i < N / (w == 0 ? 10 : 1); i++) {
            char body[32];
            snprintf(body, sizeof body, "{\"k\":%d}", i);
            rig_ask(&t.rig, t.http, CHAT, body);
        }
        loop_run(t.rig.loop);
        struct player_report r = player_report(t.p);
        CU_ASSERT_EQUAL(w == 0 ? r.misses : r.drifts, N / (w == 0 ? 10 : 1));
        rig_stop(&t);
    }
    buf_free(&text);
}

/* ---- pieces ---- */

static void bodies_are_cut_anew(void)
{
    static const struct {
        struct rechunk how;
        const char *want;
    } cases[] = {
        {{0, false, 0}, "200[0]@2 +abc@2 +de@7 .clean@9"},
        {{2, false, 0}, "200[0]@2 +ab@2 +cd@7 +e@7 .clean@9"},
        {{4, false, 0}, "200[0]@7 +abcd@7 +e@7 .clean@9"},
        {{99, false, 0}, "200[0]@7 +abcde@7 .clean@9"},
        {{1, true, 5}, "200[0]@2 +a@2 +b@2 +c@2 +d@7 +e@7 .clean@9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig_play(&t,
                 HEAD("") ITEM(CHAT, "{}", "abcde", "took_ms: 9, chunks: [[2, 3], [7, 2]]")
                     ITEM(CHAT, "{}", "abcd", "took_ms: 3, ended: reset"),
                 (struct player_options){.rechunk = cases[i].how});
        ask("{}", cases[i].want);
        if (cases[i].how.bytes == 2) {
            ask("{}", "200[0]@12 +ab@12 +cd@12 .reset@12");
        }
        rig_stop(&t);
    }
}

/* ---- what is not recorded ---- */

struct http_call {
    struct http_sink sink;
    struct timer *timer;
};
static struct http_call live_call;

static void live_answer(void *arg)
{
    (void)arg;
    live_call.sink.head(live_call.sink.ctx, 201, STR("OK"), NULL, 0);
    live_call.sink.body(live_call.sink.ctx, STR("live"));
    live_call.sink.end(live_call.sink.ctx, HTTP_CLEAN, STR(""));
}

static struct http_call *live_start(struct transport *b, const struct http_request *rq,
                                    struct http_sink sink)
{
    (void)b;
    (void)rq;
    live_call = (struct http_call){sink, NULL};
    live_call.timer = sched_post(t.rig.sched, 3, 0, live_answer, NULL);
    return &live_call;
}

static void live_stop(struct transport *b, struct http_call *call)
{
    (void)b;
    sched_cancel(t.rig.sched, call->timer);
    buf_addz(&t.rig.heard, "stopped ");
}

static const struct transport_ops live_ops = {live_start, live_stop, NULL, NULL};
static struct transport live = {&live_ops};

static void what_is_not_recorded_is_answered_live(void)
{
    rig_play(&t, HEAD("") ITEM(CHAT, "{}", "x", "took_ms: 3600000"),
             (struct player_options){.live = &live});
    ask("{}", "200[0]@3600000 +x@3600000 .clean@3600000"); /* at once */
    CU_ASSERT(sched_is_virtual(t.rig.sched));
    ask("{}", "201[0]@3600003 +live@3600003 .clean@3600003");
    CU_ASSERT_FALSE(sched_is_virtual(t.rig.sched));
    struct player_report r = player_report(t.p);
    CU_ASSERT(r.misses == 0 && r.live == 1 && r.unused == 0);
    struct http_call *call = rig_ask(&t.rig, t.http, CHAT, "{}");
    t.http->ops->stop(t.http, call);
    RIG_HEARD(&t.rig, "stopped");
    rig_stop(&t);
}

TESTS(match, {"rules_leave_out_what_they_name", rules_leave_out_what_they_name},
      {"rules_that_are_wrong_are_told_with_their_place", bad_rules},
      {"rules_of_the_head_count_in_keys_and_differences", rules_of_the_head_count},
      {"relaxed_takes_the_nearest_that_is_unused", relaxed_takes_the_nearest_unused},
      {"relaxed_breaks_ties_by_the_order_of_the_file",
       equally_near_ones_come_in_the_order_of_the_file},
      {"miss_says_what_was_used_and_what_was_not", a_miss_says_what_was_used},
      {"miss_is_not_quadratic", ten_thousand_misses_take_no_time},
      {"rechunk_cuts_bodies_at_the_times_of_their_bytes", bodies_are_cut_anew},
      {"player_answers_live_what_is_not_recorded", what_is_not_recorded_is_answered_live})
