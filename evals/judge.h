/* Scoring one trial: what its task expects of a run, and what that came to. */
#ifndef EVALS_JUDGE_H
#define EVALS_JUDGE_H

#include "evals/ratio.h"
#include "goldens/golden.h"

/* A call that was made, as the model asked for it. */
struct eval_call {
    struct str name;
    struct str arguments; /* text as sent */
    int64_t step;         /* of the reply it came in: calls of one reply are a group */
};

/* What a run came to, for scoring. */
struct eval_run {
    const struct eval_call *calls; /* without a terminal tool's call */
    size_t n_calls;
    struct str model; /* for messages */
    struct run_result result;
    struct golden_verdicts verdicts; /* of judges, on its answer */
};

struct eval_scores {
    struct ratio tool_selection;
    struct ratio precision;
    struct ratio recall;
    struct ratio f1;
    struct ratio arguments;
    int trajectory; /* 1, 0, -1 = null */
    bool success;
};

struct eval_check {
    /* "calls", "forbid", "no_calls", "answer", "steps", "calls_limit", …, "status" */
    struct str name;
    bool passed;
    struct str message; /* when it failed: what was expected, what came, where they differ */
};

enum eval_outcome { EVAL_PASS, EVAL_FAIL, EVAL_ERROR, EVAL_NONE };
const char *eval_outcome_name(enum eval_outcome o);
bool eval_is_scored(enum eval_outcome o); /* passed or failed */

/* What the run's status alone makes of a trial (goldens/README.md, "Status"). EVAL_FAIL: unless the
 * task expects this status; EVAL_PASS: if every check holds. */
enum eval_outcome eval_outcome_of_status(enum run_status s);

struct eval_verdict {
    enum eval_outcome outcome;
    struct eval_scores scores;
    struct eval_check *checks;
    size_t n_checks;
};

/* Judges a run by what its task expects, and gives the scores of goldens/README.md. Everything in
 * *out lives in arena. */
void eval_judge(const struct golden_task *task, const struct eval_run *run, struct arena *arena,
                struct eval_verdict *out);

/* Adds one more check, which has failed, and the trial with it. The list is in arena. */
void eval_fail_also(struct eval_verdict *v, const struct eval_check *check, struct arena *arena);
#endif
