#include "kernel/base/dec.h"

#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/rng.h"

static struct dec dec_of(const char *text)
{
    struct dec d = {0};
    int rc = dec_parse(str_of(text), &d);
    CU_ASSERT_FATAL(rc == 0);
    return d;
}

static void check(const struct dec *d, const char *want)
{
    struct buf out = {0};
    dec_format(&out, d);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, want);
    buf_free(&out);
}

static void reads_and_writes(void)
{
    static const char *const cases[][2] = {{"0", "0"},
                                           {"-0", "0"},
                                           {"42.4", "42.4"},
                                           {"+7", "7"},
                                           {".5", "0.5"},
                                           {"5.", "5"},
                                           {"-.25e1", "-2.5"},
                                           {"0.00100", "0.001"},
                                           {"1e3", "1000"},
                                           {"1E-9", "1e-9"},
                                           {"0e99999999", "0"},
                                           {"1e100000", "1e+100000"},
                                           {"1e-100000", "1e-100000"},
                                           {"00.5", NULL},
                                           {"01", NULL},
                                           {"", NULL},
                                           {".", NULL},
                                           {"-", NULL},
                                           {"1e", NULL},
                                           {"1e+", NULL},
                                           {"e5", NULL},
                                           {"1.2.3", NULL},
                                           {" 1", NULL},
                                           {"1 ", NULL},
                                           {"0x10", NULL},
                                           {"NaN", NULL},
                                           {"1,5", NULL},
                                           {"--1", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dec d;
        int rc = dec_parse(str_of(cases[i][0]), &d);
        if (cases[i][1] == NULL) {
            CU_ASSERT(rc == ERR_INPUT);
        } else {
            CU_ASSERT_FATAL(rc == 0);
            check(&d, cases[i][1]);
        }
    }
}

static void refuses_what_is_beyond_the_limits(void)
{
    char text[3 * DEC_DIGITS_MAX];
    struct dec d;
    memset(text, '9', sizeof text);
    CU_ASSERT(dec_parse((struct str){text, DEC_DIGITS_MAX}, &d) == 0);
    CU_ASSERT(d.n == DEC_DIGITS_MAX);
    CU_ASSERT(dec_parse((struct str){text, DEC_DIGITS_MAX + 1}, &d) == ERR_LIMIT);
    memset(text + 1, '0', sizeof text - 1);
    CU_ASSERT(dec_parse((struct str){text, sizeof text}, &d) == 0);
    CU_ASSERT(d.n == 1 && d.exp == (int32_t)sizeof text - 1);
    text[sizeof text - 1] = '1';
    CU_ASSERT(dec_parse((struct str){text, sizeof text}, &d) == ERR_LIMIT);
    CU_ASSERT(dec_parse(STR("1e100001"), &d) == ERR_LIMIT);
    CU_ASSERT(dec_parse(STR("1e-100001"), &d) == ERR_LIMIT);
    CU_ASSERT(dec_parse(STR("1e99999999999999999999999"), &d) == ERR_LIMIT);
    CU_ASSERT(dec_parse(STR("10e100000"), &d) == ERR_LIMIT);
}

static void sums_and_products_are_exact(void)
{
    static const struct {
        const char *a;
        char op;
        const char *b, *want;
    } cases[] = {
        {"42.4", '-', "38.2", "4.2"},
        {"0.1", '+', "0.2", "0.3"},
        {"1", '-', "1.0", "0"},
        {"-5", '+', "3", "-2"},
        {"5", '+', "-8", "-3"},
        {"0", '-', "3", "-3"},
        {"0", '-', "0", "0"},
        {"999", '+', "1", "1000"},
        {"1000", '-', "0.001", "999.999"},
        {"1e30", '+', "1e-30",
         "1.000000000000000000000000000000000000000000000000000000000001e+30"},
        {"99", '*', "99", "9801"},
        {"-0.5", '*', "0.2", "-0.1"},
        {"-3", '*', "0", "0"},
        {"12345678901234567890", '*', "98765432109876543210",
         "1.2193263113702179522374638011112635269e+39"},
        {"1e50000", '*', "1e50000", "1e+100000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dec a = dec_of(cases[i].a), b = dec_of(cases[i].b);
        int rc = cases[i].op == '+'   ? dec_add(&a, &b, &a)
                 : cases[i].op == '-' ? dec_sub(&a, &b, &a)
                                      : dec_mul(&a, &b, &a);
        CU_ASSERT(rc == 0);
        check(&a, cases[i].want);
    }
}

static void results_beyond_the_limits_are_refused(void)
{
    struct dec big = dec_of("1e100000"), small = dec_of("1e-100000"), one = dec_of("1"), out;
    CU_ASSERT(dec_add(&big, &small, &out) == ERR_LIMIT);
    CU_ASSERT(dec_sub(&big, &one, &out) == ERR_LIMIT);
    CU_ASSERT(dec_mul(&big, &big, &out) == ERR_LIMIT);
    CU_ASSERT(dec_mul(&small, &small, &out) == ERR_LIMIT);
    CU_ASSERT(dec_div(&big, &small, 10, &out) == ERR_LIMIT);
    struct dec thousands = dec_of("1e1024"), more = dec_of("1e1025");
    CU_ASSERT(dec_sub(&thousands, &one, &out) == 0);
    CU_ASSERT(out.n == DEC_DIGITS_MAX && out.digits[0] == 9 && out.digits[1023] == 9);
    CU_ASSERT(dec_add(&thousands, &one, &out) == ERR_LIMIT);
    CU_ASSERT(dec_sub(&more, &one, &out) == ERR_LIMIT);
    struct dec wide = dec_of("1e1023");
    CU_ASSERT(dec_add(&wide, &one, &out) == 0 && out.n == DEC_DIGITS_MAX);
    CU_ASSERT(dec_mul(&out, &out, &out) == ERR_LIMIT);
}

static void quotients_round_half_to_even(void)
{
    static const struct {
        const char *a, *b;
        unsigned precision;
        const char *want;
    } cases[] = {{"1", "3", 5, "0.33333"},    {"2", "3", 5, "0.66667"},
                 {"1", "8", 10, "0.125"},     {"1", "8", 2, "0.12"},
                 {"3", "8", 2, "0.38"},       {"10", "4", 1, "2"},
                 {"14", "4", 1, "4"},         {"2.5000001", "1", 1, "3"},
                 {"999", "1", 2, "1000"},     {"0", "5", 3, "0"},
                 {"-7", "2", 9, "-3.5"},      {"100", "0.001", 9, "100000"},
                 {"1", "1e300", 3, "1e-300"}, {"22", "7", 20, "3.1428571428571428571"},
                 {"5", "1", 0, "5"},          {"25", "1", 0, "20"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dec a = dec_of(cases[i].a), b = dec_of(cases[i].b);
        CU_ASSERT(dec_div(&a, &b, cases[i].precision, &a) == 0);
        check(&a, cases[i].want);
    }
    struct dec one = dec_of("1"), zero = dec_of("0"), out = one;
    CU_ASSERT(dec_div(&one, &zero, 5, &out) == ERR_INPUT);
    CU_ASSERT(dec_div(&one, &one, 4000000000u, &out) == 0);
    check(&out, "1");
}

static void rounding_is_half_to_even(void)
{
    static const struct {
        const char *text;
        unsigned precision;
        const char *want;
    } cases[] = {{"125", 2, "120"},    {"135", 2, "140"},    {"125.0001", 2, "130"},
                 {"999.5", 3, "1000"}, {"-1.25", 2, "-1.2"}, {"1.2", 5, "1.2"},
                 {"0", 3, "0"},        {"149", 1, "100"}};
    struct dec one = dec_of("1");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dec d = dec_of(cases[i].text);
        CU_ASSERT(dec_div(&d, &one, cases[i].precision, &d) == 0);
        check(&d, cases[i].want);
    }
}

static void multiples_are_exact(void)
{
    static const struct {
        const char *a, *b;
        bool multiple;
    } cases[] = {{"0", "7", true},
                 {"21", "7", true},
                 {"22", "7", false},
                 {"0.3", "0.1", true},
                 {"0.35", "0.1", false},
                 {"4.5", "1.5", true},
                 {"-21", "7", true},
                 {"21", "-7", true},
                 {"0.0075", "0.0001", true},
                 {"0.00751", "0.0001", false},
                 {"1e308", "0.5", true},
                 {"1e308", "0.123456789", false},
                 {"1e100000", "1024", true},
                 {"1e100000", "3", false},
                 {"3e100000", "3e-100000", true},
                 {"1e-100000", "1", false},
                 {"1e9", "1024", false},
                 {"1e10", "1024", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct dec a = dec_of(cases[i].a), b = dec_of(cases[i].b);
        bool multiple = !cases[i].multiple;
        CU_ASSERT(dec_is_multiple(&a, &b, &multiple) == 0);
        CU_ASSERT(multiple == cases[i].multiple);
    }
    struct dec one = dec_of("1"), zero = dec_of("0");
    bool ignored;
    CU_ASSERT(dec_is_multiple(&one, &zero, &ignored) == ERR_INPUT);
}

static struct dec random_dec(struct rng *r)
{
    struct dec d = {.exp = (int32_t)rng_below(r, 40) - 20, .n = (uint32_t)rng_below(r, 30)};
    for (uint32_t i = 0; i < d.n; i++) {
        d.digits[i] = (uint8_t)(i == 0 ? 1 + rng_below(r, 9) : rng_below(r, 10));
    }
    d.negative = d.n > 0 && rng_below(r, 2) == 0;
    return d;
}

/* (a + b) - b = a, (a·b) / b = a, (a + b)·c = a·c + b·c, and order agrees with the difference. */
static void arithmetic_keeps_its_laws(void)
{
    struct rng r = rng_seeded(9);
    unsigned wrong = 0;
    for (int i = 0; i < 3000; i++) {
        struct dec a = random_dec(&r), b = random_dec(&r), c = random_dec(&r), x, y, z;
        int rc = dec_add(&a, &b, &x) | dec_sub(&x, &b, &y);
        wrong += rc != 0 || dec_cmp(&y, &a) != 0;
        rc = dec_mul(&x, &c, &y) | dec_mul(&a, &c, &x) | dec_mul(&b, &c, &z) | dec_add(&x, &z, &z);
        wrong += rc != 0 || dec_cmp(&y, &z) != 0;
        rc = dec_sub(&a, &b, &x);
        int sign = x.n == 0 ? 0 : x.negative ? -1 : 1;
        wrong += rc != 0 || dec_cmp(&a, &b) != sign;
        if (b.n > 0) {
            bool multiple = false;
            rc = dec_mul(&a, &b, &x) | dec_div(&x, &b, 200, &y);
            wrong += rc != 0 || dec_cmp(&y, &a) != 0;
            rc = dec_is_multiple(&x, &b, &multiple);
            wrong += rc != 0 || (a.exp >= 0 && !multiple);
        }
    }
    CU_ASSERT(wrong == 0);
}

TESTS(dec, {"dec_reads_and_writes", reads_and_writes},
      {"dec_refuses_what_is_beyond_the_limits", refuses_what_is_beyond_the_limits},
      {"dec_sums_and_products_are_exact", sums_and_products_are_exact},
      {"dec_results_beyond_the_limits_are_refused", results_beyond_the_limits_are_refused},
      {"dec_quotients_round_half_to_even", quotients_round_half_to_even},
      {"dec_rounding_is_half_to_even", rounding_is_half_to_even},
      {"dec_multiples_are_exact", multiples_are_exact},
      {"dec_arithmetic_keeps_its_laws", arithmetic_keeps_its_laws})
