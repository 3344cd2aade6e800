#include "kernel/base/regex.h"

#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/base/arena.h"

static int search(const char *pattern, struct str s)
{
    struct regex *r = NULL;
    struct err e = {.message = ""};
    CU_ASSERT_EQUAL_FATAL(regex_new(str_of(pattern), &r, &e), 0);
    int rc = regex_search(r, s);
    regex_free(r);
    return rc;
}

static void searches(void)
{
    static const struct {
        const char *pattern, *subject;
        int want;
    } cases[] = {
        {"42\\.4 *- *38\\.2", "= 42.4 - 38.2;", 1},
        {"^a", "ba", 0},
        {"", "", 1},
        {"^.$", "\xc3\xa9", 1},       /* one character of two bytes */
        {"^\\u00e9$", "\xc3\xa9", 1}, /* JSON Schema's escape */
        {"^\\x{e9}$", "\xc3\xa9", 1}, /* PCRE2's own */
        {"^[\\u4e00-\\u9fa5]+$", "\xe4\xb8\xad", 1},
        {"\\p{Lu}", "abC", 1},
        {"(?i)acme", "ACME", 1},
        {"a.b", "a\nb", 0},
        {"^(?!.*x).*$", "abc", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_EQUAL(search(cases[i].pattern, str_of(cases[i].subject)), cases[i].want);
    }
    CU_ASSERT_EQUAL(search("b", (struct str){"a\0b", 3}), 1);
    CU_ASSERT_EQUAL(search("a", (struct str){NULL, 0}), 0);
}

/* From one place on, what is before it in sight: where, and how long. */
static void finds_from_a_place_on(void)
{
    static const struct {
        const char *pattern, *subject;
        size_t from;
        int want;
        size_t at, n;
    } cases[] = {
        {"b+", "abbabbb", 0, 1, 1, 2}, {"b+", "abbabbb", 3, 1, 4, 3},
        {"a", "abc", 1, 0, 0, 0},      {"^", "abc", 1, 0, 0, 0},
        {"(?<=a)b", "ab", 1, 1, 1, 1}, {"", "abc", 3, 1, 3, 0},
        {"\xc3\xa9", "x", 0, 0, 0, 0}, {"foo\\Kbar", "foobar", 0, 1, 3, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct regex *r = NULL;
        size_t at = 0, n = 0;
        CU_ASSERT_EQUAL_FATAL(regex_new(str_of(cases[i].pattern), &r, NULL), 0);
        CU_ASSERT_EQUAL(regex_find(r, str_of(cases[i].subject), cases[i].from, &at, &n),
                        cases[i].want);
        CU_ASSERT(at == cases[i].at && n == cases[i].n);
        regex_free(r);
    }
}

static void bad_patterns(void)
{
    static const struct {
        const char *pattern, *want;
    } cases[] = {
        {"a[", "bad regular expression at offset 2: missing terminating ]"},
        {"(", "bad regular expression at offset 1: missing closing parenthesis"},
        {"a\\C", "bad regular expression at offset 3:"},
        {"*", "bad regular expression at offset 0: quantifier does not follow a repeatable item"},
        {"\xff", "bad regular expression at offset 0: UTF-8 error"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct regex *r = NULL;
        struct err e = {.message = ""};
        CU_ASSERT_EQUAL(regex_new(str_of(cases[i].pattern), &r, &e), ERR_INPUT);
        if (!str_starts(str_of(e.message), cases[i].want)) {
            CHECK_TEXT(e.message, cases[i].want);
        }
    }
    struct buf long_pattern = {.max = 0};
    struct regex *r = NULL;
    for (int i = 0; i < 20000; i++) {
        buf_char(&long_pattern, 'a');
    }
    CU_ASSERT_EQUAL(regex_new(buf_str(&long_pattern), &r, NULL), ERR_INPUT);
    buf_free(&long_pattern);
}

/* Each of these would take minutes or years without a limit on the whole search. */
static void work_is_limited(void)
{
    static const char *const patterns[] = {"(a+)+[bc]$", "(a|a)*[bc]", "(.*)(.*)(.*)[xy]",
                                           "a[^b]*+[bc]"};
    enum { SUBJECT_BYTES = 1 << 20 };
    char *subject = mem_alloc(SUBJECT_BYTES);
    memset(subject, 'a', SUBJECT_BYTES);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        CU_ASSERT_EQUAL(search(patterns[i], (struct str){subject, SUBJECT_BYTES}), ERR_LIMIT);
    }
    CU_ASSERT_EQUAL(search("^a*$", (struct str){subject, SUBJECT_BYTES}), 1);
    CU_ASSERT_EQUAL(search("b|c", (struct str){subject, SUBJECT_BYTES}), 0);
    free(subject);
}

static void not_utf8(void)
{
    CU_ASSERT_EQUAL(search(".", STR("\xff")), 0);
    CU_ASSERT_EQUAL(search("a", STR("a\xc3")), 0);
}

TESTS(regex, {"regex_finds_anywhere", searches},
      {"regex_finds_from_a_place_on", finds_from_a_place_on},
      {"regex_refuses_bad_patterns", bad_patterns},
      {"regex_limits_the_work_of_a_search", work_is_limited},
      {"regex_does_not_match_what_is_not_utf8", not_utf8})
