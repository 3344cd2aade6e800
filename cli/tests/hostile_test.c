/* What a hostile or unlucky user has: shards that name files elsewhere, gates that say nothing,
 * names that a terminal would obey, programs that leave something running. */
#include "ci/testing/testing.h"
#include "cli/tests/forty.h"
#include "cli/tests/program.h"
#include "kernel/base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int none[] = {0};

enum { SLOW_S = 64 }; /* a machine on which a shell takes longer is none to test on */

/* ---- merge ---- */

struct shard_pair {
    const char *dir, *one, *two, *out;
};

static struct shard_pair two_shards(void)
{
    const char *dir = testing_dir(), *set = forty_tasks(none);
    struct shard_pair s = {dir, path_of("%s/1", dir), path_of("%s/2", dir), path_of("%s/out", dir)};
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--task", "t1,t2", "--shard", "1/2", "--out", s.one),
                 0);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--task", "t1,t2", "--shard", "2/2", "--out", s.two),
                 0);
    return s;
}

/* The text with the first `old` replaced. */
static const char *replaced(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    return path_of("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
}

/* The shard names its trace so; nothing may be written, inside or outside. */
static void refuse_trace(const char *name, const char *part)
{
    struct shard_pair s = two_shards();
    const char *results = read_text(path_of("%s/results.jsonl", s.two), NULL);
    write_text(s.dir, "elsewhere", "{}\n");
    write_text(s.dir, "elsewhere.jsonl", "{}\n");
    write_text(s.two, "results.jsonl", replaced(results, "traces/t2.jsonl", name));
    const struct ran *r = ASSAY("merge", s.one, s.two, "--out", s.out);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, part);
    CU_ASSERT(access(s.out, F_OK) != 0);
}

static void traces_elsewhere(void)
{
    static const char *const names[] = {"../elsewhere",
                                        "../elsewhere.jsonl",
                                        "traces/../../elsewhere.jsonl",
                                        "/etc/passwd",
                                        "traces/t2.jsonl\\u0000.jsonl",
                                        "traces//t2.jsonl",
                                        "manifest.json",
                                        "traces/\\u001b[31m"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        refuse_trace(names[i], "expected traces/NAME.jsonl");
    }
}

static void traces_missing(void)
{
    refuse_trace("traces/gone.jsonl", "the trace of trial 1 of t2 is missing");
    struct shard_pair s = two_shards();
    const char *trace = path_of("%s/traces/t2.jsonl", s.two);
    CU_ASSERT(unlink(trace) == 0 && mkfifo(trace, 0600) == 0);
    const struct ran *r = ASSAY("merge", s.one, s.two, "--out", s.out);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "t2.jsonl: the trace of trial 1 of t2 is missing");
    CU_ASSERT(access(s.out, F_OK) != 0);
}

/* The results of another shard were copied over those of this one. */
static void one_trial_in_two_shards(void)
{
    struct shard_pair s = two_shards();
    const char *file = path_of("%s/traces/t1.jsonl", s.one);
    write_text(s.two, "results.jsonl", read_text(path_of("%s/results.jsonl", s.one), NULL));
    write_text(path_of("%s/traces", s.two), "t1.jsonl", read_text(file, NULL));
    const struct ran *r = ASSAY("merge", s.one, s.two, "--out", s.out);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "trial 1 of t1 is also in ");
    CU_ASSERT(access(s.out, F_OK) != 0);
}

static void journal_alone(void)
{
    struct shard_pair s = two_shards();
    CU_ASSERT(unlink(path_of("%s/results.jsonl", s.two)) == 0);
    const struct ran *r = ASSAY("merge", s.one, s.two, "--out", s.out);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "it is not finished: 1 of 1 trials, and no results.jsonl");
}

/* ---- gates ---- */

static void empty_gates(void)
{
    static const struct {
        const char *gate, *part;
    } cases[] = {
        {"success>=95%", "--gate 'success>=95%': shares are from 0 to 1, for 95% write 0.95"},
        {"success_drop<= 5 %", "for 5% write 0.05"},
        {"steps<=95%", "--gate wants METRIC OP NUMBER"},
        {"success>=%", "--gate wants METRIC OP NUMBER"},
        {"success>=95", "holds always or never: success is from 0 to 1 (95% is 0.95)"},
        {"success>=-1", "from 0 to 1"},
        {"pass@2>1.01", "pass@K is from 0 to 1"},
        {"worse_p>=5", "from 0 to 1"},
        {"success_drop<=2", "success_drop is from -1 to 1 (5 points are 0.05)"},
        {"errors>=-1", "errors is never below 0"},
        {"cost_usd>-0.5", "never below 0"},
        {"pass@0>=0.5", "pass@K wants for K how many trials of a task, 1 to 1000000"},
        {"pass@>=0.5", "as in 'pass@3>=0.8', got \"pass@\""},
        {"pass^1.6>=0.5", "pass^K wants"},
        {"pass^1e1>=0.5", "pass^K wants"},
        {"pass@99999999999999999999>=0.5", "pass@K wants"}};
    const char *base = forty_run(none, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("compare", base, base, "--gate", cases[i].gate);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
    CHECK_STATUS(ASSAY("compare", base, base, "--gate", "success_drop<=-0"), 0);
}

#define RESULT(task, model, outcome)                                                               \
    "{\"task\":\"" task "\",\"trial\":1,\"model\":\"" model "\",\"outcome\":\"" outcome            \
    "\",\"status\":\"completed\",\"scores\":{},\"checks\":[],\"calls\":[],\"answer\":null,"        \
    "\"steps\":1,\"usage\":{},\"cost_nano\":null,\"latency_ms\":5,\"trace\":\"traces/x.jsonl\"}\n"

static const char *made_run(const char *results, int trials)
{
    const char *dir = path_of("%s", testing_dir());
    write_text(dir, "manifest.json", path_of("{\"version\":1,\"sets\":[],\"trials\":%d}", trials));
    write_text(dir, "results.jsonl", results);
    return dir;
}

/* Where the endpoint was down for the whole of the head, no task regressed that could be seen. */
static void nothing_compared(void)
{
    const char *base = made_run(RESULT("a", "m", "pass") RESULT("b", "m", "pass"), 2);
    const char *head = made_run(RESULT("a", "m", "error") RESULT("b", "m", "error"), 2);
    const struct ran *r = ASSAY("compare", base, head, "--gate", "regressions==0");
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "gate regressions==0: fails, there is nothing to measure it by");
    CHECK_STATUS(ASSAY("compare", base, base, "--gate", "regressions==0"), 0);
}

/* ---- what a run directory says ---- */

/* Nobody writes such a line: it is refused with its place, whatever reads it. */
static void odd_results(void)
{
    static const struct {
        const char *old, *new;
        const char *says;
    } cases[] = {
        {"\"outcome\":\"pass\"", "\"outcome\":\"fail\",\"outcome\":\"pass\"",
         "results.jsonl:1:52: \"outcome\" stands twice in one object"},
        {"\"usage\":{}", "\"usage\":{\"input\":1,\"input\":2}",
         "results.jsonl:1:151: \"input\" stands twice in one object"},
        {"\"usage\":{}", "\"usage\":{\"input\":-1}",
         "results.jsonl:1:149: \"input\" is a number: expected a whole number from 0 to 10^12"},
        {"traces/x.jsonl", "../x.jsonl", "the trace is \"../x.jsonl\": expected traces/NAME.jsonl"},
        {"traces/x.jsonl", "/dev/zero", "the trace is \"/dev/zero\": expected traces/NAME.jsonl"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *run =
            made_run(replaced(RESULT("a", "m", "pass"), cases[i].old, cases[i].new), 1);
        const struct ran *r = ASSAY("report", run);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].says);
        r = ASSAY("score", run);
        CHECK_STATUS(r, 2);
        CHECK_ERR(r, cases[i].says);
    }
}

static void odd_manifests(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"version\":1,\"trials\":1,\"sets\":[],\"version\":1}",
         "\"version\" stands twice in one object"},
        {"{\"version\":1,\"trials\":1,\"sets\":[{\"name\":null,\"path\":null}]}",
         "expected version 1, sets with name and path"},
        {"{\"version\":1,\"trials\":1,\"sets\":[],\"shard\":\"1/2/3\"}", "its shard is no I/N"},
        {"{\"version\":1,\"trials\":1,\"sets\":[],\"shard\":\"1.6/3\"}", "its shard is no I/N"},
        {"{\"version\":1,\"trials\":1,\"sets\":[],\"shard\":\"1e3/1e3\"}", "its shard is no I/N"},
        {"{\"version\":1,\"trials\":1,\"sets\":[],\"shard\":\"01/02\"}", "its shard is no I/N"},
        {"{\"version\":1,\"trials\":1,\"sets\":[],\"shard\":\"3/2\"}", "its shard is no I/N"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *run = made_run(RESULT("a", "m", "pass"), 1);
        write_text(run, "manifest.json", cases[i].text);
        const struct ran *r = ASSAY("report", run);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].says);
    }
    const char *file = write_text(testing_dir(), "run", "x");
    const struct ran *r = ASSAY("report", file);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "is a file: expected the folder of a run");
}

/* 9,224 times 10^15 is more than 64 bits hold: a sum that is not known. */
static void spent_beyond_numbers(void)
{
    enum { TRIALS = 9300 };
    struct buf results = {0};
    for (int i = 0; i < TRIALS; i++) {
        const char *line = RESULT("a", "m", "pass");
        line = replaced(line, "\"trial\":1", "\"trial\":%d");
        line = replaced(line, "\"cost_nano\":null",
                        "\"cost_nano\":1000000000000000,\"currency\":\"USD\"");
        buf_fmt(&results, line, i + 1);
    }
    buf_char(&results, '\0');
    const struct ran *r = ASSAY("report", made_run(results.p, TRIALS));
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, ", cost unpriced, time ");
    buf_free(&results);
}

/* ---- names ---- */

/* A model is named by its endpoint, a task by a file from elsewhere. */
static void names_that_are_obeyed(void)
{
#define EVIL "\\u001b[31m\\u0007\\u202e\\u009b\\n"
    const char *base = made_run(RESULT("a", "m", "pass") RESULT("x" EVIL "y", "m", "pass")
                                    RESULT("c", "m" EVIL, "pass"),
                                3);
    const char *head = made_run(RESULT("a", "m", "pass") RESULT("x" EVIL "y", "m", "fail"), 2);
    const struct ran *r = ASSAY("compare", base, head);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "\n  x [31m    y (m)  1/1 → 0/1\n");
    CHECK_OUT(r, "\n  c (m [31m    )  1/1 → none\n");
    CU_ASSERT(strpbrk(r->out, "\x1b\x07") == NULL);
    CU_ASSERT(strstr(r->out, "\u202e") == NULL && strstr(r->out, "\xc2\x9b") == NULL);
}

/* What reports show to people, and what other programs make of them. */
static void reported_names(void)
{
    const char *run =
        made_run(RESULT("x" EVIL "y", "m" EVIL, "fail") RESULT("@octocat", "#1", "pass")
                     RESULT("https://evil.example www.evil.example GH-7", "<b>&lt;", "pass")
                         RESULT("\\t=1", "\\u0000\\u007f", "pass"),
                 4);
    write_text(run, "results.jsonl",
               replaced(read_text(path_of("%s/results.jsonl", run), NULL), "\"cost_nano\":null",
                        "\"cost_nano\":1,\"currency\":\"U" EVIL "\""));
    const struct ran *r = ASSAY("report", run);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "x [31m    y");
    CHECK_OUT(r, "m [31m    : 0 of 1 passed");
    CU_ASSERT(strpbrk(r->out, "\x1b\x07") == NULL);
    CU_ASSERT(strstr(r->out, "\u202e") == NULL && strstr(r->out, "\xc2\x9b") == NULL);
    r = ASSAY("report", run, "--format", "junit");
    CU_ASSERT(strstr(r->out, "\u202e") == NULL && strstr(r->out, "\xc2\x9b") == NULL);
    r = ASSAY("report", run, "--format", "csv");
    CHECK_OUT(r, ",,\"'\t=1\",,1,\xef\xbf\xbd\xef\xbf\xbd,pass,");
    write_text(run, "results.jsonl",
               RESULT("@octocat", "#1", "fail")
                   RESULT("https://evil.example www.evil.example GH-7", "<b>&lt;", "fail"));
    r = ASSAY("report", run, "--format", "markdown");
    CHECK_OUT(r, "**@&#8203;octocat (#&#8203;1)**");
    CHECK_OUT(r,
              "**https&#58;//evil.example w&#8203;ww.evil.example G&#8203;H-7 (&lt;b>&amp;lt;)**");
    CHECK_OUT(r, " | #&#8203;1 | ");
    CHECK_OUT(r, " | &lt;b>&amp;lt; | ");
}

/* ---- programs ---- */

/* What a prompt says would be run by whoever takes this word for a script. */
static void prompts_in_scripts(void)
{
    static const struct {
        const char *command;
        int status;
    } cases[] = {
        {"env A=b sh -c 'echo {prompt}'", 2},    {"timeout 5 /bin/bash -lc 'echo x{prompt}'", 2},
        {"sh -o errexit -c 'echo {prompt}'", 2}, {"env python3 -c 'print(\"{prompt}\")'", 2},
        {"perl -w -e 'print \"{prompt}\"'", 2},  {"env printf %s {prompt}", 0},
        {"sh say.sh --exec {prompt}", 0},        {"env python3 say.sh -c {prompt}", 0}};
    const char *dir = testing_dir();
    const struct program_options here = {.dir = dir};
    write_text(dir, "s.yaml", "version: 1\nrules:\n- reply: {text: hi}\n");
    write_text(dir, "say.sh", "print\n");
    write_text(dir, "set.yaml",
               "version: 1\nname: s\ntasks:\n- {id: a, prompt: $(touch x), fake: s.yaml, expect: "
               "{status: program_failed}}\n- {id: b, prompt: $(touch x), fake: s.yaml}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY_WITH(&here, "eval", "set.yaml", "--fake", "--agent",
                                         cases[i].command, "--out", path_of("%s/%zu", dir, i));
        bool refused = strstr(r->err, "the prompt would be run as a part of this script") != NULL;
        if (refused != (cases[i].status == 2)) {
            FAIL("%s: %d, %s", cases[i].command, r->status, r->err);
        }
        CU_ASSERT(access(path_of("%s/x", dir), F_OK) != 0);
    }
}

/* The program ends well, but leaves a process in a session of its own that keeps its output open.
 */
static void left_running(void)
{
    const char *dir = testing_dir(), *pid = path_of("%s/pid", dir);
    const char *set = write_text(dir, "set.yaml",
                                 "version: 1\nname: s\ntasks:\n- id: a\n  prompt: hi\n"
                                 "  fake: s.yaml\n");
    if (access("/proc/thread-self/children", R_OK) != 0) {
        testing_skip("this system does not tell which processes are left");
        return;
    }
    write_text(dir, "s.yaml", "version: 1\nrules:\n- reply: {text: hi}\n");
    const char *command =
        path_of("sh -c 'setsid sh -c \"echo \\$\\$ > \\\"%s\\\"; exec sleep 3000\" & "
                "while ! test -s \"%s\"; do :; done; echo done'",
                pid, pid);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--agent", command, "--out", path_of("%s/run", dir)),
                 0);
    CU_ASSERT(program_run((const char *const[]){"-c", path_of("kill $(cat '%s')", pid), NULL},
                          &(struct program_options){.program = "/bin/sh"})
                  ->status != 0);
}

TESTS(hostile, {"merge_writes_only_into_its_own_folder", traces_elsewhere},
      {"merge_looks_for_all_traces_before_it_writes", traces_missing},
      {"merge_refuses_a_trial_that_two_shards_hold", one_trial_in_two_shards},
      {"merge_says_that_a_shard_has_no_results", journal_alone},
      {"gates_that_hold_always_or_never_are_refused", empty_gates},
      {"a_gate_on_regressions_fails_where_nothing_was_compared", nothing_compared},
      {"compare_shows_names_that_a_terminal_would_obey_as_spaces", names_that_are_obeyed},
      {"results_that_nobody_writes_are_refused", odd_results},
      {"manifests_that_nobody_writes_are_refused", odd_manifests},
      {"what_was_spent_beyond_64_bits_is_not_known", spent_beyond_numbers},
      {"reports_show_names_that_are_obeyed_as_plain_text", reported_names},
      {"what_a_program_leaves_running_is_killed", left_running},
      {"agents_whose_script_would_hold_the_prompt_are_refused", prompts_in_scripts})
