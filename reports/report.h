/* What people and CI read of evaluations. What is long goes into a sink piece by piece; a trial
 * that cannot be read back for it (eval_details) stops the sink. */
#ifndef REPORTS_REPORT_H
#define REPORTS_REPORT_H

#include "evals/compare.h"

/* Runs with more trials are not listed whole: only so many that did not pass, and why a part of
 * them did not. */
enum { TABLE_ROWS_MAX = 200, TABLE_STORIES_MAX = 50 };

/* Appends the summary table: a line a trial (task, outcome, calls, steps, tokens, cost, time), why
 * each failure failed, and the totals with their intervals. color: ANSI colours. */
void report_table(struct sink *out, const struct eval_report *r, bool color);

/* Appends an event log as a readable session: rounds, times, tokens, cost, calls with arguments and
 * results; also of a log that was cut off. ERR_INPUT with line for a line that is no event. full:
 * results are not shortened. */
int report_trace(struct buf *out, const char *file, struct str log, bool full, bool color,
                 struct err *e) MUST_CHECK;

/* Appends a comparison for people: what regressed, improved, still fails, is flaky, new or gone,
 * each with its first difference; then rates, cost and time with intervals, and the verdict. */
void report_compare(struct sink *out, const struct comparison_result *c, const char *base,
                    const char *head, bool color);

/* The run that others are compared with, and what came of it. */
struct report_baseline {
    const char *name;
    const struct comparison_result *result;
};

/* Each appends n ≥ 1 runs in a form that programs read. */

/* JUnit XML as Jenkins' schema has it (xunit-plugin, junit-10.xsd), which GitHub and GitLab read
 * too: a suite a run, a case a trial; a failed check is a failure, an error an error. */
void report_junit(struct sink *out, const struct eval_report *const *runs, size_t n);
/* GitHub's Markdown for a comment: a line, a table, what changed since the baseline (NULL = there
 * is none), and the rest folded; about 60,000 characters at most. */
void report_markdown(struct sink *out, const struct eval_report *const *runs, size_t n,
                     const struct report_baseline *baseline);
/* RFC 4180 with a line of names: a line a trial. */
void report_csv(struct sink *out, const struct eval_report *const *runs, size_t n);
/* One object: {"runs": [{"run", "summary", "figures", "models", "trials"}]}, and with a baseline
 * "comparison". */
void report_json(struct sink *out, const struct eval_report *const *runs, size_t n,
                 const struct report_baseline *baseline);

/* A line a trial, as in results.jsonl, then {"summary", "figures", "run"}. more: appends members
 * that follow, with their commas; NULL = none. */
void report_json_lines(struct sink *out, const struct eval_report *r,
                       void (*more)(void *ctx, struct sink *out), void *ctx);

/* Writes the scripts and data of two plots into the folder `dir`, success against cost for each
 * model (with intervals and the Pareto front) and the distribution of times, and lets gnuplot make
 * an SVG and a PNG of each. *drawn false: gnuplot is not there or failed, which `why` says in one
 * line; everything else is written. `why` also says where models without a price are left out.
 * ERR_IO. */
int report_plots(const char *dir, const struct eval_report *const *runs, size_t n, bool *drawn,
                 struct buf *why, struct err *e) MUST_CHECK;
#endif
