/* Feeding an event log again: the one mechanism behind resume, fork, verify and audit. */
#ifndef KERNEL_CORE_REPLAY_H
#define KERNEL_CORE_REPLAY_H

#include "kernel/core/kernel.h"

/* What the log's first line says of the run, into *out, whose views live in arena and in `log`.
 * specs: the tools that the run had, by name (n of them, more are allowed). file: named in errors.
 * ERR_INPUT with the line: no event log, another schema. ERR_NOT_FOUND: a tool that specs lack. The
 * price is the one that the log names: today's lists play no part. */
int kernel_config_of_log(struct arena *arena, const char *file, struct str log,
                         const struct tool_spec *specs, size_t n_specs, struct kernel_config *out,
                         struct err *e) MUST_CHECK;

/* What a model was asked: CMD_CALL_MODEL or CMD_SUMMARISE, and the settings of that time. */
struct kernel_asked {
    struct command command;
    struct str model;
    const struct tool_spec *tools;
    size_t n_tools;
};

/* In and out of kernel_replay. */
struct kernel_replay {
    const struct tool_spec *tools; /* in: for resume lines that change the tools */
    size_t n_tools;
    struct str snapshot; /* in: of this log, by kernel_snapshot: feeding begins behind it. p NULL =
                            none; one that does not fit is passed over */
    bool asks;           /* in: whether `asked` is wanted, for which there must be no snapshot */
    struct kernel_asked *asked; /* out: what a model has answered or failed at, in order; views
                                   until kernel_free */
    size_t n_asked;
    size_t lines;    /* out: whole lines that were taken */
    size_t bytes;    /* out: their bytes */
    size_t restored; /* out: of `lines`, those that the snapshot stood for and that were not fed */
    bool torn;       /* out: something is behind them: a last line without its newline */
    struct kernel_config config; /* out: as the last resume line left it; views until kernel_free */
    struct buf
        missing; /* out: lines that follow from the last event, and that the log was cut before */
};

/* Feeds the first lines_max lines of `log` to k, which is fresh (kernel_new with the log's own
 * configuration), and compares every line that it decides with the log, byte for byte. The commands
 * on the way are dropped; afterwards k takes EV_RESUME, which makes it go on, EV_CANCEL, and, where
 * nobody has spoken yet, EV_USER_MESSAGE. Before any of them out->missing must be appended to the
 * log. A driver writes a line before it acts on it, so what out->missing begins has not begun.
 * Returns 0; ERR_INPUT with the first line that does not follow. A changed byte that says something
 * else but nothing impossible is found at the next run_end, by its sum. Free out->missing with
 * buf_free. */
int kernel_replay(struct kernel *k, const char *file, struct str log, size_t lines_max,
                  struct kernel_replay *out, struct err *e) MUST_CHECK;
#endif
