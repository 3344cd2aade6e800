/* Scoring results of the Berkeley Function Calling Leaderboard (BFCL v4): the verdicts of its
 * official checker, verdict by verdict and error type included, and beside them our own, with the
 * checker's known faults mended. Source: https://github.com/ShishirPatil/gorilla,
 * berkeley-function-call-leaderboard (Apache-2.0), read for its rules. */
#ifndef EVALS_BFCL_BFCL_H
#define EVALS_BFCL_BFCL_H

#include "evals/ratio.h"
#include "goldens/bfcl.h"

enum bfcl_language { BFCL_PYTHON, BFCL_JAVA, BFCL_JAVASCRIPT };

/* The category that a file's name tells, as BFCL's own or any name that has it in it
 * ("BFCL_v4_live_simple_result.json", "simple_python.jsonl"); or that `name` is. NULL = none. */
const char *bfcl_category_of_path(const char *path);
const char *bfcl_category(const char *name);
/* The i-th of them, in the order of the leaderboard; NULL = there are fewer. */
const char *bfcl_category_at(size_t i);
/* Whether it has answers: all but relevance and irrelevance. */
bool bfcl_category_has_answers(const char *category);

/* What a file of results holds; BFCL_GUESS: calls if any line has a list, else texts. */
enum bfcl_output { BFCL_GUESS, BFCL_CALLS, BFCL_TEXT };

struct bfcl_options {
    const char *questions;
    const char *answers; /* NULL = none */
    const char *results;
    const char *category; /* from bfcl_category */
    bool underscore_to_dot;
    enum bfcl_output output;
};

/* One verdict. */
struct bfcl_verdict {
    struct str id;
    const char *error_type; /* the official one; NULL = valid */
    bool unfinished;        /* the official checker breaks off: error_type is EXCEPTION:… */
    const char *own;        /* ours: the same words, NULL = valid */
    struct str why;         /* where the two differ, the reason; n 0 = they agree */
};

struct bfcl_score {
    const char *category;
    size_t total, correct, own_correct, differ;
};

/* Scores a file, a verdict to `each` as it is found (views valid during the call). Errors as
 * bfcl_set_load and bfcl_results_open; ERR_INPUT: a result without its question. */
int bfcl_score(const struct bfcl_options *o, void (*each)(void *ctx, const struct bfcl_verdict *v),
               void *ctx, struct bfcl_score *out, struct err *e) MUST_CHECK;

enum { BFCL_SCORES_MAX = 32 };

/* What the leaderboard makes of a model's categories. Means of categories that were not scored
 * leave them out, and name them in `missing`. */
struct bfcl_aggregate {
    const char *name;
    struct ratio value;     /* den 0 = none of its categories was scored */
    size_t total;           /* verdicts in it */
    const char *missing[8]; /* categories that were not scored */
    size_t n_missing;
};

enum { BFCL_AGGREGATES = 4 };

/* non_live (mean of simple, multiple, parallel and parallel_multiple, simple being the mean of its
 * three languages), its part simple, live (mean of its four categories by their counts), and
 * irrelevance_detection (mean of irrelevance and live_irrelevance). */
void bfcl_aggregates(const struct bfcl_score *scores, size_t n,
                     struct bfcl_aggregate out[BFCL_AGGREGATES]);
#endif
