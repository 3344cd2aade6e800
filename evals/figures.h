/* What the trials of a run come to, task by task: rates with their intervals, tasks that pass now
 * and then, what a trial costs. */
#ifndef EVALS_FIGURES_H
#define EVALS_FIGURES_H

#include "evals/results.h"
#include "evals/stats.h"

/* The trials of one task (with one model, where a run has several). */
struct eval_group {
    struct str task;
    struct str model;             /* n 0 = not told apart */
    const struct eval_row **rows; /* of its trials, in order of trial */
    size_t n;
    int64_t scored, passed, errors;
    int64_t ms;   /* sum over the scored ones */
    int64_t nano; /* likewise; -1 = unpriced, or in several currencies */
    struct str currency;
};

/* Whether a run has trials of more than one model. */
bool eval_several_models(const struct eval_report *r);

/* The groups of a run, in the order of their first trials; in arena, views of the report. */
struct eval_group *eval_groups(const struct eval_report *r, bool by_model, struct arena *arena,
                               size_t *n);

/* Passed now and then: some of its scored trials, but not all. */
bool eval_is_flaky(const struct eval_group *g);

/* pass@k, or with `every` pass^k: the mean over the groups with at least k scored trials; false
 * where there is none. */
bool eval_pass_k(const struct eval_group *groups, size_t n, int64_t k, bool every, double *out);

/* One report a model, in the order of their names, with the report's rows and sums of its own;
 * views of r, in arena. */
struct eval_report *eval_by_model(const struct eval_report *r, struct arena *arena, size_t *n);

struct eval_figures {
    struct eval_group *groups;
    size_t n_groups;
    size_t scored;           /* of them */
    int64_t trials_most;     /* scored ones of one task */
    struct interval success; /* Wilson's, or with several trials a task stats_clustered */
    bool clustered;
    size_t flaky, errors;
    double pass_at, pass_hat; /* for k = trials_least_k; only with several trials */
    int64_t k;                /* the fewest scored trials that a scored task has; 0 = none scored */
    bool priced;              /* every scored trial, in one currency */
    struct str currency;
    int64_t nano; /* of all scored trials */
    double cost;  /* nano-units a scored trial */
    struct interval cost_interval;
    /* Of input tokens those from a cache, of output tokens those of reasoning, and of the cost of
     * runs and judges that of judges; -1 = unknown, or no judge was asked. */
    double cached_share, reasoning_share, judge_share;
    double latency; /* ms a scored trial; 0 with none */
    struct interval latency_interval;
};

/* Fills *out; in arena. */
void eval_figures(const struct eval_report *r, struct arena *arena, struct eval_figures *out);

/* Appends the members of the summary that have intervals: "success_interval", "tasks", "flaky",
 * "pass_at", "pass_hat", "cost_per_trial", …; without braces. */
void eval_figures_json(struct buf *out, const struct eval_report *r);
#endif
