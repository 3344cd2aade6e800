/* What people read of an evaluation. */
#ifndef REPORTS_REPORT_H
#define REPORTS_REPORT_H

#include "evals/eval.h"

/* Appends the summary table: a line a trial (task, outcome, calls, steps, tokens, cost, time), why
 * each failure failed, and the totals. color: ANSI colours. */
void report_table(struct buf *out, const struct eval_report *r, bool color);

/* Appends an event log as a readable session: rounds, times, tokens, cost, calls with arguments and
 * results; also of a log that was cut off. ERR_INPUT with line for a line that is no event. full:
 * results are not shortened. */
int report_trace(struct buf *out, const char *file, struct str log, bool full, bool color,
                 struct err *e) MUST_CHECK;
#endif
