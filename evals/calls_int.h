/* Judging the calls of one trial against `expect.calls` and `no_calls`. */
#ifndef EVALS_CALLS_INT_H
#define EVALS_CALLS_INT_H

#include "evals/judge.h"

struct calls_verdict {
    bool scored;               /* false: the task expects nothing of calls, all scores are null */
    struct eval_scores scores; /* all but success */
    struct str message;        /* why the mode does not hold, a finding a line; in arena */
};

void calls_judge(const struct golden_task *task, const struct eval_run *run, struct arena *arena,
                 struct calls_verdict *out);
#endif
