/* Reports hold rows, and read the rest back; runs of any length take little memory. */
#include "ci/testing/testing.h"
#include "evals/rows_int.h"
#include "evals/run_int.h"
#include "evals/runs.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct arena *arena;

static const char *in_dir(const char *dir, const char *name)
{
    return path_join(arena, dir, name);
}

static void put(const char *dir, const char *name, struct str text)
{
    CU_ASSERT_EQUAL_FATAL(file_replace(in_dir(dir, name), text, NULL), 0);
}

/* A line of results, as README.md of evals has them. */
static void add_line(struct buf *out, const char *task, int64_t trial, const char *outcome,
                     const char *model)
{
    bool error = strcmp(outcome, "error") == 0;
    bool pass = strcmp(outcome, "pass") == 0;
    buf_fmt(
        out,
        "{\"task\":\"%s\",\"trial\":%lld,\"model\":\"%s\",\"outcome\":\"%s\",\"status\":"
        "\"%s\",\"scores\":{\"tool_selection\":1.000000,\"precision\":0.333333,\"recall\":"
        "1.000000,\"f1\":0.500000,\"arguments\":null,\"trajectory\":true,\"success\":%s},"
        "\"checks\":[{\"name\":\"calls\",\"passed\":%s,\"message\":%s}],\"calls\":[{\"name\":"
        "\"a\",\"arguments\":\"{\\\"x\\\":1}\"}],\"answer\":\"It is %s.\",\"steps\":2,\"usage\":"
        "{\"input\":220,\"cached\":20,\"cache_write\":null,\"output\":22,\"reasoning\":null},"
        "\"cost_nano\":1250,\"currency\":\"USD\",\"latency_ms\":713,\"trace\":"
        "\"traces/%s.%lld.jsonl\",\"problem\":null,\"set\":\"s\",\"line\":5,\"tags\":[\"math\","
        "\"slow\"],\"expected_calls\":1}\n",
        task, (long long)trial, model, outcome, error ? "cassette_miss" : "completed",
        error  ? "null"
        : pass ? "true"
               : "false",
        pass ? "true" : "false", pass ? "null" : "\"expected b\"", outcome, task, (long long)trial);
}

static void put_manifest(const char *dir, int trials)
{
    put(dir, "manifest.json",
        arena_printf(arena,
                     "{\"version\":1,\"sets\":[{\"name\":\"s\",\"path\":\"sets/s.yaml\",\"xxh3\":"
                     "\"0\",\"tasks\":2}],\"trials\":%d}\n",
                     trials));
}

static struct run_data *load(const char *dir)
{
    struct run_data *d = NULL;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(run_load(dir, &d, &e), 0);
    return d;
}

static void check_details(const struct eval_report *r, const struct eval_row *row,
                          const char *answer)
{
    struct eval_trial t;
    struct str trace;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(eval_details(r, row, arena, &t, &e), 0);
    CU_ASSERT(str_eq(t.task, row->task) && t.trial == row->trial);
    CU_ASSERT(str_eq(t.model, row->shared->model));
    CU_ASSERT_EQUAL(t.verdict.outcome, row->outcome);
    CU_ASSERT_EQUAL(t.result.status, row->status);
    CU_ASSERT_EQUAL((int32_t)t.n_calls, row->calls);
    CU_ASSERT(memcmp(&t.result.usage, &row->usage, sizeof row->usage) == 0);
    CU_ASSERT_STRING_EQUAL(t.file, "sets/s.yaml");
    CU_ASSERT_EQUAL(eval_trace_path(r, row, arena, &trace, &e), 0);
    CU_ASSERT(str_eq(trace, t.trace));
    CHECK_TEXT(arena_cstr(arena, t.result.answer), answer);
}

static void rows_are_what_their_lines_say(void)
{
    arena = arena_new();
    const char *dir = testing_dir();
    struct buf text = {0};
    add_line(&text, "one", 1, "pass", "m");
    add_line(&text, "one", 2, "fail", "m");
    add_line(&text, "two", 1, "error", "n");
    put(dir, "results.jsonl", buf_str(&text));
    put_manifest(dir, 3);
    struct run_data *d = load(dir);
    const struct eval_report *r = d->report;
    CU_ASSERT_EQUAL_FATAL(r->n, 3);
    CU_ASSERT(!r->interrupted);
    CU_ASSERT_EQUAL(r->rows[0].cost_nano, 1250);
    CU_ASSERT_EQUAL(r->rows[0].ended_ms, 713);
    CU_ASSERT_EQUAL(r->rows[0].expected_calls, 1);
    CU_ASSERT_EQUAL(r->rows[0].shared->n_tags, 2);
    CU_ASSERT_PTR_EQUAL(r->rows[0].shared, r->rows[1].shared); /* kept once */
    CU_ASSERT(!r->rows[0].told && r->rows[1].told && r->rows[2].told);
    CU_ASSERT_EQUAL(r->rows[2].code, ERR_MISS);
    check_details(r, &r->rows[2], "It is error.");
    check_details(r, &r->rows[0], "It is pass.");
    check_details(r, &r->rows[1], "It is fail.");
    run_data_free(d);
    buf_free(&text);
    arena_free(arena);
}

/* What is read back must be what was read. */
static void lines_that_change_are_told(void)
{
    arena = arena_new();
    const char *dir = testing_dir();
    struct buf text = {0};
    struct eval_trial t;
    struct err e;
    add_line(&text, "one", 1, "pass", "m");
    add_line(&text, "two", 1, "pass", "m");
    put(dir, "results.jsonl", buf_str(&text));
    put_manifest(dir, 2);
    struct run_data *d = load(dir);
    put(dir, "results.jsonl", STR("another file of this name\n")); /* is not the one that is open */
    CU_ASSERT_EQUAL(eval_details(d->report, &d->report->rows[0], arena, &t, &e), 0);
    run_data_free(d);
    put(dir, "results.jsonl", buf_str(&text));
    d = load(dir);
    CU_ASSERT_EQUAL(truncate(in_dir(dir, "results.jsonl"), (off_t)text.n - 4), 0);
    CU_ASSERT_EQUAL(eval_details(d->report, &d->report->rows[0], arena, &t, &e), 0);
    CU_ASSERT_EQUAL(eval_details(d->report, &d->report->rows[1], arena, &t, &e), ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(e.file, in_dir(dir, "results.jsonl"));
    CU_ASSERT(str_starts(str_of(e.message), "the line of trial 1 of two has changed"));
    run_data_free(d);
    buf_free(&text);
    arena_free(arena);
}

/* An error that was tried again stands in the journal twice, and a crash may have cut its end. */
static void the_last_line_of_a_journal_counts(void)
{
    arena = arena_new();
    const char *dir = testing_dir();
    struct buf text = {0};
    struct run_data *d = NULL;
    struct err e;
    add_line(&text, "two", 1, "error", "m");
    add_line(&text, "one", 1, "fail", "m");
    add_line(&text, "two", 1, "pass", "m");
    size_t whole = text.n;
    add_line(&text, "three", 1, "pass", "m");
    put(dir, "trials.jsonl", str_slice(buf_str(&text), 0, text.n - 1));
    put_manifest(dir, 3);
    d = load(dir);
    CU_ASSERT(d->journal && d->torn && d->report->interrupted);
    CU_ASSERT_EQUAL_FATAL(d->report->n, 2);
    check_details(d->report, &d->report->rows[0], "It is fail.");
    check_details(d->report, &d->report->rows[1], "It is pass.");
    CU_ASSERT_EQUAL(d->report->summary.errors, 0);
    run_data_free(d);
    put(dir, "results.jsonl", str_slice(buf_str(&text), 0, whole));
    CU_ASSERT_EQUAL(run_load(dir, &d, &e), ERR_INPUT);
    CU_ASSERT_EQUAL(e.line, 3);
    CU_ASSERT(str_find(str_of(e.message), STR("is also in line 1")) != SIZE_MAX);
    CU_ASSERT_EQUAL(remove(path_join(arena, dir, "results.jsonl")), 0);
    CU_ASSERT_EQUAL_FATAL(run_load(dir, &d, &e), 0);
    CU_ASSERT_EQUAL(d->report->n, 2);
    run_data_free(d);
    buf_free(&text);
    arena_free(arena);
}

/* ---- memory ---- */

enum { MANY = 20000, TASKS = 4000, NOTE_BYTES = 4096 };
enum { SPARE_KB = 24 * 1024, SPARE_RUN_KB = 10 * 1024 };

/* Whether freed memory is given back: the sanitizer keeps it for a while. */
#if defined(__SANITIZE_ADDRESS__)
enum { MEASURES = 0 };
#else
enum { MEASURES = 1 };
#endif

/* What a child that does this takes at most, in KiB. */
static long peak_of(int (*work)(const char *path), const char *path)
{
    int ends[2] = {-1, -1}, status = 0;
    long peak = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct rusage used = {.ru_maxrss = 0};
        int rc = work(path);
        rc = rc != 0 ? rc : getrusage(RUSAGE_SELF, &used);
        bool told = write(ends[1], &used.ru_maxrss, sizeof peak) == sizeof peak;
        _exit(rc == 0 && told ? 0 : 1);
    }
    CU_ASSERT_FATAL(child > 0 && waitpid(child, &status, 0) == child);
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CU_ASSERT_EQUAL(read(ends[0], &peak, sizeof peak), sizeof peak);
    close(ends[0]);
    close(ends[1]);
    return peak;
}

static int do_nothing(const char *path)
{
    (void)path;
    return 0;
}

static int do_load(const char *dir)
{
    struct run_data *d = NULL;
    int rc = run_load(dir, &d, NULL);
    run_data_free(d);
    return rc;
}

static int do_load_set(const char *set)
{
    struct golden_set *s = NULL;
    int rc = golden_load(set, &s, NULL);
    golden_free(s);
    return rc;
}

static int do_eval(const char *set)
{
    struct eval_report *r = NULL;
    const char *out = path_join(arena, path_dir(arena, set), "run");
    struct eval_options o = {
        .sets = &set, .n_sets = 1, .source = EVAL_FAKE, .jobs = 16, .out = out};
    int rc = eval_run(&o, &r, NULL);
    rc = rc == 0 && (r->n != TASKS || r->summary.passed != TASKS) ? ERR_STATE : rc;
    eval_report_free(r);
    return rc;
}

static void put_many(const char *dir)
{
    char note[NOTE_BYTES];
    struct file_writer *w = NULL;
    struct buf line = {0};
    memset(note, 'x', sizeof note);
    CU_ASSERT_EQUAL_FATAL(file_writer_open(in_dir(dir, "results.jsonl"), &w, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        buf_clear(&line);
        add_line(&line, arena_printf(arena, "task-%d", i).p, 1, i % 7 == 0 ? "fail" : "pass", "m");
        line.n -= 2; /* goes on before its brace */
        json_put_text(&line, "note", (struct str){note, sizeof note});
        buf_addz(&line, "}\n");
        CU_ASSERT_EQUAL_FATAL(file_writer_add(w, buf_str(&line), NULL), 0);
    }
    CU_ASSERT_EQUAL_FATAL(file_writer_end(w, 0, NULL), 0);
    put_manifest(dir, MANY);
    buf_free(&line);
}

/* Of 20,000 trials in a file of 96 MB some megabytes of rows are kept. */
static void long_runs_take_little_memory(void)
{
    arena = arena_new();
    const char *dir = testing_dir();
    put_many(dir);
    long before = peak_of(do_nothing, NULL), peak = peak_of(do_load, dir);
    CU_ASSERT(MEASURES == 0 || peak - before < SPARE_KB);
    struct run_data *d = load(dir);
    CU_ASSERT_EQUAL(d->report->n, MANY);
    CU_ASSERT_EQUAL(d->report->summary.failed, (MANY + 6) / 7);
    check_details(d->report, &d->report->rows[MANY - 1], "It is fail.");
    run_data_free(d);
    arena_free(arena);
}

/* Running a set takes little more than to load it, whatever its trials say and call. */
static void long_sets_are_run_in_little_memory(void)
{
    if (MEASURES == 0) {
        testing_skip("the sanitizer keeps freed memory");
        return;
    }
    arena = arena_new();
    const char *dir = testing_dir();
    struct buf set = {0};
    buf_addz(&set, "version: 1\nname: many\ntasks:\n");
    for (int i = 0; i < TASKS; i++) {
        buf_fmt(
            &set,
            "- {id: task-%d, prompt: Say it., fake: s.yaml, expect: {answer: {contains: said}}}\n",
            i);
    }
    struct buf script = {0};
    buf_addz(&script, "version: 1\nsteps:\n- reply: {text: said");
    for (int i = 0; i < NOTE_BYTES / 8; i++) {
        buf_addz(&script, " and so ");
    }
    buf_addz(&script, "}\n");
    put(dir, "set.yaml", buf_str(&set));
    put(dir, "s.yaml", buf_str(&script));
    long loaded = peak_of(do_load_set, in_dir(dir, "set.yaml"));
    long peak = peak_of(do_eval, in_dir(dir, "set.yaml"));
    CU_ASSERT(peak - loaded < SPARE_RUN_KB); /* the results have 18,000 KB */
    buf_free(&set);
    buf_free(&script);
    arena_free(arena);
}

TESTS(rows, {"rows_are_what_their_lines_say", rows_are_what_their_lines_say},
      {"lines_that_change_are_told", lines_that_change_are_told},
      {"the_last_line_of_a_journal_counts", the_last_line_of_a_journal_counts},
      {"long_runs_take_little_memory", long_runs_take_little_memory},
      {"long_sets_are_run_in_little_memory", long_sets_are_run_in_little_memory})
