/* One trial under way, and the sums of all. */
#ifndef EVALS_RUN_INT_H
#define EVALS_RUN_INT_H

#include "evals/plan_int.h"
#include "evals/rig.h"

/* What stands before the command, where a trial has no recording. */
#define MISS_RECORD "to record it: "

/* ---- trial.c ---- */

struct trial;

/* Starts a trial in the run directory `dir`. done(ctx) comes once, from the loop, when it is over;
 * a trial that could not be started is over too. What it is given must outlive it. */
struct trial *trial_new(struct loop *loop, const struct eval_options *o, const struct plan *plan,
                        const struct plan_item *item, const char *dir, void (*done)(void *ctx),
                        void *ctx);
void trial_cancel(struct trial *t);

/* ---- settle.c ---- */

/* What it came to, in arena; frees t. ERR_IO: its trace or its recording could not be written. */
int trial_finish(struct trial *t, struct arena *arena, struct eval_trial *out,
                 struct err *e) MUST_CHECK;

/* Makes it an error, which has no scores and no checks. problem: outlives it. */
void trial_make_error(struct eval_trial *t, int code, struct str problem);

/* How many calls are expected; -1 = nothing is said of calls. */
int64_t expected_calls(const struct golden_expect *x);

/* ---- why.c ---- */

/* The bits of enum eval_why that stay of a trial in its row. */
uint16_t eval_why_bits(const struct eval_trial *t);
/* Counts a trial by its row. */
void eval_why_count(struct eval_summary *s, const struct eval_row *t);

/* ---- summary.c ---- */

/* Adds to what was spent in a currency, whose name is kept. False where there are too many of them,
 * or where the sum is more than there are numbers for: it is then left as it is. */
bool eval_cost_add(struct eval_costs *costs, struct str currency, int64_t nano);

/* Whether amounts in it are US dollars; so are those that name no currency. */
bool eval_cost_is_usd(struct str currency);

/* Fills the report's summary and exit status from its trials. */
void eval_sum(struct eval_report *r, int64_t allow_errors);
#endif
