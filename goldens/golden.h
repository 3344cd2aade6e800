/* Golden sets: loading, checking, and judging one finished run against what a task expects. */
#ifndef GOLDENS_GOLDEN_H
#define GOLDENS_GOLDEN_H

#include "kernel/base/finding.h"
#include "kernel/base/match.h"
#include "kernel/core/kernel.h"
#include "kernel/drive/tools.h"

enum golden_mode {
    GOLDEN_EXACT,
    GOLDEN_IN_ORDER,
    GOLDEN_ANY_ORDER,
    GOLDEN_SUBSET,
    GOLDEN_SUPERSET
};

struct golden_call {
    struct str name;
    struct arg_match *args; /* NULL = any arguments (a bare name) */
    uint32_t group;         /* calls of one `parallel:` share a number > 0; 0 = alone */
    const struct val *at;   /* where it is written */
};

struct golden_answer; /* an answer check */

/* The model that judges answers by rubrics. */
struct golden_judge {
    struct str model;
    struct str provider; /* as wire_provider names it; n 0 = the one of the run */
    const char *fake;    /* path of the script that plays it; NULL = none */
    const struct val *at;
    const struct val *fake_at;
    const char *path; /* in which file it is written */
    bool used;        /* a rubric of a loaded task is its */
};

struct golden_expect {
    bool has_calls;
    enum golden_mode mode;
    bool ignore_extra_args;
    struct golden_call *calls;
    size_t n_calls;
    struct str *forbid;
    size_t n_forbid;
    bool no_calls;
    struct golden_answer *answer; /* NULL = not checked */
    int64_t max_steps;            /* -1 = no limit, each */
    int64_t max_calls;
    int64_t max_tokens;
    int64_t max_cost_nano;
    int64_t max_ms;
    enum run_status status;
};

struct golden_task {
    struct str id;
    struct str *tags;
    size_t n_tags;
    struct str prompt; /* the first of the user's messages */
    struct str *turns; /* all of them, in order; the next is said when a run has completed */
    size_t n_turns;    /* at least 1 */
    struct str system; /* p NULL = none */
    struct budget budget;
    int64_t trials;
    const char *fake; /* path of the script, relative ones resolved against the set; NULL = none */
    const struct val *fake_at;        /* where it is named; NULL = none */
    struct toolset *tools;            /* owned by the set, may be shared by tasks */
    const struct golden_judge *judge; /* of its file, or of what includes that; NULL = none */
    struct golden_expect expect;
    const struct val *at; /* where it is written */
    const char *path;     /* in which file: the set's, or one that it includes */
    uint32_t line;
    uint32_t column;
};

/* A model that the set is run with. */
struct golden_model {
    struct str name;
    struct str provider; /* as wire_provider names it; n 0 = open */
};

struct golden_set {
    struct arena *arena;
    const char *path;
    struct str name;
    struct golden_task *tasks; /* those of included sets first; NULL in a set that is opened */
    size_t n_tasks;
    const char **files; /* every file that tasks come from, the set's own first */
    size_t n_files;
    uint64_t hash;               /* of those files as they were read */
    struct golden_model *models; /* none: whoever runs the set names one */
    size_t n_models;
};

/* Loads and checks a set with everything it names (included sets, tool files; scripts only by
 * name). ERR_NOT_FOUND, ERR_IO, ERR_INPUT with place. Owned by the caller. */
int golden_load(const char *path, struct golden_set **out, struct err *e) MUST_CHECK;
void golden_free(struct golden_set *s); /* NULL allowed */

/* Calls found(ctx, path) for each tool file that the set's tasks name, once, in order of first use.
 */
void golden_tool_files(const struct golden_set *s, void (*found)(void *ctx, const char *path),
                       void *ctx);

/* Opens a set that may be long: all of it is loaded and checked once, task by task, and of each
 * task only stays what golden_entry tells. Errors as golden_load, the same at the same places. What
 * the tasks say is put aside, so that a file that changes later changes nothing. */
int golden_open(const char *path, struct golden_set **out, struct err *e) MUST_CHECK;

/* Loads task i of an opened set by itself. It is owned by the caller and lives no longer than the
 * set. ERR_IO: what was put aside cannot be read. */
int golden_task_load(struct golden_set *s, size_t i, struct golden_task **out,
                     struct err *e) MUST_CHECK;
void golden_task_free(struct golden_task *t); /* NULL allowed */

/* What is known of task i of a loaded or an opened set. It lives as long as the set. */
struct golden_entry {
    struct str id;
    const struct str *tags;
    size_t n_tags;
    const char *path; /* in which file: the set's, or one that it includes */
    uint32_t line;
    uint32_t column;
    int64_t trials;
    size_t n_turns;
    const char *fake;                 /* as in the task; NULL = none */
    const struct toolset *tools;      /* NULL = a list of its own, which golden_task_load loads */
    const struct golden_judge *judge; /* as in the task */
    bool rubric;                      /* its answer is judged by one */
};
struct golden_entry golden_entry(const struct golden_set *s, size_t i);

/* Checks the set at `path`, task by task. Every mistake goes to `wrong` as golden_load would say
 * it, the first of each task; then to `found` the doubts in the tasks that are right: a call
 * expected of a tool that the set does not offer, arguments that can never come, a missing script
 * file, a task that expects nothing, what toolset_check finds. */
void golden_check(const char *path, void (*wrong)(void *ctx, const struct err *e),
                  void (*found)(void *ctx, const struct finding *f), void *ctx);

/* What a judge said of an answer. */
struct golden_verdict {
    struct str rubric;
    bool pass;
    struct str reason;
};

struct golden_verdicts {
    const struct golden_verdict *at;
    size_t n;
    struct str judge; /* the model, for messages */
};

enum golden_held { GOLDEN_FAILS, GOLDEN_HOLDS, GOLDEN_OPEN /* until a rubric has its verdict */ };

/* Whether the answer (p NULL = none) passes, by the verdicts of its rubrics (NULL = there are
 * none). Where it fails `why` gets one line. NULL check passes. */
enum golden_held golden_answer_judge(const struct golden_answer *a, struct str answer,
                                     const struct golden_verdicts *verdicts, struct buf *why);

/* The first rubric, as they are written, whose verdict that still hangs on; p NULL = none. */
struct str golden_answer_open(const struct golden_answer *a, struct str answer,
                              const struct golden_verdicts *verdicts);

/* Whether it passes without anybody's verdict. */
bool golden_answer_test(const struct golden_answer *a, struct str answer, struct buf *why);

/* The place of the first rubric in a check; NULL = it has none. */
const struct val *golden_answer_rubric(const struct golden_answer *a);
#endif
