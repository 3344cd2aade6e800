/* Where two runs of a task first differ. */
#ifndef EVALS_CALL_DIFF_INT_H
#define EVALS_CALL_DIFF_INT_H

#include "evals/figures.h"

/* One line about the first difference between a trial of `base` and one of `head` in their calls,
 * else in their answers: of the first that passed and the first that failed where the one has such
 * and the other has, else of the first of each; n 0 = none. In arena. */
struct str calls_difference(const struct eval_group *base, const struct eval_group *head,
                            struct arena *arena);
#endif
