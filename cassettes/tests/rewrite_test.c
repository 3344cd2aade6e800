/* Files that are repaired, pruned and compared. */
#include "cassettes/tests/rig.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                       \
    "version: 1\nassay: {format: 1, encoder: 1, run: ab, seed: 7, started_at: "                    \
    "\"2026-11-29T18:00:00.000Z\"}\ninteractions:\n"
#define ITEM(body, answer)                                                                         \
    "- request:\n    method: POST\n    uri: http://h/v1/chat/completions\n    headers: {}\n"       \
    "    body: '" body "'\n  response:\n    status: {code: 200, message: OK}\n    headers: {}\n"   \
    "    body:\n      string: |\n        " answer "\n        - request: no\n\n        end\n"       \
    "    assay: {at_ms: 1, took_ms: 2, ended: clean}\n"

static const char *path_in(const char *dir, const char *name)
{
    static char paths[4][600];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void put(const char *path, struct str text)
{
    struct err e;
    CU_ASSERT_EQUAL(file_replace(path, text, &e), 0);
}

static struct str get(struct arena *arena, const char *path)
{
    struct str text = {NULL, 0};
    struct err e;
    CU_ASSERT_EQUAL(file_read(arena, path, 1 << 20, &text, &e), 0);
    return text;
}

/* ---- repair ---- */

static const char whole[] =
    HEAD ITEM("{\"a\":1}", "one") ITEM("{\"a\":2}", "two") ITEM("{\"a\":3}", "three");

/* A recorder that is killed at any byte behind the head: every finished interaction stays, the rest
 * goes aside, and the file is whole then. */
static void repair_at_every_byte(void)
{
    const char *dir = testing_dir();
    size_t item = (sizeof whole - sizeof HEAD) / 3;
    for (size_t n = sizeof HEAD - 1; n < sizeof whole - 1; n++) {
        char name[40];
        snprintf(name, sizeof name, "%zu.yaml", n);
        const char *path = path_in(dir, name);
        struct arena *arena = arena_new();
        struct cassette *c = NULL;
        struct buf told = {0};
        struct err e;
        put(path, (struct str){whole, n});
        CU_ASSERT_EQUAL(cassette_repair(path, &told, &e), 0);
        CU_ASSERT_EQUAL_FATAL(cassette_load(path, &c, NULL, &e), 0);
        struct str left = get(arena, path);
        CU_ASSERT_FALSE(c->torn);
        CU_ASSERT(left.n <= n && memcmp(left.p, whole, left.n) == 0);
        if (left.n < n) {
            struct str aside = get(arena, arena_printf(arena, "%s.torn", path).p);
            CU_ASSERT(str_eq(aside, str_slice(STR(whole), left.n, n)));
            CHECK_HOLDS(buf_str(&told), "kept in ");
        }
        /* the last newline alone is no part of an interaction */
        CU_ASSERT(c->n >= (n + 1 - (sizeof HEAD - 1)) / (item + 1));
        CU_ASSERT(c->n == 0 || str_is(c->items[0].body, "one\n- request: no\n\nend\n"));
        cassette_free(c);
        buf_free(&told);
        arena_free(arena);
    }
}

static void repair_leaves_a_whole_file(void)
{
    const char *path = path_in(testing_dir(), "whole.yaml");
    struct buf told = {0};
    struct err e;
    put(path, STR(whole));
    CU_ASSERT_EQUAL(cassette_repair(path, &told, &e), 0);
    CHECK_HOLDS(buf_str(&told), "nothing is torn, all 3 interactions are whole");
    struct arena *arena = arena_new();
    CU_ASSERT(str_is(get(arena, path), whole));
    CU_ASSERT_FALSE(path_exists(arena_printf(arena, "%s.torn", path).p));
    arena_free(arena);
    buf_free(&told);
}

static void repair_keeps_what_was_put_aside_before(void)
{
    const char *path = path_in(testing_dir(), "twice.yaml");
    struct arena *arena = arena_new();
    struct buf told = {0};
    struct err e;
    put(arena_printf(arena, "%s.torn", path).p, STR("old"));
    put(path, str_slice(STR(whole), 0, sizeof whole - 20));
    CU_ASSERT_EQUAL(cassette_repair(path, &told, &e), 0);
    CU_ASSERT(str_is(get(arena, arena_printf(arena, "%s.torn", path).p), "old"));
    CU_ASSERT(path_exists(arena_printf(arena, "%s.torn.2", path).p));
    CHECK_HOLDS(buf_str(&told), "dropped interaction 3 from line ");
    CHECK_HOLDS(buf_str(&told), "2 whole interactions stay");
    arena_free(arena);
    buf_free(&told);
}

static void repair_waits_for_no_recorder(void)
{
    const char *path = path_in(testing_dir(), "open.yaml");
    struct appender *a;
    struct buf told = {0};
    struct err e;
    put(path, str_slice(STR(whole), 0, sizeof whole - 20));
    CU_ASSERT_EQUAL_FATAL(appender_open(path, APPEND_CONTINUE, &a, &e), 0);
    CU_ASSERT_EQUAL(cassette_repair(path, &told, &e), ERR_IO);
    CU_ASSERT_EQUAL(appender_close(a, &e), 0);
    CU_ASSERT_EQUAL(told.n, 0);
    buf_free(&told);
}

/* ---- prune ---- */

static const char vcrpy[] =
    "interactions:\n"
    "- request: {body: '{\"model\":\"m\",\"a\":1}', headers: {}, method: POST, uri: 'http://h/x'}\n"
    "  response:\n    body: {string: 'one\n\n        - two'}\n    headers: {}\n"
    "    status: {code: 200, message: OK}\n"
    "# about the second\n"
    "- request: {body: '{\"a\":1,\"model\":\"m\"}', headers: {}, method: POST, uri: 'http://h/x'}\n"
    "  response:\n    body: {string: 'one\n\n        - two'}\n    headers: {}\n"
    "    status: {code: 200, message: OK}\n"
    "- request: {body: '{\"model\":\"n\"}', headers: {}, method: POST, uri: 'http://h/x'}\n"
    "  response:\n    body: {string: busy}\n    headers: {}\n"
    "    status: {code: 429, message: Slow}\n"
    "version: 1\n";

static const struct {
    struct pruning what;
    const char *left; /* the first word of each body that stays */
    size_t dropped;
} prunings[] = {
    {{.drop = "2"}, "one busy", 1},           {{.drop = "1,3"}, "one", 2},
    {{.drop = "1-2,2"}, "busy", 2},           {{.keep = "1"}, "one", 2},
    {{.keep = "1-3"}, "one one busy", 0},     {{.duplicates = true}, "one busy", 1},
    {{.failed = true}, "one one", 1},         {{.model = "m"}, "busy", 2},
    {{.model = "other"}, "one one busy", 0},  {{.model = "m", .failed = true}, "", 3},
    {{.drop = "1", .keep = "1,2"}, "one", 2},
};

static void prune_drops_what_was_named(void)
{
    for (size_t i = 0; i < sizeof prunings / sizeof prunings[0]; i++) {
        struct cassette *c = rig_load(vcrpy);
        struct buf out = {0};
        struct buf told = {0};
        struct buf words = {0};
        struct err e;
        size_t dropped = 0;
        CU_ASSERT_EQUAL(cassette_prune(c, &prunings[i].what, &out, &told, &dropped, &e), 0);
        CU_ASSERT_EQUAL(dropped, prunings[i].dropped);
        cassette_free(c);
        buf_char(&out, '\0');
        c = rig_load(out.p);
        for (size_t k = 0; c != NULL && k < c->n; k++) {
            struct str body = c->items[k].body;
            buf_addz(&words, k > 0 ? " " : "");
            buf_add(&words, str_slice(body, 0, str_find(body, STR("\n"))));
        }
        buf_char(&words, '\0');
        CHECK_TEXT(words.p, prunings[i].left);
        CHECK_HOLDS(buf_str(&out), "version: 1\n");
        cassette_free(c);
        buf_free(&out);
        buf_free(&told);
        buf_free(&words);
    }
}

static void prune_refuses(void)
{
    static const struct {
        const char *text; /* NULL: vcrpy's above */
        struct pruning what;
        int code;
        const char *part;
    } cases[] = {
        {NULL, {.drop = "4"}, ERR_USAGE, "there is no interaction 4, the file holds 3"},
        {NULL, {.drop = "0"}, ERR_USAGE, "such as 3,5-7"},
        {NULL, {.drop = "3-1"}, ERR_USAGE, "such as 3,5-7"},
        {NULL, {.drop = "1,"}, ERR_USAGE, "such as 3,5-7"},
        {NULL, {.keep = "-1"}, ERR_USAGE, "such as 3,5-7"},
        {NULL, {.keep = "99999999999999999999999"}, ERR_USAGE, "there is no interaction"},
        {"{\"version\":1,\"interactions\":[{\"request\":{\"method\":\"GET\",\"uri\":\"http://h\"},"
         "\"response\":{\"status\":200}}]}",
         {.drop = "1"},
         ERR_INPUT,
         "cassette import t.yaml -o"},
        {HEAD ITEM("{}", "a") "- request: {method: P",
         {.drop = "1"},
         ERR_INPUT,
         "cassette repair t.yaml"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cassette *c = NULL;
        struct buf out = {0};
        struct buf told = {0};
        struct err e;
        size_t dropped;
        struct str text = cases[i].text == NULL ? STR(vcrpy) : str_of(cases[i].text);
        CU_ASSERT_EQUAL_FATAL(cassette_parse("t.yaml", text, &c, NULL, &e), 0);
        CU_ASSERT_EQUAL(cassette_prune(c, &cases[i].what, &out, &told, &dropped, &e),
                        cases[i].code);
        CHECK_HOLDS(str_of(e.message), cases[i].part);
        cassette_free(c);
        buf_free(&out);
        buf_free(&told);
    }
}

/* ---- compare ---- */

#define CHAT(content, body)                                                                        \
    "- request:\n    method: POST\n    uri: http://h/v1/chat/completions\n    headers: {}\n"       \
    "    body: '{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"" content          \
    "\"}]}'\n  response:\n    status: {code: 200, message: OK}\n    headers: {}\n    body: '" body \
    "'\n    assay: {at_ms: 1, took_ms: 2, ended: clean}\n"
#define SAYS(text, n)                                                                              \
    "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"" text                       \
    "\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":" n                             \
    ",\"completion_tokens\":2}}"
#define CALLS(arguments)                                                                           \
    "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":" \
    "\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"" arguments         \
    "\"}}]},\"finish_reason\":\"tool_calls\"}]}"
#define TOOL(answer)                                                                               \
    "- request: {method: CALL, uri: \"tool:now\", headers: {}, body: '{}'}\n  response:\n"         \
    "    status: {code: 200, message: OK}\n    headers: {}\n    body: {string: '" answer           \
    "'}\n    assay: {at_ms: 3, took_ms: 0, call_id: c1}\n"

static const struct {
    const char *a;
    const char *b;
    size_t changes;
    const char *told; /* all of it */
} comparisons[] = {
    {CHAT("x", SAYS("hi", "3")), CHAT("x", SAYS("hi", "3")), 0, ""},
    /* other order: paired by what they ask */
    {CHAT("x", SAYS("hi", "3")) CHAT("y", SAYS("ho", "3")),
     CHAT("y", SAYS("ho", "3")) CHAT("x", SAYS("hi", "3")), 0, ""},
    {CHAT("x", SAYS("hi", "3")), CHAT("x", SAYS("hey", "4")), 1,
     "interaction 1: changed answer: POST http://h/v1/chat/completions\n"
     "  text: \"hi\" → \"hey\"\n  usage.input: 3 → 4\n"},
    {CHAT("x", SAYS("hi", "3")), CHAT("z", SAYS("hi", "3")), 1,
     "interaction 1: changed request: POST http://h/v1/chat/completions\n"
     "  messages[0].content: \"x\" → \"z\"\n"},
    {CHAT("x", SAYS("hi", "3")) CHAT("y", SAYS("ho", "3")), CHAT("y", SAYS("ho", "3")), 1,
     "interaction 1: removed: POST http://h/v1/chat/completions\n"},
    {CHAT("x", SAYS("hi", "3")), CHAT("x", SAYS("hi", "3")) TOOL("1"), 1,
     "interaction 2: added: CALL tool:now\n"},
    {CHAT("x", SAYS("hi", "3")) TOOL("{\"t\":1}"), TOOL("{\"t\":2}") CHAT("x", SAYS("hi", "3")), 1,
     "interaction 2 and 1: changed answer: CALL tool:now\n  t: 1 → 2\n"},
    {CHAT("x", CALLS("{}")), CHAT("x", CALLS("1")), 1,
     "interaction 1: changed answer: POST http://h/v1/chat/completions\n"
     "  calls[0]: f({}) → f(1)\n"},
    {CHAT("x", CALLS("{}")), CHAT("x", SAYS("no", "3")), 1,
     "interaction 1: changed answer: POST http://h/v1/chat/completions\n"
     "  text: \"\" → \"no\"\n  stop: \"tool_use\" → \"end_turn\"\n  calls[0]: f({}) → nothing\n"
     "  usage.input: -1 → 3\n  usage.output: -1 → 2\n"},
    /* secrets are compared, not shown */
    {CHAT("x", SAYS("sk-aaaaaaaaaaaaaaaa0001", "3")), CHAT("x", SAYS("hi", "3")), 1,
     "interaction 1: changed answer: POST http://h/v1/chat/completions\n"
     "  text: \"REDACTED-0c8d0d4e\" → \"hi\"\n"},
};

static struct cassette *of_items(const char *items)
{
    struct buf text = {0};
    buf_addz(&text, HEAD);
    buf_addz(&text, items);
    buf_char(&text, '\0');
    struct cassette *c = rig_load(text.p);
    buf_free(&text);
    return c;
}

static void compare_tells_what_changed(void)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        struct cassette *a = of_items(comparisons[i].a);
        struct cassette *b = of_items(comparisons[i].b);
        struct buf out = {0};
        struct buf want = {0};
        buf_addz(&want, comparisons[i].told);
        CU_ASSERT_EQUAL(cassette_compare(a, b, false, &out), comparisons[i].changes);
        CHECK_TEXT(rig_without_ids(&out), rig_without_ids(&want));
        cassette_free(a);
        cassette_free(b);
        buf_free(&out);
        buf_free(&want);
    }
}

static void compare_as_json(void)
{
    struct cassette *a = of_items(CHAT("x", SAYS("hi", "3")));
    struct cassette *b = of_items(CHAT("z", SAYS("hi", "3")) TOOL("1"));
    struct buf out = {0};
    CU_ASSERT_EQUAL(cassette_compare(a, b, true, &out), 2);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, "{\"change\":\"changed request\",\"a\":1,\"b\":1,\"method\":\"POST\",\"uri\":"
                      "\"http://h/v1/chat/completions\",\"differences\":[{\"path\":\"messages[0]."
                      "content\",\"a\":\"\\\"x\\\"\",\"b\":\"\\\"z\\\"\"}]}\n"
                      "{\"change\":\"added\",\"a\":null,\"b\":2,\"method\":\"CALL\",\"uri\":\"tool:"
                      "now\",\"differences\":[]}\n");
    cassette_free(a);
    cassette_free(b);
    buf_free(&out);
}

TESTS(rewrite,
      {"repair_keeps_all_that_was_finished_whatever_byte_it_stops_at", repair_at_every_byte},
      {"repair_leaves_a_whole_file_alone", repair_leaves_a_whole_file},
      {"repair_never_overwrites_what_it_put_aside", repair_keeps_what_was_put_aside_before},
      {"repair_leaves_a_file_that_is_being_recorded", repair_waits_for_no_recorder},
      {"prune_drops_what_was_named_and_nothing_else", prune_drops_what_was_named},
      {"prune_refuses_what_it_cannot_cut", prune_refuses},
      {"compare_tells_what_changed", compare_tells_what_changed},
      {"compare_speaks_json", compare_as_json})
