/* The run directory, as it is written and read back. */
#ifndef EVALS_RUNDIR_INT_H
#define EVALS_RUNDIR_INT_H

#include "evals/plan_int.h"
#include "evals/runs.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

enum { MANIFEST_BYTES_MAX = 16 << 20 };

/* A run directory that is written: nobody else does as long as its journal is open. */
struct rundir {
    const char *path;
    struct appender *journal;
};

/* Makes the run directory (with its traces/) and writes the manifest; texts are in arena. On errors
 * the journal is closed. */
int rundir_make(const struct eval_options *o, const struct plan *plan, struct arena *arena,
                struct rundir *out, struct err *e) MUST_CHECK;

/* The run directory that there is to go on with, in arena; NULL = there is none. */
const char *rundir_find(const struct eval_options *o, const struct plan *plan, struct arena *arena);

/* Opens that one. Errors as manifest_check; ERR_IO: another run writes it. */
int rundir_open(const struct eval_options *o, const struct plan *plan, const char *path,
                struct arena *arena, struct rundir *out, struct err *e) MUST_CHECK;

/* Makes the new run directory `dir` with its traces/. ERR_EXISTS: there is something in it. */
int rundir_new(const char *dir, struct arena *arena, struct err *e) MUST_CHECK;

/* ---- manifest.c ---- */

int manifest_write(const struct eval_options *o, const struct plan *plan, const char *path,
                   struct err *e) MUST_CHECK;

/* ERR_INPUT: the manifest at `path` is that of another run; names the first difference. */
int manifest_check(const struct eval_options *o, const struct plan *plan, const char *path,
                   struct err *e) MUST_CHECK;

/* Writes the manifest at `path` anew, whose text this is, as that of a run that is judged by these
 * sets. The same sets give the same bytes. */
int manifest_judged(const char *path, struct str text, struct golden_set *const *sets, size_t n,
                    struct err *e) MUST_CHECK;

/* Whether two manifests are of shards of one run, or of one run twice. */
bool manifest_same_run(struct str a, struct str b);

/* Writes that of the whole run, of so many trials, whose shards have manifests like this text. */
int manifest_joined(const char *path, struct str text, int64_t trials, struct err *e) MUST_CHECK;

/* ---- journal.c ---- */

/* Calls line(ctx, item, trial, text, at) for each whole line of a file of results of the plan's
 * run, in order: which item it is of, and the byte that it begins at; trial and text are valid only
 * meanwhile. *bytes gets where a torn last line begins, or the end. What `line` returns ends it,
 * unless that is 0. ERR_INPUT with the line: one is damaged, or of no trial of the plan. */
typedef int journal_line(void *ctx, size_t item, const struct eval_trial *t, struct str text,
                         uint64_t at, struct err *e);
int journal_read(const struct plan *plan, const char *path, journal_line *line, void *ctx,
                 uint64_t *bytes, struct err *e) MUST_CHECK;

/* ---- results ---- */

/* Writes results.jsonl: the lines of the rows, in their order, from where they are read now, which
 * is results.jsonl from then on. */
int rundir_results(struct eval_report *r, struct err *e) MUST_CHECK;

/* A run that is to be read: its manifest, without rows. Errors as run_load. */
int run_open(const char *dir, struct run_data **out, struct err *e) MUST_CHECK;

/* The path of its set of this name; NULL = it has none. */
const char *run_set_path(const struct run_data *d, const char *name);

/* ---- merge_check.c ---- */

/* Sees to it, before anything is written, that the n shards hold each trial once, and that the
 * traces that they name are there, inside of them. ERR_INPUT with the shard. */
int merge_check(struct run_data *const *shards, size_t n, struct err *e) MUST_CHECK;
#endif
