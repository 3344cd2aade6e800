#include <stdlib.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/drive/tools.h"

static void check_answer(const char *expression, const char *want)
{
    struct buf out = {0};
    calculator_answer(str_of(expression), &out);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, want);
    buf_free(&out);
}

/* Values by Python's decimal module, with 28 digits for division. */
static const struct {
    const char *expression;
    const char *value;
} values[] = {
    {"42.4-38.2", "4.2"},
    {"0.1+0.2", "0.3"},
    {"1+2*3", "7"},
    {"(1+2)*3", "9"},
    {" 7 - 10\\t", "-3"},
    {"-2**2", "-4"},
    {"(-2)**2", "4"},
    {"2**-1", "0.5"},
    {"2**3**2", "512"},
    {"2**-2**0", "0.5"},
    {"0**0", "1"},
    {"2*-3", "-6"},
    {"3--2", "5"},
    {"+-+2", "-2"},
    {"1/3", "0.3333333333333333333333333333"},
    {"2/3", "0.6666666666666666666666666667"},
    {"10/4", "2.5"},
    {"100/10/5", "2"},
    {"2**100", "1.267650600228229401496703205376e+30"},
    {"1e3+1", "1001"},
    {"1E-2", "0.01"},
    {".5+5.", "5.5"},
    {"4**2.0", "16"},
    {"0*-1", "0"},
    {"0.00000001", "1e-8"},
    {"19.99*3", "59.97"},
    {"10**10000/10**9999", "10"},
};

static void exact_values(void)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const char *e =
            strcmp(values[i].expression, " 7 - 10\\t") == 0 ? " 7 - 10\t" : values[i].expression;
        struct buf want = {0};
        buf_fmt(&want, "{\"ok\":true,\"expression\":\"%s\",\"value\":%s}%c", values[i].expression,
                values[i].value, '\0');
        check_answer(e, want.p);
        buf_free(&want);
    }
}

static const struct {
    const char *expression;
    const char *message;
} errors[] = {
    {"", "the expression ends, a number or \\\"(\\\" is missing at character 1; complete it"},
    {"1+", "the expression ends, a number or \\\"(\\\" is missing at character 3; complete it"},
    {"(1", "the expression ends, an operator or \\\")\\\" is missing at character 3; complete it"},
    {"1 2", "expected an operator or the end, found \\\"2\\\" at character 3; allowed are numbers, "
            "+ - * / ** and parentheses"},
    {"42%",
     "expected an operator or the end, found \\\"%\\\" at character 3; write a percentage as "
     "a division by 100"},
    {"2^3",
     "expected an operator or the end, found \\\"^\\\" at character 2; write ** for a power"},
    {"1,000", "expected an operator or the end, found \\\",\\\" at character 2; write numbers "
              "without thousands separators, with a decimal point"},
    {"2\xC3\x97"
     "3",
     "expected an operator or the end, found \\\"\xC3\x97\\\" at character 2; write * to multiply"},
    {"7//2", "expected a number or \\\"(\\\", found \\\"/\\\" at character 3; only / divides"},
    {"a+1", "expected a number or \\\"(\\\", found \\\"a\\\" at character 1; allowed are numbers, "
            "+ - * / ** and parentheses"},
    {"1+)", "expected a number or \\\"(\\\", found \\\")\\\" at character 3; allowed are numbers, "
            "+ - * / ** and parentheses"},
    {"1.2.3", "expected an operator or the end, found \\\".\\\" at character 4; allowed are "
              "numbers, + - * / ** and parentheses"},
    {".", "expected a number at character 1; write it like 42.4"},
    {"1/0", "division by zero at character 2"},
    {"1/(2-2)", "division by zero at character 2"},
    {"0**-1", "division by zero (a negative power of 0) at character 2"},
    {"4**0.5", "the exponent is not a whole number at character 4; only whole exponents are exact"},
    {"1**10001", "the exponent is beyond 10000 at character 4; use a smaller one"},
    {"7**5000", "the power needs too many digits at character 2; use smaller numbers"},
    {"1e999999", "a number is too large or too long at character 1; use smaller numbers"},
};

static void errors_with_places(void)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        struct buf want = {0};
        buf_fmt(&want,
                "{\"ok\":false,\"expression\":\"%s\",\"error\":{\"code\":\"BAD_EXPRESSION\","
                "\"message\":\"%s\",\"retryable\":true}}%c",
                errors[i].expression, errors[i].message, '\0');
        check_answer(errors[i].expression, want.p);
        buf_free(&want);
    }
}

static struct str repeated(struct arena *arena, const char *piece, size_t n)
{
    struct buf text = {0};
    for (size_t i = 0; i < n; i++) {
        buf_addz(&text, piece);
    }
    struct str out = arena_str(arena, buf_str(&text));
    buf_free(&text);
    return out;
}

static bool answer_says(struct str expression, const char *part)
{
    struct buf out = {0};
    calculator_answer(expression, &out);
    bool found = str_find(buf_str(&out), str_of(part)) != SIZE_MAX;
    buf_free(&out);
    return found;
}

static void bounds(void)
{
    struct arena *arena = arena_new();
    CU_ASSERT_TRUE(answer_says(repeated(arena, "(", 900), "more than 64 levels of nesting"));
    CU_ASSERT_TRUE(answer_says(repeated(arena, "-", 1000), "more than 64 levels of nesting"));
    CU_ASSERT_TRUE(answer_says(repeated(arena, "2**", 300), "more than 64 levels of nesting"));
    CU_ASSERT_TRUE(answer_says(repeated(arena, "1", 1001), "longer than 1000 characters"));
    CU_ASSERT_TRUE(answer_says(repeated(arena, "1+", 500), "ends, a number"));
    CU_ASSERT_TRUE(answer_says(repeated(arena, "9", 1000), "\"ok\":true"));
    CU_ASSERT_TRUE(answer_says((struct str){"1\0+1", 4}, "BAD_EXPRESSION"));
    CU_ASSERT_TRUE(answer_says((struct str){"\xFF", 1}, "BAD_EXPRESSION"));
    arena_free(arena);
}

TESTS(calculator, {"calculator_gives_exact_decimals", exact_values},
      {"calculator_says_what_is_wrong_and_where", errors_with_places},
      {"calculator_bounds_length_nesting_and_digits", bounds})
