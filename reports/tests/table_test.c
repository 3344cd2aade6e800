#include "ci/testing/testing.h"
#include "evals/rows_int.h"
#include "reports/report_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct eval_check checks[] = {
    {{"status", 6}, true, {NULL, 0}},
    {{"calls", 5},
     false,
     {"call 1 of 1: get_price.args.sku: expected \"A-1\", got \"A1\"\ncall 2 x was not expected",
      83}},
};

static struct eval_call calls[2] = {{{"a", 1}, {"{}", 2}, 1}, {{"b", 1}, {"{}", 2}, 1}};

/* Three trials: passed, failed, missed. */
static const struct eval_trial trials[] = {
    {.task = {"margin-drop", 11},
     .trial = 1,
     .verdict = {.outcome = EVAL_PASS},
     .result = {.steps = 2,
                .usage = {220, -1, -1, 22, -1},
                .cost_nano = 1250000,
                .currency = {"USD", 3},
                .ended_ms = 713},
     .calls = calls,
     .n_calls = 1,
     .expected_calls = 1,
     .trace = {"traces/margin-drop.jsonl", 24}},
    {.task = {"价格", 6},
     .file = "sets/demo.yaml",
     .line = 12,
     .trial = 1,
     .verdict = {.outcome = EVAL_FAIL, .checks = checks, .n_checks = 2},
     .result = {.steps = 12, .usage = {-1, -1, -1, -1, -1}, .cost_nano = -1, .ended_ms = 61002},
     .calls = calls,
     .n_calls = 2,
     .expected_calls = -1,
     .trace = {"traces/x.jsonl", 14}},
    {.task = {"lost", 4},
     .trial = 1,
     .verdict = {.outcome = EVAL_ERROR},
     .result = {.status = RUN_CASSETTE_MISS, .usage = {-1, -1, -1, -1, -1}, .cost_nano = -1},
     .expected_calls = 1,
     .problem = {"c/lost.yaml is \033[31mnot there", 29}},
};

static const struct eval_summary summary = {
    .trials = 3,
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
    .calls = 3,
    .why = {[WHY_CALLS] = 1, [WHY_WRONG_ARGUMENT] = 1, [WHY_RUN + RUN_CASSETTE_MISS] = 1}};

/* A report of n of the trials, whose lines are in `file`. */
static struct eval_report *report_of(const struct eval_trial *t, size_t n, struct buf *file)
{
    struct eval_report *r = report_new("runs/demo");
    for (size_t i = 0; i < n; i++) {
        size_t at = file->n;
        eval_trial_json(file, &t[i]);
        struct str line = str_slice(buf_str(file), at, file->n - 1);
        CU_ASSERT_EQUAL(report_add_line(r, &t[i], line, at, NULL), 0);
    }
    report_read_from(r, lines_over("runs/demo/results.jsonl", buf_str(file)));
    r->summary = summary;
    return r;
}

/* Its table, ended by a NUL; freed by the caller. */
static struct sink table_of(const struct eval_report *r, bool color)
{
    struct sink out = {.write = NULL};
    report_table(&out, r, color);
    CU_ASSERT_EQUAL(out.code, 0);
    buf_char(&out.text, '\0');
    return out;
}

static void shows_rows_reasons_and_totals(void)
{
    struct buf file = {0};
    struct eval_report *r = report_of(trials, 3, &file);
    struct sink out = table_of(r, false);
    CHECK_TEXT(out.text.p,
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
               "why: calls 1 (wrong argument 1), cassette_miss 1\n"
               "success 50.0% of 2 scored, 1 not scored, tool selection 99.9%, arguments -, "
               "trajectory 0.0%, f1 66.7%\n"
               "14 steps, 3 calls, tokens 220 in, 22 out, cost unpriced, time p50 0.713 s, p95 "
               "61.002 s\n"
               "95% interval of success 9.5% to 90.5%, 2 tasks\n"
               "cost unpriced, 0.0% of input cached, 0.0% of output reasoning\n"
               "runs/demo\n");
    buf_free(&out.text);
    eval_report_free(r);
    buf_free(&file);
}

/* Where nothing has a price, one word in the totals says so. */
static void leaves_out_the_cost_of_what_has_no_price(void)
{
    struct buf file = {0};
    struct eval_report *r = report_of(&trials[1], 1, &file);
    r->summary.errors = 0;
    r->summary.why[WHY_RUN + RUN_CASSETTE_MISS] = 0;
    r->summary.steps = 1;
    r->summary.calls = 1;
    struct sink out = table_of(r, false);
    CHECK_TEXT(out.text.p,
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
               "why: calls 1 (wrong argument 1)\n"
               "success 50.0%, tool selection 99.9%, arguments -, trajectory 0.0%, f1 66.7%\n"
               "1 step, 1 call, tokens 220 in, 22 out, cost unpriced, time p50 0.713 s, p95 "
               "61.002 s\n"
               "95% interval of success 0.0% to 79.3%, 1 task\n"
               "cost unpriced, 0.0% of input cached, 0.0% of output reasoning\n"
               "runs/demo\n");
    buf_free(&out.text);
    eval_report_free(r);
    buf_free(&file);
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
        struct buf file = {0};
        struct eval_report *r = report_of(trials, 3, &file);
        memcpy(r->summary.costs.of, cases[i].costs, sizeof cases[i].costs);
        r->summary.costs.n = cases[i].n;
        struct sink out = table_of(r, false);
        CU_ASSERT(str_find(buf_str(&out.text), str_of(cases[i].want)) != SIZE_MAX);
        buf_free(&out.text);
        eval_report_free(r);
        buf_free(&file);
    }
}

/* What the cost is made of, as far as providers tell, with and without prices. */
static void cost_stands_with_its_shares(void)
{
    static const struct {
        struct usage usage;
        bool priced;
        const char *want; /* the line; NULL = there is none */
    } cases[] = {
        {{200, 50, 0, 40, 10},
         false,
         "\ncost unpriced, 25.0% of input cached, 25.0% of output reasoning\n"},
        {{200, 50, 0, 40, -1}, false, "\ncost unpriced, 25.0% of input cached\n"},
        {{200, -1, 0, 40, -1}, false, NULL},
        {{200, -1, 0, 40, 1},
         true,
         "a passed trial 0.00125 USD, 2.5% of output reasoning, 20.0% of all the judge's\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf file = {0};
        struct eval_report *r = report_of(trials, 1, &file);
        r->summary.usage = cases[i].usage;
        if (cases[i].priced) {
            r->summary.costs.of[0] = (struct eval_cost){STR("USD"), 1250000};
            r->summary.judge_costs.of[0] = (struct eval_cost){STR("USD"), 312500};
            r->summary.costs.n = r->summary.judge_costs.n = 1;
            r->summary.judged = 3;
        } else {
            r->rows[0].cost_nano = -1;
        }
        struct sink out = table_of(r, false);
        bool any = str_find(buf_str(&out.text), STR("\ncost ")) != SIZE_MAX;
        CU_ASSERT_EQUAL(any, cases[i].want != NULL);
        CU_ASSERT(!any || str_find(buf_str(&out.text), str_of(cases[i].want)) != SIZE_MAX);
        buf_free(&out.text);
        eval_report_free(r);
        buf_free(&file);
    }
}

/* Without colour there is no escape; with it every row still has its text. */
static void colours_only_when_asked(void)
{
    struct buf file = {0};
    struct eval_report *r = report_of(trials, 3, &file);
    struct sink plain = table_of(r, false), coloured = table_of(r, true);
    CU_ASSERT_EQUAL(memchr(plain.text.p, '\033', plain.text.n), NULL);
    CU_ASSERT(str_find(buf_str(&coloured.text), STR("\033[32mpass   \033[0m")) != SIZE_MAX);
    CU_ASSERT(str_find(buf_str(&coloured.text), STR("\033[31mfail   \033[0m")) != SIZE_MAX);
    buf_free(&plain.text);
    buf_free(&coloured.text);
    eval_report_free(r);
    buf_free(&file);
}

/* 1,000 passed trials and so many that did not: what of them is listed. */
static void long_runs_are_listed_in_part(void)
{
    static char problems[1250][24];
    static const struct {
        size_t failed;
        const char *rows, *stories;
    } cases[] = {
        {0, "1000 trials that passed are not listed\n", NULL},
        {60, "1000 trials that passed are not listed\n",
         "… and why 10 more did not pass or were warned of: runs/demo/results.jsonl\n"},
        {250,
         "… and 50 more; all in runs/demo/results.jsonl\n1000 trials that passed are not listed\n",
         "… and why 200 more did not pass or were warned of: runs/demo/results.jsonl\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf file = {0};
        size_t n = 1000 + cases[i].failed, lines = 0, told = 0;
        struct eval_trial *many = mem_alloc(n * sizeof *many);
        for (size_t k = 0; k < n; k++) {
            many[k] = k < 1000 ? trials[0] : trials[1];
            many[k].trial = (int64_t)k + 1;
            (void)snprintf(problems[k], sizeof problems[k], "p%zu", k); /* each its own story */
            many[k].problem = k < 1000 ? many[k].problem : str_of(problems[k]);
        }
        struct eval_report *r = report_of(many, n, &file);
        r->summary.passed = 1000;
        struct sink out = table_of(r, false);
        struct str rest = buf_str(&out.text);
        CU_ASSERT(str_find(rest, str_of(cases[i].rows)) != SIZE_MAX);
        CU_ASSERT(cases[i].stories == NULL || str_find(rest, str_of(cases[i].stories)) != SIZE_MAX);
        for (size_t end; (end = str_find(rest, STR("\n"))) != SIZE_MAX; lines++) {
            told += str_starts(rest, "fail 价格 #");
            rest = str_slice(rest, end + 1, rest.n);
        }
        CU_ASSERT_EQUAL(told,
                        cases[i].failed < TABLE_STORIES_MAX ? cases[i].failed : TABLE_STORIES_MAX);
        CU_ASSERT(lines < 1000);
        buf_free(&out.text);
        eval_report_free(r);
        buf_free(&file);
        free(many);
    }
}

/* A line that is not the one that was read: the sink says which. */
static void a_line_that_changed_stops_the_report(void)
{
    struct buf file = {0};
    struct eval_report *r = report_of(trials, 3, &file);
    struct sink out = {.write = NULL};
    struct err e;
    file.p[str_find(buf_str(&file), STR("A-1"))] = 'B';
    report_table(&out, r, false);
    CU_ASSERT_EQUAL(sink_end(&out, &e), ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(e.file, "runs/demo/results.jsonl");
    CU_ASSERT(str_starts(str_of(e.message), "the line of trial 1 of 价格 has changed since"));
    eval_report_free(r);
    buf_free(&file);
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
      {"table_cost_stands_with_its_shares", cost_stands_with_its_shares},
      {"table_uses_colours_only_when_asked", colours_only_when_asked},
      {"table_lists_long_runs_in_part", long_runs_are_listed_in_part},
      {"a_line_that_changed_stops_the_report", a_line_that_changed_stops_the_report},
      {"text_width_is_that_of_a_terminal", widths_are_those_of_a_terminal},
      {"block_cuts_long_texts_and_says_so", long_texts_are_cut_with_their_size})
