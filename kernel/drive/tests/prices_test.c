/* Price tables. Amounts expected of the shipped one are those of the published lists that
 * prices.yaml names; costs are worked by hand. */
#include "kernel/drive/prices.h"

#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/schema.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#define TABLE  "kernel/drive/prices.yaml"
#define SCHEMA "kernel/drive/prices.schema.json"

/* Writes a file of the test's folder; its path in a static buffer. */
static const char *file_of(const char *text)
{
    static char path[512];
    struct err e;
    snprintf(path, sizeof path, "%s/prices.yaml", testing_dir());
    CU_ASSERT_EQUAL_FATAL(file_replace(path, str_of(text), &e), 0);
    return path;
}

static struct prices *load(const char *text)
{
    struct prices *p = NULL;
    struct err e = {0};
    int rc = prices_load(file_of(text), &p, &e);
    if (rc != 0) {
        printf("\n  %s\n", e.message);
    }
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return p;
}

/* The input's price in millionths of the currency, -1 where there is none. */
static int64_t input_of(const struct prices *p, const char *model)
{
    struct str currency;
    const struct price *price = prices_find(p, str_of(model), &currency);
    return price == NULL ? -1 : price->input / 1000;
}

/* ---- loading ---- */

static void a_table_is_read_as_written(void)
{
    struct prices *p = load("version: 1\n"
                            "tables:\n"
                            "- currency: USD\n"
                            "  as_of: 2026-11-29\n"
                            "  source: a list\n"
                            "  models:\n"
                            "  - {match: [m-1, \"m-1-20*\"], input: 1.25, cached: 0.125, "
                            "cache_write: 1.5625, output: 10, reasoning: 12.000000001}\n"
                            "- currency: CNY\n"
                            "  models:\n"
                            "  - match: m-2\n"
                            "    input: 2.5\n"
                            "    output: 0\n"
                            "    above: [{tokens: 32000, input: 4, output: 16},\n"
                            "            {tokens: 128000, input: 7, cached: 1, output: 28}]\n");
    struct str currency = {NULL, 0};
    const struct price *m1 = prices_find(p, STR("m-1-2026-11-29"), &currency);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m1);
    CU_ASSERT_TRUE(str_is(currency, "USD"));
    CU_ASSERT_EQUAL(m1->input, 1250000000);
    CU_ASSERT_EQUAL(m1->cached, 125000000);
    CU_ASSERT_EQUAL(m1->cache_write, 1562500000);
    CU_ASSERT_EQUAL(m1->output, 10000000000);
    CU_ASSERT_EQUAL(m1->reasoning, 12000000001);
    CU_ASSERT_PTR_NULL(m1->beyond);
    CU_ASSERT_PTR_EQUAL(prices_find(p, STR("m-1"), &currency), m1);
    const struct price *m2 = prices_find(p, STR("m-2"), &currency);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m2);
    CU_ASSERT_TRUE(str_is(currency, "CNY"));
    CU_ASSERT_EQUAL(m2->cached, -1);
    CU_ASSERT_EQUAL(m2->output, 0);
    CU_ASSERT_EQUAL(m2->above, 32000);
    CU_ASSERT_EQUAL(m2->beyond->input, 4000000000);
    CU_ASSERT_EQUAL(m2->beyond->cached, -1);
    CU_ASSERT_EQUAL(m2->beyond->above, 128000);
    CU_ASSERT_EQUAL(m2->beyond->beyond->cached, 1000000000);
    CU_ASSERT_EQUAL(m2->beyond->beyond->output, 28000000000);
    CU_ASSERT_PTR_NULL(m2->beyond->beyond->beyond);
    prices_free(p);
    prices_free(NULL);
}

static void one_table_needs_no_list(void)
{
    struct prices *p = load("{\"version\": 1, \"currency\": \"EUR\", \"models\": "
                            "[{\"match\": \"m\", \"input\": 1, \"output\": 2}]}");
    CU_ASSERT_EQUAL(input_of(p, "m"), 1000000);
    prices_free(p);
    p = load("version: 1\ncurrency: USD\nmodels: []\n"); /* all unpriced, as somebody wants it */
    CU_ASSERT_EQUAL(input_of(p, "m"), -1);
    prices_free(p);
}

#define ONE     "version: 1\ncurrency: USD\nmodels:\n"
#define TWO     "version: 1\ntables:\n- currency: USD\n  models:\n"
#define AMOUNTS "input: 1, output: 1"

/* A file, the place of its mistake, and what is said of it. The last column: whether the schema can
 * see the mistake too. */
static const struct {
    const char *text;
    uint32_t line, column;
    const char *says;
    bool by_form;
} mistakes[] = {
    {"currency: USD\nmodels: []\n", 1, 1, "version", true},
    {"version: 2\ncurrency: USD\nmodels: []\n", 1, 10, "version", true},
    {"[]\n", 1, 1, "expected a map", true},
    {"version: 1\nmodels: []\n", 1, 1, "\"currency\" is missing", true},
    {"version: 1\ncurrency: USD\n", 1, 1, "\"models\" is missing", true},
    {"version: 1\ntables: {}\n", 2, 9, "must be a list", true},
    {"version: 1\ntables: []\ncurrency: USD\n", 3, 1, "unknown key \"currency\"", true},
    {"version: 1\ntables: [3]\n", 2, 10, "expected a map for a price table", true},
    {"version: 1\ncurrency: USD\nmodel: []\n", 3, 1, "did you mean \"models\"?", true},
    {"version: 1\ncurrency: usd\nmodels: []\n", 2, 11, "three capital letters", true},
    {"version: 1\ncurrency: DOLLAR\nmodels: []\n", 2, 11, "three capital letters", true},
    {"version: 1\ncurrency: 5\nmodels: []\n", 2, 11, "must be a string", true},
    {"version: 1\ncurrency: USD\nas_of: yesterday\nmodels: []\n", 3, 8, "2026-11-29", true},
    {"version: 1\ncurrency: USD\nas_of: 2026-02-30\nmodels: []\n", 3, 8, "2026-11-29", false},
    {"version: 1\ncurrency: USD\nsource: [a]\nmodels: []\n", 3, 9, "must be a string", true},
    {ONE "- m\n", 4, 3, "expected a map for a model's price", true},
    {ONE "- {" AMOUNTS "}\n", 4, 3, "\"match\" is missing", true},
    {ONE "- {match: m, input: 1}\n", 4, 3, "\"output\" is missing", true},
    {ONE "- {match: m, output: 1}\n", 4, 3, "\"input\" is missing", true},
    {ONE "- {match: m, input: null, output: 1}\n", 4, 3, "\"input\" is missing", true},
    {ONE "- {match: m, input: -1, output: 1}\n", 4, 21, "between 0 and 1000000", true},
    {ONE "- {match: m, input: 1000000.1, output: 1}\n", 4, 21, "between 0 and 1000000", true},
    {ONE "- {match: m, input: \"1\", output: 1}\n", 4, 21, "must be a number", true},
    {ONE "- {match: m, input: $1, output: 1}\n", 4, 21, "must be a number", true},
    {ONE "- {match: m, " AMOUNTS ", cache: 1}\n", 4, 35, "did you mean \"cached\"?", true},
    {ONE "- {match: 4, " AMOUNTS "}\n", 4, 11, "a number", true},
    {ONE "- {match: \"\", " AMOUNTS "}\n", 4, 11, "a model's name", true},
    {ONE "- {match: [], " AMOUNTS "}\n", 4, 11, "has no name", true},
    {ONE "- {match: [m, 4], " AMOUNTS "}\n", 4, 15, "a model's name", true},
    {ONE "- {match: \"m**\", " AMOUNTS "}\n", 4, 11, "one star", true},
    {ONE "- {match: m, " AMOUNTS ", above: 3}\n", 4, 42, "must be a list", true},
    {ONE "- {match: m, " AMOUNTS ", above: [3]}\n", 4, 43, "expected a map", true},
    {ONE "- {match: m, " AMOUNTS ", above: [{" AMOUNTS "}]}\n", 4, 43, "\"tokens\" is missing",
     true},
    {ONE "- {match: m, " AMOUNTS ", above: [{tokens: 0, " AMOUNTS "}]}\n", 4, 52,
     "between 1 and 1000000000", true},
    {ONE "- {match: m, " AMOUNTS ", above: [{tokens: 9, input: 1}]}\n", 4, 43,
     "\"output\" is missing", true},
    {ONE "- match: m\n  input: 1\n  output: 1\n  above:\n  - {tokens: 9, " AMOUNTS "}\n"
         "  - {tokens: 9, " AMOUNTS "}\n",
     9, 14, "between 10 and 1000000000", false},
    {ONE "- {match: m, " AMOUNTS ", above: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}\n", 4, 42,
     "up to 15 prices, got 16", true},
    {ONE "- {match: m, " AMOUNTS "}\n- {match: [n, m], " AMOUNTS "}\n", 5, 15,
     "\"m\" has its price at line 4 already", false},
    {ONE "- {match: [m, m], " AMOUNTS "}\n", 4, 15, "\"m\" has its price at line 4 already", false},
    {TWO "  - {match: \"m*\", " AMOUNTS "}\n- currency: CNY\n  models: [{match: \"m*\", " AMOUNTS
         "}]\n",
     7, 20, "\"m*\" has its price at line 5 already", false},
    /* the first of several, in the order of the file */
    {ONE "- {match: [z, a], " AMOUNTS "}\n- {match: z, " AMOUNTS "}\n- {match: a, " AMOUNTS "}\n",
     5, 11, "\"z\" has its price", false},
};

static void every_mistake_is_told_with_its_place(void)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct prices *p = NULL;
        struct err e = {0};
        const char *path = file_of(mistakes[i].text);
        CU_ASSERT_EQUAL(prices_load(path, &p, &e), ERR_INPUT);
        CU_ASSERT_PTR_NULL(p);
        CHECK_TEXT(e.file, path);
        bool good = e.line == mistakes[i].line && e.column == mistakes[i].column &&
                    strstr(e.message, mistakes[i].says) != NULL;
        if (!good) {
            printf("\n  %zu: got %u:%u: %s\n  of\n%s", i, e.line, e.column, e.message,
                   mistakes[i].text);
        }
        CU_ASSERT_TRUE(good);
    }
}

static void limits_and_missing_files_are_told(void)
{
    struct prices *p;
    struct err e = {0};
    struct buf big = {0};
    CU_ASSERT_EQUAL(prices_load("no/such/file.yaml", &p, &e), ERR_NOT_FOUND);
    buf_addz(&big, ONE "- {match: ");
    for (size_t i = 0; i <= PRICES_NAME_MAX; i++) {
        buf_char(&big, 'm');
    }
    buf_addz(&big, ", " AMOUNTS "}\n");
    buf_char(&big, '\0');
    CU_ASSERT_EQUAL(prices_load(file_of(big.p), &p, &e), ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "up to 256 bytes, got 257"));
    buf_clear(&big);
    buf_addz(&big, ONE);
    for (size_t i = 0; i <= PRICES_MODELS_MAX; i++) {
        buf_fmt(&big, "- {match: m%zu, " AMOUNTS "}\n", i);
    }
    buf_char(&big, '\0');
    CU_ASSERT_EQUAL(prices_load(file_of(big.p), &p, &e), ERR_LIMIT);
    CU_ASSERT_EQUAL(e.line, PRICES_MODELS_MAX + 4);
    buf_free(&big);
}

/* ---- finding ---- */

static void names_beat_patterns_and_longer_patterns_shorter_ones(void)
{
    static const struct {
        const char *model;
        int64_t input; /* the number of the entry below; -1 = unpriced */
    } cases[] = {
        {"gpt-4o", 1},
        {"gpt-4o-mini", 3}, /* the pattern with more characters */
        {"gpt-4o-mini-2024", 3},
        {"gpt-4o-mini-2024-07-18", 4},
        {"gpt-4o-2024-08-06", 2},
        {"gpt-4o-2024", 5}, /* the exact name stands last */
        {"gpt-4", -1},
        {"gpt-4oo", -1},
        {"a-x-b-y-c", 6},
        {"a-b-c", 6},
        {"a-c-b", -1},
        {"ab-c", -1},
        {"abc", -1},
        {"a-b-c-", -1},
        {"xa-b-c", -1},
        {"a-b--c", 6},
        {"tie-1", 7}, /* as many characters: the first */
        {"star", -1},
        {"starstar", 8},
        {"GPT-4O", -1},
        {"", -1},
    };
    struct prices *p = load(ONE "- {match: gpt-4o, input: 1, output: 1}\n"
                                "- {match: \"gpt-4o-*\", input: 2, output: 1}\n"
                                "- {match: \"gpt-4o-mini*\", input: 3, output: 1}\n"
                                "- {match: \"gpt-4o-mini-2024-*\", input: 4, output: 1}\n"
                                "- {match: \"a*-b-*c\", input: 6, output: 1}\n"
                                "- {match: \"tie-*\", input: 7, output: 1}\n"
                                "- {match: \"*ie-1\", input: 9, output: 1}\n"
                                "- {match: \"star*star\", input: 8, output: 1}\n"
                                "- {match: gpt-4o-2024, input: 5, output: 1}\n"
                                "- {match: \"*?*\", input: 11, output: 1}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t want = cases[i].input < 0 ? -1 : cases[i].input * 1000000;
        int64_t got = input_of(p, cases[i].model);
        if (got != want) {
            printf("\n  %s: %lld\n", cases[i].model, (long long)got);
        }
        CU_ASSERT_EQUAL(got, want);
    }
    CU_ASSERT_EQUAL(input_of(p, "why?"), 11000000); /* a question mark is one */
    prices_free(p);
    p = load(ONE "- {match: \"*\", input: 1, output: 1}\n- {match: n, input: 2, output: 1}\n");
    CU_ASSERT_EQUAL(input_of(p, "anything"), 1000000);
    CU_ASSERT_EQUAL(input_of(p, ""), 1000000);
    CU_ASSERT_EQUAL(input_of(p, "n"), 2000000);
    prices_free(p);
}

/* ---- the shipped table ---- */

static struct val *read_file(struct arena *arena, const char *path)
{
    struct err e;
    struct str text;
    struct val *v = NULL;
    CU_ASSERT_EQUAL_FATAL(file_read(arena, path, PRICES_BYTES_MAX, &text, &e), 0);
    CU_ASSERT_EQUAL_FATAL(yaml_parse(arena, path, text, YAML_CORE, &v, &e), 0);
    return v;
}

/* Each name in its table resolves to the price that stands beside it, each pattern to one for a
 * date in the place of its star. */
static size_t check_names(const struct val *table, const struct val *model)
{
    const struct val *match = val_get(model, "match");
    size_t n = val_is(match, VAL_ARRAY) ? match->count : 1;
    for (size_t i = 0; i < n; i++) {
        struct str name = val_text(val_is(match, VAL_ARRAY) ? val_item(match, i) : match);
        size_t star = str_find(name, STR("*"));
        char full[PRICES_NAME_MAX];
        struct str currency = {NULL, 0};
        int64_t input = 0;
        snprintf(full, sizeof full, "%.*s%s", STR_FMT(str_slice(name, 0, star)),
                 star == SIZE_MAX ? "" : "26-11-29");
        const struct price *p = prices_find(prices_shipped(), str_of(full), &currency);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_TRUE(num_scaled(val_get(model, "input")->text, 9, &input));
        CU_ASSERT_EQUAL(p->input, input);
        CU_ASSERT_TRUE(str_eq(currency, val_text(val_get(table, "currency"))));
        CU_ASSERT_TRUE(p->cached <= p->input && p->input <= p->output);
    }
    return 1;
}

static void every_shipped_model_resolves(void)
{
    struct arena *arena = arena_new();
    const struct val *tables = val_get(read_file(arena, TABLE), "tables");
    size_t n = 0;
    for (size_t i = 0; val_item(tables, i) != NULL; i++) {
        const struct val *table = val_item(tables, i);
        const struct val *models = val_get(table, "models");
        CU_ASSERT_TRUE(val_text(val_get(table, "source")).n > 0); /* which list, and when */
        CU_ASSERT_EQUAL(val_text(val_get(table, "as_of")).n, 10);
        for (size_t j = 0; val_item(models, j) != NULL; j++) {
            n += check_names(table, val_item(models, j));
        }
    }
    CU_ASSERT_TRUE(n >= 25);
    arena_free(arena);
}

static void shipped_prices_are_those_of_the_lists(void)
{
    static const struct {
        const char *model, *currency;
        struct usage usage; /* input, cached, cache_write, output, reasoning */
        int64_t nano;
    } cases[] = {
        /* OpenAI: 1000 × 0.40 + 100 × 1.60, by a millionth of a dollar */
        {"gpt-4.1-mini", "USD", {1000, 0, -1, 100, 0}, 560000},
        {"gpt-4.1-mini-2025-04-14", "USD", {1000, 0, -1, 100, 0}, 560000},
        /* 600 × 2 + 400 × 0.10 + 100 × 10, of which 60 are reasoning */
        {"gpt-6.2-sol", "USD", {1000, 400, -1, 100, 60}, 2240000},
        /* 272000 × 2 + 100 × 10; one token more: 272001 × 4 + 100 × 15 */
        {"gpt-6.2-sol", "USD", {272000, 0, 0, 100, 0}, 545000000},
        {"gpt-6.2-sol", "USD", {272001, 0, 0, 100, 0}, 1089504000},
        /* Anthropic: 500 × 4 + 300 × 0.20 + 200 × 5 + 100 × 20 */
        {"claude-opus-5-5", "USD", {1000, 300, 200, 100, 0}, 5060000},
        {"claude-haiku-4-5-20251001", "USD", {1000, 0, 0, 100, 0}, 1500000},
        /* Google: 200000 × 2 + 10 × 12; 200001 × 4 + 10 × 18 */
        {"gemini-3.1-pro-preview", "USD", {200000, 0, -1, 10, 5}, 400120000},
        {"gemini-3.1-pro-preview", "USD", {200001, 0, -1, 10, 5}, 800184000},
        /* DeepSeek: 200 × 0.30 + 800 × 0.006 + 100 × 1.20 */
        {"deepseek-flash", "USD", {1000, 800, -1, 100, 90}, 184800},
        /* Qwen, in yuan: 1000 × 12 + 100 × 36; 40000 × 4 + 100 × 16 */
        {"qwen3.8-max", "CNY", {1000, 0, -1, 100, 0}, 15600000},
        {"qwen3-max", "CNY", {40000, 0, -1, 100, 0}, 161600000},
        /* Mistral: 1000 × 0.15 + 100 × 0.60 */
        {"mistral-small-2603", "USD", {1000, -1, -1, 100, -1}, 210000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str currency = {NULL, 0};
        const struct price *p = prices_find(prices_shipped(), str_of(cases[i].model), &currency);
        CU_ASSERT_TRUE(str_is(currency, cases[i].currency));
        int64_t got = usage_cost_nano(&cases[i].usage, p);
        if (got != cases[i].nano) {
            printf("\n  %s: %lld\n", cases[i].model, (long long)got);
        }
        CU_ASSERT_EQUAL(got, cases[i].nano);
    }
    struct str currency = STR("untouched");
    CU_ASSERT_PTR_NULL(prices_find(prices_shipped(), STR("fake-1"), &currency));
    CU_ASSERT_PTR_NULL(prices_find(prices_shipped(), STR("gpt-4o-2024-05-13"), &currency));
    CU_ASSERT_TRUE(str_is(currency, "untouched"));
}

/* ---- the schema ---- */

static bool fits(struct schema *schema, const struct val *v)
{
    struct buf why = {0};
    bool valid = schema_valid(schema, v, &why);
    buf_free(&why);
    return valid;
}

static void the_schema_agrees_with_the_loader(void)
{
    struct arena *arena = arena_new();
    struct schema *schema = NULL;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(schema_new(read_file(arena, SCHEMA), SCHEMA_2020_12, &schema, &e), 0);
    CU_ASSERT_TRUE(fits(schema, read_file(arena, TABLE)));
    CU_ASSERT_TRUE(fits(schema, read_file(arena, file_of(ONE "- {match: m, " AMOUNTS "}\n"))));
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        bool refused = !fits(schema, read_file(arena, file_of(mistakes[i].text)));
        if (refused != mistakes[i].by_form) {
            printf("\n  the schema %s\n%s", refused ? "refuses" : "takes", mistakes[i].text);
        }
        CU_ASSERT_EQUAL(refused, mistakes[i].by_form);
    }
    schema_free(schema);
    arena_free(arena);
}

TESTS(prices, {"prices_a_table_is_read_as_written", a_table_is_read_as_written},
      {"prices_one_table_needs_no_list", one_table_needs_no_list},
      {"prices_every_mistake_is_told_with_its_place", every_mistake_is_told_with_its_place},
      {"prices_limits_and_missing_files_are_told", limits_and_missing_files_are_told},
      {"prices_names_beat_patterns_and_longer_patterns_shorter_ones",
       names_beat_patterns_and_longer_patterns_shorter_ones},
      {"prices_every_shipped_model_resolves", every_shipped_model_resolves},
      {"prices_shipped_ones_are_those_of_the_lists", shipped_prices_are_those_of_the_lists},
      {"prices_schema_agrees_with_the_loader", the_schema_agrees_with_the_loader})
