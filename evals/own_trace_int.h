/* Whether a log is the one that a trial of a run has written. */
#ifndef EVALS_OWN_TRACE_INT_H
#define EVALS_OWN_TRACE_INT_H

#include "evals/eval.h"
#include "kernel/base/val.h"

enum { TRACE_BYTES_MAX = 1 << 30 };

/* Whether a log is there to its end, run_end: a loss of power may have taken some of it. */
bool trace_ended(const char *path, struct arena *scratch);

/* Checks that the log begins with its run_start and that the lines before byte `end_at`, where its
 * run_end begins as line number `line`, are those that were written. ERR_INPUT with path. */
int trace_whole(const char *path, struct str log, size_t end_at, uint32_t line,
                const struct val *run_end, struct err *e) MUST_CHECK;

/* Checks that the log, which came to `is`, is that of the trial `t` as its results say. fake: its
 * models were scripts. ERR_INPUT with path. */
int trace_own(const char *path, struct str log, const struct eval_trial *t, bool fake,
              const struct run_result *is, struct arena *scratch, struct err *e) MUST_CHECK;
#endif
