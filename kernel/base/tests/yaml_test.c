#include "kernel/base/yaml.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"

enum { NOTE_BYTES = 2048 };

/* The document as JSON, or the error as "code line:column message", in *out. */
static void load(struct str text, enum yaml_rules rules, struct buf *out)
{
    struct arena *a = arena_new();
    struct val *v = NULL;
    struct err e;
    int rc = yaml_parse(a, NULL, text, rules, &v, &e);
    buf_clear(out);
    if (rc == 0) {
        json_add_spaced(out, v);
    } else {
        buf_fmt(out, "%d %u:%u %s", rc, e.line, e.column, e.message);
    }
    buf_char(out, '\0');
    arena_free(a);
}

struct yaml_case {
    const char *text;
    const char *want;
};

static void check_all(const struct yaml_case *cases, size_t n, enum yaml_rules rules)
{
    struct buf out = {.max = 0};
    for (size_t i = 0; i < n; i++) {
        load(str_of(cases[i].text), rules, &out);
        CHECK_TEXT(out.p, cases[i].want);
    }
    buf_free(&out);
}

/* Only the beginning of a message is compared. */
static void check_errors(const struct yaml_case *cases, size_t n, enum yaml_rules rules)
{
    struct buf out = {.max = 0};
    for (size_t i = 0; i < n; i++) {
        load(str_of(cases[i].text), rules, &out);
        if (!str_starts(str_of(out.p), cases[i].want)) {
            CHECK_TEXT(out.p, cases[i].want);
        }
    }
    buf_free(&out);
}

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* YAML 1.2.2, section 10.3.2, and its example 10.9. */
static void core_scalars(void)
{
    static const struct yaml_case cases[] = {
        {"[a, null, Null, NULL, ~, nULL]", "[\"a\", null, null, null, null, \"nULL\"]"},
        {"- \n- ''\n", "[null, \"\"]"},
        {"[b, true, True, TRUE, false, False, FALSE, tRUE]",
         "[\"b\", true, true, true, false, false, false, \"tRUE\"]"},
        {"[x, yes, no, on, off, y, n]", "[\"x\", \"yes\", \"no\", \"on\", \"off\", \"y\", \"n\"]"},
        {"[x, 0, 0o7, 0x3A, -19, +12, 007, -0]", "[\"x\", 0, 7, 58, -19, 12, 7, -0]"},
        {"[x, 0., -0.0, .5, +12e03, -2E+05, 5., +.5e-1]",
         "[\"x\", 0, -0.0, 0.5, 12e03, -2E+05, 5, 0.5e-1]"},
        {"[x, 1_000, 0b1, 1:30, -0x1, 0x, 0o8, 1e, 1e+, ., +, -., 1.2.3, 1-2]",
         "[\"x\", \"1_000\", \"0b1\", \"1:30\", \"-0x1\", \"0x\", \"0o8\", \"1e\", \"1e+\", \".\", "
         "\"+\", \"-.\", \"1.2.3\", \"1-2\"]"},
        {"[x, 12345678901234567890123, 0.30000000000000004, 0xffffffffffffffffffff]",
         "[\"x\", 12345678901234567890123, 0.30000000000000004, 1208925819614629174706175]"},
        {"[x, 2024-01-01, 2001-12-14t21:59:43.10-05:00]",
         "[\"x\", \"2024-01-01\", \"2001-12-14t21:59:43.10-05:00\"]"},
        {"[x, \"1\", '2', ! 3]", "[\"x\", \"1\", \"2\", \"3\"]"},
        {"a: |\n  x\n  y\nb: >\n  x\n  y\n", "{\"a\": \"x\\ny\\n\", \"b\": \"x y\\n\"}"},
        {"a: \"\\0\\x41\\u00e9\\U0001F600\"", "{\"a\": \"\\u0000A\xc3\xa9\xf0\x9f\x98\x80\"}"},
    };
    check_all(cases, COUNT(cases), YAML_CORE);
}

/* Expected values are what PyYAML 6.0 gives. */
static void pyyaml_scalars(void)
{
    static const struct yaml_case cases[] = {
        {"[x, yes, No, ON, off, y, True, ~]",
         "[\"x\", true, false, true, false, \"y\", true, null]"},
        {"[x, 017, 0o17, 0x1F, -0x1f, 0b101, 1_000, +3, -0, 08, 0_7, 0b_, 0x_]",
         "[\"x\", 15, \"0o17\", 31, -31, 5, 1000, 3, 0, \"08\", 7, \"0b_\", \"0x_\"]"},
        {"[x, 1:30, -1:00:05, 1:60, 1:5, 190:20:30, 1:30.5, 0:05]",
         "[\"x\", 90, -3605, \"1:60\", 65, 685230, 90.5, \"0:05\"]"},
        {"[x, .5, -.5, 5., 1e5, 1.5e5, 1.5e+5, 1_0.2_5, 09.5, ._5]",
         "[\"x\", 0.5, \"-.5\", 5, \"1e5\", \"1.5e5\", 1.5e+5, 10.25, 9.5, \"._5\"]"},
        {"[x, 2024-01-01, =, ! 12]", "[\"x\", \"2024-01-01\", \"=\", 12]"},
        {"a: 1\nb: 2\na: 3\n", "{\"a\": 1, \"b\": 2, \"a\": 3}"},
    };
    check_all(cases, COUNT(cases), YAML_PYYAML);
}

static void tags(void)
{
    static const struct yaml_case cases[] = {
        {"[!!str 5, !!int '7', !!float 3, !!bool 'true', !!null '', !!str null]",
         "[\"5\", 7, 3, true, null, \"null\"]"},
        {"[!!map {a: 1}, !!seq [2], !!python/unicode 'u', !!python/str s]",
         "[{\"a\": 1}, [2], \"u\", \"s\"]"},
        {"a: !!binary |\n  aGVs\n  bG8=\n", "{\"a\": \"hello\"}"},
    };
    static const struct yaml_case errors[] = {
        {"a: !!python/tuple [1]", "-2 1:4 the tag !!python/tuple is not known"},
        {"a:\n  - !foo 1", "-2 2:5 the tag !foo is not known"},
        {"!"
         "%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9"
         "%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9"
         "%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9"
         "%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9 1",
         "-2 1:1 the tag !ééééééééééééééééééééééééééééééééééééééé… is not known"},
        {"a: !!int x", "-2 1:4 a whole number expected after !!int, got \"x\""},
        {"a: !!int 1.5", "-2 1:4 a whole number"},
        {"a: !!bool 1", "-2 1:4 true or false"},
        {"a: !!binary aGVsbG8", "-2 1:4 base64 text expected"},
        {"a: !!binary a?==", "-2 1:4 base64 text expected"},
        {"a: !!map [1]", "-2 1:4 the tag !!map"},
    };
    check_all(cases, COUNT(cases), YAML_CORE);
    check_errors(errors, COUNT(errors), YAML_CORE);
}

static void binary_is_marked(void)
{
    struct arena *a = arena_new();
    struct val *v = NULL;
    struct str text = STR("a: !!binary gIF/\nb: x");
    CU_ASSERT_EQUAL_FATAL(yaml_parse(a, NULL, text, YAML_PYYAML, &v, NULL), 0);
    CU_ASSERT(val_get(v, "a")->binary);
    CU_ASSERT(str_is(val_get(v, "a")->text, "\x80\x81\x7f"));
    CU_ASSERT(!val_get(v, "b")->binary);
    arena_free(a);
}

static void aliases_and_merges(void)
{
    static const struct yaml_case cases[] = {
        {"a: &x [1, 2]\nb: *x\nc: {d: *x}",
         "{\"a\": [1, 2], \"b\": [1, 2], \"c\": {\"d\": [1, 2]}}"},
        {"a: &x 1\nb: &x 2\nc: *x", "{\"a\": 1, \"b\": 2, \"c\": 2}"},
        {"&k key: 1\nother: *k", "{\"key\": 1, \"other\": \"key\"}"},
        {"a: &k key\n*k : 1", "{\"a\": \"key\", \"key\": 1}"},
        /* the merge type's own example: own keys win, then the earlier map */
        {"- &C {x: 1, y: 2}\n- &B {r: 10}\n- {<<: [*B, *C], y: 5}",
         "[{\"x\": 1, \"y\": 2}, {\"r\": 10}, {\"x\": 1, \"r\": 10, \"y\": 5}]"},
        {"{<<: {a: 1, b: 2}, b: 3}", "{\"a\": 1, \"b\": 3}"},
        {"{<<: [{a: 1}, {a: 2, b: 2}]}", "{\"b\": 2, \"a\": 1}"},
        {"{\"<<\": 1}", "{\"<<\": 1}"},
        {"{<<: {}}", "{}"},
    };
    static const struct yaml_case errors[] = {
        {"a: &x [1, *x]", "-2 1:11 the alias *x stands inside its own anchor"},
        {"a: &x 1\nb: &x [*x]", "-2 2:8 the alias *x stands inside its own anchor"},
        {"a: *nope", "-2 1:4 no anchor &nope"},
        {"a: &x [1]\n*x : 2", "-2 2:1 a list cannot be a key"},
        {"{<<: 1}", "-2 1:6 << takes a map or a list of maps"},
        {"{<<: [1]}", "-2 1:7 << takes a map or a list of maps"},
    };
    check_all(cases, COUNT(cases), YAML_CORE);
    check_errors(errors, COUNT(errors), YAML_CORE);
}

static void places_count_characters(void)
{
    struct arena *a = arena_new();
    struct val *v = NULL;
    struct str text = STR("# x\n\xc3\xa9\xc3\xa9: {k: [1, abc]}\n");
    CU_ASSERT_EQUAL_FATAL(yaml_parse(a, NULL, text, YAML_CORE, &v, NULL), 0);
    CU_ASSERT_EQUAL(v->members[0].line, 2);
    CU_ASSERT_EQUAL(v->members[0].column, 1);
    const struct val *map = &v->members[0].value;
    CU_ASSERT_EQUAL(map->line, 2);
    CU_ASSERT_EQUAL(map->column, 5);
    const struct val *word = val_item(val_get(map, "k"), 1);
    CU_ASSERT_EQUAL(word->line, 2);
    CU_ASSERT_EQUAL(word->column, 13);
    arena_free(a);
}

static void errors_have_places(void)
{
    static const struct yaml_case errors[] = {
        {"", "-2 1:1 the file is empty"},
        {"# only a comment\n", "-2 1:1 the file is empty"},
        {"---\n", "-2 2:1 the document is empty"},
        {"a: 1\n---\nb: 2\n", "-2 2:1 a second document begins here"},
        {"a: 1\nb: 2\na: 3\n", "-2 3:1 the key \"a\" stands twice"},
        {"{\"a\": 1,\n \"a\": 2}", "-2 2:2 the key \"a\" stands twice"},
        {"a: b: c", "-2 1:5 not valid YAML: mapping values are not allowed"},
        {"a:\n\t- b", "-2 2:1 not valid YAML: found character that cannot start"},
        {"a: [1, 2\nb: 3", "-2 2:2 not valid YAML"},
        {"a:\n  b: 1\n\tc: 2",
         "-2 3:1 not valid YAML: found a tab character that violates indentation while scanning a "
         "plain scalar that began at line 2; indent with spaces, not with tabs"},
        {"- a: x\n\xc2\xa0 b: 2\n",
         "-2 2:1 not valid YAML: did not find expected '-' indicator while parsing a block "
         "collection that began at line 1; line 2 holds a no-break space (U+00A0); indent with "
         "plain spaces"},
        {"a: 1\nb\xef\xbc\x9a"
         "c\nd: 2\n",
         "-2 3:1 not valid YAML: could not find expected ':' while scanning a simple key that "
         "began at line 2; line 2 holds a full-width colon (U+FF1A); write : and a space"},
        {"a: \xe2\x80\x9cx: y\xe2\x80\x9d\n",
         "-2 1:6 not valid YAML: mapping values are not allowed in this context; line 1 holds "
         "curly quotes"},
        {"a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x\n",
         "-2 3:1 not valid YAML: could not find expected ':' while scanning a simple key that "
         "began at line 2; line 2 holds a mark that a merge left"},
        {"```yaml\na: 1\n```\n",
         "-2 1:1 not valid YAML: found character that cannot start any token while scanning for "
         "the next token that began at line 1; line 1 holds a fence of Markdown"},
        {"a: {regex: [a-z]+b}",
         "-2 1:17 not valid YAML: did not find expected ',' or '}' while parsing a flow mapping "
         "that began at line 1; check that the bracket is closed, and quote text that begins with "
         "{ or ["},
        {"a: \"x", "-2 1:6 not valid YAML: found unexpected end of stream"},
        {"? [a]\n: b", "-2 1:3 a list cannot be a key"},
        {"a: .inf", "-2 1:4 .inf is no number"},
        {"a: -.INF", "-2 1:4 -.INF is no number"},
        {"a: .NaN", "-2 1:4 .NaN is no number"},
        {"ok: 1\nab\xc3\xa9: \x01", "-2 2:6 the character U+0001 cannot stand"},
        {"ok: 1\nab\xc3\xa9: \xff", "-2 2:6 byte 0xff is not UTF-8; save the file as UTF-8"},
        {"caf\xe9: 1", "-2 1:4 byte 0xe9 is not UTF-8"},
        {"\xff\xfe"
         "a",
         "-2 1:1 the file is UTF-16; save it as UTF-8"},
    };
    struct buf out = {.max = 0};
    check_errors(errors, COUNT(errors), YAML_CORE);
    load((struct str){"ab\0c", 4}, YAML_CORE, &out);
    CU_ASSERT(str_starts(str_of(out.p), "-2 1:3 a zero byte"));
    buf_free(&out);
}

static void json_is_read_as_json(void)
{
    static const struct yaml_case cases[] = {
        {"{\"a\": [1.50, \"\\ud83d\\ude00\"]}", "{\"a\": [1.50, \"\xf0\x9f\x98\x80\"]}"},
        {"\xef\xbb\xbf {\"a\": \"x\ty\"}", "{\"a\": \"x\\ty\"}"}, /* no JSON, but YAML */
        {"\xef\xbb\xbf"
         "a: 1",
         "{\"a\": 1}"},
        {"{a: 1, b: [x, y,],}", "{\"a\": 1, \"b\": [\"x\", \"y\"]}"},
        {"[yes, 1e5]", "[\"yes\", 1e5]"},
    };
    static const struct yaml_case errors[] = {
        {"{\"a\": 1,\n \"b\" 2}", "-2 2:6 expected"},
        {"{a: 1,\n b: }}", "-2 2:6 not valid YAML"},
    };
    check_all(cases, COUNT(cases), YAML_CORE);
    check_errors(errors, COUNT(errors), YAML_CORE);

    struct buf text = {.max = 0}, out = {.max = 0};
    buf_addz(&text, "{\"");
    for (int i = 0; i < 2000; i++) { /* libyaml takes no plain key over 1024 */
        buf_char(&text, 'k');
    }
    buf_addz(&text, "\": 1}");
    load(buf_str(&text), YAML_CORE, &out);
    CU_ASSERT(str_starts(str_of(out.p), "{\"kkk"));
    buf_free(&text);
    buf_free(&out);
}

static void repeat(struct buf *b, const char *z, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        buf_addz(b, z);
    }
}

static void depth_is_limited(void)
{
    static const char *const openings[] = {"- ", "[", "{a: ", "[\"x\", ", "{\"a\": "};
    struct buf text = {.max = 0}, out = {.max = 0};
    for (size_t i = 0; i < COUNT(openings); i++) {
        buf_clear(&text);
        repeat(&text, openings[i], YAML_DEPTH_MAX + 1);
        load(buf_str(&text), YAML_CORE, &out);
        CU_ASSERT(str_starts(str_of(out.p), "-4 1:"));
        buf_clear(&text);
        repeat(&text, openings[i], 100000);
        load(buf_str(&text), YAML_CORE, &out);
        CU_ASSERT(str_starts(str_of(out.p), "-4 1:"));
    }
    buf_clear(&text);
    repeat(&text, "- ", YAML_DEPTH_MAX);
    buf_addz(&text, "x");
    load(buf_str(&text), YAML_CORE, &out);
    CU_ASSERT(str_starts(str_of(out.p), "[[["));
    buf_clear(&text);
    repeat(&text, "[", YAML_DEPTH_MAX + 1);
    repeat(&text, "]", YAML_DEPTH_MAX + 1); /* valid JSON */
    load(buf_str(&text), YAML_CORE, &out);
    CU_ASSERT(str_starts(str_of(out.p), "-4 1:201 "));
    buf_free(&text);
    buf_free(&out);
}

static void alias_bombs_are_stopped(void)
{
    struct buf text = {.max = 0}, out = {.max = 0};
    buf_addz(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 20; i++) { /* ten to the twentieth values */
        buf_fmt(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++) {
            buf_fmt(&text, "%s*a%d", j == 0 ? "" : ", ", i - 1);
        }
        buf_addz(&text, "]\n");
    }
    load(buf_str(&text), YAML_CORE, &out);
    CU_ASSERT(str_starts(str_of(out.p), "-4 7:"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.p, "more than 4000000 values"));

    buf_clear(&text);
    buf_addz(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 300; i++) { /* few values, but ever deeper */
        buf_fmt(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    }
    load(buf_str(&text), YAML_CORE, &out);
    CU_ASSERT(str_starts(str_of(out.p), "-4 200:"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out.p, "nested deeper"));
    buf_free(&text);
    buf_free(&out);
}

/* With a quadratic step anywhere, this would take minutes. */
static void large_inputs_are_read(void)
{
    enum { MANY = 100000 };
    struct buf text = {.max = 0}, out = {.max = 0};
    for (int i = 0; i < MANY; i++) {
        buf_fmt(&text, "key%d: &anchor%d %d\n", i, i, i);
    }
    buf_addz(&text, "all:\n");
    for (int i = 0; i < MANY; i++) {
        buf_fmt(&text, "- *anchor%d\n", i);
    }
    load(buf_str(&text), YAML_CORE, &out);
    CU_ASSERT(str_starts(str_of(out.p), "{\"key0\": 0, \"key1\": 1, "));
    buf_clear(&text);
    buf_addz(&text, "a: \"");
    repeat(&text, "0123456789", MANY);
    buf_addz(&text, "\"");
    load(buf_str(&text), YAML_CORE, &out);
    CU_ASSERT_EQUAL(out.n, 10 * (size_t)MANY + strlen("{\"a\": \"\"}") + 1);
    buf_free(&text);
    buf_free(&out);
}

static void long_radix_numbers_are_refused(void)
{
    struct buf text = {.max = 0}, out = {.max = 0};
    buf_addz(&text, "0x");
    repeat(&text, "f", YAML_DEPTH_MAX * 2);
    load(buf_str(&text), YAML_CORE, &out);
    CU_ASSERT(str_starts(str_of(out.p), "-4 1:1 a number of 402 characters"));
    buf_free(&text);
    buf_free(&out);
}

static bool read_file(const char *path, struct buf *out)
{
    char part[65536];
    size_t n;
    FILE *f = fopen(path, "rb");
    buf_clear(out);
    while (f != NULL && (n = fread(part, 1, sizeof part, f)) > 0) {
        buf_add(out, (struct str){part, n});
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return f != NULL;
}

/* 115 interactions in 52 files: counted by PyYAML. */
static void corpus_cassettes_load(void)
{
    const char *root = testing_corpus("cassettes");
    if (root == NULL) {
        testing_skip("no corpus");
        return;
    }
    char pattern[NOTE_BYTES];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s/*.yaml", root);
    CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &files), 0);
    snprintf(pattern, sizeof pattern, "%s/*/*.yaml", root);
    CU_ASSERT_EQUAL_FATAL(glob(pattern, GLOB_APPEND, NULL, &files), 0);
    CU_ASSERT_EQUAL(files.gl_pathc, 52);
    size_t interactions = 0;
    struct buf text = {.max = 0};
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct arena *a = arena_new();
        struct val *v = NULL;
        struct err e = {.code = 0};
        CU_ASSERT(read_file(files.gl_pathv[i], &text));
        int rc = yaml_parse(a, files.gl_pathv[i], buf_str(&text), YAML_PYYAML, &v, &e);
        CHECK_TEXT(e.message, "");
        if (rc == 0) {
            interactions += val_get(v, "interactions")->count;
        }
        arena_free(a);
    }
    CU_ASSERT_EQUAL(interactions, 115);
    buf_free(&text);
    globfree(&files);
}

/* Read by eye in the file. */
static void corpus_values_are_kept(void)
{
    const char *path =
        testing_corpus("cassettes/vanilla/test_functions__test_open_ai_function_calls_tools_"
                       "parallel.yaml");
    if (path == NULL) {
        testing_skip("no corpus");
        return;
    }
    struct buf text = {.max = 0};
    struct arena *a = arena_new();
    struct val *v = NULL;
    CU_ASSERT(read_file(path, &text));
    CU_ASSERT_EQUAL_FATAL(yaml_parse(a, path, buf_str(&text), YAML_PYYAML, &v, NULL), 0);
    const struct val *first = val_item(val_get(v, "interactions"), 0);
    const struct val *request = val_get(first, "request");
    CU_ASSERT(str_is(val_text(val_get(request, "method")), "POST"));
    CU_ASSERT(
        str_is(val_text(val_get(request, "uri")), "https://api.openai.com/v1/chat/completions"));
    int64_t status = 0;
    CU_ASSERT(val_int(val_path(first, "response", "status", "code", NULL), &status));
    CU_ASSERT_EQUAL(status, 200);
    CU_ASSERT(val_path(first, "response", "body", "string", NULL)->binary);
    arena_free(a);
    buf_free(&text);
}

/* Every corpus file is read as PyYAML reads it. */
static void corpus_agrees_with_pyyaml(void)
{
    const char *root = testing_corpus("cassettes");
    char command[NOTE_BYTES];
    static char line[8 << 20];
    if (root == NULL) {
        testing_skip("no corpus");
        return;
    }
    snprintf(
        command, sizeof command,
        "export LC_ALL=C; python3 '%s/kernel/base/tests/yaml_oracle.py' '%s'/*.yaml '%s'/*/*.yaml "
        "2>/dev/null",
        SOURCE_DIR, root, root);
    FILE *oracle = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(oracle);
    char pattern[NOTE_BYTES];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s/*.yaml", root);
    CU_ASSERT_EQUAL_FATAL(glob(pattern, 0, NULL, &files), 0);
    snprintf(pattern, sizeof pattern, "%s/*/*.yaml", root);
    CU_ASSERT_EQUAL_FATAL(glob(pattern, GLOB_APPEND, NULL, &files), 0);
    struct buf text = {.max = 0}, ours = {.max = 0};
    size_t compared = 0;
    while (compared < files.gl_pathc && fgets(line, sizeof line, oracle) != NULL) {
        CU_ASSERT(read_file(files.gl_pathv[compared++], &text));
        load(buf_str(&text), YAML_PYYAML, &ours);
        line[strcspn(line, "\n")] = '\0';
        CU_ASSERT(strcmp(line, ours.p) == 0);
    }
    if (pclose(oracle) != 0) {
        testing_skip("no python3 with PyYAML");
    } else {
        CU_ASSERT_EQUAL(compared, files.gl_pathc);
    }
    buf_free(&text);
    buf_free(&ours);
    globfree(&files);
}

/* A value with the places of all that is in it. */
static void dump(struct buf *out, const struct val *v)
{
    buf_fmt(out, "%u:%u %s ", v->line, v->column, val_kind_name(v->kind));
    switch (v->kind) {
    case VAL_NULL: break;
    case VAL_BOOL: buf_addz(out, v->boolean ? "true" : "false"); break;
    case VAL_NUMBER:
    case VAL_STRING: buf_add(out, v->text); break;
    case VAL_ARRAY:
        for (size_t i = 0; i < v->count; i++) {
            dump(out, &v->items[i]);
        }
        break;
    case VAL_OBJECT:
        for (size_t i = 0; i < v->count; i++) {
            buf_fmt(out, "%u:%u key ", v->members[i].line, v->members[i].column);
            buf_add(out, v->members[i].key);
            buf_addz(out, " = ");
            dump(out, &v->members[i].value);
        }
        break;
    }
    buf_addz(out, ";\n");
}

/* The dump of a document, or its error. */
static void dump_text(struct str text, struct buf *out)
{
    struct arena *a = arena_new();
    struct val *v = NULL;
    struct err e;
    buf_clear(out);
    if (yaml_parse(a, NULL, text, YAML_CORE, &v, &e) == 0) {
        dump(out, v);
    } else {
        buf_fmt(out, "%u:%u %s", e.line, e.column, e.message);
    }
    buf_char(out, '\0');
    arena_free(a);
}

/* The mark of a document's end behind it makes libyaml read a text that is read without it. */
static void check_both(struct str text)
{
    struct buf marked = {0}, want = {0}, have = {0};
    buf_add(&marked, text);
    buf_addz(&marked, "...\n");
    dump_text(buf_str(&marked), &want);
    dump_text(text, &have);
    CHECK_TEXT(have.p, want.p);
    buf_free(&marked);
    buf_free(&want);
    buf_free(&have);
}

static void simple_texts_are_read_as_by_libyaml(void)
{
    static const char *const texts[] = {
        "a: 1\nb: two words\nc: -3.5\nd: true\ne: null\nf: 0x1F\n",
        "# head\n\na:\n  b:\n    - 1\n    # between\n\n    - x: y\n      z: w\n  c: d\n",
        "a:\n- 1\n- b: c\n  d:\n  - e\n  - f: g\nh: i\n",
        "  a: b\n  c: d\n",
        "- a\n- 'it''s'\n- \"q\\\"\\\\ \\u00e9\\n\\/\"\n-   b: c\n    d: e\n- {}\n- []\n",
        "\"a b\": 'x: y # z'\n'c''d': e\n",
        "a: {b: c, \"d\": [1, 2.5, -x, 'q,', {e: f g}], h: true }\nb: [ a , b ]\n",
        ("a: |\n  one\n   two\n\n  three\n\n\nb: |-\n    x\n   \n    y\nc: |\n  # no comment\nd: "
         "e\n"),
        "a:\n- |\n  x\n- b: |-\n    y\n  c: d\n",
        "a: |\n  x\n     \n",
        "\xc3\xa4: \xe6\x97\xa5\n",
        "k: \xe6\x97\xa5\xe6\x9c\xac {x}\nl: ['\xe6\x97\xa5', b, {c: \xe6\x97\xa5, d: e}]\n",
        "a: http://x/y?z#w\nb: a:b\nc: x #y\nd: it's \"so\"\ne: [it's, a-b, a b]\n",
        "a: b\n  c\nd: e\n",
        "a: 'b\n  c'\nd: \"e\\\n  f\"\n",
        "a: >\n  x\n  y\nb: >-\n  z\n",
        "a:\nb: c\n",
        "a: &x 1\nb: *x\nc: !!str 2\n<<: {d: e}\n",
        "a: b\n   # far\nc: d # near\n",
        "a: |2\n   x\nb: |+\n  y\n\n",
        "a: .5\nb: .inf x\nc: +1\nd: ~\ne: <b>\nf: -\ng: - x\n",
        "- - a\n  - b\n-\n  c: d\n- ? e\n",
        "a: \"\\x41\\U00000042\\ud83d\"\n",
        "a:b\n",
        "a: [1, 2\n  , 3]\nb: [a, ]\nc: {d, e: }\n",
        "a: [\"b\": c]\nd: [e: f]\ng: {\"h\":i}\n",
        "a: b\na: c\n",
        "a: |\n\n  x\n",
        "a: \xc2\x85 b\nc: d\xe2\x80\xa8z\n",
        "a:\n    b: c\n  d: e\n",
        "- a\nb: c\n",
        "- a: b\n c: d\n",
        "a: - b\n",
        "a: .inf\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        check_both(str_of(texts[i]));
    }
}

static void shipped_files_are_read_as_by_libyaml(void)
{
    static const char *const folders[] = {"goldens/*",       "goldens/*/*", "cassettes/*/*",
                                          "cassettes/*/*/*", "fakellm/*/*", "ci/*/*"};
    struct buf text = {.max = 0};
    glob_t files = {0};
    for (size_t i = 0; i < COUNT(folders); i++) {
        char pattern[NOTE_BYTES];
        snprintf(pattern, sizeof pattern, "%s/%s.yaml", SOURCE_DIR, folders[i]);
        (void)glob(pattern, i == 0 ? 0 : GLOB_APPEND, NULL, &files); /* a folder may have none */
    }
    CU_ASSERT(files.gl_pathc > 40);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        CU_ASSERT(read_file(files.gl_pathv[i], &text));
        check_both(buf_str(&text));
    }
    globfree(&files);
    buf_free(&text);
}

TESTS(yaml, {"yaml_simple_texts_are_read_as_by_libyaml", simple_texts_are_read_as_by_libyaml},
      {"yaml_shipped_files_are_read_as_by_libyaml", shipped_files_are_read_as_by_libyaml},
      {"yaml_resolves_scalars_by_the_core_schema", core_scalars},
      {"yaml_resolves_scalars_as_pyyaml_does", pyyaml_scalars},
      {"yaml_obeys_and_refuses_tags", tags}, {"yaml_marks_binary_strings", binary_is_marked},
      {"yaml_expands_aliases_and_merges", aliases_and_merges},
      {"yaml_places_count_characters", places_count_characters},
      {"yaml_errors_have_places", errors_have_places},
      {"yaml_reads_json_as_json", json_is_read_as_json}, {"yaml_limits_depth", depth_is_limited},
      {"yaml_stops_alias_bombs", alias_bombs_are_stopped},
      {"yaml_reads_large_inputs", large_inputs_are_read},
      {"yaml_refuses_long_radix_numbers", long_radix_numbers_are_refused},
      {"yaml_loads_the_corpus_cassettes", corpus_cassettes_load},
      {"yaml_keeps_the_values_of_a_corpus_cassette", corpus_values_are_kept},
      {"yaml_agrees_with_pyyaml_on_the_corpus", corpus_agrees_with_pyyaml})
