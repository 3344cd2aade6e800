/* The checker of the Berkeley Function Calling Leaderboard by hand-made cases. What is expected
 * comes from the official checker and its decoders (bfcl_eval 2026.3.23) under Python 3.11. */
#include "evals/bfcl/bfcl.h"

#include <math.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "evals/bfcl/bfcl_int.h"
#include "kernel/base/json.h"

static struct bfcl_work work_new(void)
{
    return (struct bfcl_work){arena_new(), bfcl_patterns_new()};
}

static void work_free(struct bfcl_work *w)
{
    arena_free(w->arena);
    bfcl_patterns_free(w->patterns);
}

static struct val *json(struct bfcl_work *w, const char *text)
{
    struct val *v = NULL;
    struct err e;
    if (bfcl_json(w->arena, NULL, str_of(text), &v, &e) != 0) {
        CU_FAIL("a test's JSON is wrong");
        printf("%s: %s\n", text, e.message);
    }
    return v;
}

/* ---- numbers ---- */

static void doubles(void)
{
    static const struct {
        const char *text;
        double want;
    } cases[] = {{"0.1", 0.1},
                 {"-2.5", -2.5},
                 {"1e22", 1e22},
                 {"1e23", 1e23},                           /* the parts are not exact */
                 {"9007199254740993", 9007199254740992.0}, /* a tie, to even */
                 {"9007199254740993.0000000000000000000000000000000000001", 9007199254740994.0},
                 {"0.30000000000000004", 0x1.3333333333334p-2},
                 {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022}, /* once hung PHP and Java */
                 {"4.9406564584124654e-324", 0x1p-1074},
                 {"2.4703282292062328e-324", 0x1p-1074}, /* just above half of the smallest */
                 {"2.4703282292062327e-324", 0.0},
                 {"1.7976931348623157e308", 0x1.fffffffffffffp+1023},
                 {"1.7976931348623159e308", INFINITY},
                 {"1e400", INFINITY},
                 {"1e-400", 0.0},
                 {"0e999999999", 0.0},
                 {"5.", 5.0},
                 {".5", 0.5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = bfcl_double(str_of(cases[i].text));
        CU_ASSERT(got == cases[i].want);
    }
}

static void reprs(void)
{
    static const struct {
        double d;
        const char *want;
    } cases[] = {{0.1, "0.1"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {5.0, "5.0"},
                 {-0.0, "-0.0"},
                 {1e15, "1000000000000000.0"},
                 {1e16, "1e+16"},
                 {1.5e300, "1.5e+300"},
                 {0.0001, "0.0001"},
                 {0.00001, "1e-05"},
                 {123456.789, "123456.789"},
                 {5e-324, "5e-324"},
                 {0x1.fffffffffffffp+1023, "1.7976931348623157e+308"},
                 {INFINITY, "inf"},
                 {NAN, "nan"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        bfcl_real_repr(&out, cases[i].d);
        buf_char(&out, '\0');
        CHECK_TEXT(out.p, cases[i].want);
        buf_free(&out);
    }
}

static void plain_strings(void)
{
    static const char *const cases[][2] = {
        {"San Francisco, CA", "sanfranciscoca"},
        {"2023/06/01", "20230601"},
        {"it's", "it\"s"},
        {"a\tb", "a\tb"},
        {"STRA\xE1\xBA\x9E"
         "E",
         "stra\xC3\x9F"
         "e"},                                                                    /* ẞ */
        {"\xCE\x9F\xCE\x94\xCE\x9F\xCE\xA3", "\xCE\xBF\xCE\xB4\xCE\xBF\xCF\x82"}, /* ΟΔΟΣ: ς */
        {"\xCE\x9F\xCE\xA3 \xCE\x91", "\xCE\xBF\xCF\x83\xCE\xB1"}, /* σ, when the space is gone */
        {"\xC4\xB0", "i\xCC\x87"},                                 /* İ */
        {"\xC3\x80\xD0\x96", "\xC3\xA0\xD0\xB6"}};
    struct bfcl_work w = work_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_TEXT(arena_cstr(w.arena, bfcl_plain(&w, str_of(cases[i][0]))), cases[i][1]);
    }
    work_free(&w);
}

/* Python's ==. */
static void equals(void)
{
    static const struct {
        const char *a, *b;
        bool want;
    } cases[] = {{"1", "1.0", true},
                 {"1", "True", true},
                 {"0.0", "False", true},
                 {"1", "'1'", false},
                 {"None", "0", false},
                 {"(1, 2)", "[1, 2]", false},
                 {"[(1, 2)]", "[[1, 2]]", false},
                 {"[1, [2.0]]", "[1.0, [2]]", true},
                 {"{'a': 1, 'b': 2}", "{'b': 2.0, 'a': True}", true},
                 {"{'a': 1}", "{'a': 1, 'b': 2}", false},
                 {"9007199254740993", "9007199254740993.0", false},
                 {"10**22", "1e22", true},
                 {"10**23", "1e23", false},
                 {"1e999-1e999", "1e999-1e999", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bfcl_work w = work_new();
        struct bfcl_calls calls;
        struct str text = arena_printf(w.arena, "f(a=%s, b=%s)", cases[i].a, cases[i].b);
        CU_ASSERT_FATAL(bfcl_read_text(&w, BFCL_PYTHON, text, &calls) == BFCL_READ);
        const struct bfcl_value *a = bfcl_get(&calls.at[0].arguments, STR("a"));
        const struct bfcl_value *b = bfcl_get(&calls.at[0].arguments, STR("b"));
        CU_ASSERT_FATAL(a != NULL && b != NULL);
        if (bfcl_equal(a, b) != cases[i].want || bfcl_equal(b, a) != cases[i].want) {
            CU_FAIL("equal or not");
            printf("  %s == %s\n", cases[i].a, cases[i].b);
        }
        work_free(&w);
    }
}

/* ---- texts ---- */

static void add_calls(struct bfcl_work *w, struct buf *out, const struct bfcl_calls *calls)
{
    for (size_t i = 0; i < calls->n; i++) {
        buf_addz(out, i > 0 ? " " : "");
        bfcl_repr(w, out, &calls->at[i].name);
        bfcl_repr(w, out, &calls->at[i].arguments);
    }
}

struct text_case {
    const char *text;
    const char *want; /* NULL: unreadable; "" with wrong format */
};

static void check_texts(enum bfcl_language language, const struct text_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct bfcl_work w = work_new();
        struct bfcl_calls calls;
        struct buf out = {0};
        enum bfcl_reading r = bfcl_read_text(&w, language, str_of(cases[i].text), &calls);
        add_calls(&w, &out, &calls);
        buf_addz(&out, r == BFCL_UNREADABLE ? "unreadable" : r == BFCL_WRONG_FORMAT ? "wrong" : "");
        buf_char(&out, '\0');
        const char *shown = r == BFCL_UNREADABLE ? "unreadable" : out.p;
        if (!CHECK_TEXT(shown, cases[i].want == NULL ? "unreadable" : cases[i].want)) {
            printf("  text %s\n", cases[i].text);
        }
        buf_free(&out);
        work_free(&w);
    }
}

static void python_texts(void)
{
    static const struct text_case cases[] = {
        {"[f(a=1), g.h(b='x')]", "'f'{'a': 1} 'g.h'{'b': 'x'}"},
        {"```\nf(a=1)\n```", "'f'{'a': 1}"},
        {"", ""},
        {"[f(a=1)] as you wished", NULL},
        {"'f(a=1)'", NULL},
        {"f(1, b=2, *c)", "'f'{'b': 2}"}, /* what has no name is dropped */
        {"f(a=1, 2)", NULL},
        {"f(**k)", "'f'{None: 'k'}"},
        {"f(a=1, a=2)", "'f'{'a': 2}"},
        {"a().b(x=1)", "'b'{'x': 1}"},
        {"a[0](x=1)", "''{'x': 1}"},
        {"f(a=not True, b=+5, c=-1.50)", "'f'{'a': -1, 'b': -5, 'c': -1.5}"},
        {"f(a=--5)", NULL},
        {"f(a=x, b=true, c=x.y[0])", "'f'{'a': 'x', 'b': 'true', 'c': 'x.y[0]'}"},
        {"f(a=x.y)", NULL},
        {"f(a=10/4, b=7//-2, c=-7%3, d=2**100, e=0.1+0.2)",
         "'f'{'a': 2.5, 'b': -4, 'c': 2, 'd': 1267650600228229401496703205376, 'e': "
         "0.30000000000000004}"},
        {"f(a=1/0)", NULL},
        {"f(a=x+1)", NULL},
        {"f(a=9**9**9)", NULL}, /* what Python would work at for ever */
        {"f(a='%s-%d' % ('x', 5), b='ab'*2, c=[1]+[2])",
         "'f'{'a': 'x-5', 'b': 'abab', 'c': [1, 2]}"},
        {"f(a=g(\"x\",  1+2*3))", "'f'{'a': \"g('x', 1 + 2 * 3)\"}"},
        {"f(a=g(b=1))", "'f'{'a': {'g': {'b': 1}}}"},
        {"f(a=(1, 2), b=(1,), c=[], d={1: 'x', True: 'y', 'k': None})",
         "'f'{'a': (1, 2), 'b': (1,), 'c': [], 'd': {1: 'y', 'k': None}}"},
        {"f(a={[1]: 2})", NULL},
        {"f(a=0x1F, b=1_000, c=1e3, d=5., e=007)", NULL},
        {"f(a=0x1F, b=1_000, c=1e3, d=5.)", "'f'{'a': 31, 'b': 1000, 'c': 1000.0, 'd': 5.0}"},
        {"f(a='it\\'s', b=r'\\d', c='\\u00e9\\x41\\q', d='x' \"y\")",
         "'f'{'a': \"it's\", 'b': '\\\\d', 'c': '\xC3\xA9"
         "A\\\\q', 'd': 'xy'}"},
        {"f(a=\"x\ny\")", NULL},
        {"f(a=1),\n # a comment\n g(b=2)", "'f'{'a': 1} 'g'{'b': 2}"},
        {"f(a=1)\ng(b=2)", NULL},
        {"f(a=[i for i in x])", NULL},
        {"f(lambda *a, b=1, **c: a, [i for i, in x if i], b=2)", "'f'{'b': 2}"},
        {"f(a=x if y else z)", NULL},
        {"f(a=f'{x}')", NULL},
        {"f(a=...)", "'f'{'a': '...'}"},
        {"f(a=5km)", NULL},
        {"fe\xCC\x81(x=1)", "'f\xC3\xA9'{'x': 1}"},
        {"f(a=\xE2\x80\x9Cx\xE2\x80\x9D)", NULL}, /* curly quotes */
        {"f(a=\xE6\x9D\xB1\xE4\xBA\xAC)", "'f'{'a': '\xE6\x9D\xB1\xE4\xBA\xAC'}"},
        {"f(class='x')", NULL}};
    check_texts(BFCL_PYTHON, cases, sizeof cases / sizeof cases[0]);
}

static void java_texts(void)
{
    static const struct text_case cases[] = {
        {"[A.b(x=\"hi\", n=10L, z=null)]", "'A.b'{'x': 'hi', 'n': '10L', 'z': 'null'}"},
        {"f(a=new int[]{1, 2}, b=a + b)", "'f'{'a': 'new int[]{1,2}', 'b': 'a+b'}"},
        {"f(a=new ArrayList<>(Arrays.asList(\"a\", \"b\")))",
         "'f'{'a': 'new ArrayList<>(Arrays.asList(\"a\", \"b\"))'}"},
        {"f(a=new HashMap<String, Object>() {{ put(\"k\", 1); }})",
         "'f'{'a': 'new HashMap<String,Object>()'}"}, /* the body is lost */
        {"f(a=g(1,  2).h)", "'f'{'a': 'g(1,  2).h'}"},
        {"f(a=x -> x + 1, b=(String) y)", "'f'{'a': 'x->x+1', 'b': '(String)y'}"},
        {"foo(a=1)", NULL}, /* too short without its semicolon */
        {"foo(a=1);", "'foo'{'a': '1'}"},
        {"f(a={\"k\": 1})", NULL},
        {"f(a=12345, a=23456)", NULL},
        {"new Foo(a=1234)", "wrong"}};
    check_texts(BFCL_JAVA, cases, sizeof cases / sizeof cases[0]);
}

static void js_texts(void)
{
    static const struct text_case cases[] = {
        {"[f(a={k: 1, \"m\": [1, 2]}, b='x')]", "'f'{'a': '{k: 1, \"m\": [1, 2]}', 'b': 'x'}"},
        {"f(a=x => x * 2, b=/re/g, c=`t`, d=123n)",
         "'f'{'a': 'x => x * 2', 'b': '/re/g', 'c': '`t`', 'd': '123n'}"},
        {"f(a=function(x) { return x; }, b=new Date())",
         "'f'{'a': 'function(x) { return x; }', 'b': 'new Date()'}"},
        {"f(1, x, a=1)", "'f'{None: 'x', 'a': '1'}"},
        {"f(x, y)", NULL},
        {"f(a=1)\ng(b=2)", "'f'{'a': '1'}"},
        {"f(a=1), g(b=2)", "wrong"},
        {"f(a: 1)", NULL},
        {"f(a=3.0.0)", NULL}};
    check_texts(BFCL_JAVASCRIPT, cases, sizeof cases / sizeof cases[0]);
}

/* Python's tokenizer takes 200 brackets within each other. */
static void brackets(void)
{
    for (int n = 198; n < 200; n++) {
        struct bfcl_work w = work_new();
        struct bfcl_calls calls;
        struct buf text = {0};
        buf_addz(&text, "[f(a=");
        for (int i = 0; i < 2 * n; i++) {
            buf_char(&text, i < n ? '[' : ']');
        }
        buf_addz(&text, ")]");
        enum bfcl_reading r = bfcl_read_text(&w, BFCL_PYTHON, buf_str(&text), &calls);
        CU_ASSERT(r == (n == 198 ? BFCL_READ : BFCL_UNREADABLE));
        buf_free(&text);
        work_free(&w);
    }
}

static void nesting(void)
{
    static const char *const opens[] = {"(",    "[",   "f(a=",    "{1:", "-",
                                        "not ", "1**", "lambda:", "1+"};
    static const char *const code[] = {"(", "[", "f(a=", "-", "x=>", "new A(", "{a:"};
    struct bfcl_work w = work_new();
    struct bfcl_calls calls;
    for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
        struct buf text = {0};
        for (int k = 0; k < 100000; k++) {
            buf_addz(&text, opens[i]);
        }
        CU_ASSERT(bfcl_read_text(&w, BFCL_PYTHON, buf_str(&text), &calls) == BFCL_UNREADABLE);
        buf_free(&text);
    }
    for (size_t i = 0; i < sizeof code / sizeof code[0]; i++) {
        struct buf text = {0};
        for (int k = 0; k < 50000; k++) {
            buf_addz(&text, code[i]);
        }
        CU_ASSERT(bfcl_read_text(&w, BFCL_JAVASCRIPT, buf_str(&text), &calls) == BFCL_UNREADABLE);
        CU_ASSERT(bfcl_read_text(&w, BFCL_JAVA, buf_str(&text), &calls) == BFCL_UNREADABLE);
        buf_free(&text);
    }
    work_free(&w);
}

/* ---- the checker ---- */

struct check_case {
    const char *category;
    const char *parameters; /* of the function f */
    const char *expected;   /* of one call of f, or a list of such */
    const char *calls;      /* likewise */
    const char *error;      /* NULL = valid */
    const char *own;        /* our scorer's: "" = the same */
};

/* A list of maps: {"f": {…}}, or with `named` {"name": "f", "arguments": {…}}. */
static struct val *wrapped(struct bfcl_work *w, const char *items, bool named)
{
    struct buf text = {0};
    struct val *list = json(w, items[0] == '[' ? items : arena_printf(w->arena, "[%s]", items).p);
    buf_char(&text, '[');
    for (size_t i = 0; i < list->count; i++) {
        buf_addz(&text, i > 0 ? "," : "");
        buf_addz(&text, named ? "{\"name\":\"f\",\"arguments\":" : "{\"f\":");
        json_add(&text, &list->items[i]);
        buf_char(&text, '}');
    }
    buf_addz(&text, "]");
    struct val *v = json(w, arena_cstr(w->arena, buf_str(&text)));
    buf_free(&text);
    return v;
}

static void check_case(const struct check_case *k)
{
    struct bfcl_work w = work_new();
    struct buf function = {0};
    struct bfcl_calls calls;
    struct bfcl_result r = {.calls = wrapped(&w, k->calls, true)};
    buf_fmt(&function, "[{\"name\":\"f\",\"parameters\":%s}]", k->parameters);
    struct bfcl_case c = {.functions = json(&w, arena_cstr(w.arena, buf_str(&function))),
                          .truth = wrapped(&w, k->expected, false)};
    buf_free(&function);
    bool java = strcmp(k->category, "simple_java") == 0;
    bool js = strcmp(k->category, "simple_javascript") == 0;
    struct bfcl_checker checker = {.work = &w,
                                   .language = java ? BFCL_JAVA
                                               : js ? BFCL_JAVASCRIPT
                                                    : BFCL_PYTHON};
    CU_ASSERT(bfcl_read_result(&w, checker.language, BFCL_CALLS, &r, &calls) == BFCL_READ);
    const char *got = bfcl_check_calls(&checker, k->category, &c, &calls);
    bool good = CHECK_TEXT(got == NULL ? "valid" : got, k->error == NULL ? "valid" : k->error);
    struct str why = {NULL, 0};
    checker.mended = true;
    checker.why = &why;
    const char *own = bfcl_check_calls(&checker, k->category, &c, &calls);
    const char *want = k->own != NULL && k->own[0] == '\0' ? k->error : k->own;
    good = CHECK_TEXT(own == NULL ? "valid" : own, want == NULL ? "valid" : want) && good;
    if (want != k->error) {
        CU_ASSERT(why.n > 0 || k->error[0] == 'E');
    }
    if (!good) {
        printf("  %s %s %s\n", k->parameters, k->expected, k->calls);
    }
    work_free(&w);
}

#define ONE(type)   "{\"properties\":{\"p\":" type "},\"required\":[\"p\"]}"
#define LIST(items) ONE("{\"type\":\"array\",\"items\":{\"type\":\"" items "\"}}")
#define T(name)     ONE("{\"type\":\"" name "\"}")

static void checks_one_call(void)
{
    static const char s[] = "simple_python";
    static const struct check_case cases[] = {
        {s, T("string"), "{\"p\":[\"New York, NY\"]}", "{\"p\":\"new york ny.\"}", NULL, ""},
        {s, T("string"), "{\"p\":[\"a\"]}", "{\"p\":\"b\"}", "value_error:string", ""},
        {s, T("string"), "{\"p\":[\"5\"]}", "{\"p\":5}", "type_error:simple", ""},
        {s, T("string"), "{\"p\":[5,\"x\"]}", "{\"p\":5}", NULL, ""}, /* a "variable" */
        {s, T("integer"), "{\"p\":[5]}", "{\"p\":5.0}", "type_error:simple", ""},
        {s, T("integer"), "{\"p\":[1]}", "{\"p\":true}", "type_error:simple", ""},
        {s, T("float"), "{\"p\":[5.0]}", "{\"p\":5}", NULL, ""},
        {s, T("float"), "{\"p\":[9007199254740993]}", "{\"p\":9007199254740993}",
         "value_error:others", ""},
        {s, T("boolean"), "{\"p\":[true]}", "{\"p\":false}", "value_error:others", ""},
        {s, T("string"), "{\"p\":[\"x\"]}", "{}", "simple_function_checker:missing_required", ""},
        {s, T("string"), "{\"p\":[\"x\"]}", "{\"p\":\"x\",\"q\":1}",
         "simple_function_checker:unexpected_param", ""},
        {s, "{\"properties\":{\"p\":{\"type\":\"any\"}},\"required\":[]}", "{\"p\":[\"x\"]}", "{}",
         "simple_function_checker:missing_optional", ""},
        {s, "{\"properties\":{\"p\":{\"type\":\"any\"}},\"required\":[]}", "{\"p\":[\"x\",\"\"]}",
         "{}", NULL, ""},
        {s, LIST("integer"), "{\"p\":[[1,2]]}", "{\"p\":[1,2]}", NULL, ""},
        {s, LIST("integer"), "{\"p\":[[1,2]]}", "{\"p\":[2,1]}", "value_error:list/tuple", ""},
        {s, LIST("float"), "{\"p\":[[1.0]]}", "{\"p\":[1]}", "type_error:nested", ""},
        {s, LIST("float"), "{\"p\":[[1.0],\"\"]}", "{\"p\":[1]}", NULL, ""},
        {s, LIST("string"), "{\"p\":[[\"A b\"]]}", "{\"p\":[\"ab\"]}", NULL, ""},
        {s, T("dict"), "{\"p\":[{\"a\":[1],\"b\":[\"x\",\"\"]}]}", "{\"p\":{\"a\":true}}", NULL,
         ""},
        {s, T("dict"), "{\"p\":[{\"a\":[1]}]}", "{\"p\":{\"a\":2}}", "value_error:dict_value", ""},
        {s, T("dict"), "{\"p\":[{\"a\":[1],\"c\":[1]}]}", "{\"p\":{\"a\":2}}",
         "value_error:dict_key", ""},
        {s, T("dict"), "{\"p\":[\"\"]}", "{\"p\":{}}", "dict_checker:unclear", ""},
        {s, LIST("dict"), "{\"p\":[[{\"a\":[1]}]]}", "{\"p\":[{\"a\":1},{\"a\":1}]}",
         "value_error:list_dict_count", ""},
        {s, T("string"), "{\"p\":[\"x\"]}", "[]", "simple_function_checker:wrong_count", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i]);
    }
}

static void converts(void)
{
    static const char j[] = "simple_java", k[] = "simple_javascript";
#define ITEMS(type, items) ONE("{\"type\":\"" type "\",\"items\":{\"type\":\"" items "\"}}")
    static const struct check_case cases[] = {
        {j, T("integer"), "{\"p\":[5]}", "{\"p\":\"5\"}", NULL, ""},
        {j, T("integer"), "{\"p\":[5]}", "{\"p\":5}", "type_error:java", ""},
        {j, T("integer"), "{\"p\":[5]}", "{\"p\":\"5L\"}", "type_error:simple", ""},
        {j, T("long"), "{\"p\":[5]}", "{\"p\":\"5L\"}", NULL, ""},
        {j, T("float"), "{\"p\":[1.5]}", "{\"p\":\"1.5f\"}", NULL, ""},
        {j, T("double"), "{\"p\":[1500.0]}", "{\"p\":\"1.5e3\"}", NULL, ""},
        {j, T("boolean"), "{\"p\":[true]}", "{\"p\":\"true\"}", NULL, ""},
        {j, ITEMS("Array", "integer"), "{\"p\":[[1,2]]}", "{\"p\":\"new int[]{1, 2}\"}", NULL, ""},
        {j, ITEMS("ArrayList", "String"), "{\"p\":[[\"a\",\"b\"]]}",
         "{\"p\":\"new ArrayList<>(Arrays.asList(\\\"a\\\", \\\"b\\\"))\"}", NULL, ""},
        {j, ITEMS("ArrayList", "integer"), "{\"p\":[[7]]}",
         "{\"p\":\"new ArrayList<Integer>() {{ add(7); }}\"}", NULL, ""},
        {j, T("HashMap"), "{\"p\":[{\"k\":[5]}]}",
         "{\"p\":\"new HashMap<String, Object>() {{ put(\\\"k\\\", 5); }}\"}", NULL, ""},
        {j, T("Queue"), "{\"p\":[\"x\"]}", "{\"p\":\"x\"}", "EXCEPTION:NotImplementedError", ""},
        {k, T("String"), "{\"p\":[\"x\"]}", "{\"p\":\"'x'\"}", NULL, ""},
        {k, T("Bigint"), "{\"p\":[5]}", "{\"p\":\"5n\"}", NULL, ""},
        {k, T("float"), "{\"p\":[5.0]}", "{\"p\":\"5\"}", NULL, ""},
        {k, T("float"), "{\"p\":[5.0]}", "{\"p\":5}", "type_error:js", ""},
        {k, ITEMS("array", "String"), "{\"p\":[[\"a\",\"b\"]]}", "{\"p\":\"['a', \\\"b\\\"]\"}",
         NULL, ""},
        {k, ITEMS("array", "array"), "{\"p\":[[[1,2],[3]]]}", "{\"p\":\"[[1, 2], [3]]\"}", NULL,
         ""},
        {k, T("dict"), "{\"p\":[{\"a\":[1],\"b\":[\"x, y\"]}]}",
         "{\"p\":\"{a: 1, 'b': \\\"x, y\\\"}\"}", NULL, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i]);
    }
}

/* Where our own scorer differs. */
static void mends(void)
{
    static const char s[] = "simple_python", p[] = "parallel";
    static const struct check_case cases[] = {
        {p, T("integer"), "[{\"p\":[1,2]},{\"p\":[1]}]", "[{\"p\":1},{\"p\":2}]",
         "parallel_function_checker_no_order:cannot_find_match", NULL},
        {p, T("integer"), "[{\"p\":[1]},{\"p\":[1]}]", "[{\"p\":1},{\"p\":2}]",
         "parallel_function_checker_no_order:cannot_find_match", ""},
        {s, LIST("string"), "{\"p\":[]}", "{\"p\":[]}", "type_error:simple", NULL},
        {s, LIST("string"), "{\"p\":[]}", "{\"p\":[\"x\"]}", "type_error:simple",
         "value_error:others"},
        {s, T("number"), "{\"p\":[1.5]}", "{\"p\":1.5}", "EXCEPTION:KeyError", NULL},
        {s, T("number"), "{\"p\":[1.5]}", "{\"p\":2.5}", "EXCEPTION:KeyError",
         "value_error:others"},
        {s, T("dict"), "{\"p\":[{\"a\":5}]}", "{\"p\":{\"a\":5}}", "EXCEPTION:TypeError", NULL},
        {s, "{\"properties\":{\"p\":{\"type\":\"integer\"}},\"required\":[\"p\",\"ghost\"]}",
         "{\"p\":[1]}", "{\"p\":1}", "simple_function_checker:missing_required", NULL},
        {s, T("integer"), "{\"p\":[1],\"ghost\":[2]}", "{\"p\":1}",
         "simple_function_checker:missing_optional", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(&cases[i]);
    }
}

/* ---- aggregates ---- */

static void aggregates(void)
{
    static const struct bfcl_score scores[] = {
        {.category = "simple_python", .total = 4, .correct = 3},
        {.category = "simple_java", .total = 2, .correct = 1},
        {.category = "simple_javascript", .total = 2, .correct = 0},
        {.category = "multiple", .total = 10, .correct = 9},
        {.category = "parallel", .total = 10, .correct = 8},
        {.category = "parallel_multiple", .total = 10, .correct = 7},
        {.category = "live_simple", .total = 30, .correct = 30},
        {.category = "live_multiple", .total = 10, .correct = 0},
        {.category = "irrelevance", .total = 8, .correct = 2}};
    struct bfcl_aggregate a[BFCL_AGGREGATES];
    struct buf out = {0};
    bfcl_aggregates(scores, sizeof scores / sizeof scores[0], a);
    for (size_t i = 0; i < BFCL_AGGREGATES; i++) {
        buf_fmt(&out, "%s ", a[i].name);
        ratio_add(&out, a[i].value);
        buf_fmt(&out, " %zu %zu; ", a[i].total, a[i].n_missing);
    }
    buf_char(&out, '\0');
    /* (0.75 + 0.5 + 0) / 3 = 5/12; (5/12 + 0.9 + 0.8 + 0.7) / 4; 30 of 40; 2 of 8 */
    CHECK_TEXT(out.p, "simple 0.416667 8 0; non_live 0.704167 38 0; live 0.750000 40 2; "
                      "irrelevance_detection 0.250000 8 1; ");
    buf_clear(&out);
    bfcl_aggregates(scores, 0, a);
    ratio_add(&out, a[1].value);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, "null");
    CU_ASSERT(a[1].n_missing == 6);
    buf_free(&out);
}

static void categories(void)
{
    CHECK_TEXT(bfcl_category_of_path("x/BFCL_v4_live_parallel_multiple_result.json"),
               "live_parallel_multiple");
    CHECK_TEXT(bfcl_category_of_path("simple/mutated.simple_python.jsonl"), "simple_python");
    CHECK_TEXT(bfcl_category_of_path("simple_javascript.jsonl"), "simple_javascript");
    CU_ASSERT(bfcl_category_of_path("parallel/x.jsonl") == NULL);
    CU_ASSERT(bfcl_category("multi_turn_base") == NULL);
    CU_ASSERT(!bfcl_category_has_answers("live_relevance") &&
              bfcl_category_has_answers("parallel"));
}

TESTS(bfcl, {"bfcl_reads_doubles_as_IEEE_754_wants", doubles},
      {"bfcl_writes_doubles_with_the_fewest_digits", reprs},
      {"bfcl_compares_strings_in_their_plain_form", plain_strings},
      {"bfcl_takes_values_for_equal_as_Python", equals},
      {"bfcl_reads_texts_in_Python", python_texts}, {"bfcl_takes_200_brackets_in_Python", brackets},
      {"bfcl_reads_texts_in_Java", java_texts}, {"bfcl_reads_texts_in_JavaScript", js_texts},
      {"bfcl_refuses_texts_nested_without_end", nesting},
      {"bfcl_checks_one_call_as_the_official_checker", checks_one_call},
      {"bfcl_converts_values_of_Java_and_JavaScript", converts},
      {"bfcl_own_scorer_mends_the_checkers_faults", mends},
      {"bfcl_aggregates_as_the_leaderboard", aggregates},
      {"bfcl_knows_categories_by_file_names", categories})
