#include "ci/testing/testing.h"
#include "goldens/golden_int.h"
#include "kernel/base/yaml.h"

#include <stdio.h>
#include <string.h>

static bool collect(void *ctx, struct str number)
{
    struct buf *out = ctx;
    buf_addz(out, out->n == 0 ? "" : " ");
    buf_add(out, number);
    return false;
}

static void numbers_are_found_as_people_write_them(void)
{
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"It fell by 4.2 percentage points.", "4.2"},
        {"下降了4.2个百分点。", "4.2"},
        {"from 42.4% to 38.2 %", "42.4 0.424 38.2 0.382"},
        {"100％", "100 1"},
        {"1,234,567.89 and 12,34", "1234567.89 12 34"},
        {"1,2,3", "1 2 3"},
        {"1,234,5", "1234 5"},
        {"1234,567", "1234 567"},
        {"-4.2, −3, －2", "-4.2 -3 -2"},
        {"42.4-38.2", "42.4 38.2"},
        {"42.4 - 38.2", "42.4 38.2"},
        {"A-1 and (x)-2", "1 2"},
        {"-$79.80, $-3, $5, ¥7", "-79.80 -3 5 7"},
        {"1.5e3 2E-2 3e", "1.5e3 2E-2 3"},
        {".5 and 5.", "0.5 5"},
        {"v1.2.3", "1.2 3"},
        {"none", ""},
        {"", ""},
        {"7", "7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf got = {0};
        golden_numbers(str_of(cases[i].text), collect, &got);
        buf_char(&got, '\0');
        CHECK_TEXT(got.p, cases[i].want);
        buf_free(&got);
    }
}

/* On these and one other character the regex ^(a+)+$ needs steps without end. */
#define MANY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

/* A check, an answer, and whether it passes; NULL = no answer. */
static const struct {
    const char *check;
    const char *answer;
    bool passes;
    const char *why;
} cases[] = {
    {"Merci", "Merci", true, NULL},
    {"Merci", "Merci.", false, "Merci."},
    {"Merci", NULL, false, "got none"},
    {"{equals: a}", "a", true, NULL},
    {"{contains: '4.2'}", "by 4.2 points", true, NULL},
    {"{contains: 百分点}", "4.2 个百分点", true, NULL},
    {"{regex: '(?i)^yes\\b'}", "Yes, it is", true, NULL},
    {"{regex: '^yes$'}", "no", false, "^yes$"},
    {"{one_of: [a, b]}", "b", true, NULL},
    {"{number: {value: 4.2}}", "It is 4.20.", true, NULL},
    {"{number: {value: 4.2}}", "It is 4.21.", false, "4.2"},
    {"{number: {value: 4.2, within: 0.01}}", "It is 4.21.", true, NULL},
    {"{number: {value: 4.2, within: 0.01}}", "It is 4.2101.", false, "within 0.01"},
    {"{number: {value: 4.2, within: 0.01}}", "between 1 and 4.195", true, NULL},
    {"{number: {value: -4.2}}", "a change of -4.2", true, NULL},
    {"{number: {value: -4.2}}", "a change of 4.2", false, "-4.2"},
    {"{number: {value: 1234567}}", "1,234,567 pieces", true, NULL},
    {"{number: {value: 0.382}}", "38.2%", true, NULL},
    {"{number: {value: 38.2}}", "38.2%", true, NULL},
    {"{number: {value: 1e3}}", "1000", true, NULL},
    {"{number: {value: 0.3}}", "0.30000000000000004", false, "0.3"},
    {"{number: {value: 1}}", "no number", false, "got \"no number\" (no number was read)"},
    {"{number: {value: 2.9}}", "It costs 2,90.", false,
     "(read: 2, 90; a comma is no decimal point)"},
    {"{number: {value: 7}}", "1, 2,000, 5%", false, "(read: 1, 2000, 5, 0.05)"},
    {"{number: {value: 77}}", "1 2 3 4 5 6 7 8 9 10 11", false, "8, 9, 10, …)"},
    {"{all: [{contains: a}, {contains: b}]}", "ab", true, NULL},
    {"{all: [{contains: a}, {contains: b}]}", "a", false, "\"b\""},
    {"{any: [{contains: a}, {contains: b}]}", "b", true, NULL},
    {"{any: [{contains: a}, {contains: b}]}", "c", false, "\"b\""},
    {"{not: {contains: a}}", "b", true, NULL},
    {"{not: {contains: a}}", "a", false, "not"},
    {"{regex: '^(a+)+$'}", MANY "!", false, "too many steps"},
    {"{not: {regex: '^(a+)+$'}}", MANY "!", false, "too many steps"},
    {"{not: {not: {regex: '^(a+)+$'}}}", MANY "!", false, "too many steps"},
    {"{not: {all: [{regex: '^(a+)+$'}, {contains: b}]}}", MANY "!", true, NULL},
    {"{not: {any: [{regex: '^(a+)+$'}, {contains: b}]}}", MANY "!", false, "too many steps"},
    {"{not: {any: [{regex: '^(a+)+$'}, {contains: a}]}}", MANY "!", false, "holds for"},
    {"{not: {json: {path: a, regex: '^(a+)+$'}}}", "{\"a\":\"" MANY "!\"}", false, "too many"},
    {"{json: {path: a, equals: 3}}", "{\"a\": 3.0}", true, NULL},
    {"{json: {path: a, equals: 3}}", "{\"a\": 4}", false, "a"},
    {"{json: {path: a, equals: 3}}", "{\"b\": 3}", false, "a"},
    {"{json: {path: a, equals: 3}}", "three", false, "JSON"},
    {"{json: {equals: x, path: 'items[1].name'}}", "{\"items\":[{},{\"name\":\"x\"}]}", true, NULL},
    {"{json: {path: items.1.name, regex: x}}", "{\"items\":[{},{\"name\":\"xy\"}]}", true, NULL},
    {"{json: {path: '$.a.b', near: {value: 1, within: 0.1}}}", "{\"a\":{\"b\":1.05}}", true, NULL},
    {"{json: {path: '$[0]', equals: 1}}", "[1]", true, NULL},
    {"{json: {path: a, absent: true}}", "{\"b\":1}", true, NULL},
    {"{json: {path: a, absent: true}}", "{\"a\":1}", false, "a"},
    {"{json: {path: a, any: true}}", "{\"a\":null}", true, NULL},
    {"{json: {path: 'a.b', equals: 1}}", "{\"a\":5}", false, "a.b"},
    {"{json: {path: a, equals: 1}}", "Here:\n```json\n{\"a\": 1}\n```\nDone.", true, NULL},
    {"{schema: {type: object, required: [a]}}", "{\"a\":1}", true, NULL},
    {"{schema: {type: object, required: [a]}}", "{}", false, "a"},
    {"{schema: {type: object}}", "x", false, "JSON"},
};

static void answers_pass_or_fail_with_a_reason(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arena *arena = arena_new();
        struct golden_loaded l = {.doc = {arena, NULL}};
        struct golden_answer *check;
        struct err e = {0};
        struct val *v;
        struct buf why = {0};
        struct str answer = str_of(cases[i].answer);
        CU_ASSERT_EQUAL_FATAL(yaml_parse(arena, NULL, str_of(cases[i].check), YAML_CORE, &v, &e),
                              0);
        int rc = golden_answer_load(&l, v, &check, &e);
        if (rc != 0) {
            printf("\n  %s: %s\n", cases[i].check, e.message);
        }
        CU_ASSERT_EQUAL_FATAL(rc, 0);
        bool passes = golden_answer_test(check, answer, &why);
        bool good = passes == cases[i].passes &&
                    (passes ? why.n == 0
                            : str_find(buf_str(&why), str_of(cases[i].why)) != SIZE_MAX &&
                                  str_find(buf_str(&why), STR("\n")) == SIZE_MAX);
        if (!good) {
            printf("\n  %s on %s gave %d: %.*s\n", cases[i].check, cases[i].answer, passes,
                   STR_FMT(buf_str(&why)));
        }
        CU_ASSERT(good);
        CU_ASSERT_EQUAL(golden_answer_test(check, answer, NULL), cases[i].passes);
        golden_answers_free(l.answers);
        buf_free(&why);
        arena_free(arena);
    }
}

static void nothing_expected_is_met_by_anything(void)
{
    CU_ASSERT_TRUE(golden_answer_test(NULL, (struct str){0}, NULL));
}

TESTS(golden_answer,
      {"numbers_are_found_as_people_write_them", numbers_are_found_as_people_write_them},
      {"answers_pass_or_fail_with_a_reason", answers_pass_or_fail_with_a_reason},
      {"nothing_expected_is_met_by_anything", nothing_expected_is_met_by_anything})
