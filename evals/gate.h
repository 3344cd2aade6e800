/* Gates: what a run must reach for CI to pass it. */
#ifndef EVALS_GATE_H
#define EVALS_GATE_H

#include "evals/compare.h"

enum gate_op { GATE_GE, GATE_LE, GATE_EQ, GATE_NE, GATE_LT, GATE_GT };

enum gate_metric {
    GATE_SUCCESS,
    GATE_TOOL_SELECTION,
    GATE_PRECISION,
    GATE_RECALL,
    GATE_F1,
    GATE_ARGUMENTS,
    GATE_TRAJECTORY,
    GATE_PASS_AT,  /* pass@K */
    GATE_PASS_HAT, /* pass^K */
    GATE_COST_USD,
    GATE_COST_USD_PER_TRIAL,
    GATE_COST_USD_PER_PASSED,
    GATE_P50_LATENCY,
    GATE_P95_LATENCY,
    GATE_STEPS,
    GATE_CALLS,
    GATE_TRIALS,
    GATE_FAILED,
    GATE_ERRORS,
    GATE_FLAKY,
    GATE_REGRESSIONS, /* this one and those below want a baseline */
    GATE_SUCCESS_DROP,
    GATE_WORSE_P
};

struct gate {
    const char *text; /* as given */
    enum gate_metric metric;
    int64_t k;
    enum gate_op op;
    double limit;
};

enum { GATES_MAX = 32, GATE_K_MAX = 1000000 };

/* Reads "METRIC OP NUMBER", spaces allowed: "success>=0.9", "pass^3 >= 0.8". text must outlive
 * *out. ERR_USAGE with what is expected. */
int gate_parse(const char *text, struct gate *out, struct err *e) MUST_CHECK;
bool gate_wants_baseline(const struct gate *g);

/* GATE_UNSURE: the limit is kept, but so few tasks could not tell. */
enum gate_verdict { GATE_PASSES, GATE_FAILS, GATE_UNSURE };

struct gate_result {
    enum gate_verdict verdict;
    struct str message; /* one line: the gate, what was found, what follows; in arena */
};

/* Holds a run to a gate. c: its comparison with the baseline, NULL where the gate wants none. What
 * is null or unpriced fails. */
struct gate_result gate_check(const struct gate *g, const struct eval_report *r,
                              const struct comparison_result *c, struct arena *arena);
#endif
