#include "ci/testing/testing.h"
#include "evals/eval.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- files ---- */

static struct arena *arena; /* of the test at hand */

static const char *in_dir(const char *dir, const char *name)
{
    return path_join(arena, dir, name);
}

static void put(const char *dir, const char *name, const char *text)
{
    struct err e;
    const char *path = in_dir(dir, name);
    CU_ASSERT_EQUAL_FATAL(dir_make(path_dir(arena, path), &e), 0);
    CU_ASSERT_EQUAL_FATAL(file_replace(path, str_of(text), &e), 0);
}

static struct str get(const char *dir, const char *name)
{
    struct str text = {0};
    struct err e;
    int rc = file_read(arena, in_dir(dir, name), 1 << 24, &text, &e);
    return rc == 0 ? text : STR("(no such file)");
}

static size_t lines_in(struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    return n;
}

#define CHECK_PART(text, part) CU_ASSERT(str_find((text), STR(part)) != SIZE_MAX)

/* ---- a set of `n` tasks that take one call each: task-0 … ---- */

static const char script[] =
    "version: 1\n"
    "steps:\n"
    "- reply:\n"
    "    calls: [{id: c1, name: calculator, arguments: {expression: 1+2}}]\n"
    "    usage: {input: 10, output: 5}\n"
    "- reply: {text: it is 3, usage: {input: 20, output: 4}}\n";

static const char *make_set(const char *dir, size_t n, const char *expect)
{
    struct buf set = {0};
    buf_addz(&set, "version: 1\nname: many\ndefaults: {tools: [{builtin: calculator}]}\ntasks:\n");
    for (size_t i = 0; i < n; i++) {
        buf_fmt(&set,
                "- {id: task-%zu, tags: [%s], prompt: one and two, fake: s.yaml, expect: {%s}}\n",
                i, i % 2 == 0 ? "even" : "odd", expect);
    }
    buf_char(&set, '\0');
    put(dir, "s.yaml", script);
    put(dir, "set.yaml", set.p);
    buf_free(&set);
    return in_dir(dir, "set.yaml");
}

#define GOOD_EXPECT "calls: {list: [{calculator: {expression: 1+2}}]}, answer: {contains: '3'}"

/* Runs one set; the report or NULL with *e. */
static struct eval_report *run(const char *set, struct eval_options o, struct err *e)
{
    struct eval_report *report = NULL;
    o.sets = &set;
    o.n_sets = 1;
    o.jobs = o.jobs == 0 ? 4 : o.jobs;
    int rc = eval_run(&o, &report, e);
    CU_ASSERT_EQUAL(rc == 0, report != NULL);
    return report;
}

/* A trial of it, read back. */
static struct eval_trial trial_of(const struct eval_report *r, size_t i)
{
    struct eval_trial t = {.n_calls = 0};
    struct err e;
    CU_ASSERT_FATAL(i < r->n);
    CU_ASSERT_EQUAL_FATAL(eval_details(r, &r->rows[i], arena, &t, &e), 0);
    return t;
}

static bool begin(void)
{
    arena = arena_new();
    return true;
}

static void end(void)
{
    arena_free(arena);
    arena = NULL;
}

/* ---- tests ---- */

static void same_bytes_at_any_jobs(void)
{
    begin();
    const char *dir = testing_dir();
    const char *set = make_set(dir, 70, GOOD_EXPECT);
    const char *outs[] = {in_dir(dir, "one"), in_dir(dir, "many")};
    const int64_t jobs[] = {1, 64};
    for (int i = 0; i < 2; i++) {
        struct err e;
        struct eval_report *r = run(
            set, (struct eval_options){.source = EVAL_FAKE, .jobs = jobs[i], .out = outs[i]}, &e);
        CU_ASSERT_PTR_NOT_NULL_FATAL(r);
        CU_ASSERT_EQUAL(r->exit_status, 0);
        CU_ASSERT_EQUAL(r->summary.passed, 70);
        eval_report_free(r);
    }
    struct str results = get(outs[0], "results.jsonl");
    CU_ASSERT_EQUAL(lines_in(results), 70);
    CU_ASSERT(str_eq(results, get(outs[1], "results.jsonl")));
    CU_ASSERT(str_eq(get(outs[0], "manifest.json"), get(outs[1], "manifest.json")));
    CU_ASSERT_EQUAL(lines_in(get(outs[1], "trials.jsonl")), 70);
    for (int i = 0; i < 70; i++) {
        const char *name = arena_printf(arena, "traces/task-%d.jsonl", i).p;
        struct str trace = get(outs[0], name);
        CU_ASSERT_EQUAL(lines_in(trace), 10);
        CU_ASSERT(str_eq(trace, get(outs[1], name)));
    }
    end();
}

/* A line of results.jsonl, worked by hand from the script. */
static void writes_the_line_of_the_format(void)
{
    begin();
    const char *dir = testing_dir();
    const char *out = in_dir(dir, "out");
    struct err e;
    struct eval_report *r =
        run(make_set(dir, 1, "calls: {list: [calculator, calculator]}, answer: '4'"),
            (struct eval_options){.source = EVAL_FAKE, .out = out}, &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_EQUAL(r->exit_status, 1);
    struct str line = get(out, "results.jsonl");
    CHECK_TEXT(
        line.p,
        "{\"task\":\"task-0\",\"trial\":1,\"model\":\"fake-1\",\"outcome\":\"fail\","
        "\"status\":\"completed\",\"scores\":{\"tool_selection\":0.500000,"
        "\"precision\":1.000000,\"recall\":0.500000,\"f1\":0.666667,\"arguments\":1.000000,"
        "\"trajectory\":false,\"success\":false},\"checks\":["
        "{\"name\":\"status\",\"passed\":true,\"message\":null},"
        "{\"name\":\"calls\",\"passed\":false,"
        "\"message\":\"expected call 2 of 2: calculator was not made\"},"
        "{\"name\":\"answer\",\"passed\":false,"
        "\"message\":\"expected \\\"4\\\", got \\\"it is 3\\\"\"}],"
        "\"calls\":[{\"name\":\"calculator\",\"arguments\":\"{\\\"expression\\\":\\\"1+2\\\"}\"}],"
        "\"answer\":\"it is 3\",\"steps\":2,\"usage\":{\"input\":30,\"cached\":null,"
        "\"cache_write\":null,\"output\":9,\"reasoning\":null},\"cost_nano\":null,"
        "\"latency_ms\":0,\"trace\":\"traces/task-0.jsonl\",\"problem\":null,"
        "\"set\":\"many\",\"line\":5,\"tags\":[\"even\"],\"expected_calls\":2}\n");
    eval_report_free(r);
    end();
}

static void example_replays_to_its_trace(void)
{
    const char *set = testing_corpus("../examples/margin.golden.yaml");
    const char *cassette = testing_corpus("../examples/margin.cassette.yaml");
    const char *trace = testing_corpus("../examples/margin.trace.jsonl");
    if (set == NULL || cassette == NULL || trace == NULL) {
        testing_skip("no examples beside the checkout");
        return;
    }
    begin();
    const char *dir = testing_dir();
    const char *out = in_dir(dir, "out");
    put(dir, "cassettes/margin-drop.yaml", get(".", cassette).p);
    struct err e;
    struct eval_report *r = run(set,
                                (struct eval_options){.source = EVAL_REPLAY,
                                                      .cassettes = in_dir(dir, "cassettes"),
                                                      .out = out,
                                                      .how = {.strict = true}},
                                &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_EQUAL(r->exit_status, 0);
    CU_ASSERT_EQUAL(r->summary.p95_latency_ms, 713);
    CU_ASSERT(str_eq(get(out, "traces/margin-drop.jsonl"), get(".", trace)));
    eval_report_free(r);
    end();
}

static void missing_cassette_is_a_miss(void)
{
    begin();
    const char *dir = testing_dir();
    const char *set = make_set(dir, 2, GOOD_EXPECT);
    const char *cassettes = in_dir(dir, "cassettes");
    put(cassettes, "task-1.yaml", "version: 1\ninteractions: [\n");
    const struct {
        const char *filter;
        int64_t allow;
        int status;
        size_t misses;
        const char *problem;
    } cases[] = {
        {"even", 0, 3, 1, "task-0.yaml is not there"},
        {"even", 1, 0, 1, "--record"},
        {"odd", 0, 2, 0, "task-1.yaml:"}, /* a file that is no cassette is bad input */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e;
        struct eval_report *r =
            run(set,
                (struct eval_options){.source = EVAL_REPLAY,
                                      .mend = "assay eval --record x",
                                      .cassettes = cassettes,
                                      .filters = &cases[i].filter,
                                      .n_filters = 1,
                                      .allow_errors = cases[i].allow,
                                      .out = arena_printf(arena, "%s/out-%zu", dir, i).p},
                &e);
        CU_ASSERT_PTR_NOT_NULL_FATAL(r);
        CU_ASSERT_EQUAL(r->exit_status, cases[i].status);
        CU_ASSERT_EQUAL(r->summary.misses, cases[i].misses);
        CU_ASSERT_EQUAL(r->summary.errors, 1);
        CU_ASSERT_EQUAL(r->summary.success.den, 0);
        CU_ASSERT_EQUAL(r->summary.costs.n, 0);
        CU_ASSERT_EQUAL(r->summary.usage.input, -1);
        CHECK_PART(get(r->out, "results.jsonl"), /* nothing was run: nothing is known */
                   "\"usage\":{\"input\":null,\"cached\":null,\"cache_write\":null,"
                   "\"output\":null,\"reasoning\":null},\"cost_nano\":null,"
                   "\"latency_ms\":null,\"trace\":null,");
        CU_ASSERT(str_find(trial_of(r, 0).problem, str_of(cases[i].problem)) != SIZE_MAX);
        eval_report_free(r);
    }
    end();
}

/* One trial that ran and one that did not: the sums are of the first. */
static void sums_are_of_what_ran(void)
{
    begin();
    const char *dir = testing_dir();
    const char *set = make_set(dir, 2, GOOD_EXPECT);
    put(dir, "c/task-1.yaml",
        "version: 1\ninteractions:\n- request:\n    method: POST\n"
        "    uri: http://x/v1/chat/completions\n    headers: {}\n    body: '{\"model\":\"m\","
        "\"messages\":[{\"role\":\"user\",\"content\":\"?\"}]}'\n"
        "  response:\n    status: {code: 200, message: OK}\n    headers: {}\n"
        "    body: {string: '{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"it "
        "is 3\"},"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}'}"
        "\n");
    struct err e;
    struct eval_report *r = run(set,
                                (struct eval_options){.source = EVAL_REPLAY,
                                                      .cassettes = in_dir(dir, "c"),
                                                      .how = {.match = CASSETTE_ORDER},
                                                      .out = in_dir(dir, "out")},
                                &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_EQUAL(r->summary.failed, 1);
    CU_ASSERT_EQUAL(r->summary.misses, 1);
    CU_ASSERT_EQUAL(r->summary.usage.input, 7);
    CU_ASSERT_EQUAL(r->summary.usage.output, 3);
    CU_ASSERT_EQUAL(r->summary.costs.n, 0);
    CU_ASSERT_EQUAL(r->exit_status, 3);
    eval_report_free(r);
    end();
}

/* The example's cassette for a task with another prompt (drift), and for one that ends after the
 * first reply (the second is not used). */
static void strict_turns_drift_and_unused_into_misses(void)
{
    const char *cassette = testing_corpus("../examples/margin.cassette.yaml");
    if (cassette == NULL) {
        testing_skip("no examples beside the checkout");
        return;
    }
    begin();
    const char *dir = testing_dir();
    put(dir, "c/t.yaml", get(".", cassette).p);
    put(dir, "drift.yaml",
        "version: 1\nname: d\ndefaults: {tools: [{builtin: calculator}]}\n"
        "tasks: [{id: t, prompt: Something else?, expect: {answer: {contains: '4.2'}}}]\n");
    put(dir, "unused.yaml",
        "version: 1\nname: u\ndefaults: {tools: [{builtin: calculator}]}\n"
        "tasks: [{id: t, budget: {steps: 1}, expect: {status: max_steps}, prompt: \"ACME's gross "
        "margin fell from 42.4% to 38.2%. By how many percentage points?\"}]\n");
    const struct {
        const char *set;
        bool order;
        bool strict;
        int status;
        size_t drifts;
        const char *problem; /* NULL = none */
    } cases[] = {
        {"drift.yaml", true, false, 0, 2, "Something else?"},
        {"drift.yaml", true, true, 3, 2, "and --strict makes that an error:\n  interaction 1"},
        {"drift.yaml", false, false, 3, 0, "Something else?"},
        {"unused.yaml", false, false, 0, 0, NULL},
        {"unused.yaml", false, true, 3, 0, "not used, and --strict makes that an error"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err e;
        struct eval_report *r = run(
            in_dir(dir, cases[i].set),
            (struct eval_options){.source = EVAL_REPLAY,
                                  .cassettes = in_dir(dir, "c"),
                                  .how = {.match = cases[i].order ? CASSETTE_ORDER : CASSETTE_BODY,
                                          .strict = cases[i].strict},
                                  .out = arena_printf(arena, "%s/out-%zu", dir, i).p},
            &e);
        CU_ASSERT_PTR_NOT_NULL_FATAL(r);
        CU_ASSERT_EQUAL(r->exit_status, cases[i].status);
        CU_ASSERT_EQUAL(r->summary.drifts, cases[i].drifts);
        CU_ASSERT_EQUAL(r->summary.misses, cases[i].status == 3 ? 1 : 0);
        struct str problem = trial_of(r, 0).problem;
        CU_ASSERT_EQUAL(problem.n > 0, cases[i].problem != NULL);
        CU_ASSERT(cases[i].problem == NULL ||
                  str_find(problem, str_of(cases[i].problem)) != SIZE_MAX);
        CU_ASSERT(!str_ends(problem, "\n"));
        eval_report_free(r);
    }
    end();
}

static void leftover_steps_fail(void)
{
    begin();
    const char *dir = testing_dir();
    const char *set = make_set(dir, 1, "answer: early");
    put(dir, "s.yaml", "version: 1\nsteps: [{reply: {text: early}}, {reply: {text: late}}]\n");
    struct err e;
    struct eval_report *r =
        run(set, (struct eval_options){.source = EVAL_FAKE, .out = in_dir(dir, "out")}, &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    struct eval_trial t = trial_of(r, 0);
    const struct eval_verdict *v = &t.verdict;
    CU_ASSERT_EQUAL(v->outcome, EVAL_FAIL);
    CU_ASSERT_FATAL(v->n_checks > 0);
    CU_ASSERT(str_is(v->checks[v->n_checks - 1].name, "script"));
    CU_ASSERT_EQUAL(r->exit_status, 1);
    eval_report_free(r);
    end();
}

static void several_trials_have_a_trace_each(void)
{
    begin();
    const char *dir = testing_dir();
    const char *out = in_dir(dir, "out");
    struct err e;
    struct eval_report *r =
        run(make_set(dir, 2, GOOD_EXPECT),
            (struct eval_options){.source = EVAL_FAKE, .out = out, .trials = 3}, &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_EQUAL(r->n, 6);
    CU_ASSERT(str_is(r->rows[4].task, "task-1"));
    CU_ASSERT_EQUAL(r->rows[4].trial, 2);
    CU_ASSERT(str_is(trial_of(r, 4).trace, "traces/task-1.2.jsonl"));
    CU_ASSERT_EQUAL(lines_in(get(out, "traces/task-1.2.jsonl")), 10);
    CU_ASSERT(!str_eq(get(out, "traces/task-1.2.jsonl"), get(out, "traces/task-1.3.jsonl")));
    eval_report_free(r);
    end();
}

/* Else no script could show a flaky task. */
static void trials_choose_apart(void)
{
    begin();
    const char *dir = testing_dir();
    const char *set = make_set(dir, 1, "answer: heads");
    struct err e;
    size_t passed = 0;
    put(dir, "s.yaml", "version: 1\nsteps: [{replies: [{text: heads}, {text: tails}]}]\n");
    struct eval_report *r = run(
        set, (struct eval_options){.source = EVAL_FAKE, .out = in_dir(dir, "out"), .trials = 20},
        &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    for (size_t i = 0; i < r->n; i++) {
        passed += r->rows[i].outcome == EVAL_PASS;
    }
    CU_ASSERT(r->n == 20 && passed > 0 && passed < 20);
    eval_report_free(r);
    end();
}

static void chosen_tasks_are_run_alone(void)
{
    begin();
    const char *dir = testing_dir();
    struct err e;
    struct eval_report *r =
        run(make_set(dir, 5, GOOD_EXPECT),
            (struct eval_options){
                .source = EVAL_FAKE, .out = in_dir(dir, "out"), .task = "task-3, task-1,task-3"},
            &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT_EQUAL_FATAL(r->n, 2);
    CU_ASSERT(str_is(r->rows[0].task, "task-1") && str_is(r->rows[1].task, "task-3"));
    CU_ASSERT_STRING_EQUAL(r->rows[1].shared->file, in_dir(dir, "set.yaml"));
    CU_ASSERT_EQUAL(r->rows[1].line, 8);
    eval_report_free(r);
    end();
}

static void check_refused(struct eval_options o, const char *out, int code, const char *message)
{
    struct eval_report *r = NULL;
    struct err e = {0};
    char text[1600];
    o.jobs = 1;
    o.out = out;
    int rc = eval_run(&o, &r, &e);
    err_text(&e, text, sizeof text);
    CU_ASSERT_EQUAL(rc, code);
    if (strstr(text, message) == NULL) {
        CHECK_TEXT(text, message);
    }
    CU_ASSERT(!path_exists(out));
}

/* What is refused before anything is run: the code, a part of the message, no run directory. */
static void refuses_before_running(void)
{
    begin();
    const char *dir = testing_dir();
    const char *set = make_set(dir, 3, GOOD_EXPECT);
    put(dir, "noscript.yaml",
        "version: 1\nname: n\ntasks: [{id: t, prompt: p, expect: {answer: x}}]\n");
    put(dir, "tags.yaml",
        "version: 1\nname: n\ntasks: [{id: t, tags: [slow-ish, slow], prompt: p}]\n");
    put(dir, "lost.yaml",
        "version: 1\nname: n\ntasks: [{id: t, prompt: p, fake: gone.yaml, expect: {answer: x}}]\n");
    put(dir, "broken.yaml", "version: 1\nname: n\ntasks: 3\n");
    put(dir, "failed.yaml", "version: 1\nname: n\ntasks: [{id: t.failed, prompt: p}]\n");
    put(dir, "recorded/task-1.yaml", "version: 1\ninteractions: []\n");
    const char *out = in_dir(dir, "out");
    const char *noscript = in_dir(dir, "noscript.yaml");
    const char *broken = in_dir(dir, "broken.yaml");
    const char *failed = in_dir(dir, "failed.yaml");
    const char *lost = in_dir(dir, "lost.yaml");
    const char *tags = in_dir(dir, "tags.yaml");
    const char *twice[] = {set, set};
    const char *const prime[] = {"prime"}, *const odd[] = {"odd"};
    const char *recorded = in_dir(dir, "recorded");
    const struct {
        struct eval_options o;
        int code;
        const char *message;
    } cases[] = {
        {{.sets = twice, .n_sets = 2}, ERR_INPUT, "is also in"},
        {{.sets = &set, .n_sets = 1, .filters = prime, .n_filters = 1}, ERR_NOT_FOUND, "even, odd"},
        {{.sets = &noscript, .n_sets = 1, .filters = prime, .n_filters = 1},
         ERR_NOT_FOUND,
         "has any tag"},
        {{.sets = &tags, .n_sets = 1, .filters = prime, .n_filters = 1},
         ERR_NOT_FOUND,
         "slow-ish, slow"},
        {{.sets = &set, .n_sets = 1, .task = "task-0,tsk-1"},
         ERR_NOT_FOUND,
         "did you mean task-1?"},
        {{.sets = &set, .n_sets = 1, .task = "xyzzy"}, ERR_NOT_FOUND, "task-0"},
        {{.sets = &set, .n_sets = 1, .task = "task-0,,task-1"}, ERR_USAGE, "--task"},
        {{.sets = &set, .n_sets = 1, .task = "task-0", .filters = odd, .n_filters = 1},
         ERR_NOT_FOUND,
         "even, odd"},
        {{.sets = &broken, .n_sets = 1, .source = EVAL_LIVE}, ERR_INPUT, "must be a list"},
        {{.sets = &failed, .n_sets = 1, .source = EVAL_RECORD, .cassettes = recorded, .model = "m"},
         ERR_INPUT,
         "rename the task"},
        {{.sets = &noscript, .n_sets = 1}, ERR_INPUT, "no script to play"},
        {{.sets = &lost, .n_sets = 1}, ERR_NOT_FOUND, "gone.yaml"},
        {{.sets = &set, .n_sets = 1, .source = EVAL_REPLAY, .cassettes = "/no/such"},
         ERR_NOT_FOUND,
         "no such folder"},
        {{.sets = &set, .n_sets = 1, .source = EVAL_LIVE}, ERR_USAGE, "--model"},
        {{.sets = &set, .n_sets = 1, .source = EVAL_RECORD, .cassettes = recorded, .model = "m"},
         ERR_EXISTS,
         "--mode all"},
        {{.n_sets = 0}, ERR_USAGE, "golden set"},
        {{.sets = &set, .n_sets = 1, .trials = 1000000}, ERR_LIMIT, "--trials"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_refused(cases[i].o, out, cases[i].code, cases[i].message);
    }
    end();
}

static void never_overwrites_a_run(void)
{
    begin();
    const char *dir = testing_dir();
    const char *set = make_set(dir, 1, GOOD_EXPECT);
    struct eval_options o = {.source = EVAL_FAKE, .out = in_dir(dir, "out")};
    struct err e;
    CU_ASSERT_EQUAL(dir_make(o.out, &e), 0); /* empty is fine */
    struct eval_report *r = run(set, o, &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    eval_report_free(r);
    CU_ASSERT_PTR_NULL(run(set, o, &e));
    CU_ASSERT_EQUAL(e.code, ERR_EXISTS);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, "--out"));
    end();
}

/* Runs fn in a process of its own; its exit status. */
static int in_child(int (*fn)(const char *dir, const char *set), const char *dir, const char *set)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(fn(dir, set));
    }
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_twice_unnamed(const char *dir, const char *set)
{
    int good = chdir(dir) == 0;
    for (int i = 0; i < 2; i++) {
        struct err e;
        struct eval_report *r = run(set, (struct eval_options){.source = EVAL_FAKE}, &e);
        good = good && r != NULL && strcmp(r->out, i == 0 ? "runs/many" : "runs/many-2") == 0;
        eval_report_free(r);
    }
    return good ? 0 : 1;
}

static void unnamed_runs_are_numbered(void)
{
    begin();
    const char *dir = testing_dir();
    const char *set = make_set(dir, 1, GOOD_EXPECT);
    CU_ASSERT_EQUAL(in_child(run_twice_unnamed, dir, set), 0);
    CU_ASSERT_EQUAL(lines_in(get(dir, "runs/many-2/results.jsonl")), 1);
    end();
}

/* ---- interrupts and full disks ---- */

static void interrupt_after_three(void *ctx, const struct eval_progress *p)
{
    (void)ctx;
    if (p->done == 3) {
        raise(SIGINT);
    }
}

static void an_interrupt_keeps_what_is_finished(void)
{
    begin();
    const char *dir = testing_dir();
    const char *out = in_dir(dir, "out");
    struct err e;
    struct eval_report *r =
        run(make_set(dir, 200, GOOD_EXPECT),
            (struct eval_options){
                .source = EVAL_FAKE, .out = out, .jobs = 8, .progress = interrupt_after_three},
            &e);
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    CU_ASSERT(r->interrupted);
    CU_ASSERT_EQUAL(r->exit_status, 130);
    CU_ASSERT(r->n >= 3 && r->n < 200);
    CU_ASSERT_EQUAL(lines_in(get(out, "trials.jsonl")), r->n);
    CU_ASSERT_EQUAL(lines_in(get(out, "results.jsonl")), r->n);
    for (size_t i = 0; i < r->n; i++) {
        CU_ASSERT_EQUAL(r->rows[i].outcome, EVAL_PASS);
    }
    eval_report_free(r);
    end();
}

static void interrupt_at_once(void *ctx, const struct eval_progress *p)
{
    (void)ctx, (void)p;
    kill(getpid(), SIGINT);
}

/* The first interrupt cancels. Cancelled trials have no outcome, so progress is not told of them
 * and the run ends with 130. */
static int run_interrupted(const char *dir, const char *set)
{
    struct err e;
    struct eval_report *r = run(set,
                                (struct eval_options){.source = EVAL_FAKE,
                                                      .out = in_dir(dir, "out"),
                                                      .jobs = 1,
                                                      .progress = interrupt_at_once},
                                &e);
    return r == NULL ? 1 : r->exit_status;
}

static void an_interrupted_run_exits_130(void)
{
    begin();
    const char *dir = testing_dir();
    CU_ASSERT_EQUAL(in_child(run_interrupted, dir, make_set(dir, 50, GOOD_EXPECT)), 130);
    end();
}

/* A limit on the size of files stands in for a full disk: the journal hits it first. */
static int run_on_a_full_disk(const char *dir, const char *set)
{
    struct rlimit limit = {4096, 4096};
    struct err e = {0};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 1;
    }
    struct eval_report *r = run(
        set, (struct eval_options){.source = EVAL_FAKE, .out = in_dir(dir, "out"), .jobs = 2}, &e);
    bool told = strstr(e.message, "finished trials are in") != NULL;
    return r == NULL && e.code == ERR_IO && told ? 0 : 2;
}

static void a_full_disk_keeps_what_is_finished(void)
{
    begin();
    const char *dir = testing_dir();
    CU_ASSERT_EQUAL(in_child(run_on_a_full_disk, dir, make_set(dir, 60, GOOD_EXPECT)), 0);
    struct str journal = get(dir, "out/trials.jsonl");
    CU_ASSERT(lines_in(journal) >= 2);
    for (size_t at = 0; at < journal.n;) {
        const char *newline = memchr(journal.p + at, '\n', journal.n - at);
        if (newline == NULL) {
            break; /* what still fitted of the next line */
        }
        struct str line = str_slice(journal, at, (size_t)(newline - journal.p));
        struct val *v;
        struct err e;
        CU_ASSERT_EQUAL(json_parse(arena, NULL, line, &v, &e), 0);
        at += line.n + 1;
    }
    CU_ASSERT(!path_exists(in_dir(dir, "out/results.jsonl")));
    end();
}

/* Two scripts with models that are priced in two currencies, and one that nobody priced. */
static void costs_stand_by_currency(void)
{
    static const struct {
        const char *tasks; /* that are run */
        const char *json;
        size_t n_costs;
    } cases[] = {
        /* 1000 × 2 + 100 × 10 by the million, twice */
        {"a,b", "\"cost_nano\":6000000,\"currency\":\"USD\",\"p50_latency_ms\"", 1},
        {"a,c",
         "\"cost_nano\":null,\"costs\":{\"CNY\":30000000,\"USD\":3000000},\"p50_latency_ms\"", 2},
        {"a,d", "\"cost_nano\":null,\"p50_latency_ms\"", 0},
        {"c", "\"cost_nano\":30000000,\"currency\":\"CNY\",\"p50_latency_ms\"", 1},
    };
    static const char *const models[] = {"usd", "usd", "cny", "none"};
    begin();
    const char *dir = testing_dir();
    struct buf set = {0};
    struct prices *prices = NULL;
    struct err e;
    buf_addz(&set, "version: 1\nname: money\ntasks:\n");
    for (size_t i = 0; i < 4; i++) {
        char task = (char)('a' + i), name[] = "a.yaml";
        name[0] = task;
        buf_fmt(&set, "- {id: %c, prompt: p, fake: %s, expect: {no_calls: true}}\n", task, name);
        put(dir, name,
            arena_printf(arena,
                         "version: 1\nmodel: %s\nsteps:\n- reply: {text: hi, usage: {input: 1000, "
                         "output: 100}}\n",
                         models[i])
                .p);
    }
    buf_char(&set, '\0');
    put(dir, "set.yaml", set.p);
    put(dir, "prices.yaml",
        "version: 1\ntables:\n"
        "- {currency: USD, models: [{match: usd, input: 2, output: 10}]}\n"
        "- {currency: CNY, models: [{match: c*, input: 20, output: 100}]}\n");
    CU_ASSERT_EQUAL_FATAL(prices_load(in_dir(dir, "prices.yaml"), &prices, &e), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf json = {0};
        struct eval_report *r =
            run(in_dir(dir, "set.yaml"),
                (struct eval_options){.source = EVAL_FAKE,
                                      .prices = prices,
                                      .task = cases[i].tasks,
                                      .out = in_dir(dir, arena_printf(arena, "out%zu", i).p)},
                &e);
        CU_ASSERT_PTR_NOT_NULL_FATAL(r);
        eval_summary_json(&json, &r->summary);
        CU_ASSERT(str_find(buf_str(&json), str_of(cases[i].json)) != SIZE_MAX);
        CU_ASSERT_EQUAL(r->summary.costs.n, cases[i].n_costs);
        buf_free(&json);
        eval_report_free(r);
    }
    CHECK_PART(get(dir, "out3/results.jsonl"),
               "\"cost_nano\":30000000,\"currency\":\"CNY\",\"latency_ms\"");
    CHECK_PART(get(dir, "out2/results.jsonl"), "\"cost_nano\":null,\"latency_ms\"");
    prices_free(prices);
    buf_free(&set);
    end();
}

TESTS(run, {"run_shows_costs_by_currency", costs_stand_by_currency},
      {"run_gives_the_same_bytes_at_any_jobs", same_bytes_at_any_jobs},
      {"run_writes_the_line_of_the_format", writes_the_line_of_the_format},
      {"run_replays_the_example_to_its_trace", example_replays_to_its_trace},
      {"run_takes_a_missing_cassette_for_a_miss", missing_cassette_is_a_miss},
      {"run_sums_what_ran", sums_are_of_what_ran},
      {"run_takes_drift_for_a_miss_only_when_strict", strict_turns_drift_and_unused_into_misses},
      {"run_fails_a_script_with_steps_left", leftover_steps_fail},
      {"run_writes_a_trace_for_each_of_several_trials", several_trials_have_a_trace_each},
      {"run_lets_the_trials_of_a_script_choose_apart", trials_choose_apart},
      {"run_takes_the_chosen_tasks_alone", chosen_tasks_are_run_alone},
      {"run_refuses_what_cannot_work_before_it_starts", refuses_before_running},
      {"run_never_overwrites_another", never_overwrites_a_run},
      {"run_numbers_directories_that_nobody_named", unnamed_runs_are_numbered},
      {"run_keeps_what_is_finished_at_an_interrupt", an_interrupt_keeps_what_is_finished},
      {"run_exits_130_after_an_interrupt", an_interrupted_run_exits_130},
      {"run_keeps_what_is_finished_on_a_full_disk", a_full_disk_keeps_what_is_finished})
