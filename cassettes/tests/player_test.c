#include "cassettes/tests/rig.h"
#include "kernel/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAT "http://h/v1/chat/completions"

/* A file of ours from parts. */
#define FILE_OF(items)                                                                             \
    "version: 1\nassay: {format: 1, encoder: 1, run: ab, seed: 7, started_at: "                    \
    "\"2026-11-29T18:00:00.000Z\"}\n"                                                              \
    "interactions:\n" items
#define ASK(uri, body)                                                                             \
    "- request: {method: POST, uri: \"" uri "\", headers: {}, body: '" body "'}\n  response:\n"    \
    "    status: {code: 200, message: OK}\n    headers: {}\n"
#define ANSWER(body, timing) "    body: {string: '" body "'}\n    assay: {at_ms: 0, " timing "}\n"
#define TOOL(name, args)                                                                           \
    "- request: {method: CALL, uri: \"tool:" name "\", headers: {}, body: '" args                  \
    "'}\n  response:\n"

static struct playing t;

static void begin_with(const char *text, struct player_options o)
{
    o.mend = STR("assay run --mode all --record t.yaml x");
    rig_play(&t, text, o);
}

static void begin(const char *text, enum cassette_match match)
{
    begin_with(text, (struct player_options){.match = match});
}

/* Asks, waits, and checks what was heard. */
static void ask(const char *url, const char *body, const char *want)
{
    rig_ask(&t.rig, t.http, url, body);
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, want);
}

static const char keyed[] = FILE_OF(
    ASK(CHAT, "{\"model\":\"m\",\"n\":[1.0,{\"b\":2,\"a\":1}]}") ANSWER("first", "took_ms: 5")
        ASK(CHAT, "{\"model\":\"x\"}") ANSWER("other", "took_ms: 1")
            ASK(CHAT, "{\"model\":\"m\",\"n\":[1,{\"a\":1,\"b\":2}]}")
                ANSWER("second", "took_ms: 0") ASK("http://h/v1/plain?q=1", "not json")
                    ANSWER("third", "took_ms: 0"));

/* A run that goes on takes up behind what its log holds already. */
static void what_a_run_had_used_is_skipped(void)
{
    begin(FILE_OF(ASK(CHAT, "{\"model\":\"m\"}") ANSWER("first", "took_ms: 0") TOOL(
              "f", "{\"a\":1}") "    status: {code: 200, message: OK}\n    headers: "
                                "{}\n" ANSWER("one", "took_ms: 0")
                                    TOOL("f", "{\"a\":1}") "    status: {code: 200, "
                                                           "message: OK}\n    headers: "
                                                           "{}\n" ANSWER("two", "took_ms: 0")
                                                               ASK(CHAT, "{\"model\":\"m\"}")
                                                                   ANSWER("second", "took_ms: 0")),
          CASSETTE_BODY);
    player_skip_requests(t.p, 1);
    player_skip_call(t.p, STR("f"), STR("{\"a\": 1}"));
    player_skip_call(t.p, STR("g"), STR("{}")); /* was not recorded */
    ask(CHAT, "{\"model\":\"m\"}", "200[0]@0 +second@0 .clean@0");
    rig_call(&t.rig, t.tools, "f", "{\"a\":1}", 1);
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, "ok(two)@0");
    CU_ASSERT_EQUAL(player_report(t.p).unused, 0);
    player_skip_requests(t.p, 9);
    rig_stop(&t);
}

static void equal_requests_get_their_answers_in_order(void)
{
    begin(keyed, CASSETTE_BODY);
    /* Another host and base path, keys in another order, defaults spelled out, numbers rewritten.
     */
    ask("https://api.example/chat/completions",
        "{ \"n\" : [1, {\"b\":2, \"a\":1.0}], \"stream\":false, \"model\":\"m\" }",
        "200[0]@5 +first@5 .clean@5");
    ask(CHAT, "{\"model\":\"x\"}", "200[0]@6 +other@6 .clean@6");
    ask(CHAT, "{\"n\":[1,{\"a\":1,\"b\":2}],\"model\":\"m\"}", "200[0]@6 +second@6 .clean@6");
    ask("http://other/v1/plain?q=1", "not json", "200[0]@6 +third@6 .clean@6");
    struct player_report r = player_report(t.p);
    CU_ASSERT(r.misses == 0 && r.drifts == 0 && r.unused == 0);
    rig_stop(&t);
}

static void a_used_recording_is_not_served_twice(void)
{
    begin(keyed, CASSETTE_BODY);
    ask(CHAT, "{\"model\":\"x\"}", "200[0]@1 +other@1 .clean@1");
    rig_ask(&t.rig, t.http, CHAT, "{\"model\":\"x\"}");
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard), ".miss(");
    CHECK_HOLDS(buf_str(&t.rig.heard), "interaction 2 matched but was used already");
    struct player_report r = player_report(t.p);
    CU_ASSERT_EQUAL(r.misses, 1);
    CU_ASSERT_EQUAL(r.unused, 3);
    CHECK_HOLDS(r.unused_text, "interaction 1 was not used: POST " CHAT " (model m)");
    rig_stop(&t);
}

static const char talk[] = FILE_OF(
    ASK(CHAT, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"far\"},1,2]}")
        ANSWER("a", "took_ms: 1")
            ASK(CHAT, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"near\"}]}")
                ANSWER("b", "took_ms: 1"));

static void a_miss_names_the_nearest_and_the_first_difference(void)
{
    begin(talk, CASSETTE_BODY);
    rig_ask(&t.rig, t.http, CHAT "?key=abc",
            "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"sk-"
            "abcdefghijkl0123456789\"}]}");
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard),
                "messages[0].content: recorded \"near\", sent \"REDACTED\")@0");
    struct player_report r = player_report(t.p);
    CHECK_HOLDS(r.miss_text, "POST " CHAT "?key=REDACTED (model m, 1 message): not in t.yaml\n");
    CHECK_HOLDS(r.miss_text, "nearest is interaction 2: messages[0].content: recorded \"near\"");
    CHECK_HOLDS(r.miss_text, "\n  to record it anew: assay run --mode all --record t.yaml x");
    CU_ASSERT(str_ends(r.miss_text, " x")); /* no newline behind it */
    rig_ask(&t.rig, t.http, CHAT,
            "{\"model\":"
            "\"aééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé"
            "ééééééééééééééééééééééééééééééééééééééééééééééé\"}");
    loop_run(t.rig.loop);
    CU_ASSERT(utf8_invalid_at(player_report(t.p).miss_text) == SIZE_MAX);
    buf_clear(&t.rig.heard);
    rig_ask(&t.rig, t.http, "http://h/else", "");
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard), "holds nothing for this path");
    rig_stop(&t);
}

static void order_serves_by_position_and_lists_drift(void)
{
    begin(talk, CASSETTE_ORDER);
    ask(CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":\"far\"},1,2],\"model\":\"m\"}",
        "200[0]@1 +a@1 .clean@1");
    CU_ASSERT_EQUAL(player_report(t.p).drifts, 0);
    ask(CHAT, "{\"model\":\"m2\",\"messages\":[{\"role\":\"user\"}]}", "200[0]@2 +b@2 .clean@2");
    struct player_report r = player_report(t.p);
    CU_ASSERT_EQUAL(r.drifts, 1);
    CU_ASSERT(str_is(r.drift_text, "interaction 2: messages[0].content: recorded \"near\", sent "
                                   "nothing, and 1 more"));
    rig_ask(&t.rig, t.http, CHAT, "{}");
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard),
                "miss(POST chat/completions is not in the cassette; the recording holds 2 requests "
                "to chat/completions; this is request 3)");
    CU_ASSERT_EQUAL(player_report(t.p).misses, 1);
    rig_stop(&t);
}

#define TOOL_OFFER(name) "{\"type\":\"function\",\"function\":{\"name\":\"" name "\"}}"

static void a_miss_says_what_explains_the_rest(void)
{
    begin(FILE_OF(ASK(CHAT, "{\"model\":\"m\",\"messages\":[1,2],\"tools\":[" TOOL_OFFER(
                                "a") "," TOOL_OFFER("b") "," TOOL_OFFER("c") "]}")
                      ANSWER("x", "took_ms: 1")),
          CASSETTE_BODY);
    rig_ask(&t.rig, t.http, CHAT,
            "{\"model\":\"m\",\"messages\":[0,1,2],\"tools\":[" TOOL_OFFER("b") "]}");
    rig_ask(
        &t.rig, t.http, CHAT,
        "{\"model\":\"m\",\"messages\":[9],\"tools\":[" TOOL_OFFER("a") "," TOOL_OFFER("b") "]}");
    loop_run(t.rig.loop);
    CHECK_HOLDS(
        player_report(t.p).miss_text,
        "(model m, 3 messages): not in t.yaml\n  nearest is interaction 1: the recording offers "
        "tools a, c, which this run does not (give them with --tools, or in the golden "
        "set); the request has 3 messages, the recording 2; messages[0]: recorded 1, sent "
        "0, and ");
    CHECK_HOLDS(player_report(t.p).miss_text,
                " x\nPOST " CHAT
                " (model m, 1 message): not in t.yaml\n  nearest is interaction 1: the "
                "recording offers tool c, which this run does not (give them with --tools, or in "
                "the golden set); the request has 1 message, the recording 2; messages[0]: ");
    rig_stop(&t);
}

static void a_miss_behind_the_last_recording_says_so(void)
{
    begin(FILE_OF(ASK(CHAT, "{\"i\":1}") ANSWER("a", "took_ms: 1")), CASSETTE_BODY);
    ask(CHAT, "{\"i\":1}", "200[0]@1 +a@1 .clean@1");
    ask(CHAT, "{\"i\":2}",
        ".miss(POST chat/completions is not in the cassette; the recording holds 1 request to "
        "chat/completions; this is request 2)@1");
    CHECK_HOLDS(player_report(t.p).miss_text,
                "not in t.yaml\n  the recording holds 1 request to chat/completions; this is "
                "request 2\n  to record it anew: ");
    rig_stop(&t);
}

static void unused_recordings_are_listed_without_a_newline_behind(void)
{
    begin(talk, CASSETTE_BODY);
    CU_ASSERT(str_is(player_report(t.p).unused_text,
                     "interaction 1 was not used: POST " CHAT " (model m, 3 messages)\n"
                     "interaction 2 was not used: POST " CHAT " (model m, 1 message)"));
    rig_stop(&t);
}

static void pieces_come_at_their_recorded_times(void)
{
    begin(FILE_OF(ASK(CHAT, "{}") ANSWER("abcdef", "took_ms: 9, chunks: [[2, 1], [2, 2], [7, 3]]")
                      ASK(CHAT, "{}") ANSWER("xyz", "took_ms: 4, chunks: [[4, 1]]") ASK(CHAT, "{}")
                          ANSWER("xyz", "took_ms: 4, chunks: [[1, 99]]") ASK(CHAT, "{}")
                              ANSWER("xyz", "ended: clean")),
          CASSETTE_BODY);
    ask(CHAT, "{}", "200[0]@2 +a@2 +bc@2 +def@7 .clean@9");
    ask(CHAT, "{}", "200[0]@13 +x@13 +yz@13 .clean@13");
    ask(CHAT, "{}", "200[0]@14 +xyz@14 .clean@17");
    ask(CHAT, "{}", "200[0]@17 +xyz@17 .clean@17");
    rig_stop(&t);
}

static void every_end_is_replayed(void)
{
    begin(
        FILE_OF(ASK(CHAT, "{}") ANSWER(
            "ab",
            "took_ms: 3, ended: reset, detail: gone") "- request: {method: POST, uri: \"" CHAT
                                                      "\", headers: {}, body: '{}'}\n"
                                                      "  response:\n    status: {code: 0}\n    "
                                                      "headers: {}\n" ANSWER(
                                                          "", "took_ms: 1, ended: refused, detail: "
                                                              "'no one there'") ASK(CHAT, "{}")
                                                          ANSWER("a", "took_ms: 60, ended: timeout")
                                                              ASK(CHAT, "{}") ANSWER(
                                                                  "a", "took_ms: 5, ended: "
                                                                       "stopped, chunks: [[2, 1]]")
                                                                  ASK(CHAT, "{}") ANSWER(
                                                                      "a", "took_ms: 5, ended: "
                                                                           "stopped")),
        CASSETTE_BODY);
    ask(CHAT, "{}", "200[0]@3 +ab@3 .reset(gone)@3");
    ask(CHAT, "{}", ".refused(no one there)@4");
    ask(CHAT, "{}", "200[0]@64 +a@64 .timeout@64");
    struct http_call *call = rig_ask(&t.rig, t.http, CHAT, "{}");
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, "200[0]@66 +a@66");
    t.http->ops->stop(t.http, call);
    ask(CHAT, "{}", "");
    CU_ASSERT_EQUAL(player_report(t.p).unused, 0);
    rig_stop(&t);
}

/* A sink that stops its call when the first piece comes. */
static struct http_call *to_stop;

static void stop_at_body(void *ctx, struct str piece)
{
    (void)ctx;
    (void)piece;
    buf_addz(&t.rig.heard, "stop ");
    t.http->ops->stop(t.http, to_stop);
}

static void a_call_may_be_stopped_from_its_own_sink(void)
{
    begin(FILE_OF(ASK(CHAT, "{}") ANSWER("abcd", "took_ms: 2, chunks: [[1, 2], [1, 2]]")),
          CASSETTE_BODY);
    struct http_sink sink = rig_sink(&t.rig);
    sink.body = stop_at_body;
    struct http_request rq = {STR("POST"), STR(CHAT), NULL, 0, STR("{}")};
    to_stop = t.http->ops->start(t.http, &rq, sink);
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, "200[0]@1 stop");
    rig_stop(&t);
}

static const char tools[] = FILE_OF(
    TOOL("f", "{\"a\":1,\"b\":2}") "    status: {code: 200, message: OK}\n    headers: {}\n" ANSWER(
        "one", "took_ms: 5, call_id: c1")
        TOOL("f", "{\"b\":2.0,\"a\":1}") "    status: {code: 200, message: OK}\n    headers: "
                                         "{}\n" ANSWER("two", "took_ms: 5, call_id: c2") TOOL(
                                             "g",
                                             "{}") "    status: {code: 500, message: TIMEOUT}\n    "
                                                   "headers: {}\n" ANSWER("{\"code\":\"TIMEOUT\","
                                                                          "\"message\":\"slow\","
                                                                          "\"retryable\":true,"
                                                                          "\"hint\":\"wait\"}",
                                                                          "took_ms: 7, call_id: c3")
                                                       TOOL("g", "{}") "    status: {code: 0}\n    "
                                                                       "headers: {}\n" ANSWER(
                                                                           "",
                                                                           "took_ms: 7, ended: "
                                                                           "stopped, call_id: c4"));

static void tools_answer_from_the_recording(void)
{
    begin(tools, CASSETTE_ORDER);
    rig_call(&t.rig, t.tools, "f", "{\"a\":1,\"b\":2}", 2);
    rig_call(&t.rig, t.tools, "f", "{\"a\":1,\"b\":2}", 1);
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, "ok(two)@5 ok(one)@5"); /* results of one moment come in call order */
    rig_call(&t.rig, t.tools, "g", "{}", 3);
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, "failed(TIMEOUT slow wait retryable)@12");
    struct tool_run *run = rig_call(&t.rig, t.tools, "g", "{}", 4);
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, "");
    t.tools->ops->stop(t.tools, run);
    rig_call(&t.rig, t.tools, "f", "{\"a\":9,\"b\":2}", 5);
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard), "miss(a call of the tool f is not in the cassette; nearest "
                                       "is interaction 1 (used already): a: recorded 1, sent 9)");
    CHECK_HOLDS(player_report(t.p).miss_text, "CALL tool:f {\"a\":9,\"b\":2}: not in t.yaml");
    rig_stop(&t);
}

/* A toolbox that answers at once with the tool's name. */
struct tool_run {
    struct tool_sink sink;
    char name[16];
};
static struct tool_run local_run;

static void local_answer(void *arg)
{
    (void)arg;
    struct tool_output o = {.ok = true, .content = str_of(local_run.name)};
    local_run.sink.end(local_run.sink.ctx, &o, false);
}

static struct tool_run *local_start(struct toolbox *b, const struct tool_request *rq,
                                    struct tool_sink sink)
{
    (void)b;
    local_run.sink = sink;
    snprintf(local_run.name, sizeof local_run.name, "%.*s", STR_FMT(rq->name));
    sched_post(t.rig.sched, 3, rq->order, local_answer, NULL);
    return &local_run;
}

static void local_stop(struct toolbox *b, struct tool_run *run)
{
    (void)b;
    (void)run;
    buf_addz(&t.rig.heard, "stopped ");
}

static const struct toolbox_ops local_ops = {local_start, local_stop, NULL};

static bool is_builtin(void *ctx, struct str name)
{
    (void)ctx;
    return str_is(name, "now");
}

static void a_tool_that_is_not_recorded_falls_back_when_it_may(void)
{
    struct toolbox local = {&local_ops};
    begin_with(tools, (struct player_options){.fallback = &local, .runs_without = is_builtin});
    rig_call(&t.rig, t.tools, "now", "{}", 1);
    loop_run(t.rig.loop);
    RIG_HEARD(&t.rig, "ok(now)@3");
    rig_call(&t.rig, t.tools, "command", "{}", 2);
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard), "miss(a call of the tool command is not in the cassette; "
                                       "the cassette holds nothing for this path)");
    buf_clear(&t.rig.heard);
    struct tool_run *run = rig_call(&t.rig, t.tools, "now", "{}", 3);
    t.tools->ops->stop(t.tools, run);
    RIG_HEARD(&t.rig, "stopped");
    CU_ASSERT_EQUAL(player_report(t.p).misses, 1);
    rig_stop(&t);
}

static void a_redacted_recording_matches_what_was_sent(void)
{
    begin(FILE_OF(ASK(CHAT, "{\"k\":\"use REDACTED now\"}") ANSWER("ok", "took_ms: 0")),
          CASSETTE_BODY);
    ask(CHAT, "{\"k\":\"use sk-abcdefghijkl0123456789 now\"}", "200[0]@0 +ok@0 .clean@0");
    rig_stop(&t);
}

/* Thousands of recordings, asked for in reverse: each request finds its own. */
static void concurrency_does_not_change_the_answers(void)
{
    enum { N = 3000 };
    struct buf text = {0};
    buf_addz(&text, FILE_OF(""));
    for (int i = 0; i < N; i++) {
        buf_fmt(&text,
                "- request: {method: POST, uri: \"" CHAT "\", headers: {}, body: '{\"i\":%d}'}\n"
                "  response:\n    status: {code: 200, message: OK}\n    headers: {}\n"
                "    body: {string: '%d'}\n    assay: {at_ms: 0, took_ms: %d}\n",
                i / 2, i, N - i);
    }
    buf_char(&text, '\0');
    begin(text.p, CASSETTE_BODY);
    for (int i = N - 1; i >= 0; i--) {
        char body[32];
        snprintf(body, sizeof body, "{\"i\":%d}", i / 2);
        rig_ask(&t.rig, t.http, CHAT, body);
    }
    loop_run(t.rig.loop);
    CHECK_HOLDS(buf_str(&t.rig.heard), "200[0]@1 +2999@1 .clean@1 200[0]@2 +2998@2 .clean@2 ");
    CU_ASSERT_EQUAL(player_report(t.p).unused, 0);
    CU_ASSERT_EQUAL(player_report(t.p).misses, 0);
    buf_free(&text);
    rig_stop(&t);
}

static void what_is_open_is_freed_with_the_player(void)
{
    begin(tools, CASSETTE_BODY);
    rig_call(&t.rig, t.tools, "f", "{\"a\":1,\"b\":2}", 1);
    rig_ask(&t.rig, t.http, CHAT, "{}");
    rig_stop(&t);
}

TESTS(player,
      {"player_gives_equal_requests_their_answers_in_order",
       equal_requests_get_their_answers_in_order},
      {"player_goes_on_behind_what_a_run_had_used", what_a_run_had_used_is_skipped},
      {"player_serves_no_recording_twice", a_used_recording_is_not_served_twice},
      {"player_names_the_nearest_and_the_first_difference",
       a_miss_names_the_nearest_and_the_first_difference},
      {"player_says_what_explains_the_other_differences", a_miss_says_what_explains_the_rest},
      {"player_says_that_the_recording_ends", a_miss_behind_the_last_recording_says_so},
      {"player_lists_what_was_not_used", unused_recordings_are_listed_without_a_newline_behind},
      {"player_by_order_lists_drift", order_serves_by_position_and_lists_drift},
      {"player_gives_pieces_at_their_times", pieces_come_at_their_recorded_times},
      {"player_replays_every_end", every_end_is_replayed},
      {"player_may_be_stopped_from_a_sink", a_call_may_be_stopped_from_its_own_sink},
      {"player_answers_for_tools", tools_answer_from_the_recording},
      {"player_falls_back_for_tools_that_may_run",
       a_tool_that_is_not_recorded_falls_back_when_it_may},
      {"player_matches_through_redaction", a_redacted_recording_matches_what_was_sent},
      {"player_is_not_changed_by_concurrency", concurrency_does_not_change_the_answers},
      {"player_frees_what_is_open", what_is_open_is_freed_with_the_player})
