/* What trials came to: one in full, as its line of results tells; all of a run as a report of small
 * rows, which are read back where more is wanted. */
#ifndef EVALS_RESULTS_H
#define EVALS_RESULTS_H

#include "evals/judge.h"

enum { EVAL_TRIALS_MAX = 1000000 };

enum { EVAL_CURRENCIES_MAX = 8 };

/* What was spent, by currency in the order of their names: amounts of two have no sum. */
struct eval_costs {
    struct eval_cost {
        struct str currency;
        int64_t nano;
    } of[EVAL_CURRENCIES_MAX];
    size_t n; /* 0 = unpriced */
};

/* ---- a trial ---- */

/* What a judge was asked about a trial's answer. */
struct eval_judged {
    int64_t asked;    /* rubrics; 0 = nobody was asked */
    struct str model; /* the judge */
    struct golden_verdict *verdicts;
    size_t n_verdicts; /* fewer than asked where the judge gave none */
    struct usage usage;
    int64_t cost_nano; /* -1 = unknown */
    struct str currency;
};

struct eval_trial {
    const char *set;
    const char *file; /* where the task is written; NULL = unknown */
    uint32_t line;
    struct str task;
    const struct str *tags; /* of the task */
    size_t n_tags;
    int64_t trial;
    struct str model;
    struct eval_verdict verdict;
    struct run_result result;  /* of the run alone, as all its figures */
    struct eval_judged judged; /* beside it */
    struct eval_call *calls;
    size_t n_calls;
    int64_t expected_calls; /* as the task lists them; -1 = it says nothing of calls */
    struct str trace;       /* relative to the run directory; n 0 = nothing was run */
    struct str problem; /* miss, drift or error text for people, without a last newline; n 0 = none
                         */
    int code; /* of an error: ERR_MISS, ERR_INPUT (a bad cassette), ERR_NET, ERR_IO …; else 0 */
    size_t drifts;
    struct str cassette; /* XXH3-64 in hex of its recording; n 0 = none was replayed or made */
    bool recorded;       /* EVAL_RECORD: something was, and it ended well */
};

/* Whether there was a run at all: not where its cassette was missing, for example. What such a
 * trial took and gave is unknown. */
bool eval_ran(const struct eval_trial *t);

/* ---- what a report holds of each trial ---- */

/* What many trials have in common; each combination stands once in a report. */
struct eval_shared {
    const char *set;
    const char *file; /* where the task is written; NULL = unknown */
    struct str model;
    struct str currency;
    const struct str *tags; /* of the task */
    size_t n_tags;
    struct str trace_begin; /* of the trace's path, before the task's id; and behind it */
    struct str trace_end;
};

enum eval_trace {
    EVAL_TRACE_NONE,     /* nothing was run */
    EVAL_TRACE_TASK,     /* BEGIN TASK END .jsonl */
    EVAL_TRACE_NUMBERED, /* BEGIN TASK END .TRIAL.jsonl */
    EVAL_TRACE_OTHER     /* as its line says */
};

/* What was asked of judges about a trial, at least one rubric. */
struct eval_row_judge {
    int64_t asked;
    int64_t cost_nano; /* -1 = unknown */
    struct str currency;
};

/* A trial without its checks, calls, answer and problem: those are read back from the run directory
 * when they are wanted (eval_details), so that a large run takes little memory. */
struct eval_row {
    const struct eval_shared *shared;
    const struct eval_scores *scores;   /* likewise of many trials */
    const struct eval_row_judge *judge; /* NULL = none was asked */
    struct str task;
    struct usage usage;
    int64_t cost_nano; /* -1 = unknown */
    int64_t ended_ms;
    uint64_t at;    /* the byte at which its line of results begins */
    uint32_t bytes; /* of the line, without its newline */
    uint32_t hash;  /* of the line, so that another one is not taken for it */
    uint32_t line;  /* of the task in shared->file */
    int32_t trial;
    int32_t steps;
    int32_t calls;
    int32_t expected_calls; /* -1 = the task says nothing of calls */
    int32_t drifts;
    int16_t code;    /* of an error */
    uint16_t why;    /* bits of enum eval_why up to WHY_JUDGE */
    uint8_t outcome; /* enum eval_outcome; EVAL_NONE: did not come to its end */
    uint8_t status;  /* enum run_status */
    uint8_t trace;   /* enum eval_trace */
    bool told;       /* a check failed, or there is a problem */
};

bool eval_row_ran(const struct eval_row *r);    /* as eval_ran */
bool eval_row_scored(const struct eval_row *r); /* passed or failed */

/* What a trial that did not pass is counted under. */
enum eval_why {
    /* Checks that it failed, by their names; a status has its own word. */
    WHY_CALLS,
    WHY_FORBID,
    WHY_NO_CALLS,
    WHY_ANSWER,
    WHY_STATUS, /* completed, which was not expected */
    WHY_STEPS,
    WHY_CALLS_LIMIT,
    WHY_TOKENS,
    WHY_COST,
    WHY_SECONDS,
    WHY_SCRIPT,
    WHY_OTHER,  /* any other check */
    WHY_RUBRIC, /* of WHY_ANSWER: its message is of a rubric */
    WHY_JUDGE,  /* error: the judge gave no verdict */
    WHY_ERROR,  /* error of which the status tells nothing */
    /* Of WHY_CALLS, by the scores. */
    WHY_WRONG_TOOL, /* both of the next two */
    WHY_MISSING_CALL,
    WHY_EXTRA_CALL,
    WHY_WRONG_ARGUMENT,
    WHY_ORDER, /* none of these */
    WHY_RUN,   /* and further: + enum run_status, how the run ended */
    WHYS = WHY_RUN + RUN_CANCELLED + 1,
    WHY_ALL = WHYS
};

struct eval_summary {
    size_t trials, passed, failed, errors, misses, drifts;
    struct ratio success; /* passed of those that passed or failed */
    /* Means over the trials that passed or failed and have the score; den 0 = none has. */
    struct ratio tool_selection, precision, recall, f1, arguments, trajectory;
    /* Of all trials that ran; -1 where one that was scored does not know it, or none ran. */
    struct usage usage;
    struct eval_costs costs;       /* likewise */
    int64_t judged;                /* rubrics that judges were asked about, in all trials */
    struct eval_costs judge_costs; /* beside the costs above */
    int64_t p50_latency_ms, p95_latency_ms;
    int64_t steps, calls;
    size_t why[WHYS]; /* trials; one may stand in several */
};

struct eval_cause {
    enum eval_why why;
    const char *name;
    size_t trials; /* > 0 */
};

/* Lists why trials did not pass, most frequent first, then by name, into out[WHYS]; returns how
 * many. of: WHY_ALL, or one of those to list what it consists of. */
size_t eval_causes(const struct eval_summary *s, enum eval_why of, struct eval_cause *out);

struct eval_pool;
struct lines;

/* What a trial says of its misses, in parts. */
struct eval_miss {
    struct str text; /* without the command */
    struct str why;  /* what is the same where other tasks miss for the same reason */
    /* The command that records all trials like it anew, in two parts: --task goes between. Both n 0
     * = it is not known. */
    struct str begin, end;
};

/* Whether the trial is an error for the want of a recording; its parts, in arena, into *out. */
bool eval_missed(const struct eval_trial *t, struct arena *arena, struct eval_miss *out);

/* A finished evaluation. */
struct eval_report {
    struct arena *arena;
    struct eval_pool *pool; /* what its rows share; NULL = another report's */
    struct lines *details;  /* the file that the lines of the rows stand in */
    const char *out;
    struct eval_row *rows; /* in the order of the set, then model, then trial */
    size_t n;
    struct eval_summary summary;
    size_t recorded; /* EVAL_RECORD: cassettes that were made or added to */
    bool whole;      /* all tasks of its sets were asked for; false also where that is not known */
    bool interrupted;
    struct str stopped; /* why no more trials were started; n 0 = all were */
    int exit_status;    /* errors count beyond what is allowed */
};

/* Reads a trial back, its texts into arena. ERR_INPUT: its line has changed since the run was read;
 * ERR_IO. */
int eval_details(const struct eval_report *r, const struct eval_row *row, struct arena *arena,
                 struct eval_trial *out, struct err *e) MUST_CHECK;
/* Its line of results alone, without its newline; valid until the next line of this report is read.
 * Errors as eval_details. */
int eval_line(const struct eval_report *r, const struct eval_row *row, struct str *out,
              struct err *e) MUST_CHECK;
/* The path of a trial's trace, relative to the run directory, into *out (p NULL = nothing was run),
 * in arena. Errors as eval_details. */
int eval_trace_path(const struct eval_report *r, const struct eval_row *row, struct arena *arena,
                    struct str *out, struct err *e) MUST_CHECK;
void eval_report_free(struct eval_report *r); /* NULL allowed */

/* Appends the line of results.jsonl of one trial, with its newline. */
void eval_trial_json(struct buf *out, const struct eval_trial *t);
/* Appends the summary as an object. */
void eval_summary_json(struct buf *out, const struct eval_summary *s);
#endif
