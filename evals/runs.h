/* Run directories read back, joined and scored again. */
#ifndef EVALS_RUNS_H
#define EVALS_RUNS_H

#include "evals/results.h"

/* A golden set as the manifest names it. */
struct run_set {
    struct str name;
    struct str path;
    struct str hash; /* XXH3-64 in hex of its text */
};

/* A run directory that was read. */
struct run_data {
    struct eval_report *report; /* scores with 6 decimals are taken for the fractions they were */
    struct str manifest;        /* its text */
    struct run_set *sets;
    size_t n_sets;
    int64_t planned;       /* trials */
    int64_t shard, shards; /* 0 = the whole run */
    bool fake;             /* its models were scripts */
    bool journal; /* trials.jsonl was read, in the order of finishing: results.jsonl is not there,
                     as the run was cut off */
    bool torn;    /* its last line was cut off and is left out */
};

/* Reads the run at `dir`: the manifest, then results.jsonl, or what trials.jsonl holds where the
 * run did not come to its end: of a trial that stands there more than once, as one whose error was
 * tried again, the last line counts. ERR_NOT_FOUND: no such folder, or no run; ERR_INPUT with file
 * and line: not what assay writes, a trial twice, another version; ERR_IO. Owned by the caller. */
int run_load(const char *dir, struct run_data **out, struct err *e) MUST_CHECK;
void run_data_free(struct run_data *d); /* NULL allowed */

/* Reads one line of results.jsonl into *out, whose texts are views of `text` or in arena. Errors as
 * run_load; a line that is not known is 0. */
int run_trial_read(struct arena *arena, const char *file, uint32_t line, struct str text,
                   struct eval_trial *out, struct err *e) MUST_CHECK;

/* Joins the n ≥ 1 shards at `dirs`, given in any order, into the new run directory `out`, which
 * then holds what the unsharded run would: manifest and results byte for byte, and the traces. The
 * journal has the order of the results. ERR_INPUT: a shard is missing, given twice, not finished,
 * or of another run; ERR_EXISTS; errors as run_load. */
int run_merge(const char *const *dirs, size_t n, const char *out, struct err *e) MUST_CHECK;

/* Scores the run at `dir` again from its traces, and writes its results anew. sets: to judge by
 * instead of those that the manifest names; n_sets 0 = those. Trials that ended in an error, and
 * what a trace does not hold (a script that was not played to its end), stay as they are. The
 * report is the caller's; *changed (may be NULL) gets how many outcomes are others than before.
 * ERR_INPUT: the run is not finished, a trace is missing or damaged, a task is not in the sets;
 * nothing is then changed. Errors as run_load and golden_load. */
int run_rescore(const char *dir, const char *const *sets, size_t n_sets, int64_t allow_errors,
                struct eval_report **out, size_t *changed, struct err *e) MUST_CHECK;
#endif
