/* The parts of a run: what is planned, one trial under way, the run directory, the sums. */
#ifndef EVALS_RUN_INT_H
#define EVALS_RUN_INT_H

#include "evals/agent.h"
#include "evals/eval.h"
#include "evals/rig.h"
#include "kernel/drive/files.h"

/* ---- what is to be run ---- */

struct plan_item {
    const struct golden_set *set;
    const struct golden_task *task;
    int64_t trial; /* from 1 */
};

/* An id that --task names. */
struct plan_choice {
    struct str id;
    bool found; /* a task has it */
};

struct plan {
    struct arena *arena;
    struct golden_set **sets;
    size_t n_sets;
    struct plan_choice *chosen; /* in the order of str_cmp; NULL = all tasks */
    size_t n_chosen;
    struct plan_item *items; /* in the order of the sets, then the trials */
    size_t n;
    bool several;               /* a task has more than one trial */
    struct toolset *no_tools;   /* for tasks without tools */
    struct agent_command agent; /* n 0 = our own loop is what is evaluated */
    struct agents *agents;      /* while it runs: the program and its server; else NULL */
};

/* Loads the sets and checks everything that can be checked before anything is run. Errors as
 * eval_run. */
int plan_make(const struct eval_options *o, struct plan *out, struct err *e) MUST_CHECK;
void plan_free(struct plan *p);

/* The trial's trace, relative to the run directory, and its cassette's path with `mark` before the
 * ending; in arena. */
const char *plan_trace(const struct plan *p, const struct plan_item *item, struct arena *arena);
const char *plan_cassette(const struct eval_options *o, const struct plan_item *item,
                          const char *mark, struct arena *arena);

/* The script that plays a task with EVAL_FAKE; NULL = it has none. */
const char *plan_script(const struct eval_options *o, const struct golden_task *task);

/* ---- one trial ---- */

struct trial;

/* Starts a trial. done(ctx) comes once, from the loop, when it is over; a trial that could not
 * be started is over too. trace_path must outlive it. */
struct trial *trial_new(struct loop *loop, const struct eval_options *o, const struct plan *plan,
                        const struct plan_item *item, const char *dir, void (*done)(void *ctx),
                        void *ctx);
void trial_cancel(struct trial *t);

/* What it came to, in arena; frees t. ERR_IO: its trace or its recording could not be written. */
int trial_finish(struct trial *t, struct arena *arena, struct eval_trial *out,
                 struct err *e) MUST_CHECK;

/* How many calls are expected; -1 = nothing is said of calls. */
int64_t expected_calls(const struct golden_expect *x);

/* ---- the run directory ---- */

/* Makes the run directory (with its traces/) and writes the manifest; *dir is in arena. */
int rundir_make(const struct eval_options *o, const struct plan *plan, struct arena *arena,
                const char **dir, struct err *e) MUST_CHECK;

/* Makes the new run directory `dir` with its traces/. ERR_EXISTS: there is something in it. */
int rundir_new(const char *dir, struct arena *arena, struct err *e) MUST_CHECK;

/* Writes results.jsonl: the lines of the rows, in their order, from where they are read now, which
 * is results.jsonl from then on. */
int rundir_results(struct eval_report *r, struct err *e) MUST_CHECK;

/* Writes the manifest at `path` anew, whose text this is, as that of a run that is judged by these
 * sets. The same sets give the same bytes. */
int rundir_judged(const char *path, struct str text, struct golden_set *const *sets, size_t n,
                  struct err *e) MUST_CHECK;

/* A run that is to be read: its manifest, without rows. Errors as run_load. */
struct run_data;
int run_open(const char *dir, struct run_data **out, struct err *e) MUST_CHECK;

/* The path of its set of this name; NULL = it has none. */
const char *run_set_path(const struct run_data *d, const char *name);

/* What is said of results whose last line is torn. */
#define RUN_CUT_OFF "the last line is cut off; the whole ones are in trials.jsonl beside it"

/* ---- sums ---- */

/* Fills the report's summary and exit status from its trials. */
void eval_sum(struct eval_report *r, int64_t allow_errors);
#endif
