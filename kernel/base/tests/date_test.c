#include "ci/testing/testing.h"
#include "kernel/base/date.h"

#include <stdio.h>

/* Expected values: `date -u -d @SECONDS`. */
static void times_are_written_and_read(void)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {951868799999, "2000-02-29T23:59:59.999Z"},
        {951868800000, "2000-03-01T00:00:00.000Z"},
        {1796061600123, "2026-11-30T18:00:00.123Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
        {-2203891200000, "1900-03-01T00:00:00.000Z"},
        {1735689599999, "2024-12-31T23:59:59.999Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {-62167219200000, "0000-01-01T00:00:00.000Z"},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = 42;
        CHECK_TEXT(date_text(a, cases[i].ms).p, cases[i].text);
        CU_ASSERT_TRUE(date_parse(str_of(cases[i].text), &ms));
        CU_ASSERT_EQUAL(ms, cases[i].ms);
    }
    CHECK_TEXT(date_text(a, INT64_MAX).p, "9999-12-31T23:59:59.999Z");
    CHECK_TEXT(date_text(a, INT64_MIN).p, "0000-01-01T00:00:00.000Z");
    for (int64_t day = -800000; day < 2900000; day += 37) { /* the years 0 to 9900 */
        int64_t ms = -1;
        CU_ASSERT_TRUE(date_parse(date_text(a, day * 86400000 + 5), &ms));
        CU_ASSERT_EQUAL(ms,
                        day * 86400000 < -62167219200000 ? -62167219200000 : day * 86400000 + 5);
    }
    arena_free(a);
}

static void other_times_are_refused(void)
{
    static const char *const bad[] = {"",
                                      "2026-11-30",
                                      "2026-11-30T18:00:00Z",
                                      "2026-11-30T18:00:00.123",
                                      "2026-11-30T18:00:00.123z",
                                      "2026-11-30 18:00:00.123Z",
                                      "2026-13-30T18:00:00.123Z",
                                      "2026-00-30T18:00:00.123Z",
                                      "2026-11-31T18:00:00.123Z",
                                      "2026-02-29T18:00:00.123Z",
                                      "1900-02-29T18:00:00.123Z",
                                      "2026-11-00T18:00:00.123Z",
                                      "2026-11-30T24:00:00.000Z",
                                      "2026-11-30T18:60:00.000Z",
                                      "2026-11-30T18:00:60.000Z",
                                      "2026-11-30T18:00:00.12xZ",
                                      "+026-11-30T18:00:00.123Z",
                                      "2026-11-30T18:00:00.123Z "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ms = 42;
        CU_ASSERT_FALSE(date_parse(str_of(bad[i]), &ms));
        CU_ASSERT_EQUAL(ms, 42);
    }
}

/* A text and its Unix milliseconds; NONE = it is no time. */
struct date_case {
    const char *text;
    int64_t ms;
};

#define NONE INT64_MIN

static void check_all(bool (*parse)(struct str text, int64_t *unix_ms), const struct date_case *c)
{
    for (; c->text != NULL; c++) {
        int64_t ms = NONE;
        if (parse(str_of(c->text), &ms) != (c->ms != NONE) || ms != c->ms) {
            printf("\n  %s: %lld\n", c->text, (long long)ms);
            CU_FAIL("time");
        }
    }
}

/* The first is the example of RFC 9110; expected values: `date -u -d TEXT +%s`. */
static void dates_of_http_are_read(void)
{
    static const struct date_case cases[] = {{"Sun, 06 Nov 1994 08:49:37 GMT", 784111777000},
                                             {" Thu, 01 Jan 1970 00:00:00 GMT\t", 0},
                                             {"Thu, 29 Feb 2024 23:59:59 GMT", 1709251199000},
                                             {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800000},
                                             {"Sat, 29 Feb 2025 00:00:00 GMT", NONE},
                                             {"Sun, 06 nov 1994 08:49:37 GMT", NONE},
                                             {"Sun, 06 Nov 1994 24:00:00 GMT", NONE},
                                             {"Sun, 06 Nov 1994 08:49:37 UTC", NONE},
                                             {"Sun, 6 Nov 1994 08:49:37 GMT", NONE},
                                             {"Sunday, 06-Nov-94 08:49:37 GMT", NONE},
                                             {"Sun Nov  6 08:49:37 1994", NONE},
                                             {"Sun, 06 Nov", NONE},
                                             {"", NONE},
                                             {NULL, 0}};
    check_all(date_parse_http, cases);
}

/* The first four are RFC 3339's, 5.8; expected values: `date -u -d TEXT +%s`. */
static void times_of_others_are_read(void)
{
    static const struct date_case cases[] = {{"1985-04-12T23:20:50.52Z", 482196050520},
                                             {"1996-12-19T16:39:57-08:00", 851042397000},
                                             {"1990-12-31T23:59:60Z", 662688000000},
                                             {"1990-12-31T15:59:60-08:00", 662688000000},
                                             {" 2026-11-29t18:00:00z ", 1795975200000},
                                             {"2026-11-29T18:00:00", 1795975200000},
                                             {"2026-11-29T18:00:00.", 1795975200000},
                                             {"2026-11-29T23:30:00.9999999+05:30", 1795975200999},
                                             {"2026-11-29T15:30:00-0230", 1795975200000},
                                             {"2026-11-29 18:00:00Z", NONE},
                                             {"2026-11-29T18:00:00,5Z", NONE},
                                             {"2026-11-29T18:00:00+01", NONE},
                                             {"2026-11-29T18:00:00*01:00", NONE},
                                             {"2026-11-29T18:00:00+24:00", NONE},
                                             {"2026-11-29T18:00:00+01:60", NONE},
                                             {"2026-11-31T18:00:00Z", NONE},
                                             {"2026-11-29T18:00Z", NONE},
                                             {"2026-11-29", NONE},
                                             {"", NONE},
                                             {NULL, 0}};
    check_all(date_parse_iso, cases);
}

TESTS(date, {"dates_are_written_and_read", times_are_written_and_read},
      {"dates_of_another_form_are_refused", other_times_are_refused},
      {"dates_of_http_are_read", dates_of_http_are_read},
      {"dates_of_other_programs_are_read", times_of_others_are_read})
