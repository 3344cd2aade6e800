/* Where two runs of a task first differ. */
#ifndef EVALS_CALL_DIFF_INT_H
#define EVALS_CALL_DIFF_INT_H

#include "evals/compare.h"

/* One line about the first difference between a trial of the base and one of the head, which both
 * have trials of the task, in their calls, else in their answers: of the first that passed and the
 * first that failed where the one has such and the other has, else of the first of each; n 0 =
 * none. In arena. Errors as eval_details. */
int calls_difference(const struct comparison_result *c, const struct compared_task *t,
                     struct arena *arena, struct str *out, struct err *e) MUST_CHECK;
#endif
