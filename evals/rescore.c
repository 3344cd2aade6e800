/* Scoring a finished run again from its traces. */
#include "evals/run_int.h"
#include "evals/runs.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/core/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_LINES_ROOM = 16, RUBRIC_CHARS = 120, TRACE_BYTES_MAX = 1 << 30 };

struct named_task {
    struct str set;
    const struct golden_task *task;
};

struct rescoring {
    struct run_data *run;
    struct golden_set **sets;
    size_t n_sets;
    struct named_task *tasks; /* sorted */
    size_t n_tasks;
    struct arena *arena; /* of the report */
};

/* ---- tasks ---- */

static int by_task(const void *a, const void *b)
{
    const struct named_task *x = a;
    const struct named_task *y = b;
    return str_cmp(x->task->id, y->task->id);
}

static int load_sets(struct rescoring *r, const char *const *sets, size_t n, struct err *e)
{
    int rc = 0;
    size_t tasks = 0;
    size_t count = n > 0 ? n : r->run->n_sets;
    r->sets = arena_array(r->arena, count, sizeof *r->sets);
    for (; rc == 0 && r->n_sets < count; r->n_sets += rc == 0) {
        const char *path = n > 0 ? sets[r->n_sets] : r->run->sets[r->n_sets].path.p;
        rc = golden_load(path, &r->sets[r->n_sets], e);
        tasks += rc == 0 ? r->sets[r->n_sets]->n_tasks : 0;
    }
    r->tasks = arena_array(r->arena, tasks, sizeof *r->tasks);
    for (size_t s = 0; rc == 0 && s < r->n_sets; s++) {
        for (size_t i = 0; i < r->sets[s]->n_tasks; i++) {
            r->tasks[r->n_tasks++] = (struct named_task){r->sets[s]->name, &r->sets[s]->tasks[i]};
        }
    }
    qsort(r->tasks, r->n_tasks, sizeof *r->tasks, by_task);
    return rc;
}

static const struct golden_task *find_task(const struct rescoring *r, struct str id)
{
    struct golden_task wanted = {.id = id};
    struct named_task key = {.task = &wanted};
    const struct named_task *at = bsearch(&key, r->tasks, r->n_tasks, sizeof key, by_task);
    return at == NULL ? NULL : at->task;
}

/* ---- traces ---- */

static bool is_terminal(const struct golden_task *task, struct str name)
{
    size_t n = 0;
    const struct tool_spec *specs = task->tools == NULL ? NULL : toolset_specs(task->tools, &n);
    const struct tool_spec *tool = tool_find(specs, n, name);
    return tool != NULL && tool->terminal;
}

struct call_list {
    struct eval_call *at;
    size_t n, room;
};

static void add_calls(struct call_list *list, const struct val *reply,
                      const struct golden_task *task)
{
    const struct val *calls = val_get(reply, "calls");
    int64_t step = 0;
    (void)val_int(val_get(reply, "step"), &step);
    for (size_t i = 0; val_is(calls, VAL_ARRAY) && i < calls->count; i++) {
        struct str name = val_text(val_get(&calls->items[i], "name"));
        if (is_terminal(task, name)) {
            continue;
        }
        if (list->n == list->room) {
            list->room = list->room * 2 + LOG_LINES_ROOM;
            list->at = mem_grow(list->at, list->room * sizeof *list->at);
        }
        list->at[list->n++] =
            (struct eval_call){name, val_text(val_get(&calls->items[i], "arguments")), step};
    }
}

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
    static const char mark[] = "\"type\":\"";
    size_t at = str_find(str_slice(line, 0, 100), str_of(mark));
    struct str type = at == SIZE_MAX ? line : str_slice(line, at + sizeof mark - 1, line.n);
    return at == SIZE_MAX || str_starts(type, "llm_reply\"") || str_starts(type, "run_end\"");
}

/* Views of `log` and of what is in scratch; calls->at is freed by the caller. */
static int read_trace(const char *path, struct str log, const struct golden_task *task,
                      struct arena *scratch, struct call_list *calls, struct run_result *out,
                      struct err *e)
{
    bool ended = false;
    uint32_t line = 0;
    for (size_t at = 0; at < log.n;) {
        const char *end = memchr(log.p + at, '\n', log.n - at);
        struct str one = str_slice(log, at, end == NULL ? log.n : (size_t)(end - log.p));
        struct val *v = NULL;
        line++;
        at += one.n + 1;
        if (!is_wanted(one)) {
            continue;
        }
        if (end == NULL || json_parse(scratch, path, one, &v, NULL) != 0) {
            return err_at(e, ERR_INPUT, path, line, 0,
                          "no line of an event log: expected the trace that the run wrote");
        }
        ended = str_is(val_text(val_get(v, "type")), "run_end");
        if (!ended) {
            add_calls(calls, v, task);
        } else if (!read_end(v, out)) {
            return err_at(e, ERR_INPUT, path, line, 0, "the run_end lacks status, steps or time");
        }
    }
    return ended ? 0
                 : err_at(e, ERR_INPUT, path, line, 0,
                          "the log has no run_end: expected the trace of a finished trial");
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
    if (was == NULL || (v->outcome != EVAL_PASS && v->outcome != EVAL_FAIL)) {
        return;
    }
    struct eval_check *checks = arena_array(arena, v->n_checks + 1, sizeof *checks);
    if (v->n_checks > 0) {
        memcpy(checks, v->checks, v->n_checks * sizeof *checks);
    }
    checks[v->n_checks++] = *was;
    v->checks = checks;
    v->outcome = EVAL_FAIL;
    v->scores.success = false;
}

static struct str copy(struct arena *arena, struct str s)
{
    return s.p == NULL ? s : arena_str(arena, s);
}

static void keep_run(struct rescoring *r, const struct golden_task *task,
                     const struct call_list *calls, struct eval_trial *t)
{
    t->result.answer = copy(r->arena, t->result.answer);
    t->result.currency = copy(r->arena, t->result.currency);
    t->n_calls = calls->n;
    t->calls = arena_array(r->arena, calls->n, sizeof *t->calls);
    for (size_t i = 0; i < calls->n; i++) {
        t->calls[i] =
            (struct eval_call){arena_str(r->arena, calls->at[i].name),
                               arena_str(r->arena, calls->at[i].arguments), calls->at[i].step};
    }
    t->line = task->line;
    t->tags = task->tags;
    t->n_tags = task->n_tags;
    t->expected_calls = expected_calls(&task->expect);
}

/* A rubric that the run's judge was not asked about leaves the trial undecided. */
static void lacks_verdict(struct rescoring *r, struct str rubric, struct eval_trial *t)
{
    t->code = ERR_NET;
    t->problem = arena_printf(r->arena,
                              "no verdict on the rubric \"%.*s\" is in this run, whose judge was "
                              "not asked about it: run the set again (with --record DIR --mode "
                              "new_episodes only the judge is asked, where the rest is recorded)",
                              STR_FMT(text_preview(r->arena, rubric, RUBRIC_CHARS)));
    t->verdict = (struct eval_verdict){.outcome = EVAL_ERROR, .scores = {.trajectory = -1}};
}

static void judge_again(struct rescoring *r, const struct golden_task *task, struct eval_trial *t)
{
    struct eval_verdict old = t->verdict;
    const struct eval_judged *j = &t->judged;
    struct eval_run run = {
        t->calls, t->n_calls, t->model, t->result, {j->verdicts, j->n_verdicts, j->model}};
    struct str open = golden_answer_open(task->expect.answer, t->result.answer, &run.verdicts);
    if (open.p != NULL) {
        lacks_verdict(r, open, t);
        return;
    }
    eval_judge(task, &run, r->arena, &t->verdict);
    keep_reason(&old, &t->verdict);
    keep_script(&old, r->arena, &t->verdict);
}

static int missing_trace(const struct eval_trial *t, const char *path, struct err *e)
{
    return err_at(e, ERR_INPUT, path, 0, 0,
                  "the trace of trial %" PRId64 " of %.*s is missing: expected all traces that the "
                  "run wrote",
                  t->trial, STR_FMT(t->task));
}

static int judge_trace(struct rescoring *r, const struct golden_task *task, struct eval_trial *t,
                       struct arena *scratch, struct err *e)
{
    const char *dir = r->run->report->out;
    struct call_list calls = {NULL, 0, 0};
    struct run_result result = {.calls_made = 0};
    struct str log = {0};
    if (t->trace.n == 0) {
        return missing_trace(t, dir, e);
    }
    const char *path = path_join(scratch, dir, t->trace.p);
    int rc = file_read(scratch, path, TRACE_BYTES_MAX, &log, e);
    if (rc == ERR_NOT_FOUND) {
        return missing_trace(t, path, e);
    }
    rc = rc != 0 ? rc : read_trace(path, log, task, scratch, &calls, &result, e);
    if (rc == 0) {
        t->result = result;
        keep_run(r, task, &calls, t);
        judge_again(r, task, t);
    }
    free(calls.at);
    return rc;
}

static int rescore_trial(struct rescoring *r, struct eval_trial *t, struct err *e)
{
    const struct golden_task *task = find_task(r, t->task);
    if (t->verdict.outcome == EVAL_ERROR) {
        return 0;
    }
    if (task == NULL) {
        return err_set(e, ERR_INPUT,
                       "the task %.*s of %s is not in the golden set any more; name the set that "
                       "has it with --set",
                       STR_FMT(t->task), r->run->report->out);
    }
    struct arena *scratch = arena_new();
    int rc = judge_trace(r, task, t, scratch, e);
    arena_free(scratch);
    return rc;
}

/* ---- the run ---- */

static int rescore(struct rescoring *r, size_t *changed, struct err *e)
{
    struct eval_report *report = r->run->report;
    int rc = 0;
    if (r->run->journal) {
        return err_at(e, ERR_INPUT, report->out, 0, 0,
                      "the run is not finished: expected a results.jsonl in it");
    }
    for (size_t i = 0; rc == 0 && i < report->n; i++) {
        enum eval_outcome before = report->trials[i].verdict.outcome;
        rc = rescore_trial(r, &report->trials[i], e);
        *changed += before != report->trials[i].verdict.outcome;
    }
    return rc != 0 ? rc : rundir_results(report, e);
}

int run_rescore(const char *dir, const char *const *sets, size_t n_sets, int64_t allow_errors,
                struct eval_report **out, size_t *changed, struct err *e)
{
    struct rescoring r = {.n_sets = 0};
    size_t others = 0;
    int rc = run_load(dir, &r.run, e);
    if (rc != 0) {
        return rc;
    }
    r.arena = r.run->report->arena;
    rc = load_sets(&r, sets, n_sets, e);
    rc = rc != 0 ? rc : rescore(&r, &others, e);
    if (rc == 0) {
        bool interrupted = r.run->report->interrupted;
        for (size_t i = 0; i < r.run->report->n; i++) {
            struct eval_trial *t = &r.run->report->trials[i];
            struct str *tags = arena_array(r.arena, t->n_tags, sizeof *tags);
            for (size_t k = 0; k < t->n_tags; k++) {
                tags[k] = arena_str(r.arena, t->tags[k]);
            }
            t->tags = tags;
        }
        eval_sum(r.run->report, allow_errors);
        r.run->report->interrupted = interrupted;
        *out = r.run->report;
        r.run->report = NULL;
        if (changed != NULL) {
            *changed = others;
        }
    }
    for (size_t i = 0; i < r.n_sets; i++) {
        golden_free(r.sets[i]);
    }
    run_data_free(r.run);
    return rc;
}
