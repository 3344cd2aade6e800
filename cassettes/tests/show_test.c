#include "cassettes/tests/rig.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct str shown(const struct cassette *c, bool json, struct buf *out)
{
    buf_clear(out);
    cassette_show(c, json, out);
    return buf_str(out);
}

static void people_see_request_calls_results_and_reply(void)
{
    const char *text = rig_example();
    if (text == NULL) {
        testing_skip("no examples");
        return;
    }
    static const char *const parts[] = {
        "1  chat_completions  POST http://127.0.0.1:8080/v1/chat/completions  200 OK  at 0 ms, "
        "took "
        "412 ms\n",
        "   offered    calculator\n",
        "   user       ACME's gross margin fell from 42.4% to 38.2%.",
        "   call       calculator {\"expression\":\"42.4-38.2\"}  (c1)\n",
        "   stop       tool_use (tool_calls)\n",
        "   usage      100 in, 10 out\n",
        "2  tool  CALL tool:calculator  200 OK  at 412 ms, took 1 ms\n",
        "(1 message as before)\n",
        "   result     c1: {\"ok\":true,\"expression\":\"42.4-38.2\",\"value\":4.2}\n",
        "   reply      It fell by 4.2 percentage points.\n",
    };
    struct buf out = {0};
    struct cassette *c = rig_load(text);
    struct str got = shown(c, false, &out);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        CHECK_HOLDS(got, parts[i]);
    }
    buf_free(&out);
    cassette_free(c);
}

static void programs_get_a_line_an_interaction(void)
{
    const char *text = rig_example();
    if (text == NULL) {
        testing_skip("no examples");
        return;
    }
    /* Worked by hand from what the example holds. */
    const char *first =
        "{\"n\":1,\"kind\":\"chat_completions\",\"method\":\"POST\",\"uri\":"
        "\"http://127.0.0.1:8080/v1/chat/completions\",\"status\":200,\"streamed\":false,"
        "\"offered\":[\"calculator\"],\"reply\":{\"text\":null,\"reasoning\":null,\"calls\":[{"
        "\"id\":\"c1\",\"name\":\"calculator\",\"arguments\":\"{\\\"expression\\\":\\\"42.4-38.2\\"
        "\"}\"}],\"stop\":\"tool_use\",\"stop_raw\":\"tool_calls\",\"usage\":{\"input\":100,"
        "\"cached\":null,\"cache_write\":null,\"output\":10,\"reasoning\":null}},\"file\":\"t."
        "yaml\"}\n";
    struct buf out = {0};
    struct cassette *c = rig_load(text);
    struct str got = shown(c, true, &out);
    CU_ASSERT(str_starts(got, first));
    CHECK_HOLDS(got, "\n{\"n\":2,\"kind\":\"tool\",\"method\":\"CALL\",\"uri\":\"tool:calculator\","
                     "\"status\":200,\"streamed\":false,\"offered\":[],\"reply\":null,");
    buf_free(&out);
    cassette_free(c);
}

static const char mixed[] =
    "interactions:\n"
    "- request: {method: GET, uri: 'http://h/x?key=abc', headers: {}}\n"
    "  response: {status: 200, headers: {Content-Type: [text/html]}, body: \"<p>\\e[1mhi\"}\n"
    "- request: {method: POST, uri: 'http://h/v1/chat/completions', headers: {}, body: '{}'}\n"
    "  response: {status: 429, headers: {}, body: '{\"error\":{\"message\":\"slow down\"}}'}\n"
    "- request: {method: POST, uri: 'http://h/rpc', headers: {}, body: '{}'}\n"
    "  response: {status: 200, headers: {}, body: \"event: m\\ndata: {}\\n\\n\"}\n";

static void http_and_errors_are_shown_as_what_they_are(void)
{
    struct buf out = {0};
    struct cassette *c = rig_load(mixed);
    CU_ASSERT_FATAL(c != NULL);
    struct str got = shown(c, false, &out);
    CHECK_HOLDS(got, "1  http  GET http://h/x?key=REDACTED  200");
    CHECK_HOLDS(got, "   response   text/html, 9 bytes: <p> [1mhi\n");
    CHECK_HOLDS(got, "   error      rate_limit: slow down\n");
    got = shown(c, true, &out);
    CHECK_HOLDS(
        got,
        "\"kind\":\"http\",\"method\":\"GET\",\"uri\":\"http://h/x?key=REDACTED\","
        "\"status\":200,\"streamed\":false,\"offered\":[],\"reply\":null,\"file\":\"t.yaml\"}\n");
    CHECK_HOLDS(got, "\"reply\":{\"error\":{\"status\":429,\"class\":\"rate_limit\",\"message\":"
                     "\"slow down\"}},\"file\":\"t.yaml\"}\n");
    CHECK_HOLDS(got, "\"uri\":\"http://h/rpc\",\"status\":200,\"streamed\":true,");
    buf_free(&out);
    cassette_free(c);
}

/* A call that lacks its parts, and a tool that says nothing. */
static void what_is_empty_is_a_string(void)
{
    struct buf out = {0};
    struct cassette *c = rig_load(
        "interactions:\n"
        "- request: {method: POST, uri: 'http://h/v1/chat/completions', headers: {}, body: '{}'}\n"
        "  response: {status: 200, body: '{\"choices\":[{\"message\":{\"content\":null,"
        "\"tool_calls\":[{\"function\":{}}]},\"finish_reason\":\"tool_calls\"}]}'}\n"
        "- request: {method: CALL, uri: 'tool:f', headers: {}}\n"
        "  response: {status: 200, body: null}\n");
    CU_ASSERT_FATAL(c != NULL);
    struct str got = shown(c, true, &out);
    CHECK_HOLDS(got, "\"calls\":[{\"id\":\"call_1\",\"name\":\"\",\"arguments\":\"\"}],");
    CHECK_HOLDS(got, "\"call\":{\"id\":\"\",\"name\":\"f\",\"arguments\":\"\"},\"result\":\"\",");
    buf_free(&out);
    cassette_free(c);
}

static void every_end_is_shown(void)
{
    static const char *const ends[] = {"reset", "timeout", "refused", "stopped", "mismatch"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char text[1024];
        char want[64];
        struct buf out = {0};
        snprintf(text, sizeof text,
                 "version: 1\nassay: {format: 1, encoder: 1}\ninteractions:\n- request: {method: "
                 "POST, uri: 'http://h/v1/messages', headers: {}, body: '{}'}\n  response: "
                 "{status: {code: 0}, headers: {}, body: '', assay: {at_ms: 1, ended: %s, detail: "
                 "why}}\n",
                 ends[i]);
        struct cassette *c = rig_load(text);
        CU_ASSERT_FATAL(c != NULL);
        snprintf(want, sizeof want, "at 1 ms, took 0 ms  ended: %s: why\n   error ", ends[i]);
        CHECK_HOLDS(shown(c, false, &out), want);
        snprintf(want, sizeof want, "\"ended\":\"%s\",\"file\":\"t.yaml\"}\n", ends[i]);
        CHECK_HOLDS(shown(c, true, &out), want);
        buf_free(&out);
        cassette_free(c);
    }
}

/* Shows one recording both ways: a line of valid JSON each, no control characters for people. */
static void show_file(const char *path)
{
    struct cassette *c = NULL;
    struct err e;
    struct buf out = {0};
    if (cassette_load(path, &c, NULL, &e) != 0) {
        CU_FAIL("a recording does not load");
        return;
    }
    struct str got = shown(c, false, &out);
    for (size_t i = 0; i < got.n; i++) {
        CU_ASSERT((unsigned char)got.p[i] >= 0x20 || got.p[i] == '\n');
    }
    got = shown(c, true, &out);
    size_t count = 0;
    while (got.n > 0) {
        struct arena *arena = arena_new();
        struct val *v = NULL;
        size_t end = str_find(got, STR("\n"));
        CU_ASSERT_EQUAL(json_parse(arena, NULL, str_slice(got, 0, end), &v, NULL), 0);
        CU_ASSERT_PTR_NOT_NULL(val_get(v, "reply"));
        got = str_slice(got, end + 1, got.n);
        arena_free(arena);
        count++;
    }
    CU_ASSERT_EQUAL(count, c->n);
    buf_free(&out);
    cassette_free(c);
}

static void every_recording_of_the_corpus_is_shown(void)
{
    const char *folders[] = {testing_corpus("cassettes"), testing_corpus("cassettes/vanilla")};
    if (folders[0] == NULL || folders[1] == NULL) {
        testing_skip("no corpus");
        return;
    }
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        DIR *d = opendir(folders[i]);
        struct dirent *entry;
        while (d != NULL && (entry = readdir(d)) != NULL) {
            char path[4096];
            if (strstr(entry->d_name, ".yaml") != NULL) {
                snprintf(path, sizeof path, "%s/%s", folders[i], entry->d_name);
                show_file(path);
                n++;
            }
        }
        if (d != NULL) {
            closedir(d);
        }
    }
    CU_ASSERT_EQUAL(n, 52);
}

/* ---- check ---- */

static void note_finding(void *ctx, const struct finding *f)
{
    struct buf *out = ctx;
    CU_ASSERT(utf8_invalid_at(f->message) == SIZE_MAX);
    buf_fmt(out, "%u:%u %s %s; ", f->line, f->column, finding_severity_name(f->severity), f->code);
}

#define HEAD(encoder)                                                                              \
    "version: 1\nassay: {format: 1, encoder: " encoder ", run: ab, seed: 7, started_at: "          \
    "\"2026-11-29T18:00:00.000Z\"}\ninteractions:\n"
#define PLAIN(uri, body)                                                                           \
    "- request: {method: POST, uri: '" uri "', headers: {}, body: '" body "'}\n"
#define CHAT_ASKED PLAIN("http://h/v1/chat/completions", "{}")
#define SAYS(rest) "  response: {status: 200, headers: {}, " rest "}\n"
#define GOOD                                                                                       \
    CHAT_ASKED SAYS("body: '{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":"     \
                    "\"stop\"}]}', assay: {at_ms: 1}")

/* A cassette and what is found in it. */
static const char *const findings[][2] = {
    {HEAD("1") GOOD PLAIN("http://h/x", "{}")
         SAYS("body: 'ab', assay: {took_ms: 2, chunks: [[1, 1], [2, 2]]}"),
     "6:1 error bad_chunks; "},
    {HEAD("1") GOOD PLAIN("http://h/x", "{}")
         SAYS("body: 'ab', assay: {took_ms: 2, chunks: [[1, 1], [3, 1]]}"),
     "6:1 error bad_chunks; "},
    {HEAD("9") GOOD, "1:1 warning encoder_newer; "},
    {"version: 1\nassay: {format: 1, encoder: 1, run: ab}\ninteractions:\n" GOOD,
     "1:1 warning incomplete_header; "},
    {HEAD("1") GOOD PLAIN("http://h/y", "{}"), "6:1 warning torn; "},
    {HEAD("1") CHAT_ASKED SAYS("body: '<html>', assay: {at_ms: 1}"),
     "4:1 error undecodable_reply; "},
    {HEAD("1") GOOD PLAIN("http://h/x?key=k", "{}") "  response:\n    status: 200\n"
                                                    "    headers: {set-cookie: a1b2}\n    body: |\n"
                                                    "      two\n      AKIAIOSFODNN7EXAMPLE\n"
                                                    "    assay: {at_ms: 1}\n",
     "6:33 error credential; 9:27 warning credential; 12:7 error credential; "},
    {HEAD("1") GOOD PLAIN("http://h/x", "{\"k\":\"AKIAIOSFODNN7EXAMPLE\"}")
         SAYS("body: 'AKIAIOSFODNN7EXAMPLE', assay: {at_ms: 1}"),
     "6:72 error credential; 7:47 error credential; "},
    {HEAD("1") GOOD PLAIN("http://h/x", "{}") /* the key in base64 has no place of its own */
     SAYS("body: !!binary QUtJQUlPU0ZPRE5ON0VYQU1QTEU=, assay: {at_ms: 1}"),
     "6:1 error credential; "},
    {"interactions:\n- response: {status: {code: 200}, body: {string: AKIAIOSFODNN7EXAMPLE},\n"
     "    headers: {}}\n  request:\n    headers: {authorization: [Bearer-1]}\n    body: '{}'\n"
     "    method: POST\n    uri: http://h/v1/chat/completions\n",
     "2:1 error undecodable_reply; 5:31 warning credential; 2:50 error credential; "},
    {HEAD("1") GOOD CHAT_ASKED /* in pieces: where the first stands */
     "  response:\n    status: 200\n    headers: {}\n    body: |\n"
     "      data: {\"choices\":[{\"delta\":{\"content\":\"s\"}}]}\n\n"
     "      data: {\"choices\":[{\"delta\":{\"content\":\" s\"}}]}\n\n"
     "      data: {\"choices\":[{\"delta\":{\"content\":\"k-abcdefghijklmnop1234\"},"
     "\"finish_reason\":\"stop\"}]}\n\n"
     "    assay: {at_ms: 1}\n",
     "13:47 error credential; 6:1 warning ambiguous_duplicate; "},
    {HEAD("1") PLAIN("http://h/v1/messages", "{}") /* in two blocks: no body holds it */
     SAYS("body: '{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"sk-abcdefgh\"},"
          "{\"type\":\"text\",\"text\":\"ijklmnop1234\"}],\"stop_reason\":\"end_turn\"}', assay: "
          "{at_ms: 1}"),
     "4:1 error credential; "},
    {HEAD("1") GOOD PLAIN("http://h/x", "{\"k\":\"sk\\u002dabcdefghijklmnop1234\"}")
         SAYS("body: '{\"k\":\"\\u0073k-abcdefghijklmnop1234\"}', assay: {at_ms: 1}"),
     "6:72 error credential; 7:53 error credential; "},
    {HEAD("1") GOOD PLAIN("http://h/x", "{}") "  response: {status: 200, headers: "
                                              "{content-encoding: br}, body: !!binary 4oA=, assay: "
                                              "{at_ms: 1}}\n",
     "6:1 warning unknown_encoding; "},
    {HEAD("1") GOOD PLAIN(
         "http://h/x",
         "{}") "  response: {status: 200, headers: "
               "{content-encoding: aéééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé}, "
               "body: !!binary 4oA=, assay: {at_ms: 1}}\n",
     "6:1 warning unknown_encoding; "},
    {HEAD("1") GOOD PLAIN("http://h/x", "{\"a\":1}") SAYS("body: a, assay: {at_ms: 1}")
         PLAIN("http://g/x", "{\"a\":1.0}") SAYS("body: b, assay: {at_ms: 1}"),
     "8:1 warning ambiguous_duplicate; "},
    {HEAD("1"), "1:1 warning not_replayable; "},
    {HEAD("1") PLAIN("http://h/v1/messages", "{}") SAYS("body: '', assay: {ended: stopped}"),
     "4:1 warning no_answer; "},
    {HEAD("1") GOOD CHAT_ASKED
     "  response: {status: 0, headers: {}, body: '', assay: {ended: refused}}\n",
     "6:1 warning no_answer; "},
};

static void each_hindrance_is_found(void)
{
    for (size_t i = 0; i < sizeof findings / sizeof findings[0]; i++) {
        struct buf out = {0};
        struct cassette *c = rig_load(findings[i][0]);
        CU_ASSERT_FATAL(c != NULL);
        cassette_check(c, note_finding, &out);
        buf_char(&out, '\0');
        CHECK_TEXT(out.p, findings[i][1]);
        buf_free(&out);
        cassette_free(c);
    }
}

/* A cassette and what it holds instead of a session. */
static const char *const sessions[][2] = {
    {HEAD("1") GOOD, ""},
    {HEAD("1"), "holds no interaction, so there is nothing to replay"},
    {HEAD("1") CHAT_ASKED, "holds no complete interaction, so there is nothing to replay"},
    {HEAD("1") PLAIN("http://h/v1/embeddings?x=1", "{}") SAYS("body: a, assay: {at_ms: 1}"),
     "POST /v1/embeddings: none is a request to a model, so there is nothing to replay"},
    {"interactions:\n" PLAIN("http://h/a", "") SAYS("body: a") PLAIN("http://g/a", "")
         SAYS("body: a") PLAIN("http://h/b", "") SAYS("body: a") PLAIN("http://h", "")
             SAYS("body: a") PLAIN("http://h/d", "") SAYS("body: a"),
     "POST /a, POST /b, POST , …: none is a request to a model, so there is nothing to replay"},
};

static void what_is_no_session_is_told(void)
{
    for (size_t i = 0; i < sizeof sessions / sizeof sessions[0]; i++) {
        struct buf why = {0};
        struct cassette *c = NULL;
        struct err e;
        CU_ASSERT_EQUAL_FATAL(cassette_parse("t.yaml", str_of(sessions[i][0]), &c, NULL, &e), 0);
        const struct interaction *it = cassette_session(c, &why);
        CU_ASSERT(it == (sessions[i][1][0] == '\0' ? &c->items[0] : NULL));
        buf_char(&why, '\0');
        CHECK_TEXT(why.p, sessions[i][1]);
        buf_free(&why);
        cassette_free(c);
    }
}

static void a_good_cassette_has_no_findings(void)
{
    const char *text = rig_example();
    if (text == NULL) {
        testing_skip("no examples");
        return;
    }
    struct buf out = {0};
    struct cassette *c = rig_load(text);
    cassette_check(c, note_finding, &out);
    CU_ASSERT_EQUAL(out.n, 0);
    buf_free(&out);
    cassette_free(c);
}

TESTS(show,
      {"show_gives_people_request_calls_results_and_reply",
       people_see_request_calls_results_and_reply},
      {"show_gives_programs_a_line_an_interaction", programs_get_a_line_an_interaction},
      {"show_tells_http_and_errors_apart", http_and_errors_are_shown_as_what_they_are},
      {"show_gives_strings_for_what_is_empty", what_is_empty_is_a_string},
      {"show_knows_every_end", every_end_is_shown},
      {"show_prints_every_recording_of_the_corpus", every_recording_of_the_corpus_is_shown},
      {"check_finds_each_hindrance", each_hindrance_is_found},
      {"check_tells_what_is_no_session", what_is_no_session_is_told},
      {"check_finds_nothing_in_a_good_cassette", a_good_cassette_has_no_findings})
