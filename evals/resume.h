/* A run brought up from its event log, to go on with: `assay resume`, `assay fork`. */
#ifndef EVALS_RESUME_H
#define EVALS_RESUME_H

#include "kernel/core/replay.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"
#include "kernel/drive/tools.h"

enum { LOG_BYTES_MAX = 1 << 30 };

/* Everything lives until resumed_free. */
struct resumed {
    struct arena *arena;
    const char *path;
    struct str log;                /* the lines that were taken */
    size_t restored;               /* lines that a snapshot stood for, and that were not fed */
    bool torn;                     /* the file goes on with a part of a line */
    struct buf missing;            /* lines that follow, and that the log was cut before */
    struct kernel *kernel;         /* NULL once a session has it, which frees it */
    struct kernel_config config;   /* as the log left it */
    struct toolset *builtins;      /* every tool that is built in: what answers where nobody names
                                      others */
    const struct tool_spec *specs; /* that the log's tools were looked for among */
    size_t n_specs;
    struct kernel *past;     /* resumed_requests: holds what they point to; NULL = not asked */
    size_t requests;         /* resumed_count: that the model answered or failed */
    struct tool_call *calls; /* likewise: that were carried out, once for each attempt */
    size_t n_calls;
    struct tool_call *decided; /* likewise: that approval was given or refused for */
    size_t n_decided;
};

/* Reads the log at `path` and feeds its first lines_max whole lines (SIZE_MAX = all) to a kernel;
 * where a snapshot stands beside it that fits, those behind it alone, which comes to the same.
 * tools: those of the run, by name, beside the built-in ones; NULL = none; must outlive *out.
 * Errors as file_read; ERR_INPUT with the line: no event log, damaged, shorter than lines_max;
 * ERR_NOT_FOUND: a tool of the log is not given. */
int resumed_open(const char *path, size_t lines_max, const struct toolset *tools,
                 struct resumed **out, struct err *e) MUST_CHECK;
void resumed_free(struct resumed *r); /* NULL allowed */

/* Counts what the log's run has asked the world, which is where a script or a recording stands.
 * calls: tool calls too. */
void resumed_count(struct resumed *r, bool calls);

/* What the log's run has asked its model, and was answered, in order, into *out: for a script whose
 * answers hang on it. Returns how many. Views until resumed_free. Once. */
size_t resumed_requests(struct resumed *r, const struct kernel_asked **out);

/* Opens the log of the run that goes on: `path` itself without its torn end, or another file, which
 * is replaced and begins with the same lines. What is missing is written. ERR_IO, ERR_INPUT (a
 * folder). */
int resumed_trace(const struct resumed *r, const char *path, struct appender **out,
                  struct err *e) MUST_CHECK;

/* The word behind "type" in a line that the kernel has written; a view of it. */
struct str log_line_type(struct str line);

/* Whether `path` may become a log: appender_check, and ERR_INPUT for a file that holds something
 * else than a log, which would be lost. */
int log_check_replaced(const char *path, struct err *e) MUST_CHECK;

/* Checks that a log follows from what it says happened; `tools` as in resumed_open. *lines gets how
 * many were right, *ended whether the last one is a run_end. Errors as resumed_open, and ERR_STATE
 * with the first line that does not follow. Every line is fed: snapshots play no part. */
int log_verify(const char *path, const struct toolset *tools, size_t *lines, bool *ended,
               struct err *e) MUST_CHECK;
#endif
