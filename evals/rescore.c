/* Scoring a finished run again from its traces. */
#include "evals/log_calls_int.h"
#include "evals/order_int.h"
#include "evals/own_trace_int.h"
#include "evals/rows_int.h"
#include "evals/run_int.h"
#include "evals/rundir_int.h"
#include "evals/trial_lines_int.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/core/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RUBRIC_CHARS = 120 };

struct named_task {
    struct str id;
    struct golden_set *set;
    size_t task; /* which one of it */
};

struct rescoring {
    struct run_data *run;
    struct golden_set **sets;
    size_t n_sets;
    struct named_task *tasks; /* sorted */
    size_t n_tasks;
    const struct named_task *named; /* the one that is loaded: trials of a task stand in a row */
    struct golden_task *task;       /* that; NULL = none is */
    struct arena *arena;            /* of the sets and tasks */
    struct arena *scratch;          /* of the trial that is looked at */
    struct file_writer *to;
    struct buf line;  /* that is written */
    uint64_t written; /* bytes of the new results */
    size_t changed;
};

/* ---- tasks ---- */

static int by_task(const void *a, const void *b)
{
    const struct named_task *x = a;
    const struct named_task *y = b;
    return str_cmp(x->id, y->id);
}

static int load_sets(struct rescoring *r, const char *const *sets, size_t n, struct err *e)
{
    int rc = 0;
    size_t tasks = 0;
    size_t count = n > 0 ? n : r->run->n_sets;
    r->sets = arena_array(r->arena, count, sizeof *r->sets);
    for (; rc == 0 && r->n_sets < count; r->n_sets += rc == 0) {
        const char *path = n > 0 ? sets[r->n_sets] : r->run->sets[r->n_sets].path.p;
        rc = golden_open(path, &r->sets[r->n_sets], e);
        tasks += rc == 0 ? r->sets[r->n_sets]->n_tasks : 0;
    }
    r->tasks = arena_array(r->arena, tasks, sizeof *r->tasks);
    for (size_t s = 0; rc == 0 && s < r->n_sets; s++) {
        struct golden_set *set = r->sets[s];
        for (size_t i = 0; i < set->n_tasks; i++) {
            r->tasks[r->n_tasks++] = (struct named_task){golden_entry(set, i).id, set, i};
        }
    }
    order_list(r->tasks, r->n_tasks, sizeof *r->tasks, by_task);
    return rc;
}

static const struct named_task *find_task(const struct rescoring *r, struct str id)
{
    struct named_task key = {.id = id};
    return bsearch(&key, r->tasks, r->n_tasks, sizeof key, by_task);
}

/* Loads the task in place of the one before it. */
static int load_task(struct rescoring *r, const struct named_task *named, struct err *e)
{
    if (named == r->named) {
        return 0;
    }
    golden_task_free(r->task);
    r->task = NULL;
    r->named = NULL;
    int rc = golden_task_load(named->set, named->task, &r->task, e);
    r->named = rc == 0 ? named : NULL;
    return rc;
}

/* ---- traces ---- */

static int64_t known(const struct val *v, const char *key)
{
    int64_t n = -1;
    return val_int(val_get(v, key), &n) && n >= 0 ? n : -1;
}

static bool read_end(const struct val *v, struct run_result *out)
{
    const struct val *u = val_get(v, "usage");
    const struct val *answer = val_get(v, "answer");
    out->steps = known(v, "steps");
    out->usage = (struct usage){known(u, "input"), known(u, "cached"), known(u, "cache_write"),
                                known(u, "output"), known(u, "reasoning")};
    out->cost_nano = known(v, "cost_nano");
    out->currency = val_text(val_get(v, "currency"));
    out->answer = val_is(answer, VAL_STRING) ? answer->text : (struct str){NULL, 0};
    out->ended_ms = (uint64_t)known(v, "t_ms");
    return run_status_of_name(val_text(val_get(v, "status")), &out->status) && out->steps >= 0 &&
           known(v, "t_ms") >= 0;
}

/* Only replies and the end are read: the rest of a log is not needed for scoring. */
static bool is_wanted(struct str line)
{
    static const char mark[] =
        "type\":\""; /* from its t on, of which there are fewer than quotes */
    size_t at = str_find(str_slice(line, 0, 100), str_of(mark));
    struct str type = at == SIZE_MAX ? line : str_slice(line, at + sizeof mark - 1, line.n);
    return at == SIZE_MAX || str_starts(type, "llm_reply\"") || str_starts(type, "run_end\"");
}

/* Views of `log` and of what is in scratch; calls->at is freed by the caller. */
static int read_trace(const char *path, struct str log, const struct golden_task *task,
                      struct arena *scratch, struct call_list *calls, struct run_result *out,
                      struct err *e)
{
    const struct val *run_end = NULL;
    uint32_t line = 0;
    size_t n_specs = 0, start = 0;
    const struct tool_spec *specs =
        task->tools == NULL ? NULL : toolset_specs(task->tools, &n_specs);
    for (size_t at = 0; at < log.n;) {
        const char *end = memchr(log.p + at, '\n', log.n - at);
        struct str one = str_slice(log, at, end == NULL ? log.n : (size_t)(end - log.p));
        struct val *v = NULL;
        line++;
        start = at;
        at += one.n + 1;
        run_end = NULL;
        if (!is_wanted(one)) {
            continue;
        }
        if (end == NULL || json_parse(scratch, path, one, &v, NULL) != 0) {
            return err_at(e, ERR_INPUT, path, line, 0,
                          "no line of an event log: expected the trace that the run wrote");
        }
        if (str_is(val_text(val_get(v, "type")), "run_end")) {
            run_end = v;
        } else {
            calls_of_reply(calls, v, specs, n_specs);
        }
    }
    if (run_end == NULL) {
        return err_at(e, ERR_INPUT, path, line, 0,
                      "the log does not end with a run_end: expected the trace of a finished "
                      "trial");
    }
    if (!read_end(run_end, out)) {
        return err_at(e, ERR_INPUT, path, line, 0, "the run_end lacks status, steps or time");
    }
    return trace_whole(path, log, start, line, run_end, e);
}

/* ---- one trial ---- */

static const struct eval_check *failed_check(const struct eval_verdict *v, const char *name)
{
    for (size_t i = 0; i < v->n_checks; i++) {
        if (str_is(v->checks[i].name, name) && !v->checks[i].passed) {
            return &v->checks[i];
        }
    }
    return NULL;
}

/* The message of the status says why a run ended so, which is in no log. */
static void keep_reason(const struct eval_verdict *old, struct eval_verdict *v)
{
    const struct eval_check *was = failed_check(old, "status");
    for (size_t i = 0; was != NULL && i < v->n_checks; i++) {
        struct eval_check *c = &v->checks[i];
        if (str_is(c->name, "status") && !c->passed &&
            str_eq(c->message, str_slice(was->message, 0, c->message.n))) {
            c->message = was->message;
        }
    }
}

/* Whether a script was played to its end is in no log either. */
static void keep_script(const struct eval_verdict *old, struct arena *arena, struct eval_verdict *v)
{
    const struct eval_check *was = failed_check(old, "script");
    if (was != NULL && eval_is_scored(v->outcome)) {
        eval_fail_also(v, was, arena);
    }
}

static void keep_run(struct rescoring *r, const struct call_list *calls, struct eval_trial *t)
{
    const struct golden_task *task = r->task;
    t->n_calls = calls->n;
    t->calls = arena_array(r->scratch, calls->n, sizeof *t->calls);
    if (calls->n > 0) {
        memcpy(t->calls, calls->at, calls->n * sizeof *t->calls);
    }
    t->set = arena_cstr(r->scratch, r->named->set->name);
    t->file = task->path;
    t->line = task->line;
    t->tags = task->tags;
    t->n_tags = task->n_tags;
    t->expected_calls = expected_calls(&task->expect);
}

/* A rubric that the run's judge was not asked about leaves the trial undecided. */
static void lacks_verdict(struct rescoring *r, struct str rubric, struct eval_trial *t)
{
    trial_make_error(
        t, ERR_NET,
        arena_printf(r->scratch,
                     "no verdict on the rubric \"%.*s\" is in this run, whose judge was not asked "
                     "about it: run the set again (with --record DIR --mode new_episodes only the "
                     "judge is asked, where the rest is recorded)",
                     STR_FMT(text_preview(r->scratch, rubric, RUBRIC_CHARS))));
}

static void judge_again(struct rescoring *r, struct eval_trial *t)
{
    const struct golden_task *task = r->task;
    struct eval_verdict old = t->verdict;
    const struct eval_judged *j = &t->judged;
    struct eval_run run = {
        t->calls, t->n_calls, t->model, t->result, {j->verdicts, j->n_verdicts, j->model}};
    const struct golden_answer *check = task->expect.answer;
    if (golden_answer_rubric(check) != NULL) {
        struct str open = golden_answer_open(check, t->result.answer, &run.verdicts);
        if (open.p != NULL) {
            lacks_verdict(r, open, t);
            return;
        }
    }
    eval_judge(task, &run, r->scratch, &t->verdict);
    keep_reason(&old, &t->verdict);
    keep_script(&old, r->scratch, &t->verdict);
}

static int missing_trace(const struct eval_trial *t, const char *path, struct err *e)
{
    return err_at(e, ERR_INPUT, path, 0, 0,
                  "the trace of trial %" PRId64 " of %.*s is missing: expected all traces that the "
                  "run wrote",
                  t->trial, STR_FMT(t->task));
}

static int judge_trace(struct rescoring *r, struct eval_trial *t, struct err *e)
{
    const char *dir = r->run->report->out;
    struct call_list calls = {NULL, 0, 0};
    struct run_result result = {.calls_made = 0};
    struct str log = {0};
    if (t->trace.n == 0) {
        return missing_trace(t, dir, e);
    }
    const char *path = path_join(r->scratch, dir, arena_cstr(r->scratch, t->trace));
    int rc = file_read(r->scratch, path, TRACE_BYTES_MAX, &log, e);
    if (rc == ERR_NOT_FOUND) {
        return missing_trace(t, path, e);
    }
    rc = rc != 0 ? rc : read_trace(path, log, r->task, r->scratch, &calls, &result, e);
    rc = rc != 0 ? rc : trace_own(path, log, t, r->run->fake, &result, r->scratch, e);
    if (rc == 0) {
        t->result = result;
        keep_run(r, &calls, t);
        judge_again(r, t);
        rc = t->verdict.outcome != EVAL_NONE
                 ? 0
                 : err_at(e, ERR_INPUT, path, 0, 0,
                          "the run was cancelled: expected the trace of a finished trial");
    }
    free(calls.at);
    return rc;
}

static int rescore_trial(struct rescoring *r, struct eval_trial *t, struct err *e)
{
    const struct named_task *named = find_task(r, t->task);
    if (t->verdict.outcome == EVAL_ERROR) {
        return 0;
    }
    if (named == NULL) {
        return err_set(e, ERR_INPUT,
                       "the task %.*s of %s is not in the golden set any more; name the set that "
                       "has it with --set",
                       STR_FMT(t->task), r->run->report->out);
    }
    int rc = load_task(r, named, e);
    return rc != 0 ? rc : judge_trace(r, t, e);
}

/* ---- the run ---- */

/* One line of the old results becomes one of the new. */
static int rescore_line(struct rescoring *r, struct eval_trial *t, struct err *e)
{
    enum eval_outcome before = t->verdict.outcome;
    t->file = run_set_path(r->run, t->set);
    int rc = rescore_trial(r, t, e);
    if (rc == 0) {
        buf_clear(&r->line);
        eval_trial_json(&r->line, t);
        rc = file_writer_add(r->to, buf_str(&r->line), e);
    }
    if (rc == 0) {
        struct str written = str_slice(buf_str(&r->line), 0, r->line.n - 1);
        rc = report_add_line(r->run->report, t, written, r->written, e);
        r->written += r->line.n;
        r->changed += before != t->verdict.outcome;
    }
    return rc;
}

static int rescore_lines(struct rescoring *r, struct lines *from, struct err *e)
{
    struct trial_lines l = {.from = from, .scratch = r->scratch};
    int rc = trial_lines_next(&l, e);
    while (rc == 0 && l.found == LINE_WHOLE) {
        rc = rescore_line(r, &l.trial, e);
        rc = rc != 0 ? rc : trial_lines_next(&l, e);
    }
    return rc;
}

/* Writes the new results beside the old ones, which they replace when all went well. */
static int rescore(struct rescoring *r, struct err *e)
{
    struct eval_report *report = r->run->report;
    const char *path = path_join(report->arena, report->out, "results.jsonl");
    struct lines *from = NULL;
    if (!path_exists(path)) {
        return err_at(e, ERR_INPUT, report->out, 0, 0,
                      "the run is not finished: expected a results.jsonl in it");
    }
    int rc = lines_open(path, &from, e);
    if (rc != 0) {
        return rc;
    }
    report_read_from(report, from);
    rc = file_writer_open(path, &r->to, e);
    if (rc == 0) {
        rc = rescore_lines(r, from, e);
        rc = rc != 0 ? rc : report_check_twice(report, false, e);
        rc = file_writer_end(r->to, rc, e);
    }
    rc = rc != 0 ? rc : lines_open(path, &from, e);
    if (rc == 0) {
        report_read_from(report, from);
    }
    return rc;
}

/* Holds the run's journal, so that nobody writes the run meanwhile; *out NULL = it has none. */
static int hold(struct rescoring *r, struct appender **out, struct err *e)
{
    const char *path = path_join(r->arena, r->run->report->out, "trials.jsonl");
    *out = NULL;
    return path_is_file(path) ? appender_open(path, APPEND_CONTINUE, out, e) : 0;
}

static int let_go(struct appender *journal, int rc, struct err *e)
{
    int closed = journal == NULL ? 0 : appender_close(journal, rc == 0 ? e : NULL);
    return rc != 0 ? rc : closed;
}

/* The manifest then names the sets that the run is judged by. */
static int rescore_run(struct rescoring *r, const char *const *sets, size_t n_sets, struct err *e)
{
    struct eval_report *report = r->run->report;
    struct appender *journal = NULL;
    int rc = hold(r, &journal, e);
    rc = rc != 0 ? rc : load_sets(r, sets, n_sets, e);
    rc = rc != 0 ? rc : rescore(r, e);
    const char *path = path_join(r->arena, report->out, "manifest.json");
    rc = rc != 0 ? rc : manifest_judged(path, r->run->manifest, r->sets, r->n_sets, e);
    return let_go(journal, rc, e);
}

int run_rescore(const char *dir, const char *const *sets, size_t n_sets, int64_t allow_errors,
                struct eval_report **out, size_t *changed, struct err *e)
{
    struct rescoring r = {.n_sets = 0};
    int rc = run_open(dir, &r.run, e);
    if (rc != 0) {
        return rc;
    }
    r.arena = arena_new();
    r.scratch = arena_new();
    rc = rescore_run(&r, sets, n_sets, e);
    if (rc == 0) {
        struct eval_report *report = r.run->report;
        report->interrupted = (int64_t)report->n < r.run->planned;
        eval_sum(report, allow_errors);
        *out = report;
        r.run->report = NULL;
        if (changed != NULL) {
            *changed = r.changed;
        }
    }
    golden_task_free(r.task);
    for (size_t i = 0; i < r.n_sets; i++) {
        golden_free(r.sets[i]);
    }
    run_data_free(r.run);
    buf_free(&r.line);
    arena_free(r.arena);
    arena_free(r.scratch);
    return rc;
}
