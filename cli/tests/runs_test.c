/* Run directories as a whole: shards, merging, scoring again, budgets, reports. */
#include "ci/testing/testing.h"
#include "cli/tests/forty.h"
#include "cli/tests/program.h"

#include "kernel/base/str.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUICKSTART SOURCE_DIR "/goldens/quickstart.yaml"

static const int none[] = {0};
static const int two[] = {7, 23, 0};

static bool same_files(const char *a, const char *b, const char *name)
{
    return same_bytes(path_of("%s/%s", a, name), path_of("%s/%s", b, name));
}

/* 7 shards of 18 tasks with two trials each, given in another order. */
static void shards(void)
{
    const char *dir = testing_dir();
    const char *whole = path_of("%s/whole", dir), *joined = path_of("%s/joined", dir);
    const char *parts[7];
    CHECK_STATUS(
        ASSAY("eval", QUICKSTART, "--fake", "--trials", "2", "--jobs", "1", "--out", whole), 0);
    for (int i = 0; i < 7; i++) {
        parts[i] = path_of("%s/part%d", dir, i);
        CHECK_STATUS(ASSAY("eval", QUICKSTART, "--fake", "--trials", "2", "--out", parts[i],
                           "--shard", path_of("%d/7", i + 1)),
                     0);
    }
    CHECK_STATUS(ASSAY("merge", parts[3], parts[0], parts[1], parts[2], parts[6], parts[5],
                       parts[4], "--out", joined),
                 0);
    CU_ASSERT(same_files(whole, joined, "manifest.json"));
    CU_ASSERT(same_files(whole, joined, "results.jsonl"));
    CU_ASSERT(same_files(whole, joined, "trials.jsonl"));
    CU_ASSERT(same_files(whole, joined, "traces/order-quote.2.jsonl"));
    CU_ASSERT(same_files(whole, joined, "traces/hand-over.1.jsonl"));
}

static void bad_shards(void)
{
    const char *dir = testing_dir(), *set = forty_tasks(none);
    const char *one = path_of("%s/1", dir), *two_of = path_of("%s/2", dir);
    const char *other = path_of("%s/other", dir), *whole = path_of("%s/whole", dir);
    const char *out = path_of("%s/out", dir);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--shard", "1/2", "--out", one), 0);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--shard", "2/2", "--out", two_of), 0);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--task", "t1,t2", "--shard", "2/2", "--out", other),
                 0);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--task", "t1", "--out", whole), 0);
    const struct {
        const char *a, *b, *part;
    } cases[] = {{one, one, "expected each once"},
                 {one, other, "another run"},
                 {one, whole, "no shard"},
                 {one, path_of("%s/nowhere", dir), "no such folder"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("merge", cases[i].a, cases[i].b, "--out", out);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
        CU_ASSERT(access(out, F_OK) != 0);
    }
    const struct ran *r = ASSAY("merge", one, "--out", out);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "expected all 2 of them, got 1");
    r = ASSAY("merge", one, two_of, "--out", whole);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "not empty");
    unlink(path_of("%s/results.jsonl", two_of));
    r = ASSAY("merge", one, two_of, "--out", out);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "not finished");
    r = ASSAY("eval", set, "--fake", "--shard", "41/41", "--out", out);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "has no task: there are 40");
}

/* Unchanged sets give the same bytes; another expectation another verdict, without running. */
static void rescoring(void)
{
    const char *run = forty_run(two, 1), *right = forty_run(none, 0);
    const char *results = path_of("%s/results.jsonl", run);
    size_t n = 0;
    const char *before = read_text(results, &n);
    const struct ran *r = ASSAY("score", run);
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "0 of 40 trials have another outcome");
    CHECK_TEXT(read_text(results, NULL), before);
    char *text = strdup(read_text(path_of("%.*s", (int)strlen(run) - 4, run), NULL));
    for (char *at = text; (at = strstr(at, "{sku: A-1}")) != NULL;) {
        memcpy(at, "{sku: A1 }", 10);
    }
    const char *dir = path_of("%.*s", (int)(strrchr(run, '/') - run), run);
    const char *other = write_text(dir, "other.yaml", text);
    free(text);
    r = ASSAY("score", run, "--set", other, "--json");
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "40 of 40 trials have another outcome");
    CHECK_OUT(r, "\"passed\":2,\"failed\":38");
    (void)right;
}

/* The manifest names the set that the run was judged by last, and a set of another name. */
static void judged_by(void)
{
    const char *run = forty_run(two, 1), *dir = path_of("%s", run);
    const char *set = path_of("%.*s", (int)strlen(run) - 4, run);
    char *before = strdup(read_text(path_of("%s/manifest.json", run), NULL));
    char *text = strdup(read_text(set, NULL));
    dir = path_of("%.*s", (int)(strrchr(run, '/') - run), run);
    memcpy(strstr(text, "name: forty"), "name: other", 11);
    const char *other = write_text(dir, "other.yaml", text);
    free(text);
    CHECK_STATUS(ASSAY("score", run), 1);
    CHECK_TEXT(read_text(path_of("%s/manifest.json", run), NULL), before);
    CHECK_STATUS(ASSAY("score", run, "--set", other), 1);
    const char *after = read_text(path_of("%s/manifest.json", run), NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(after, "\"name\":\t\"other\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(after, "other.yaml"));
    CU_ASSERT_PTR_NULL(strstr(after, "forty"));
    char *hash = strstr(before, "xxh3"), *hash_after = strstr(after, "xxh3");
    CU_ASSERT_FATAL(hash != NULL && hash_after != NULL);
    CU_ASSERT(strncmp(hash, hash_after, 26) != 0);
    unlink(set); /* not wanted any more */
    const struct ran *r = ASSAY("score", run, "--json");
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "0 of 40 trials have another outcome");
    CHECK_OUT(r, "\"set\":\"other\"");
    free(before);
}

/* What the history leaves out to keep its size was called all the same. */
static void compacted(void)
{
    enum { CALLS = 12, ARGUMENT_BYTES = 16000 };
    const char *dir = testing_dir(), *out = path_of("%s/run", dir);
    char argument[ARGUMENT_BYTES + 1];
    struct buf script = {0}, set = {0};
    buf_addz(&script, "version: 1\nsteps:\n");
    buf_addz(&set, "version: 1\nname: long\ndefaults: {budget: {steps: 50, tokens: 100000000}}\n"
                   "tasks:\n- id: long\n  prompt: Note it.\n  fake: script.yaml\n"
                   "  tools: [{name: note, description: Keep a note., parameters: {type: object, "
                   "properties: {text: {type: string}}}, answers: [{result: {ok: true}}]}]\n"
                   "  expect: {calls: {list: [");
    for (int i = 0; i < CALLS; i++) {
        memset(argument, 'a' + i, ARGUMENT_BYTES);
        argument[ARGUMENT_BYTES] = '\0';
        buf_fmt(&script, "- reply: {calls: [{id: c%d, name: note, arguments: {text: %s}}]}\n", i,
                argument);
        buf_addz(&set, i > 0 ? ", note" : "note");
    }
    buf_addz(&script, "- reply: {text: Noted.}\n");
    buf_addz(&set, "]}}\n");
    buf_char(&script, '\0');
    buf_char(&set, '\0');
    write_text(dir, "script.yaml", script.p);
    const char *path = write_text(dir, "set.yaml", set.p);
    CHECK_STATUS(ASSAY("eval", path, "--fake", "--out", out), 0);
    const char *trace = read_text(path_of("%s/traces/long.jsonl", out), NULL);
    CU_ASSERT_PTR_NOT_NULL(strstr(trace, "\"type\":\"compaction\""));
    char *before = strdup(read_text(path_of("%s/results.jsonl", out), NULL));
    CHECK_STATUS(ASSAY("score", out), 0);
    CHECK_TEXT(read_text(path_of("%s/results.jsonl", out), NULL), before);
    free(before);
    buf_free(&script);
    buf_free(&set);
}

static void rescoring_quickstart(void)
{
    const char *out = path_of("%s/run", testing_dir());
    CHECK_STATUS(ASSAY("eval", QUICKSTART, "--fake", "--out", out), 0);
    const char *before = read_text(path_of("%s/results.jsonl", out), NULL);
    CHECK_STATUS(ASSAY("score", out), 0);
    CHECK_TEXT(read_text(path_of("%s/results.jsonl", out), NULL), before);
}

static void missing_trace(void)
{
    const char *run = forty_run(two, 1);
    const char *before = read_text(path_of("%s/results.jsonl", run), NULL);
    const char *trace = path_of("%s/traces/t9.jsonl", run);
    write_text(path_of("%s/traces", run), "t9.jsonl",
               "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\"}\n");
    const struct ran *r = ASSAY("score", run);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "t9.jsonl:1: the log does not end with a run_end");
    unlink(trace);
    r = ASSAY("score", run);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "the trace of trial 1 of t9 is missing");
    r = ASSAY("score", run, "--set", QUICKSTART);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "not in the golden set any more");
    CHECK_TEXT(read_text(path_of("%s/results.jsonl", run), NULL), before);
}

/* The text with the first `old` replaced. */
static const char *changed(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return path_of("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

/* Only the trace that the trial has written is judged; nothing is written else. */
static void foreign_trace(void)
{
    static const struct {
        const char *old, *new; /* in the trace of t9; old NULL: another log in its place */
        const char *says;
    } cases[] = {
        {NULL, "t8", "is not the trace of trial 1 of t9: its run has another name"},
        {NULL, "t9 twice", "t9.jsonl:20: the lines before have the sum "},
        {"\"type\":\"user_message\"", "\"type\":\"user_massage\"",
         "t9.jsonl:10: the lines before have the sum "},
        {"\"t_ms\":0,\"type\":\"run_end\"", "\"t_ms\":9000000000000000000,\"type\":\"run_end\"",
         "it has 9000000000000000000 milliseconds, the results say 0"},
        {"\"steps\":2,\"usage\":{\"input\":2000",
         "\"steps\":2,\"usage\":{\"input\":9000000000000000000",
         "it has 9000000000000000000 input tokens, the results say 2000"},
        {"\"status\":\"completed\"", "\"status\":\"no_progress\"",
         "it ended as no_progress, the results say completed"},
        {"\"sum\":", "\"some\":", "the lines before have the sum "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *run = forty_run(two, 1), *traces = path_of("%s/traces", run);
        const char *before = read_text(path_of("%s/results.jsonl", run), NULL);
        const char *own = read_text(path_of("%s/t9.jsonl", traces), NULL);
        const char *other = read_text(path_of("%s/t8.jsonl", traces), NULL);
        write_text(traces, "t9.jsonl",
                   cases[i].old != NULL              ? changed(own, cases[i].old, cases[i].new)
                   : strcmp(cases[i].new, "t8") == 0 ? other
                                                     : path_of("%s%s", own, own));
        const struct ran *r = ASSAY("score", run);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].says);
        CHECK_TEXT(read_text(path_of("%s/results.jsonl", run), NULL), before);
    }
}

/* A trial costs 0.00112 USD (2,000 tokens at 0.40, 200 at 1.60 a million): four reach 0.004. */
static void budget(void)
{
    const char *set = forty_tasks(none), *out = path_of("%s.run", set);
    const struct ran *r =
        ASSAY("eval", set, "--fake", "--jobs", "1", "--max-cost", "0.004", "--out", out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "4 passed, 0 failed, 0 errors");
    CHECK_OUT(r, "stopped: 0.00448 USD are spent, --max-cost is 0.004 USD; 36 of 40 trials were "
                 "not started");
    CU_ASSERT(count_lines(read_text(path_of("%s/results.jsonl", out), NULL)) == 4);
    r = ASSAY("eval", QUICKSTART, "--fake", "--jobs", "1", "--max-cost", "1", "--out",
              path_of("%s.unpriced", set));
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "is not known, so --max-cost cannot be kept");
}

static void junit(void)
{
    const char *run = forty_run(two, 1);
    const struct ran *r = ASSAY("report", run, "--format", "junit");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "<testsuites name=\"assay\" tests=\"40\" failures=\"2\" errors=\"0\" time=\"");
    CHECK_OUT(r, "<testcase classname=\"forty\" name=\"t1\" time=\"");
    CHECK_OUT(r,
              "<failure message=\"calls: call 1 of 1: get_price.args.sku: expected &quot;A-1&quot;,"
              " got &quot;A1&quot;\" type=\"calls\">");
    CHECK_OUT(r, "set.yaml:35\nassay trace show ");
    CU_ASSERT(strstr(r->out, "\033") == NULL);
}

static void formats(void)
{
    const char *run = forty_run(two, 1), *out = path_of("%s/reports", testing_dir());
    CHECK_STATUS(ASSAY("report", run, "--format", "text,junit,markdown,json,csv", "-o", out), 0);
    const char *csv = read_text(path_of("%s/trials.csv", out), NULL);
    CU_ASSERT(csv != NULL && count_lines(csv) == 41 && strncmp(csv, "run,set,task,tags,", 18) == 0);
    CU_ASSERT(csv != NULL &&
              strstr(csv, ",forty,t7,odd,1,gpt-4.1-mini,fail,completed,1.000000,") != NULL);
    CU_ASSERT(csv != NULL && strstr(csv, ",1120000,USD,") != NULL);
    const char *markdown = read_text(path_of("%s/report.md", out), NULL);
    CU_ASSERT(markdown != NULL &&
              strncmp(markdown, "### assay: failed, 38 of 40 passed\n", 35) == 0);
    CU_ASSERT(markdown != NULL && strstr(markdown, "83.5% to 98.6%") != NULL); /* as SciPy has it */
    CU_ASSERT(markdown != NULL && strstr(markdown, "<details><summary>2 failed in ") != NULL);
    CU_ASSERT(markdown != NULL &&
              strstr(markdown, "\nWhy: calls 2 (wrong argument 2)\n\n") != NULL);
    cJSON *json = cJSON_Parse(read_text(path_of("%s/report.json", out), NULL));
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "runs"), 0);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(cJSON_GetObjectItem(first, "trials")), 40);
    const cJSON *why = cJSON_GetObjectItem(cJSON_GetObjectItem(first, "summary"), "why");
    const cJSON *calls = cJSON_GetArrayItem(why, 0);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(why), 1);
    CHECK_TEXT(cJSON_GetStringValue(cJSON_GetObjectItem(calls, "name")), "calls");
    CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetObjectItem(calls, "trials")), 2);
    const cJSON *interval =
        cJSON_GetObjectItem(cJSON_GetObjectItem(first, "figures"), "success_interval");
    CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetArrayItem(interval, 0)), 0.834961);
    CU_ASSERT_EQUAL(cJSON_GetNumberValue(cJSON_GetArrayItem(interval, 1)), 0.986179);
    cJSON_Delete(json);
    CU_ASSERT(access(path_of("%s/report.txt", out), R_OK) == 0);
}

/* A comment says what changed in its first lines. */
static void compared(void)
{
    const char *base = forty_run(none, 0), *head = forty_run(two, 1);
    const struct ran *r = ASSAY("report", head, "--baseline", base, "--format", "markdown");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r,
              ": **2 regressed**, 0 improved, 0 flaky, 0 new, 0 gone; not enough evidence: 122 ");
    CHECK_OUT(r, "      call 1: get_price.args.sku: \"A-1\", now \"A1\"\n");
    r = ASSAY("report", head, "--baseline", base, "--format", "json");
    CHECK_OUT(r, "],\"comparison\":{\"base\":");
    cJSON *json = cJSON_Parse(r->out);
    CU_ASSERT(json != NULL);
    cJSON_Delete(json);
    r = ASSAY("report", head, head, "--baseline", base);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--baseline wants one run");
}

/* Two times the same bytes; without gnuplot a line says so, and the rest is there. */
static void plots(void)
{
    const char *run = forty_run(two, 1), *out = path_of("%s/plots", testing_dir());
    const char *again = path_of("%s/plots", testing_dir()),
               *bare = path_of("%s/plots", testing_dir());
    const struct program_options o = {.program = "/usr/bin/env"};
    const struct ran *r =
        ASSAY_WITH(&o, "PATH=/nowhere", BUILD_DIR "/assay", "report", run, "-o", bare, "--plots");
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "gnuplot is not there");
    CU_ASSERT(access(path_of("%s/latency.gp", bare), R_OK) == 0);
    CU_ASSERT(access(path_of("%s/report.txt", bare), R_OK) == 0);
    if (access("/usr/bin/gnuplot", X_OK) != 0) {
        testing_skip("gnuplot is not there");
        return;
    }
    CHECK_STATUS(ASSAY("report", run, "-o", out, "--plots"), 0);
    CHECK_STATUS(ASSAY("report", run, "-o", again, "--plots"), 0);
    static const char *const files[] = {"success-cost.dat", "success-cost.gp", "success-cost.svg",
                                        "success-cost.png", "latency.dat",     "latency.gp",
                                        "latency.svg",      "latency.png"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        CU_ASSERT(same_files(out, again, files[i]));
    }
}

/* Intervals and tests are the same bytes from every compiler. */
static void compilers(void)
{
    static const char *const builds[] = {"clang", "release", "dev"};
    const char *base = forty_run(none, 0), *head = forty_run(two, 1);
    const char *want = ASSAY("compare", base, head, "--json")->out;
    const char *report = ASSAY("report", head, "--format", "json")->out;
    size_t compared = 0;
    for (size_t i = 0; i < sizeof builds / sizeof builds[0]; i++) {
        struct program_options o = {.program = path_of("%s/build/%s/assay", SOURCE_DIR, builds[i])};
        if (access(o.program, X_OK) == 0) {
            CHECK_TEXT(ASSAY_WITH(&o, "compare", base, head, "--json")->out, want);
            CHECK_TEXT(ASSAY_WITH(&o, "report", head, "--format", "json")->out, report);
            compared++;
        }
    }
    if (compared == 0) {
        testing_skip("no other build is there to compare with");
    }
}

TESTS(runs, {"statistics_are_the_same_for_every_compiler", compilers},
      {"merge_joins_shards_to_the_same_bytes", shards},
      {"merge_refuses_what_is_not_the_shards_of_one_run", bad_shards},
      {"score_judges_a_run_again_from_its_traces", rescoring},
      {"score_leaves_the_bytes_of_an_unchanged_set", rescoring_quickstart},
      {"scoring_again_names_the_sets_it_judged_by", judged_by},
      {"compacted_calls_count_live_and_scored_again", compacted},
      {"score_changes_nothing_where_a_trace_is_missing", missing_trace},
      {"score_judges_only_the_trace_that_the_trial_has_written", foreign_trace},
      {"eval_stops_at_its_budget", budget}, {"report_junit_names_what_failed", junit},
      {"report_writes_every_format", formats},
      {"report_tells_what_changed_since_a_baseline", compared},
      {"report_plots_are_the_same_bytes", plots})
