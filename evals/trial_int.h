/* A trial: trial.c runs it, settle.c tells what it came to. */
#ifndef EVALS_TRIAL_INT_H
#define EVALS_TRIAL_INT_H

#include "evals/rubric_int.h"
#include "evals/run_int.h"

struct trial {
    struct arena *arena;
    struct loop *loop;
    const struct eval_options *o;
    const struct plan *plan;
    const struct plan_item *item;
    struct golden_entry entry; /* of its task */
    struct golden_task *task;  /* NULL: it could not be loaded, `error` says why */
    const char *dir;           /* the run directory */
    const char *trace;         /* relative to it */
    const char *trace_path;    /* from here */
    const char *cassette;      /* NULL unless replaying or recording */
    const char *recording; /* NULL unless recording: where the cassette is until all went well */
    struct rig_options options;
    struct shared_script *script, *judge_script; /* EVAL_FAKE; NULL = not played */
    struct rig *rig;                             /* NULL = could not be started: `error` says why */
    struct agent *agent;                         /* in its place, of a program under test */
    size_t said;                                 /* turns of the user that are over */
    struct err error;
    struct rubrics *rubrics; /* once a judge is asked about the answer */
    struct err judge_error;  /* why none could be; code 0 = all is well */
    struct rig_outcome run;
    struct err write_error; /* of its trace; code 0 = all is well */
    void (*done)(void *ctx);
    void *ctx;
};

/* What the run has come to by now, into t->run; false where it is not over. */
bool trial_take_outcome(struct trial *t);

/* The command that records anew, for this task and model alone; in the trial's arena or its
 * options'. */
struct str trial_mend(const struct trial *t);
#endif
