#include "ci/testing/testing.h"
#include "reports/report_int.h"

#include <string.h>

static struct eval_check checks[] = {
    {{"status", 6}, true, {NULL, 0}},
    {{"calls", 5},
     false,
     {"call 1 of 1: get_price.args.sku: expected \"A-1\", got \"A1\"\ncall 2 x was not expected",
      83}},
};

/* Four trials: passed, failed, missed, passed with drift. */
static struct eval_trial trials[] = {
    {.task = {"margin-drop", 11},
     .trial = 1,
     .verdict = {.outcome = EVAL_PASS},
     .result = {.steps = 2,
                .usage = {220, -1, -1, 22, -1},
                .cost_nano = 1250000,
                .currency = {"USD", 3},
                .ended_ms = 713},
     .n_calls = 1,
     .expected_calls = 1,
     .trace = {"traces/margin-drop.jsonl", 24}},
    {.task = {"价格", 6},
     .file = "sets/demo.yaml",
     .line = 12,
     .trial = 1,
     .verdict = {.outcome = EVAL_FAIL, .checks = checks, .n_checks = 2},
     .result = {.steps = 12, .usage = {-1, -1, -1, -1, -1}, .cost_nano = -1, .ended_ms = 61002},
     .n_calls = 2,
     .expected_calls = -1,
     .trace = {"traces/x.jsonl", 14}},
    {.task = {"lost", 4},
     .trial = 1,
     .verdict = {.outcome = EVAL_ERROR},
     .expected_calls = 1,
     .problem = {"c/lost.yaml is \033[31mnot there", 29}},
};

static struct eval_report report = {
    .out = "runs/demo",
    .trials = trials,
    .n = 3,
    .summary = {.trials = 3,
                .passed = 1,
                .failed = 1,
                .errors = 1,
                .success = {1, 2},
                .tool_selection = {1999, 2000},
                .precision = {1, 1},
                .recall = {1, 1},
                .f1 = {2, 3},
                .trajectory = {0, 1},
                .usage = {220, 0, 0, 22, 0},
                .p50_latency_ms = 713,
                .p95_latency_ms = 61002,
                .steps = 14,
                .calls = 3},
};

static void shows_rows_reasons_and_totals(void)
{
    struct buf out = {0};
    report_table(&out, &report, false);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p,
               "task         outcome  made/expected  steps  tokens         cost      time\n"
               "margin-drop  pass               1/1      2     242  0.00125 USD   0.713 s\n"
               "价格         fail                 2     12       ?     unpriced  61.002 s\n"
               "lost         error                -      -       -            -         -\n"
               "\n"
               "fail 价格 (sets/demo.yaml:12)\n"
               "  calls\n"
               "    call 1 of 1: get_price.args.sku: expected \"A-1\", got \"A1\"\n"
               "    call 2 x was not expected\n"
               "  assay trace show runs/demo/traces/x.jsonl\n"
               "\n"
               "error lost\n"
               "  c/lost.yaml is  [31mnot there\n"
               "\n"
               "1 passed, 1 failed, 1 error\n"
               "success 50.0% of 2 scored, 1 not scored, tool selection 99.9%, arguments -, "
               "trajectory 0.0%, f1 66.7%\n"
               "14 steps, 3 calls, tokens 220 in, 22 out, cost unpriced, time p50 0.713 s, p95 "
               "61.002 s\n"
               "95% interval of success 9.5% to 90.5%, 2 tasks\n"
               "runs/demo\n");
    buf_free(&out);
}

/* Where nothing has a price, one word in the totals says so. */
static void leaves_out_the_cost_of_what_has_no_price(void)
{
    struct eval_report plain = report;
    struct buf out = {0};
    plain.trials = &trials[1];
    plain.n = 1;
    plain.summary.errors = 0;
    plain.summary.steps = 1;
    plain.summary.calls = 1;
    report_table(&out, &plain, false);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p,
               "task  outcome  made/expected  steps  tokens      time\n"
               "价格  fail                 2     12       ?  61.002 s\n"
               "\n"
               "fail 价格 (sets/demo.yaml:12)\n"
               "  calls\n"
               "    call 1 of 1: get_price.args.sku: expected \"A-1\", got \"A1\"\n"
               "    call 2 x was not expected\n"
               "  assay trace show runs/demo/traces/x.jsonl\n"
               "\n"
               "1 passed, 1 failed, 0 errors\n"
               "success 50.0%, tool selection 99.9%, arguments -, trajectory 0.0%, f1 66.7%\n"
               "1 step, 1 call, tokens 220 in, 22 out, cost unpriced, time p50 0.713 s, p95 "
               "61.002 s\n"
               "95% interval of success 0.0% to 79.3%, 1 task\n"
               "runs/demo\n");
    buf_free(&out);
}

/* What was spent stands with its currency, and two currencies are not added. */
static void totals_name_each_currency(void)
{
    static const struct {
        struct eval_cost costs[2];
        size_t n;
        const char *want;
    } cases[] = {
        {{{{NULL, 0}, 0}}, 0, ", cost unpriced, time"},
        {{{{"USD", 3}, 500000000}}, 1, ", cost 0.50 USD, time"},
        {{{{"CNY", 3}, 1200000000}, {{"USD", 3}, 125000}},
         2,
         ", cost 1.20 CNY + 0.000125 USD, time"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct eval_report priced = report;
        struct buf out = {0};
        memcpy(priced.summary.costs, cases[i].costs, sizeof cases[i].costs);
        priced.summary.n_costs = cases[i].n;
        report_table(&out, &priced, false);
        CU_ASSERT(str_find(buf_str(&out), str_of(cases[i].want)) != SIZE_MAX);
        buf_free(&out);
    }
}

/* Without colour there is no escape; with it every row still has its text. */
static void colours_only_when_asked(void)
{
    struct buf plain = {0}, coloured = {0};
    report_table(&plain, &report, false);
    report_table(&coloured, &report, true);
    CU_ASSERT_EQUAL(memchr(plain.p, '\033', plain.n), NULL);
    CU_ASSERT(str_find(buf_str(&coloured), STR("\033[32mpass   \033[0m")) != SIZE_MAX);
    CU_ASSERT(str_find(buf_str(&coloured), STR("\033[31mfail   \033[0m")) != SIZE_MAX);
    buf_free(&plain);
    buf_free(&coloured);
}

/* Widths by Unicode's EastAsianWidth.txt. */
static void widths_are_those_of_a_terminal(void)
{
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {{"", 0},          {"abc", 3},    {"价格", 4},    {"ｆｕｌｌ", 8},
                 {"e\xcc\x81", 1}, {"한국어", 6}, {"かな", 4},    {"é", 1},
                 {"🙂", 2},      {"½…", 2},     {"\xff\xfe", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT_EQUAL(text_width(str_of(cases[i].text)), cases[i].width);
    }
}

static void long_texts_are_cut_with_their_size(void)
{
    struct buf out = {0};
    block_add(&out, STR("价格价格\nabc"), 2, 3);
    block_add(&out, STR("a\tb\r\n\nc\xff\xe2\x80\x8f\x1b"), 1, 0);
    block_add(&out, STR(""), 1, 0);
    buf_char(&out, '\0');
    CHECK_TEXT(out.p, "  价格价\n  … (3 of 8 characters)\n a\tb \n \n c\xef\xbf\xbd  \n \n");
    buf_free(&out);
}

TESTS(table, {"table_shows_rows_reasons_and_totals", shows_rows_reasons_and_totals},
      {"table_leaves_out_the_cost_of_what_has_no_price", leaves_out_the_cost_of_what_has_no_price},
      {"table_totals_name_each_currency", totals_name_each_currency},
      {"table_uses_colours_only_when_asked", colours_only_when_asked},
      {"text_width_is_that_of_a_terminal", widths_are_those_of_a_terminal},
      {"block_cuts_long_texts_and_says_so", long_texts_are_cut_with_their_size})
