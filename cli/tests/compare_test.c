#include "ci/testing/testing.h"
#include "cli/tests/forty.h"
#include "cli/tests/program.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int none[] = {0};
static const int two[] = {7, 23, 0};
static const int nine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0};

static double number_at(const cJSON *o, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(o, key));
}

/* 2 of 40 fell, 0 rose: p = 1/4. Connor's formula with ψ = δ = 0.05 wants 121.54 tasks. */
static void planted(void)
{
    const char *base = forty_run(none, 0), *head = forty_run(two, 1);
    const struct ran *r = ASSAY("compare", base, head);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "40 tasks compared, 38 pass in both\nregressed: 2\n  t7  1/1 → 0/1\n"
                 "      call 1: get_price.args.sku: \"A-1\", now \"A1\"\n  t23 ");
    CHECK_OUT(r, "success 100.0% → 95.0%, change -5.0 points (95% interval -13.3 to 4.2)");
    CHECK_OUT(r, "2 of 40 tasks fell, 0 rose: exact McNemar p 0.250000 for worse, 0.500000");
    CHECK_OUT(r, "tag odd: 2 of 20 fell, 0 rose, p 0.500000, 1.000000 by Holm over 2 tags");
    CHECK_OUT(r, "not enough evidence: 122 tasks would be needed to see a fall by 5.0 points, 40");
    r = ASSAY("compare", head, base);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "improved: 2\n");
}

/* The same number of failures on other tasks: nothing but noise. 3 of 6 changed ones fell. */
static void noise(void)
{
    static const int before[] = {3, 11, 20, 31, 0}, after[] = {5, 11, 22, 38, 0};
    const struct ran *r =
        ASSAY("compare", forty_run(before, 1), forty_run(after, 1), "--gate", "worse_p>=0.05");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "regressed: 3\n");
    CHECK_OUT(r, "improved: 3\n");
    CHECK_OUT(r, "still failing: 1\n  t11  0/1 → 0/1\n");
    CHECK_OUT(r, "exact McNemar p 0.656250 for worse, 1.000000 two-sided");
    CHECK_OUT(r, "gate worse_p>=0.05: not enough evidence: 369 tasks would be needed");
}

/* 9 of 40: p = 1/512. */
static void certain(void)
{
    const char *base = forty_run(none, 0), *head = forty_run(nine, 1);
    const struct ran *r = ASSAY("compare", base, head, "--gate", "worse_p>=0.05");
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "p 0.001953 for worse");
    CHECK_OUT(r, "\nworse: the fall is more than chance\n");
    CHECK_OUT(r, "gate worse_p>=0.05: fails, it is 0.001953");
}

static void json(void)
{
    const char *base = forty_run(none, 0), *head = forty_run(two, 1);
    const struct ran *r = ASSAY("compare", base, head, "--json", "--gate", "regressions==0");
    CHECK_STATUS(r, 1);
    cJSON *o = cJSON_Parse(r->out);
    CU_ASSERT(count_lines(r->out) == 1 && cJSON_IsObject(o));
    CU_ASSERT_EQUAL(number_at(o, "regressed"), 2);
    CU_ASSERT_EQUAL(number_at(o, "same"), 38);
    CU_ASSERT_EQUAL(number_at(o, "needed"), 122);
    CU_ASSERT_EQUAL(number_at(o, "p_worse"), 0.25);
    CU_ASSERT_EQUAL(number_at(cJSON_GetObjectItem(o, "success"), "change"), -0.05);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(o, "changes")), 2);
    const cJSON *gate = cJSON_GetArrayItem(cJSON_GetObjectItem(o, "gates"), 0);
    CU_ASSERT(cJSON_IsFalse(cJSON_GetObjectItem(gate, "passed")));
    cJSON_Delete(o);
}

/* In eval the exit status is the gates'. */
static void gates(void)
{
    static const struct {
        const char *gate, *unsure;
        int status;
        const char *part;
    } cases[] = {
        {"success>=0.95", "pass", 0, "passes, it is 0.950000"},
        {"success > 0.95", "pass", 1, "fails, it is 0.950000"},
        {"errors==0", "pass", 0, "passes, it is 0"},
        {"failed<=1", "pass", 1, "fails, it is 2"},
        {"pass^1>=0.95", "pass", 0, "passes"},
        {"pass@2>=0", "pass", 1, "nothing to measure it by"},
        {"cost_usd<=0.1", "pass", 0, "passes, it is 0.0448"},
        {"cost_usd_per_passed<=0.001", "pass", 1, "fails, it is 0.001179"},
        {"p95_latency_ms<=3000", "pass", 0, "passes"},
        {"regressions==0", "pass", 1, "fails, it is 2"},
        {"success_drop<=0.02", "pass", 1, "fails, it is 0.050000"},
        {"success_drop<=0.05", "pass", 0, "not enough evidence: 122 tasks would be needed"},
        {"success_drop<=0.05", "fail", 1, "this fails (--unsure fail)"},
        {"worse_p>=0.05", "pass", 0, "not enough evidence: 122 tasks would be needed, 40 were"},
        {"worse_p>=0.05", "fail", 1, "this fails"},
    };
    const char *base = forty_run(none, 0), *set = forty_tasks(two);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r =
            ASSAY("eval", set, "--fake", "--out", path_of("%s.%zu", set, i), "--baseline", base,
                  "--gate", cases[i].gate, "--unsure", cases[i].unsure);
        CHECK_STATUS(r, cases[i].status);
        CHECK_OUT(r, path_of("gate %s: ", cases[i].gate));
        CHECK_OUT(r, cases[i].part);
    }
}

/* A run's lines of results, written by hand. */
static const char *made_run(const char *lines, int trials)
{
    const char *dir = path_of("%s", testing_dir());
    write_text(dir, "manifest.json",
               path_of("{\"version\":1,\"sets\":[{\"name\":\"s\",\"path\":\"s.yaml\",\"xxh3\":"
                       "\"0\",\"tasks\":1}],\"trials\":%d}",
                       trials));
    write_text(dir, "results.jsonl", lines);
    return dir;
}

#define LINE(task, trial, outcome)                                                                 \
    "{\"task\":\"" task "\",\"trial\":" trial ",\"model\":\"m\",\"outcome\":\"" outcome            \
    "\",\"status\":\"completed\",\"scores\":{},\"checks\":[],\"calls\":[],\"answer\":null,"        \
    "\"steps\":1,\"usage\":{},\"cost_nano\":null,\"latency_ms\":5,\"trace\":\"traces/x.jsonl\"}\n"

#define ERROR_LINE(task)                                                                           \
    "{\"task\":\"" task "\",\"trial\":1,\"model\":\"m\",\"outcome\":\"error\",\"status\":"         \
    "\"model_error\",\"scores\":{},\"checks\":[],\"calls\":[{\"name\":\"f\",\"arguments\":\"{}\"," \
    "\"step\":1}],\"answer\":null,\"steps\":1,\"usage\":{},\"cost_nano\":null,\"latency_ms\":5,"   \
    "\"trace\":\"traces/x.jsonl\",\"problem\":\"the endpoint answered 500\"}\n"

/* What ended in an error has no calls to compare: the error is told. */
static void errors(void)
{
    const char *good = made_run(LINE("a", "1", "pass") LINE("b", "1", "pass"), 2);
    const char *bad = made_run(LINE("a", "1", "pass") ERROR_LINE("b"), 2);
    const struct ran *r = ASSAY("compare", good, bad);
    CHECK_OUT(r, "not scored in one of them: 1\n  b  1/1 → error\n"
                 "      now an error: the endpoint answered 500\n");
    r = ASSAY("compare", bad, good);
    CHECK_OUT(r, "  b  error → 1/1\n      was an error: the endpoint answered 500\n");
    r = ASSAY("compare", bad, bad);
    CHECK_OUT(r, "  b  error → error\n      was an error: the endpoint answered 500\n"
                 "      now an error: the endpoint answered 500\n");
}

static void kinds(void)
{
    static const char base[] =
        LINE("flaky", "1", "pass") LINE("flaky", "2", "fail") LINE("fell", "1", "pass")
            LINE("fell", "2", "pass") LINE("gone", "1", "pass") LINE("lost", "1", "error");
    static const char head[] =
        LINE("flaky", "1", "pass") LINE("flaky", "2", "pass") LINE("fell", "1", "fail")
            LINE("fell", "2", "fail") LINE("new", "1", "pass") LINE("lost", "1", "pass");
    const struct ran *r = ASSAY("compare", made_run(base, 6), made_run(head, 6));
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "regressed: 1\n  fell  2/2 → 0/2\n");
    CHECK_OUT(r, "flaky: 1\n  flaky  1/2 → 2/2\n");
    CHECK_OUT(r, "not scored in one of them: 1\n  lost  error → 1/1\n");
    CHECK_OUT(r, "new: 1\n  new  none → 1/1\n");
    CHECK_OUT(r, "gone: 1\n  gone  1/1 → none\n");
    r = ASSAY("report", made_run(base, 6));
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "\nflaky: flaky 1/2\n");
}

/* Of 300 tasks 2 fell and 2 rose: SciPy's bootstrap of the mean gives -0.0133 to 0.0133, and 5
 * points want 122 tasks where so few change. */
static void enough(void)
{
    const size_t room = 300 * 256;
    const char *runs[2];
    for (int run = 0; run < 2; run++) {
        const char *dir = made_run("", 300);
        char *lines = malloc(room);
        size_t n = 0;
        for (int i = 0; i < 300; i++) {
            bool fails = run == 0 ? i < 2 : i >= 298;
            const char *line = fails ? LINE("t#", "1", "fail") : LINE("t#", "1", "pass");
            int at = (int)(strchr(line, '#') - line);
            n += (size_t)snprintf(lines + n, room - n, "%.*s%d%s", at, line, i, line + at + 1);
        }
        write_bytes(dir, "results.jsonl", lines, n);
        free(lines);
        runs[run] = dir;
    }
    const struct ran *r = ASSAY("compare", runs[0], runs[1], "--gate", "success_drop<=0.05",
                                "--gate", "worse_p>=0.05", "--unsure", "fail");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "change 0.0 points (95% interval -1.3 to 1.3)");
    CHECK_OUT(r, "\nno change: a fall by more than 5.0 points is ruled out\n");
    CHECK_OUT(r, "gate success_drop<=0.05: passes, it is 0");
    CHECK_OUT(r, "gate worse_p>=0.05: passes, it is 0.687500");
    r = ASSAY("compare", runs[0], runs[1], "--margin", "0.01");
    CHECK_OUT(r, "not enough evidence: 823 tasks would be needed to see a fall by 1.0 points");
}

/* What cannot be compared says where and why, and nothing is guessed. */
static void bad_runs(void)
{
    const char *good = made_run(LINE("a", "1", "pass"), 1);
    const struct {
        const char *run, *part;
    } cases[] = {
        {made_run(LINE("b", "1", "pass"), 1), "no task in common"},
        {made_run(LINE("a", "1", "pass") LINE("a", "1", "pass"), 2),
         "results.jsonl:2: trial 1 of a is also in line 1"},
        {made_run(LINE("a", "1", "pass") "{\"task\":\"a\",\"tr", 2), "the last line is cut off"},
        {made_run("{\"task\":\"a\"}\n", 1), "results.jsonl:1: \"trial\" is missing"},
        {made_run("[]\n", 1), "results.jsonl:1:1: no line of results"},
        {made_run("\xef\xbb\xbf" LINE("a", "1", "pass"), 1), "results.jsonl:1:1: a byte order"},
        {made_run(LINE("a", "NaN", "pass"), 1), "results.jsonl:1:"},
        {made_run(LINE("a", "99999999999999999999", "pass"), 1), "\"trial\""},
        {made_run(LINE("a", "9007199254740993", "pass"), 1), "\"trial\""},
        {made_run(LINE("a", "1", "won"), 1), "\"outcome\""},
        {testing_dir(), "no manifest.json"},
        {path_of("%s/nowhere", good), "no such folder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("compare", good, cases[i].run);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
    const char *foreign = made_run(LINE("a", "1", "pass"), 1);
    write_text(foreign, "manifest.json", "{\"version\":9,\"sets\":[],\"trials\":1}");
    const struct ran *r = ASSAY("compare", good, foreign);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "version 9: this assay knows version 1");
}

/* A run that was killed: what its journal holds is compared, and that it is not whole is told. */
static void unfinished(void)
{
    const char *good = made_run(LINE("a", "1", "pass") LINE("b", "1", "pass"), 2);
    const char *cut = path_of("%s", testing_dir());
    write_text(cut, "manifest.json", "{\"version\":1,\"sets\":[],\"trials\":2}");
    write_text(cut, "trials.jsonl", LINE("b", "1", "fail") "{\"task\":\"a\",\"tri");
    const struct ran *r = ASSAY("compare", good, cut);
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "is not finished: 1 of 2 trials, a last line that is cut off left out, and "
                 "no results.jsonl");
    CHECK_OUT(r, "regressed: 1\n  b ");
}

/* Gates do not hold on what is not there: 1 of 18 trials passed, and the job was killed. */
static void unfinished_gates(void)
{
    const char *good = made_run(LINE("a", "1", "pass") LINE("b", "1", "pass"), 2);
    const char *cut = path_of("%s", testing_dir());
    write_text(cut, "manifest.json", "{\"version\":1,\"sets\":[],\"trials\":18}");
    write_text(cut, "trials.jsonl", LINE("b", "1", "pass"));
    const struct ran *r = ASSAY("compare", good, cut, "--gate", "success>=0.9");
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "passes, it is 1");
    CHECK_OUT(r, path_of("\ngate: %s is not finished: 1 of 18 trials, and no results.jsonl; this "
                         "fails (--unfinished pass "
                         "would not)\n",
                         cut));
    r = ASSAY("compare", good, cut, "--gate", "success>=0.9", "--json");
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "{\"gate\":\"finished\",\"verdict\":\"fail\",\"passed\":false,");
    CHECK_STATUS(ASSAY("compare", good, cut, "--gate", "success>=0.9", "--unfinished", "pass"), 0);
    CHECK_STATUS(ASSAY("compare", cut, good, "--gate", "success>=0.9"), 0);
    CHECK_STATUS(ASSAY("compare", good, cut, "--unfinished", "maybe"), 2);
    r = ASSAY("report", cut, "--format", "junit");
    CHECK_OUT(r, "tests=\"2\" failures=\"0\" errors=\"1\"");
    CHECK_OUT(r, "<error message=\"the run is not finished: 1 trial is there\"");
    r = ASSAY("report", cut, "--format", "markdown");
    CHECK_OUT(r, "### assay: not finished, 1 of 1 passed\n");
    r = ASSAY("report", cut, "--format", "json");
    CHECK_OUT(r, "\"interrupted\":true");
}

TESTS(compare, {"compare_shows_a_planted_regression", planted},
      {"compare_does_not_take_noise_for_a_change", noise},
      {"compare_is_sure_of_what_is_more_than_chance", certain},
      {"compare_json_is_one_object", json}, {"gates_decide_the_exit_status", gates},
      {"compare_tells_kinds_of_change_apart", kinds},
      {"compare_tells_the_error_of_what_is_not_scored", errors},
      {"compare_rules_a_fall_out_with_enough_tasks", enough},
      {"compare_refuses_what_is_no_run", bad_runs},
      {"compare_reads_a_run_that_was_cut_off", unfinished},
      {"compare_gates_fail_on_a_run_that_was_cut_off", unfinished_gates})
