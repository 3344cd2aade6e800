#include "kernel/base/match.h"

#include <stdio.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/yaml.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static struct val *parse(struct arena *a, const char *text)
{
    struct val *v = NULL;
    struct err e = {.message = ""};
    int rc = yaml_parse(a, "set.yaml", str_of(text), YAML_CORE, &v, &e);
    CHECK_TEXT(e.message, "");
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return v;
}

/* What args_match_test says: "" when met, else why. */
static void test_args(const char *matcher, const char *args, const char *schema, bool ignore_extra,
                      const char *want)
{
    struct doc d = {arena_new(), "set.yaml"};
    struct arg_match *m = NULL;
    struct err e = {.message = ""};
    struct buf why = {.max = 0};
    int rc = args_match_new(d, parse(d.arena, matcher), &m, &e);
    CHECK_TEXT(e.message, "");
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    struct args_match_options o = {.schema = schema == NULL ? NULL : parse(d.arena, schema),
                                   .ignore_extra = ignore_extra};
    struct val *v = parse(d.arena, args);
    bool met = args_match_test(m, v, &o, &why);
    CU_ASSERT_EQUAL(met, args_match_test(m, v, &o, NULL));
    buf_char(&why, '\0');
    CU_ASSERT_EQUAL(met, why.n == 1);
    CHECK_TEXT(why.p, want);
    buf_free(&why);
    args_match_free(m);
    arena_free(d.arena);
}

struct match_case {
    const char *matcher, *args, *want;
};

static void check_all(const struct match_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        test_args(cases[i].matcher, cases[i].args, NULL, false, cases[i].want);
    }
}

static void plain_values(void)
{
    static const struct match_case cases[] = {
        {"{sku: A-1}", "{\"sku\": \"A-1\"}", ""},
        {"{sku: A-1}", "{\"sku\": \"A1\"}", "args.sku: expected \"A-1\", got \"A1\""},
        {"{sku: A-1}", "{}", "args.sku: expected \"A-1\", got nothing"},
        {"{}", "{\"sku\": [1]}",
         "args.sku: not expected (the expectation does not list it; list it, or set extra_args: "
         "ignore), got [1]"},
        {"{}", "{}", ""},
        {"{}", "[]", "args: expected a map, got a list"},
        {"{n: 3}", "{\"n\": 3.0}", ""},
        {"{n: 3}", "{\"n\": 30e-1}", ""},
        {"{n: 3}", "{\"n\": \"3\"}", "args.n: expected 3, got \"3\""},
        {"{n: 9007199254740993}", "{\"n\": 9007199254740992}",
         "args.n: expected 9007199254740993, got 9007199254740992"},
        {"{n: null}", "{\"n\": null}", ""},
        {"{n: null}", "{}", "args.n: expected null, got nothing"},
        {"{n: true}", "{\"n\": 1}", "args.n: expected true, got 1"},
    };
    check_all(cases, COUNT(cases));
}

/* As most JSON readers decide; in our own files they are refused. */
static void duplicates(void)
{
    struct doc d = {arena_new(), NULL};
    struct val *v = NULL;
    struct arg_match *m = NULL;
    struct args_match_options o = {.schema = NULL};
    struct str args = STR("{\"n\": \"b\", \"n\": \"a\"}");
    CU_ASSERT_EQUAL_FATAL(json_parse(d.arena, NULL, args, &v, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(args_match_new(d, parse(d.arena, "{n: a}"), &m, NULL), 0);
    CU_ASSERT(args_match_test(m, v, &o, NULL));
    args_match_free(m);
    arena_free(d.arena);
}

static void matchers(void)
{
    static const struct match_case cases[] = {
        {"{a: {equals: {contains: x}}}", "{a: {contains: x}}", ""},
        {"{a: {one_of: [1, x, {b: 2}]}}", "{a: {b: 2}}", ""},
        {"{a: {one_of: [1, x]}}", "{a: y}", "args.a: expected one of [1, \"x\"], got \"y\""},
        {"{a: {regex: '42\\.4 *- *38\\.2'}}", "{a: '42.4-38.2'}", ""},
        {"{a: {regex: '^x$'}}", "{a: 5}",
         "args.a: expected text matching the regex \"^x$\", got 5"},
        {"{a: {contains: ell}}", "{a: hello}", ""},
        {"{a: {contains: el}}", "{a: [x, el]}", ""},
        {"{a: {contains: {b: {regex: '^x'}}}}", "{a: [1, {b: xy}]}", ""},
        {"{a: {contains: 3}}", "{a: [1, 2]}",
         "args.a: expected something containing 3, got [1, 2]"},
        {"{a: {near: {value: 4.2, within: 0.1}}}", "{a: 4.3}", ""},
        {"{a: {near: {value: 4.2, within: 0.1}}}", "{a: 4.1}", ""}, /* not so in doubles */
        {"{a: {near: {value: 4.2, within: 0.1}}}", "{a: 4.30000000000000000001}",
         "args.a: expected a number within 0.1 of 4.2, got 4.30000000000000000001"},
        {"{a: {near: {value: 0.3, within: 0}}}", "{a: 0.30}", ""},
        {"{a: {near: {value: 1, within: 1}}}", "{a: '1'}",
         "args.a: expected a number within 1 of 1, got \"1\""},
        {"{a: {range: [1, 2]}}", "{a: 2.0}", ""},
        {"{a: {range: [1, 2]}}", "{a: 2.0000000000000000001}",
         "args.a: expected a number from 1 to 2, got 2.0000000000000000001"},
        {"{a: {any: true}}", "{a: null}", ""},
        {"{a: {any: true}}", "{}", "args.a: expected any value, got nothing"},
        {"{a: {absent: true}}", "{}", ""},
        {"{a: {absent: true}}", "{a: 1}", "args.a: expected nothing, got 1"},
        {"{a: {optional: {regex: x}}}", "{}", ""},
        {"{a: {optional: {regex: x}}}", "{a: xx}", ""},
        {"{a: {optional: 1}}", "{a: 2}", "args.a: expected 1, got 2"},
        {"{a: {one_of: [x, {absent: true}]}}", "{}", ""},
        {"{a: {each: {range: [0, 9]}}}", "{a: [1, 2]}", ""},
        {"{a: {each: 1}}", "{a: []}", ""},
        {"{a: {each: {range: [0, 9]}}}", "{a: [1, 20]}",
         "args.a[1]: expected a number from 0 to 9, got 20"},
        {"{a: {each: 1}}", "{a: 1}", "args.a: expected a list with each item 1, got 1"},
    };
    check_all(cases, COUNT(cases));
}

static void nesting(void)
{
    static const struct match_case cases[] = {
        {"{a: [1, {regex: b}]}", "{a: [1, abc]}", ""},
        {"{a: [1, {regex: b}]}", "{a: [1, ac]}",
         "args.a[1]: expected text matching the regex \"b\", got \"ac\""},
        {"{a: [1, 2]}", "{a: [1]}", "args.a: expected [1, 2], got [1]"},
        {"{a: {b: {c: {contains: x}}}}", "{a: {b: {c: axb}}}", ""},
        {"{a: {b: [{c: 1}]}}", "{a: {b: [{c: 2}]}}", "args.a.b[0].c: expected 1, got 2"},
        {"{a: {b: 1}}", "{a: {b: 1, c: 2}}",
         "args.a.c: not expected (the expectation does not list it; list it), got 2"},
        {"{contains: x, equals: y}", "{contains: x, equals: y}", ""}, /* parameters, at the top */
    };
    check_all(cases, COUNT(cases));
}

static void unordered_lists(void)
{
    static const struct match_case cases[] = {
        {"{a: {unordered: [1, 2, 3]}}", "{a: [3, 1, 2]}", ""},
        {"{a: {unordered: [1, 1, 2]}}", "{a: [1, 2, 2]}",
         "args.a: expected in any order [1, 1, 2], got [1, 2, 2]"},
        {"{a: {unordered: [1, 2]}}", "{a: [1, 2, 2]}",
         "args.a: expected in any order [1, 2], got [1, 2, 2]"},
        {"{a: {unordered: []}}", "{a: []}", ""},
        /* the first matcher must give up "ab" for the second, and again for the third */
        {"{a: {unordered: [{any: true}, {contains: b}, {equals: ab}]}}", "{a: [ab, b, c]}", ""},
        {"{a: {unordered: [{contains: a}, {contains: b}, {contains: c}]}}", "{a: [abc, ab, a]}",
         ""},
        {"{a: {unordered: [{contains: b}, {contains: c}, x]}}", "{a: [bc, x, x]}",
         "args.a: expected in any order [{\"contains\": \"b\"}, {\"contains\": \"c\"}, \"x\"], got "
         "[\"bc\", \"x\", \"x\"]"},
    };
    check_all(cases, COUNT(cases));
}

static void defaults_and_extra(void)
{
    static const char schema[] =
        "{type: object, properties: {unit: {type: string, default: celsius}, n: {type: integer, "
        "default: 5}, o: {type: object, properties: {deep: {default: 1}}}}}";
    test_args("{city: Oslo}", "{city: Oslo, unit: celsius}", schema, false, "");
    test_args("{city: Oslo, unit: celsius}", "{city: Oslo}", schema, false, "");
    test_args("{n: 5}", "{n: 5.0}", schema, false, "");
    test_args("{}", "{n: 5.0}", schema, false, "");
    test_args("{n: {range: [1, 9]}}", "{}", schema, false, "");
    test_args("{n: {absent: true}}", "{n: 5}", schema, false, "");
    test_args("{o: {}}", "{o: {deep: 1}}", schema, false, "");
    test_args("{city: Oslo}", "{city: Oslo, unit: kelvin}", schema, false,
              "args.unit: not expected (the expectation does not list it; list it, or set "
              "extra_args: ignore), got \"kelvin\"");
    test_args("{unit: kelvin}", "{}", schema, false, "args.unit: expected \"kelvin\", got nothing");
    test_args("{unit: kelvin}", "{unit: celsius}", schema, false,
              "args.unit: expected \"kelvin\", got \"celsius\"");
    test_args("{city: Oslo}", "{city: Oslo, x: 1}", schema, true, "");
    test_args("{city: Oslo}", "{city: Rome, x: 1}", schema, true,
              "args.city: expected \"Oslo\", got \"Rome\"");
}

static void bad_matchers(void)
{
    static const struct {
        const char *matcher, *want;
    } cases[] = {
        {"a: {regex: x, b: 1}",
         "1:5 \"regex\" is a matcher and must be the only key of its map; write a literal map as "
         "{equals: {...}}"},
        {"a: {b: 1, any: true}", "1:11 \"any\" is a matcher"},
        {"a: {regex: '['}", "1:12 bad regular expression at offset 1"},
        {"a: {regex: 5}", "1:12 \"regex\" must be a string, got a number"},
        {"a: {near: {value: 1}}", "1:11 \"near\" takes {value: NUMBER"},
        {"a: {near: {value: 1, within: -1}}", "1:11 \"near\" takes"},
        {"a: {near: 5}", "1:11 expected a map for near"},
        {"a: {range: [1]}", "1:12 \"range\" takes [LOWEST, HIGHEST]"},
        {"a: {range: [2, 1]}", "1:12 \"range\" has its lowest above"},
        {"a: {any: false}", "1:10 \"any\" takes only true"},
        {"a: {one_of: x}", "1:13 \"one_of\" takes a list, got a string"},
        {"a: {one_of: []}", "1:13 \"one_of\" takes a list of at least one"},
        {"a: {unordered: {b: 1}}", "1:16 \"unordered\" takes a list"},
        {"a: [{absent: true}]", "1:14 \"absent\" cannot stand in a list"},
        {"- a", "1:1 expected a map from parameter names to values, got a list"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct doc d = {arena_new(), "set.yaml"};
        struct arg_match *m = NULL;
        struct err e = {.message = ""};
        char got[2048];
        CU_ASSERT_EQUAL(args_match_new(d, parse(d.arena, cases[i].matcher), &m, &e), ERR_INPUT);
        snprintf(got, sizeof got, "%u:%u %s", e.line, e.column, e.message);
        if (!str_starts(str_of(got), cases[i].want)) {
            CHECK_TEXT(got, cases[i].want);
        }
        args_match_free(m);
        arena_free(d.arena);
    }
}

static void test_cond(const char *cond, const char *text, const char *want)
{
    struct doc d = {arena_new(), "set.yaml"};
    struct text_cond *c = NULL;
    struct err e = {.message = ""};
    struct buf why = {.max = 0};
    struct str s = str_of(text);
    int rc = text_cond_new(d, parse(d.arena, cond), true, &c, &e);
    if (rc != 0) {
        buf_fmt(&why, "%u:%u %s", e.line, e.column, e.message);
    } else {
        bool met = text_cond_test(c, text == NULL ? NULL : &s, &why);
        CU_ASSERT_EQUAL(met, why.n == 0);
    }
    buf_char(&why, '\0');
    CHECK_TEXT(why.p, want);
    buf_free(&why);
    text_cond_free(c);
    arena_free(d.arena);
}

static void text_conditions(void)
{
    test_cond("'abc'", "abc", "");
    test_cond("'abc'", "abd", "expected \"abc\", got \"abd\"");
    test_cond("{equals: a}", "a", "");
    test_cond("{contains: ACME}", "the ACME report", "");
    test_cond("{contains: ACME}", "two\nlines",
              "expected text containing \"ACME\", got \"two\\nlines\"");
    test_cond("{contains: ''}", "", "");
    test_cond("{regex: '^a.c$'}", "abc", "");
    test_cond("{regex: '^a.c$'}", "xabc",
              "expected text matching the regex \"^a.c$\", got \"xabc\"");
    test_cond("{one_of: [a, b]}", "b", "");
    test_cond("{one_of: [a, b]}", "c", "expected one of [\"a\", \"b\"], got \"c\"");
    test_cond("{absent: true}", NULL, "");
    test_cond("{absent: true}", "x", "expected no text, got \"x\"");
    test_cond("{contains: x}", NULL, "expected text containing \"x\", got no text");
    test_cond("{contans: x}", "x",
              "1:2 unknown key \"contans\" in a text condition; did you mean \"contains\"?");
    test_cond("{contains: x, equals: y}", "x",
              "1:1 a text condition has exactly one of equals, contains, regex, one_of, absent; "
              "this map has 2 keys");
    test_cond("{contains: 5}", "5", "1:12 \"contains\" must be a string, got a number");
    test_cond("{one_of: []}", "5", "1:10 \"one_of\" must be a list of at least one string");
    test_cond("{absent: false}", "5", "1:10 \"absent\" takes only true");
    test_cond("[a]", "a",
              "1:1 expected a text condition: a string, or a map with one of equals, contains, "
              "regex, one_of, absent; got a list");
}

static void absent_is_refused_where_it_cannot_be(void)
{
    struct doc d = {arena_new(), "set.yaml"};
    struct text_cond *c = NULL;
    struct err e = {.message = ""};
    CU_ASSERT_EQUAL(text_cond_new(d, parse(d.arena, "{absent: true}"), false, &c, &e), ERR_INPUT);
    CHECK_TEXT(e.message, "unknown key \"absent\" in a text condition; known keys are \"equals\", "
                          "\"contains\", \"regex\", \"one_of\"");
    text_cond_free(c);
    arena_free(d.arena);
}

TESTS(match, {"match_compares_plain_values", plain_values},
      {"match_takes_the_last_of_duplicate_arguments", duplicates},
      {"match_knows_every_matcher", matchers}, {"match_is_recursive_and_names_the_path", nesting},
      {"match_pairs_unordered_lists_optimally", unordered_lists},
      {"match_treats_defaults_as_left_out", defaults_and_extra},
      {"match_refuses_bad_matchers_at_their_place", bad_matchers},
      {"match_tests_text_conditions", text_conditions},
      {"match_refuses_absent_where_text_is_certain", absent_is_refused_where_it_cannot_be})
