#include "kernel/base/val.h"

#include <stdio.h>

#include "ci/testing/testing.h"
#include "kernel/base/json.h"
#include "kernel/base/rng.h"

static const struct val *parsed(struct arena *a, const char *text)
{
    struct val *v = NULL;
    struct err e;
    int rc = json_parse(a, NULL, str_of(text), &v, &e);
    CU_ASSERT_FATAL(rc == 0);
    return v;
}

static void finds_members_and_items(void)
{
    struct arena *a = arena_new();
    const struct val *v = parsed(a, "{\"a\":1,\"b\":{\"c\":[10,\"x\"]},\"a\":2,\"\":3}");
    CU_ASSERT(str_is(val_get(v, "a")->text, "2"));
    CU_ASSERT(str_is(val_get(v, "")->text, "3"));
    CU_ASSERT(val_get(v, "z") == NULL);
    CU_ASSERT(val_get(NULL, "a") == NULL);
    CU_ASSERT(val_get(val_get(v, "a"), "a") == NULL);
    const struct val *list = val_path(v, "b", "c", NULL);
    CU_ASSERT(val_is(list, VAL_ARRAY) && list->count == 2);
    CU_ASSERT(val_path(v, "b", "x", "c", NULL) == NULL);
    CU_ASSERT(val_path(v, NULL) == v);
    CU_ASSERT(str_is(val_text(val_item(list, 1)), "x"));
    CU_ASSERT(val_text(val_item(list, 0)).n == 0);
    CU_ASSERT(val_item(list, 2) == NULL && val_item(v, 0) == NULL && val_item(NULL, 0) == NULL);
    CU_ASSERT(!val_is(NULL, VAL_NULL) && val_text(NULL).n == 0);
    arena_free(a);
}

static void reads_whole_numbers(void)
{
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
    } cases[] = {{"0", true, 0},
                 {"-0", true, 0},
                 {"3.0", true, 3},
                 {"1e2", true, 100},
                 {"1.5e1", true, 15},
                 {"100e-2", true, 1},
                 {"1.5", false, 0},
                 {"1e-1", false, 0},
                 {"9223372036854775807", true, INT64_MAX},
                 {"9223372036854775808", false, 0},
                 {"-9223372036854775808", true, INT64_MIN},
                 {"-9223372036854775809", false, 0},
                 {"1e400", false, 0},
                 {"0e999999999999999999999999", true, 0},
                 {"1e999999999999999999999999", false, 0},
                 {"1e-999999999999999999999999", false, 0},
                 {"\"3\"", false, 0}};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = -77;
        CU_ASSERT(val_int(parsed(a, cases[i].text), &got) == cases[i].whole);
        CU_ASSERT(got == (cases[i].whole ? cases[i].value : -77));
    }
    struct val made = val_of_str(STR("x"));
    CU_ASSERT(val_is(&made, VAL_STRING) && str_is(val_text(&made), "x"));
    arena_free(a);
}

static void equality_is_of_data(void)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"3", "3.0", true},
        {"100", "1E+2", true},
        {"-0", "0.000", true},
        {"9007199254740993", "9007199254740992", false},
        {"0.1", "0.10000000000000000001", false},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"a\"", "\"A\"", false},
        {"\"1\"", "1", false},
        {"null", "false", false},
        {"[1,2]", "[1.0,2e0]", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
        {"{\"a\":1,\"b\":2}", "{\"b\":1,\"a\":2}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":0,\"a\":1}", "{\"a\":1}", true},
        {"{\"a\":1,\"a\":0}", "{\"a\":1}", false},
        {"{}", "[]", false},
        {"{\"c\":{\"x\":[{}]}}", "{\"c\":{\"x\":[{}]}}", true},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct val *x = parsed(a, cases[i].a), *y = parsed(a, cases[i].b);
        CU_ASSERT(val_equal(x, y) == cases[i].equal);
        CU_ASSERT(val_equal(y, x) == cases[i].equal);
    }
    CU_ASSERT(val_equal(NULL, NULL));
    CU_ASSERT(!val_equal(parsed(a, "null"), NULL));
    arena_free(a);
}

static void numbers_have_one_canonical_form(void)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"0", "0"},
        {"-0", "0"},
        {"0.000", "0"},
        {"-0.0e5", "0"},
        {"100", "100"},
        {"1E+2", "100"},
        {"1e2", "100"},
        {"12.50", "12.5"},
        {"-12.0", "-12"},
        {"0.10", "0.1"},
        {"10.01", "10.01"},
        {"1e-7", "0.0000001"},
        {"1e-8", "1e-8"},
        {"0.00000012", "0.00000012"},
        {"0.000000012", "1.2e-8"},
        {"1e20", "100000000000000000000"},
        {"1e21", "1e+21"},
        {"123456789012345678901", "123456789012345678901"},
        {"1234567890123456789012", "1.234567890123456789012e+21"},
        {"12345678901234567890.5", "12345678901234567890.5"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"1e400", "1e+400"},
        {"1e-400", "1e-400"},
        {"1.0e00400", "1e+400"},
        {"0e99999999999999999999", "0"},
        {"1e99999999999999999999", "1e+99999999999999999999"},
        {"10e99999999999999999999", "1e+100000000000000000000"},
        {"0.1e100000000000000000000", "1e+99999999999999999999"},
        {"-12.5e-100000000000000000000", "-1.25e-99999999999999999999"},
        {"0.01e-99999999999999999999", "1e-100000000000000000001"},
        {"99999999999999999e99999999999999999", "9.9999999999999999e+100000000000000015"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        num_canonical(&out, str_of(cases[i].text));
        buf_char(&out, '\0');
        CHECK_TEXT(out.p, cases[i].canonical);
        buf_free(&out);
    }
}

/* Each smaller than the next. */
static void numbers_are_ordered_exactly(void)
{
    static const char *const rising[] = {"-1e99999999999999999999",
                                         "-1e400",
                                         "-9007199254740993",
                                         "-9007199254740992",
                                         "-1.5",
                                         "-1",
                                         "-1e-400",
                                         "0",
                                         "1e-99999999999999999999",
                                         "1e-99999999999999999998",
                                         "1e-400",
                                         "2e-400",
                                         "0.1",
                                         "0.10000000000000000001",
                                         "0.2",
                                         "1",
                                         "1.0001",
                                         "9",
                                         "10",
                                         "9007199254740992",
                                         "9007199254740993",
                                         "1e400",
                                         "1.1e400",
                                         "1e99999999999999999998",
                                         "1.5e99999999999999999998",
                                         "1e99999999999999999999",
                                         "11e99999999999999999999",
                                         "1e100000000000000000001"};
    size_t n = sizeof rising / sizeof rising[0];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            int order = num_compare(str_of(rising[i]), str_of(rising[j]));
            CU_ASSERT((order > 0) - (order < 0) == (i > j) - (i < j));
        }
    }
    CU_ASSERT(num_compare(STR("1e2"), STR("100.00")) == 0);
    CU_ASSERT(num_compare(STR("-0"), STR("0e7")) == 0);
    CU_ASSERT(num_compare(STR("10e99999999999999999999"), STR("1e100000000000000000000")) == 0);
    CU_ASSERT(num_compare(STR("19e99999999999999999"), STR("1.9e100000000000000000")) == 0);
    CU_ASSERT(num_compare(STR("19e99999999999999998"), STR("1.9e100000000000000000")) < 0);
    CU_ASSERT(num_compare(STR("0.1e-99999999999999999"), STR("1e-100000000000000000")) == 0);
    CU_ASSERT(num_compare(STR("0.1e-99999999999999999999"), STR("1e-100000000000000000000")) == 0);
}

static void scales_half_away_from_zero(void)
{
    static const struct {
        const char *text;
        int scale;
        bool fits;
        int64_t value;
    } cases[] = {{"0.5", 9, true, 500000000},
                 {"1.0005", 3, true, 1001},
                 {"1.00049999", 3, true, 1000},
                 {"-1.0005", 3, true, -1001},
                 {"0.5", 0, true, 1},
                 {"-0.5", 0, true, -1},
                 {"0.49", 0, true, 0},
                 {"-0.4", 0, true, 0},
                 {"0.05", 0, true, 0},
                 {"2e3", 3, true, 2000000},
                 {"9223372036.854775807", 9, true, INT64_MAX},
                 {"9223372036.8547758074", 9, true, INT64_MAX},
                 {"9223372036.8547758075", 9, false, 0},
                 {"-9223372036.854775808", 9, true, INT64_MIN},
                 {"99999999999999999999", 0, false, 0},
                 {"1234", -2, true, 12},
                 {"1250", -2, true, 13},
                 {"1e-99999999999999999999", 9, true, 0},
                 {"0e99999999999999999999", 9, true, 0},
                 {"1e99999999999999999999", 9, false, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t got = -77;
        CU_ASSERT(num_scaled(str_of(cases[i].text), cases[i].scale, &got) == cases[i].fits);
        CU_ASSERT(got == (cases[i].fits ? cases[i].value : -77));
    }
}

/* Writes digits × 10^exp in a random one of its many spellings. */
static void spell(struct buf *out, struct rng *r, uint64_t digits, int64_t exp)
{
    if (rng_below(r, 2) == 0) {
        for (uint64_t i = rng_below(r, 4); i > 0; i--) {
            digits *= 10;
            exp--;
        }
        buf_fmt(out, "%llue%lld", (unsigned long long)digits, (long long)exp);
        return;
    }
    char text[32];
    int n = snprintf(text, sizeof text, "%llu", (unsigned long long)digits);
    CU_ASSERT_FATAL(n > 0);
    size_t whole = 1 + rng_below(r, (uint64_t)n);
    buf_fmt(out, "%.*s.%s0E%+lld", (int)whole, text, text + whole,
            (long long)exp + n - (long long)whole);
}

static void spellings_of_a_number_are_equal(void)
{
    struct rng r = rng_seeded(3);
    unsigned wrong = 0;
    for (int i = 0; i < 20000; i++) {
        uint64_t digits = 1 + rng_below(&r, 100000);
        int64_t exp = (int64_t)rng_below(&r, 60) - 30;
        struct buf a = {0}, b = {0}, c = {0}, canon_a = {0}, canon_b = {0};
        spell(&a, &r, digits, exp);
        spell(&b, &r, digits, exp);
        spell(&c, &r, digits + 1, exp);
        num_canonical(&canon_a, buf_str(&a));
        num_canonical(&canon_b, buf_str(&b));
        wrong += num_compare(buf_str(&a), buf_str(&b)) != 0;
        wrong += num_compare(buf_str(&a), buf_str(&c)) >= 0;
        wrong += num_compare(buf_str(&c), buf_str(&b)) <= 0;
        wrong += num_compare(buf_str(&a), buf_str(&canon_a)) != 0;
        wrong += !str_eq(buf_str(&canon_a), buf_str(&canon_b));
        struct buf *all[] = {&a, &b, &c, &canon_a, &canon_b};
        for (int k = 0; k < 5; k++) {
            buf_free(all[k]);
        }
    }
    CU_ASSERT(wrong == 0);
}

static void whole_numbers_are_known_in_any_spelling(void)
{
    static const char *const whole[] = {
        "0",   "-0.0", "5", "5.0", "5e3", "0.05e2", "500e-2", "1e400", "1e99999999999999999999",
        "0e-5"};
    static const char *const broken[] = {"0.5",    "5e-1",    "501e-2",
                                         "1e-400", "0.005e2", "1e-99999999999999999999"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        CU_ASSERT(num_is_integer(str_of(whole[i])));
    }
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        CU_ASSERT(!num_is_integer(str_of(broken[i])));
    }
}

TESTS(val, {"val_finds_members_and_items", finds_members_and_items},
      {"val_reads_whole_numbers", reads_whole_numbers},
      {"val_equality_is_of_data", equality_is_of_data},
      {"num_has_one_canonical_form", numbers_have_one_canonical_form},
      {"num_order_is_exact", numbers_are_ordered_exactly},
      {"num_scales_half_away_from_zero", scales_half_away_from_zero},
      {"num_spellings_are_equal", spellings_of_a_number_are_equal},
      {"num_whole_in_any_spelling", whole_numbers_are_known_in_any_spelling})
