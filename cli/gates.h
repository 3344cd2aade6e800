/* Gates on the command line: what eval and compare share. */
#ifndef CLI_GATES_H
#define CLI_GATES_H

#include "cli/cli.h"
#include "cli/options.h"
#include "evals/gate.h"

/* The flags; NULL = not given. */
struct gate_flags {
    struct option_list gates;
    const char *unsure, *margin;
};
enum { GATE_OPTIONS = 3 };
/* Writes the options that fill *f to out; returns how many they are. */
size_t gate_options(struct gate_flags *f, struct option *out);

struct gates {
    struct gate at[OPTION_LIST_MAX];
    size_t n;
    bool unsure_fails;
    double margin; /* the fall of the rate that matters */
};

/* What the flags come to; their texts must outlive *out. ERR_USAGE, also where a gate wants a
 * baseline and there is none. */
int gates_parse(const struct gate_flags *f, bool baseline, struct gates *out,
                struct err *e) MUST_CHECK;

/* Holds a run to them: EXIT_OK or EXIT_FAILED. Appends a line each to text, an object each to a
 * list that is open in json; either may be NULL. c: NULL = there is no baseline. */
int gates_check(const struct gates *g, const struct eval_report *r,
                const struct comparison_result *c, struct buf *text, struct buf *json);

/* A number like 0.25, ≥ 0, of `option` in billionths. ERR_USAGE. */
int decimal_parse(const char *option, const char *text, int64_t *nano, struct err *e) MUST_CHECK;

/* Their help. */
#define GATE_HELP                                                                                  \
    "  --gate 'METRIC OP NUMBER'  what must hold, several times; the exit status is then "         \
    "theirs:\n"                                                                                    \
    "                      success tool_selection precision recall f1 arguments trajectory\n"      \
    "                      pass@K pass^K cost_usd cost_usd_per_trial cost_usd_per_passed\n"        \
    "                      p50_latency_ms p95_latency_ms steps calls trials failed errors "        \
    "flaky;\n"                                                                                     \
    "                      against a baseline: regressions success_drop worse_p. OP: >= <= == != " \
    "< >\n"                                                                                        \
    "  --unsure pass|fail  a gate that holds, on too few tasks to tell (default pass)\n"           \
    "  --margin X          the fall of the rate that matters (default 0.05)\n"
#endif
