#include "kernel/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/rng.h"

typedef void writer(struct buf *out, const struct val *v);

static struct val *parsed(struct arena *a, struct str text)
{
    struct val *v = NULL;
    struct err e;
    int rc = json_parse(a, NULL, text, &v, &e);
    CU_ASSERT_FATAL(rc == 0);
    return v;
}

static void check_written(writer *write, const char *text, const char *want)
{
    struct arena *a = arena_new();
    struct buf out = {0};
    write(&out, parsed(a, str_of(text)));
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, want);
    buf_free(&out);
    arena_free(a);
}

static void accepts_the_grammar(void)
{
    static const char *const cases[] = {"null",
                                        " true ",
                                        "\tfalse\r\n",
                                        "0",
                                        "-0",
                                        "-1.5e+10",
                                        "1E5",
                                        "0.0",
                                        "1e400",
                                        "\"\"",
                                        "[]",
                                        "[ ]",
                                        "{}",
                                        "{ }",
                                        "[[[]]]",
                                        "[1 , 2]",
                                        "{\"a\" : 1 , \"a\" : 2}",
                                        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
                                        "\"/\x7F\"",
                                        "\xEF\xBB\xBF[1]",
                                        "{\"\":{\"\":[]}}"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *a = arena_new();
        struct val *v = NULL;
        CU_ASSERT(json_parse(a, NULL, str_of(cases[i]), &v, NULL) == 0);
        CU_ASSERT(v != NULL);
        CU_ASSERT(!json_is_prefix(str_of(cases[i])));
        arena_free(a);
    }
}

/* Places are of what is wrong, or of the opening quote of an unfinished string. */
static const struct {
    const char *text, *error;
    bool prefix;
} refused[] = {
    {"", "1:1: expected a value, found the end of the text", true},
    {" \n ", "2:2: expected a value, found the end of the text", true},
    {"{\"a\":1 x", "1:8: expected ',' or '}' after a value, found \"x\"", false},
    {"{\"a\": \"b",
     "1:7: unfinished string: it begins here, expected '\"' before the end of the "
     "text",
     true},
    {"[1", "1:3: expected ',' or ']' after a value, found the end of the text", true},
    {"[", "1:2: expected a value or ']', found the end of the text", true},
    {"{", "1:2: expected a key in double quotes or '}', found the end of the text", true},
    {"{\"a\"", "1:5: expected ':' after a key, found the end of the text", true},
    {"{\"a\":", "1:6: expected a value after ':', found the end of the text", true},
    {"{\"a\":1,", "1:8: expected a key in double quotes after ',', found the end of the text",
     true},
    {"{a:1}", "1:2: expected a key in double quotes or '}', found \"a\"", false},
    {"{'a':1}",
     "1:2: expected a key in double quotes or '}', found \"'\" (JSON strings take "
     "double quotes)",
     false},
    {"{\"a\" 1}", "1:6: expected ':' after a key, found \"1\"", false},
    {"{\"a\": ]", "1:7: expected a value after ':', found \"]\"", false},
    {"[1,]", "1:4: expected a value after ',', found \"]\" (a comma may not end a list or a map)",
     false},
    {"[1 2]", "1:4: expected ',' or ']' after a value, found \"2\"", false},
    {"[\"a\" \"b\"]", "1:6: expected ',' or ']' after a value, found a '\"'", false},
    {"01", "1:1: a number may not begin with 0", false},
    {"[-01]", "1:2: a number may not begin with 0", false},
    {"-", "1:2: expected a digit after '-', found the end of the text", true},
    {"-x", "1:2: expected a digit after '-', found \"x\"", false},
    {"1.", "1:3: expected a digit after '.', found the end of the text", true},
    {"1.e5", "1:3: expected a digit after '.', found \"e5\"", false},
    {"1e+", "1:4: expected a digit in the exponent, found the end of the text", true},
    {".5", "1:1: expected a value, found \".\" (a JSON number begins with a digit or '-')", false},
    {"NaN", "1:1: expected a value, found \"NaN\" (JSON has no NaN, Infinity or None; write null)",
     false},
    {"True", "1:1: expected a value, found \"True\" (JSON writes true and false)", false},
    {"tru", "1:1: expected true, found \"tru\"", true},
    {"trux", "1:1: expected true, found \"trux\"", false},
    {"nul]", "1:1: expected null, found \"nul\"", false},
    {"1 // c", "1:3: expected the end of the text after the value, found \"/\"", false},
    {"{} {}", "1:4: expected the end of the text after the value, found \"{\"", false},
    {"[1]\x01", "1:4: expected the end of the text after the value, found the byte 0x01", false},
    {"[\"\\x\"]",
     "1:3: found \"x\" after a backslash, expected one of \" \\ / b f n r t u (write "
     "\\\\ for a backslash)",
     false},
    {"\"\\u12g4\"", "1:2: expected four hex digits after \\u", false},
    {"\"\\u12", "1:1: unfinished string: it begins here, expected '\"' before the end of the text",
     true},
    {"\"\\", "1:1: unfinished string: it begins here, expected '\"' before the end of the text",
     true},
    {"[\"a\nb\"]", "1:4: found a line break in a string, expected '\"' or \\n", false},
    {"[\"a\tb\"]",
     "1:4: found the control character 0x09 in a string, expected it written as "
     "\\u0009",
     false},
    {"[\n  \"汉字\", x]", "2:9: expected a value after ',', found \"x\"", false},
    {"\xEF\xBB\xBF[x", "1:2: expected a value or ']', found \"x\"", false},
    {"\xEF\xBB", "1:1: expected a value, found the byte 0xEF", true},
    {"\"\xE4\xB8", "1:2: byte 0xE4 in a string is not UTF-8; save the text as UTF-8", true},
    {"\"\xF0\x90", "1:2: byte 0xF0 in a string is not UTF-8; save the text as UTF-8", true},
    {"\"\xF0\x80", "1:2: byte 0xF0 in a string is not UTF-8; save the text as UTF-8", false},
    {"\"a\xC0\x80\"", "1:3: byte 0xC0 in a string is not UTF-8; save the text as UTF-8", false},
    {"\"\xED\xA0\x80\"", "1:2: byte 0xED in a string is not UTF-8; save the text as UTF-8", false},
};

static void refuses_with_place_and_reason(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct arena *a = arena_new();
        struct val *v = NULL;
        struct err e;
        char want[256], got[sizeof e.message + sizeof e.file];
        CU_ASSERT(json_parse(a, "f", str_of(refused[i].text), &v, &e) == ERR_INPUT);
        CU_ASSERT(v == NULL);
        CU_ASSERT(snprintf(want, sizeof want, "f:%s", refused[i].error) > 0);
        CHECK_TEXT(err_text(&e, got, sizeof got), want);
        CU_ASSERT(json_is_prefix(str_of(refused[i].text)) == refused[i].prefix);
        arena_free(a);
    }
}

static void strings_are_decoded(void)
{
    static const struct {
        const char *text;
        struct str want;
    } cases[] = {
        {"\"plain\"", {"plain", 5}},
        {"\"a\\u0000b\"", {"a\0b", 3}},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", {"\"\\/\b\f\n\r\t", 8}},
        {"\"\\u00e9\\u6C49\"", {"é汉", 5}},
        {"\"\\ud83d\\ude00\"", {"😀", 4}},
        {"\"\\ud83d\"", {"\xEF\xBF\xBD", 3}},
        {"\"\\ude00x\"", {"\xEF\xBF\xBDx", 4}},
        {"\"\\ud83d\\ud83d\\ude00\"", {"\xEF\xBF\xBD😀", 7}},
        {"\"\\ud83dx\\n\"", {"\xEF\xBF\xBDx\n", 5}},
        {"\"\\ud83d\\u0041\"",
         {"\xEF\xBF\xBD"
          "A",
          4}},
        {"\"long enough for words of eight, 汉字, and \\\"more\\\"\"",
         {"long enough for words of eight, 汉字, and \"more\"", 50}},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct val *v = parsed(a, str_of(cases[i].text));
        CU_ASSERT(v->kind == VAL_STRING && str_eq(v->text, cases[i].want));
        CU_ASSERT(str_is(v->raw, cases[i].text));
    }
    arena_free(a);
}

static void plain_strings_are_views(void)
{
    struct arena *a = arena_new();
    struct str text = STR("[\"abc\"]");
    const struct val *v = parsed(a, text);
    CU_ASSERT(v->items[0].text.p == text.p + 2);
    arena_free(a);
}

static void values_know_their_place_and_bytes(void)
{
    struct arena *a = arena_new();
    const struct val *v =
        parsed(a, STR("\xEF\xBB\xBF{\n \"汉\": [1.50, \"字\", {}],\r\n\t\"b\" :true}"));
    CU_ASSERT(v->line == 1 && v->column == 1 && v->count == 2);
    const struct member *first = &v->members[0], *second = &v->members[1];
    CU_ASSERT(first->line == 2 && first->column == 2);
    CU_ASSERT(first->value.line == 2 && first->value.column == 7);
    CU_ASSERT(str_is(first->value.raw, "[1.50, \"字\", {}]"));
    const struct val *items = first->value.items;
    CU_ASSERT(items[0].column == 8 && str_is(items[0].text, "1.50") &&
              str_is(items[0].raw, "1.50"));
    CU_ASSERT(items[1].column == 14 && str_is(items[1].raw, "\"字\""));
    CU_ASSERT(items[2].column == 19 && str_is(items[2].raw, "{}") && items[2].count == 0);
    CU_ASSERT(second->line == 3 && second->column == 2);
    CU_ASSERT(second->value.line == 3 && second->value.column == 7 && second->value.boolean);
    arena_free(a);
}

static void nesting_is_limited(void)
{
    enum { DEEP = JSON_DEPTH_MAX + 1 };
    char text[2 * DEEP];
    struct arena *a = arena_new();
    struct val *v = NULL;
    struct err e;
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    CU_ASSERT(json_parse(a, NULL, (struct str){text + 1, 2 * DEEP - 2}, &v, &e) == 0);
    CU_ASSERT(json_parse(a, NULL, (struct str){text, 2 * DEEP}, &v, &e) == ERR_LIMIT);
    CU_ASSERT(e.line == 1 && e.column == DEEP);
    CU_ASSERT(!json_is_prefix((struct str){text, DEEP}));
    CU_ASSERT(json_is_prefix((struct str){text, DEEP - 1}));
    struct buf out = {0};
    json_add_canonical(&out, parsed(a, (struct str){text + 1, 2 * DEEP - 2}));
    CU_ASSERT(str_eq(buf_str(&out), (struct str){text + 1, 2 * DEEP - 2}));
    buf_free(&out);
    arena_free(a);
}

static void number_of_values_is_limited(void)
{
    struct buf text = {0};
    buf_char(&text, '[');
    for (int i = 0; i < JSON_VALUES_MAX; i++) {
        buf_addz(&text, "1,");
    }
    struct arena *a = arena_new();
    struct val *v = NULL;
    struct err e;
    CU_ASSERT(json_parse(a, NULL, buf_str(&text), &v, &e) == ERR_LIMIT);
    buf_free(&text);
    arena_free(a);
}

static void reads_a_long_line(void)
{
    struct buf text = {0};
    buf_addz(&text, "{\"items\":[");
    for (int i = 0; i < 200000; i++) {
        buf_fmt(&text, "{\"n\":%d,\"s\":\"汉字 and plain text\\n\"},", i);
    }
    buf_addz(&text, "0]}");
    struct arena *a = arena_new();
    const struct val *items = val_get(parsed(a, buf_str(&text)), "items");
    CU_ASSERT(items->count == 200001);
    int64_t n = 0;
    CU_ASSERT(val_int(val_get(&items->items[199999], "n"), &n) && n == 199999);
    /* Each of the items is 4 characters shorter than its bytes. */
    const struct val *last = &items->items[200000];
    CU_ASSERT(last->line == 1 && last->column == text.n - 2 - 200000 * 4);
    buf_free(&text);
    arena_free(a);
}

static void writes_compact_and_spaced(void)
{
    const char *text =
        " { \"b\" : [ 1.50 , -0 ,\"x\\u00e9\\/\" ] , \"a\":{},\"b\":[ ] ,\"c\":null}";
    check_written(json_add, text, "{\"b\":[1.50,-0,\"xé/\"],\"a\":{},\"b\":[],\"c\":null}");
    check_written(json_add_spaced, text,
                  "{\"b\": [1.50, -0, \"xé/\"], \"a\": {}, \"b\": [], \"c\": null}");
}

static void escapes_only_what_must_be(void)
{
    struct buf out = {0};
    json_add_string(&out, STR("a\"b\\c/\b\f\n\r\t\x01\x1F\x7F\0é😀\xFF"
                              "z\xE4\xB8"));
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\x7F\\u0000é😀\xEF\xBF\xBDz"
                      "\xEF\xBF\xBD\xEF\xBF\xBD\"");
    buf_free(&out);
}

/* The request body of examples/margin.cassette.yaml, cut short. */
static void pretty_form_is_a_request_body(void)
{
    check_written(json_add_pretty,
                  "{\"model\":\"fake-1\",\"messages\":[{\"role\":\"user\",\"content\":[1,2]},{}],"
                  "\"stop\":[],\"x\":{\"y\":[1,{\"z\":2}]},\"n\":1e2}",
                  "{\n"
                  "  \"model\": \"fake-1\",\n"
                  "  \"messages\": [\n"
                  "    {\"role\": \"user\", \"content\": [1, 2]},\n"
                  "    {}\n"
                  "  ],\n"
                  "  \"stop\": [],\n"
                  "  \"x\": {\"y\": [1, {\"z\": 2}]},\n"
                  "  \"n\": 1e2\n"
                  "}");
    check_written(json_add_pretty, "{ }", "{}");
    check_written(json_add_pretty, "[1,{\"a\":[2]}]", "[1, {\"a\": [2]}]");
    check_written(json_add_pretty, "\"x\"", "\"x\"");
}

static void canonical_form_sorts_and_unifies(void)
{
    check_written(
        json_add_canonical,
        "{\"b\":1.0,\"a\":[{\"z\":1,\"y\":\"\\u0061\"}],\"aa\":1E+2,\"\":-0,\"b\":2,\"é\":0}",
        "{\"\":0,\"a\":[{\"y\":\"a\",\"z\":1}],\"aa\":100,\"b\":2,\"é\":0}");
    check_written(json_add_canonical, "[]", "[]");
    /* Bytes that are not UTF-8 (from YAML !!binary) stay different. */
    struct val x = val_of_str(STR("\xFF")), y = val_of_str(STR("\xFE"));
    struct buf a = {0}, b = {0};
    json_add_canonical(&a, &x);
    json_add_canonical(&b, &y);
    CU_ASSERT(!str_eq(buf_str(&a), buf_str(&b)));
    buf_free(&a);
    buf_free(&b);
}

static void add_random(struct buf *out, struct rng *r, unsigned depth);

static void add_random_key(struct buf *out, struct rng *r)
{
    static const char *const keys[] = {"\"a\":", "\"b\":", "\"\\u0062\":", "\"汉\":", "\"\":"};
    buf_addz(out, keys[rng_below(r, 5)]);
}

static void add_random_container(struct buf *out, struct rng *r, unsigned depth)
{
    bool list = rng_below(r, 2) == 0;
    uint64_t n = rng_below(r, 4);
    buf_char(out, list ? '[' : '{');
    for (uint64_t i = 0; i < n; i++) {
        buf_addz(out, i > 0 ? ", " : "");
        if (!list) {
            add_random_key(out, r);
        }
        add_random(out, r, depth - 1);
    }
    buf_char(out, list ? ']' : '}');
}

static void add_random(struct buf *out, struct rng *r, unsigned depth)
{
    static const char *const leaves[] = {"1",    "1.0",  "1e0",   "-0",       "0",
                                         "null", "true", "false", "\"x\\n\"", "\"\\u0078\\u000a\"",
                                         "\"\"", "2.50"};
    if (depth == 0 || rng_below(r, 3) == 0) {
        buf_addz(out, leaves[rng_below(r, 12)]);
    } else {
        add_random_container(out, r, depth);
    }
}

static bool same_after(writer *write, struct arena *a, const struct val *v)
{
    struct buf out = {0};
    struct val *again = NULL;
    write(&out, v);
    struct str copy = arena_str(a, buf_str(&out));
    buf_free(&out);
    return json_parse(a, NULL, copy, &again, NULL) == 0 && val_equal(v, again);
}

static bool same_canonical(const struct val *v, const struct val *w)
{
    struct buf a = {0}, b = {0};
    json_add_canonical(&a, v);
    json_add_canonical(&b, w);
    bool same = str_eq(buf_str(&a), buf_str(&b));
    buf_free(&a);
    buf_free(&b);
    return same;
}

static void writing_and_reading_loses_nothing(void)
{
    struct rng r = rng_seeded(21);
    unsigned wrong = 0, equal = 0;
    for (int i = 0; i < 5000; i++) {
        struct arena *a = arena_new();
        struct buf x = {0}, y = {0};
        add_random(&x, &r, (unsigned)rng_below(&r, 5));
        add_random(&y, &r, (unsigned)rng_below(&r, 3));
        const struct val *v = parsed(a, buf_str(&x)), *w = parsed(a, buf_str(&y));
        wrong += !same_after(json_add, a, v) || !same_after(json_add_spaced, a, v) ||
                 !same_after(json_add_pretty, a, v) || !same_after(json_add_canonical, a, v);
        wrong += same_canonical(v, w) != val_equal(v, w);
        equal += val_equal(v, w);
        buf_free(&x);
        buf_free(&y);
        arena_free(a);
    }
    CU_ASSERT(wrong == 0);
    CU_ASSERT(equal > 50);
}

static void every_cut_of_valid_text_is_a_prefix(void)
{
    struct str text = STR("\xEF\xBB\xBF {\"a\\u00e9\\ud83d\": [-1.5e+3, true, false, null, {}, []],"
                          " \"汉😀\": {\"b\": \"\\\\\"}} ");
    struct arena *a = arena_new();
    for (size_t n = 0; n < text.n - 1; n++) {
        struct val *v = NULL;
        CU_ASSERT(json_parse(a, NULL, str_slice(text, 0, n), &v, NULL) == ERR_INPUT);
        CU_ASSERT(json_is_prefix(str_slice(text, 0, n)));
    }
    CU_ASSERT(parsed(a, text) != NULL);
    arena_free(a);
}

/* Reads every line of a corpus file, and each must survive being written and read. */
static void reads_the_corpus(void)
{
    const char *path = testing_corpus("bfcl/questions/live_simple.jsonl");
    if (path == NULL) {
        testing_skip("no corpus");
        return;
    }
    FILE *f = fopen(path, "rb");
    CU_ASSERT_FATAL(f != NULL);
    char *line = NULL;
    size_t cap = 0, lines = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, f)) > 0) {
        struct arena *a = arena_new();
        const struct val *v = parsed(a, (struct str){line, (size_t)n});
        CU_ASSERT(val_is(val_get(v, "id"), VAL_STRING));
        CU_ASSERT(same_after(json_add, a, v) && same_after(json_add_canonical, a, v));
        arena_free(a);
        lines++;
    }
    CU_ASSERT(lines > 100);
    free(line);
    CU_ASSERT(fclose(f) == 0);
}

static void members_are_written(void)
{
    struct str none = {NULL, 0};
    struct buf out = {0};
    buf_char(&out, '{');
    json_put_text(&out, "a", STR("x\"y"));
    json_put_text(&out, "b", none);
    json_put_text_or_null(&out, "c", none);
    json_put_text_or_null(&out, "d", STR(""));
    json_put_int(&out, "e", -1);
    json_put_known(&out, "f", -1);
    json_put_known(&out, "g", 0);
    json_put_bool(&out, "h", true);
    json_put_hash(&out, "i", UINT64_C(0xa0b1c2));
    json_put_texts(&out, "j", (const struct str[]){STR("x\"y"), STR("")}, 2);
    json_put_texts(&out, "k", NULL, 0);
    buf_char(&out, '}');
    CU_ASSERT(str_is(buf_str(&out),
                     "{\"a\":\"x\\\"y\",\"b\":\"\",\"c\":null,\"d\":\"\",\"e\":-1,"
                     "\"f\":null,\"g\":0,\"h\":true,"
                     "\"i\":\"0000000000a0b1c2\",\"j\":[\"x\\\"y\",\"\"],\"k\":[]}"));
    buf_free(&out);
}

static void long_keys_are_written(void)
{
    char key[200];
    for (size_t n = 0; n < sizeof key; n++) {
        struct buf out = {0}, want = {0};
        memset(key, 'k', n);
        key[n] = '\0';
        json_key(&out, key);
        buf_fmt(&want, ",\"%s\":", key);
        CU_ASSERT(str_eq(buf_str(&out), str_slice(buf_str(&want), 1, want.n)));
        buf_free(&out);
        buf_free(&want);
    }
}

TESTS(json, {"json_accepts_the_grammar", accepts_the_grammar},
      {"json_refuses_with_place_and_reason", refuses_with_place_and_reason},
      {"json_strings_are_decoded", strings_are_decoded},
      {"json_plain_strings_are_views", plain_strings_are_views},
      {"json_values_know_their_place_and_bytes", values_know_their_place_and_bytes},
      {"json_nesting_is_limited", nesting_is_limited},
      {"json_number_of_values_is_limited", number_of_values_is_limited},
      {"json_reads_a_long_line", reads_a_long_line},
      {"json_writes_compact_and_spaced", writes_compact_and_spaced},
      {"json_escapes_only_what_must_be", escapes_only_what_must_be},
      {"json_pretty_form_is_a_request_body", pretty_form_is_a_request_body},
      {"json_members_are_null_only_where_that_is_asked_for", members_are_written},
      {"json_keys_of_any_length_are_written", long_keys_are_written},
      {"json_canonical_form_sorts_and_unifies", canonical_form_sorts_and_unifies},
      {"json_writing_and_reading_loses_nothing", writing_and_reading_loses_nothing},
      {"json_every_cut_of_valid_text_is_a_prefix", every_cut_of_valid_text_is_a_prefix},
      {"json_reads_the_corpus", reads_the_corpus})
