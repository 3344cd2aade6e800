/* A driver of random runs in virtual time: random models, tools, failures, approvals, waits,
 * cancels, crashes and resumes, checked by check.h as they happen. Where the choices come from is
 * the caller's matter: a seed in tests, bytes in the fuzz target. */
#ifndef KERNEL_CORE_TESTS_PLAY_H
#define KERNEL_CORE_TESTS_PLAY_H

#include "kernel/core/replay.h"
#include "kernel/core/tests/check.h"

enum { PLAY_TOOLS = 7, PLAY_OPEN_MAX = 64 };

/* A whole number in [0, bound). */
typedef uint64_t play_choose(void *ctx, uint64_t bound);

struct play {
    play_choose *choose;
    void *ctx;
    bool crashes; /* the process may die and be resumed from its log */
    /* A snapshot is taken at one in so many places where it can be, and used when the process has
     * died; 0 = never. */
    uint64_t snapshots;

    struct arena *arena;
    struct tool_spec tools[PLAY_TOOLS];
    struct kernel_config config; /* as the kernel has it now */
    struct kernel_config first;  /* as the log's first line says */
    struct kernel *k;
    struct check *check;
    struct buf log;
    uint64_t now;
    bool model_open, summary_open, finished;
    struct str open[PLAY_OPEN_MAX]; /* ids of tool calls under way */
    size_t n_open;
    struct str asking;   /* the call that waits for approval; n 0 = none */
    struct done *done;   /* what has its result, or must not be done twice */
    struct buf snapshot; /* the latest; n 0 = none */
    uint64_t quiet;      /* places where one could be taken */
    uint64_t commanded;  /* a hash of all commands, with what they tell */
    unsigned restored;   /* times that a snapshot was used */
    unsigned ends, crashed, resumed, compactions, summaries, approvals;
    char fault[512]; /* what went wrong beside the invariants; "" = nothing */
};

/* A kernel with random settings. */
void play_begin(struct play *p, play_choose *choose, void *ctx);

/* Lets one random thing happen; play_crash where that is allowed. */
void play_event(struct play *p);

/* Goes on until the run has ended; a run that does not is a fault. */
void play_to_end(struct play *p);

/* The process died when `bytes` of the log had been written, and is started again: the kernel is
 * brought up from the log, and resumed with the settings it had, or others where `change`, and with
 * text (p NULL = without). lines_max: of the log, SIZE_MAX = all. */
void play_resume(struct play *p, size_t bytes, size_t lines_max, bool change, struct str text);

/* A run of its own that goes on from the first bytes or lines of another's log, which stays. */
void play_fork(struct play *p, const struct play *from, size_t bytes, size_t lines_max, bool change,
               struct str text);

/* The first fault, or NULL. */
const char *play_fault(const struct play *p);

/* How many whole lines a log has. */
size_t play_count_lines(struct str log);

void play_end(struct play *p);

/* The tools of every play, made in arena; free them with play_free_tools. */
void play_make_tools(struct arena *arena, struct tool_spec tools[PLAY_TOOLS]);
void play_free_tools(struct tool_spec tools[PLAY_TOOLS]);
#endif
