/* Running sets: many trials in flight on one loop, each with its own clock. A trial that ends is
 * judged, written to the journal and freed before the next one starts in its place. */
#include "evals/exit.h"
#include "evals/own_trace_int.h"
#include "evals/rows_int.h"
#include "evals/run_int.h"
#include "evals/rundir_int.h"
#include "evals/runs.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"
#include "kernel/drive/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FILES_PER_TRIAL = 4,  /* trace, recording, connection, a judge's log */
    FILES_PER_AGENT = 12, /* besides: its streams, its connections to us */
    FILES_SPARE = 100     /* for the loop, its child processes, the journal */
};

enum runner_state {
    RUNNER_GOING,
    RUNNER_SPENT,       /* no trial starts any more */
    RUNNER_INTERRUPTED, /* no trial starts any more, those under way are cancelled */
    RUNNER_BROKEN       /* likewise: something could not be written, `error` says what */
};

/* A place for one trial at a time. */
struct job {
    struct runner *r;
    struct trial *trial; /* NULL = free */
    size_t item;         /* which one of the plan it runs */
};

struct runner {
    const struct eval_options *o;
    struct plan plan;
    struct eval_report *report; /* rows: one an item, in the plan's order */
    struct loop *loop;
    struct appender *journal;
    uint64_t written;      /* bytes of the journal */
    struct arena *scratch; /* of the trial that is being looked at */
    struct buf line;       /* likewise */
    struct job *jobs;
    size_t n_jobs;
    size_t n_running;
    size_t next; /* item that starts next */
    size_t left; /* items that are still to start */
    size_t done;
    size_t kept; /* of those: by the run that this one goes on with */
    size_t told; /* lines of the results that were there */
    enum runner_state state;
    int64_t spent_nano;
    struct str unpriced; /* a task whose cost in USD is not known; n 0 = none */
    size_t errors;
    struct eval_costs costs; /* that are known; what there is no room for is left out */
    int code;
    struct err error;
};

static void stop_all(struct runner *r, enum runner_state state)
{
    r->state = state;
    for (size_t i = 0; i < r->n_jobs; i++) {
        if (r->jobs[i].trial != NULL) {
            trial_cancel(r->jobs[i].trial);
        }
    }
}

static void on_interrupt(void *arg, int signal)
{
    struct runner *r = arg;
    (void)signal;
    if (r->state == RUNNER_INTERRUPTED) {
        _exit(EXIT_INTERRUPTED);
    }
    stop_all(r, RUNNER_INTERRUPTED);
}

static void broken(struct runner *r, int code, const struct err *e)
{
    if (r->code == 0) {
        r->code = code;
        r->error = *e;
    }
    if (r->state == RUNNER_GOING || r->state == RUNNER_SPENT) {
        stop_all(r, RUNNER_BROKEN);
    }
}

/* Writes the trial down; what stays of it in memory is its row. */
static int journal_trial(struct runner *r, const struct eval_trial *t, struct eval_row *row,
                         struct err *e)
{
    buf_clear(&r->line);
    eval_trial_json(&r->line, t);
    int rc = appender_add(r->journal, buf_str(&r->line), e);
    if (rc == 0) {
        struct str line = str_slice(buf_str(&r->line), 0, r->line.n - 1);
        report_fill_row(r->report, t, line, r->written, row);
        r->written += r->line.n;
    }
    return rc;
}

/* Of amounts that are known. */
static int64_t plus(int64_t a, int64_t b)
{
    return a < INT64_MAX - b ? a + b : INT64_MAX;
}

/* What counts for the budget: the trial's cost and its judge's. */
static void count_spent(struct runner *r, const struct eval_row *t)
{
    const struct eval_row_judge *j = t->judge;
    int64_t nano = t->cost_nano;
    bool usd =
        eval_cost_is_usd(t->shared->currency) && (j == NULL || eval_cost_is_usd(j->currency));
    if (j != NULL) {
        nano = nano < 0 || j->cost_nano < 0 ? -1 : plus(nano, j->cost_nano);
    }
    if (!eval_row_ran(t)) {
        return;
    }
    if (nano >= 0 && usd) {
        r->spent_nano = plus(r->spent_nano, nano);
    } else if (r->unpriced.n == 0) {
        r->unpriced = t->task;
    }
}

/* What progress tells of costs. */
static void count_costs(struct runner *r, const struct eval_row *t)
{
    const struct eval_row_judge *j = t->judge;
    if (t->cost_nano >= 0) {
        (void)eval_cost_add(&r->costs, t->shared->currency, t->cost_nano);
    }
    if (j != NULL && j->cost_nano >= 0) {
        (void)eval_cost_add(&r->costs, j->currency, j->cost_nano);
    }
}

/* Ends the run at its budget. */
static void check_budget(struct runner *r)
{
    int64_t most = r->o->max_cost_nano;
    struct buf text = {0};
    if (most <= 0 || r->state != RUNNER_GOING || r->left == 0 ||
        (r->unpriced.n == 0 && r->spent_nano < most)) {
        return;
    }
    if (r->unpriced.n > 0) {
        buf_fmt(&text,
                "stopped: the cost of %.*s in USD is not known, so --max-cost cannot be kept"
                " (--prices FILE can name prices)",
                STR_FMT(r->unpriced));
    } else {
        buf_addz(&text, "stopped: ");
        money_add(&text, r->spent_nano, STR("USD"));
        buf_addz(&text, " are spent, --max-cost is ");
        money_add(&text, most, STR("USD"));
    }
    buf_fmt(&text, "; %zu of %zu trials were not started", r->left, r->plan.n);
    r->state = RUNNER_SPENT;
    r->report->stopped = arena_str(r->report->arena, buf_str(&text));
    buf_free(&text);
}

static void tell_progress(const struct runner *r)
{
    struct eval_progress p = {.done = r->done,
                              .total = r->plan.n,
                              .kept = r->kept,
                              .errors = r->errors,
                              .costs = &r->costs};
    if (r->o->progress != NULL) {
        r->o->progress(r->o->ctx, &p);
    }
}

/* Judges a trial that is over and keeps its result, unless it was cancelled or could not be kept.
 */
static void keep(struct job *job)
{
    struct runner *r = job->r;
    struct eval_row *row = &r->report->rows[job->item];
    struct eval_trial t;
    struct err e = {0};
    arena_clear(r->scratch);
    int rc = trial_finish(job->trial, r->scratch, &t, &e);
    job->trial = NULL;
    r->n_running--;
    if (rc == 0 && t.verdict.outcome != EVAL_NONE) {
        rc = journal_trial(r, &t, row, &e);
    }
    if (rc != 0) {
        broken(r, rc, &e);
    }
    if (rc != 0 || t.verdict.outcome == EVAL_NONE) {
        return;
    }
    r->done++;
    r->errors += t.verdict.outcome == EVAL_ERROR ? 1 : 0;
    r->report->recorded += t.recorded ? 1 : 0;
    count_spent(r, row);
    count_costs(r, row);
    check_budget(r);
    tell_progress(r);
}

static void on_trial(void *ctx);

/* Whether the run that this one goes on with has the item's result: what ended in an error is tried
 * again. */
static bool is_settled(const struct runner *r, size_t item)
{
    return eval_row_scored(&r->report->rows[item]);
}

static void start_next(struct job *job)
{
    struct runner *r = job->r;
    while (r->next < r->plan.n && is_settled(r, r->next)) {
        r->next++;
    }
    if (r->state != RUNNER_GOING || r->next == r->plan.n) {
        return;
    }
    job->item = r->next++;
    r->left--;
    r->n_running++;
    job->trial = trial_new(r->loop, r->o, &r->plan, &r->plan.items[job->item], r->report->out,
                           on_trial, job);
}

static void on_trial(void *ctx)
{
    struct job *job = ctx;
    struct runner *r = job->r;
    keep(job);
    start_next(job);
    if (r->n_running == 0) {
        loop_stop(r->loop); /* the server of a program under test would listen on */
    }
}

/* The program under test and its server. */
static int open_agents(struct runner *r)
{
    struct err e;
    struct str no_proxy = r->o->live == NULL ? STR("") : r->o->live->net.no_proxy;
    int rc = r->plan.agent.n == 0
                 ? 0
                 : agents_new(r->loop, &r->plan.agent, no_proxy, &r->plan.agents, &e);
    if (rc != 0) {
        broken(r, rc, &e);
    }
    return rc;
}

/* Jobs beyond the number of trials or the limit on open files would only fail. */
static size_t jobs_of(const struct runner *r)
{
    size_t jobs = (size_t)r->o->jobs;
    size_t files = files_open_max();
    size_t each = FILES_PER_TRIAL + (r->o->agent != NULL ? FILES_PER_AGENT : 0);
    size_t fit = (files > FILES_SPARE ? files - FILES_SPARE : 0) / each + 1;
    jobs = jobs < fit ? jobs : fit;
    return jobs < r->left ? jobs : r->left;
}

/* Fewer jobs are told to who wants to know. */
static void tell_jobs(const struct runner *r)
{
    const struct limiter_options *o = r->o->live == NULL ? NULL : &r->o->live->limiter;
    size_t wanted = (size_t)r->o->jobs < r->left ? (size_t)r->o->jobs : r->left;
    struct buf text = {0};
    if (o == NULL || o->tell == NULL || r->n_jobs == wanted) {
        return;
    }
    buf_fmt(&text, "%zu sessions in flight, not %zu: the limit on open files is %zu (ulimit -n)",
            r->n_jobs, wanted, files_open_max());
    o->tell(o->ctx, buf_str(&text));
    buf_free(&text);
}

static void run_loop(struct runner *r)
{
    r->n_jobs = jobs_of(r);
    tell_jobs(r);
    r->loop = loop_new();
    live_prepare(r->loop, r->o->live, eval_is_live(r->o->source));
    r->jobs = mem_zero(r->n_jobs * sizeof *r->jobs);
    loop_on_interrupt(r->loop, on_interrupt, r);
    int rc = open_agents(r);
    for (size_t i = 0; rc == 0 && i < r->n_jobs; i++) {
        r->jobs[i].r = r;
        start_next(&r->jobs[i]);
    }
    if (rc == 0) {
        loop_run(r->loop);
    }
    for (size_t i = 0; r->n_running > 0 && i < r->n_jobs; i++) {
        if (r->jobs[i].trial != NULL) {
            keep(&r->jobs[i]); /* it can make no progress any more, and says so */
        }
    }
    agents_free(r->plan.agents);
    r->plan.agents = NULL;
    loop_free(r->loop);
    free(r->jobs);
}

/* Appends to the message what is safe on disk, and how to go on. */
static void tell_what_stays(const struct runner *r, struct err *e)
{
    size_t n = strlen(e->message);
    struct buf more = {0};
    buf_fmt(&more,
            "; the %zu finished trial%s in %s/trials.jsonl, and the same command with --resume "
            "goes on",
            r->done, r->done == 1 ? " is" : "s are", r->report->out);
    if (r->done > 0 && n + more.n < sizeof e->message) {
        memcpy(e->message + n, more.p, more.n);
        e->message[n + more.n] = '\0';
    }
    buf_free(&more);
}

/* ---- going on ---- */

/* Whether what the trial wrote is there: without its trace nothing could be read of it. */
static bool has_trace(const struct runner *r, const struct eval_trial *t)
{
    arena_clear(r->scratch);
    return t->trace.n == 0 ||
           trace_ended(path_join(r->scratch, r->report->out, arena_cstr(r->scratch, t->trace)),
                       r->scratch);
}

/* A line of the journal: the last one of a trial counts. */
static int on_line(void *ctx, size_t item, const struct eval_trial *t, struct str text, uint64_t at,
                   struct err *e)
{
    struct runner *r = ctx;
    struct eval_row *row = &r->report->rows[item];
    struct eval_trial own = *t;
    (void)e;
    own.file = plan_task(&r->plan, &r->plan.items[item]).path;
    r->left += is_settled(r, item) ? 1 : 0;
    report_fill_row(r->report, &own, text, at, row);
    if (!has_trace(r, t)) {
        row->outcome = EVAL_NONE; /* it is run again */
    }
    r->left -= is_settled(r, item) ? 1 : 0;
    count_spent(r, row);
    count_costs(r, row);
    return 0;
}

/* A line of results that are there: what was scored again is written down as the trial's last. */
static int on_result(void *ctx, size_t item, const struct eval_trial *t, struct str text,
                     uint64_t at, struct err *e)
{
    struct runner *r = ctx;
    struct eval_row *row = &r->report->rows[item], now;
    struct eval_trial own = *t;
    (void)at;
    r->told++;
    own.file = plan_task(&r->plan, &r->plan.items[item]).path;
    report_fill_row(r->report, &own, text, r->written, &now);
    if (!eval_row_scored(&now) || !is_settled(r, item) ||
        (now.hash == row->hash && now.bytes == row->bytes)) {
        return 0;
    }
    struct str line = {text.p, text.n + 1}; /* with its newline */
    int rc = appender_add(r->journal, line, e);
    if (rc == 0) {
        *row = now;
        r->written += line.n;
    }
    return rc;
}

/* Takes over what the run has done. Results that are there are of what had ended then: where more
 * is done, or they were damaged since (a torn last line, one that stands twice), the journal
 * counts. */
static int take_over(struct runner *r, const char *journal, const char *results, struct err *e)
{
    uint64_t end = 0;
    bool there = path_exists(results);
    int rc = journal_read(&r->plan, journal, on_line, r, &r->written, e);
    rc = rc != 0 ? rc : file_cut(journal, r->written, e);
    if (rc == 0 && there) {
        rc = journal_read(&r->plan, results, on_result, r, &end, e);
    }
    r->done = r->kept = r->plan.n - r->left;
    check_budget(r);
    bool stale = there && (r->left > 0 || r->told != r->plan.n);
    if (rc == 0 && stale && remove(results) != 0) {
        rc = err_at(e, ERR_IO, results, 0, 0, "cannot be removed to be written anew");
    }
    return rc;
}

/* What was journaled becomes the results, unless they are there. */
static int finish_journal(struct runner *r, const char *path, const char *results)
{
    struct lines *lines = NULL;
    struct err e = {0};
    int rc = appender_close(r->journal, &e);
    rc = rc != 0 ? rc : lines_open(path, &lines, &e);
    report_close_rows(r->report);
    if (rc != 0) {
        broken(r, rc, &e);
        return r->code;
    }
    report_read_from(r->report, lines);
    if (r->code == 0 && !path_exists(results)) {
        r->code = rundir_results(r->report, &r->error);
    }
    return r->code;
}

/* Closes the journal of a run that could not be gone on with. */
static int leave(struct runner *r, int rc)
{
    int closed = appender_close(r->journal, NULL);
    (void)closed; /* the first error is the one to tell */
    return rc;
}

static int run_trials(struct runner *r, bool goes_on, struct err *e)
{
    const char *path = path_join(r->report->arena, r->report->out, "trials.jsonl");
    const char *results = path_join(r->report->arena, r->report->out, "results.jsonl");
    report_make_rows(r->report, r->plan.n);
    r->left = r->plan.n;
    r->scratch = arena_new();
    int rc = goes_on ? take_over(r, path, results, e) : 0;
    if (rc == 0 && r->left > 0 && r->state == RUNNER_GOING) {
        run_loop(r);
    }
    arena_free(r->scratch);
    buf_free(&r->line);
    if (rc != 0) {
        return leave(r, rc);
    }
    r->report->interrupted = r->state == RUNNER_INTERRUPTED;
    rc = finish_journal(r, path, results);
    if (rc != 0 && e != NULL) {
        *e = r->error;
        tell_what_stays(r, e);
    }
    return rc;
}

/* Makes the run directory or finds it, and runs what is to run. */
static int run_plan(struct runner *r, struct eval_options *o, struct err *e)
{
    struct arena *arena = r->report->arena;
    struct rundir dir = {NULL, NULL};
    const char *there = o->resume ? rundir_find(o, &r->plan, arena) : NULL;
    if (there != NULL && o->how.mode == CASSETTE_NEW) {
        o->how.mode = CASSETTE_ONCE; /* the kill may have come between a cassette and its line */
    }
    int rc = plan_check(o, &r->plan, e);
    if (rc == 0) {
        rc = there != NULL ? rundir_open(o, &r->plan, there, arena, &dir, e)
                           : rundir_make(o, &r->plan, arena, &dir, e);
    }
    if (rc == 0) {
        r->report->out = dir.path;
        r->report->whole = o->task == NULL && o->n_filters == 0 && o->shards == 0;
        r->journal = dir.journal;
        rc = run_trials(r, there != NULL, e);
    }
    return rc;
}

int eval_run(const struct eval_options *o, struct eval_report **out, struct err *e)
{
    struct eval_options own = *o;
    struct runner r = {.o = &own};
    int rc = plan_make(o, &r.plan, e);
    if (rc != 0) {
        return rc;
    }
    r.report = report_new("");
    rc = run_plan(&r, &own, e);
    plan_free(&r.plan);
    if (rc != 0) {
        eval_report_free(r.report);
        return rc;
    }
    eval_sum(r.report, o->allow_errors);
    *out = r.report;
    return 0;
}
