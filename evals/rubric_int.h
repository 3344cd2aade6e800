/* Asking a judge: what it is told and what its reply says (verdict.c), and the sessions in which it
 * is asked (rubric.c). */
#ifndef EVALS_RUBRIC_INT_H
#define EVALS_RUBRIC_INT_H

#include "evals/rig.h"
#include "kernel/wire/wire.h"

/* ---- verdict.c ---- */

/* The system message for a judge. */
extern const char verdict_system[];

/* Appends what a judge is asked: a JSON object in which everything else is data. */
void verdict_request(struct buf *out, const struct golden_task *task, struct str answer,
                     struct str rubric);

/* Appends what it is told after a reply that was no verdict, for the reason `why`. */
void verdict_again(struct buf *out, struct str why);

/* Reads the verdict in a judge's reply: its first JSON object. *reason is in arena. On false `why`
 * gets what is wrong with it. */
bool verdict_read(struct arena *arena, struct str reply, bool *pass, struct str *reason,
                  struct buf *why);

/* ---- rubric.c ---- */

struct rubrics; /* the questions to a judge about one answer */

/* Views outlive the questions. */
struct rubric_options {
    struct loop *loop;
    struct rig *rig; /* whose run gave the answer: its source, recording and clock are used */
    const struct golden_task *task;
    struct str answer;
    struct str model;
    enum wire_format format;
    struct str base_url; /* n 0 = the provider's own */
    struct str api_key;  /* n 0 = none */
    struct str key_from;
    const char *script;               /* EVAL_FAKE: plays the judge; else NULL */
    const struct fake_script *loaded; /* that; NULL = none */
    const struct prices *prices;      /* NULL = as shipped */
    const char *logs;                 /* the folder that gets their event logs, 1.jsonl and so on */
    void *ctx;
    void (*done)(void *ctx); /* once, from the loop */
};

/* Asks about each rubric that the answer's check hangs on, one after the other as they are written;
 * there is at least one. Owned by the caller. */
struct rubrics *rubrics_new(const struct rubric_options *o);

/* Ends them; done is called. */
void rubrics_cancel(struct rubrics *r);

enum rubrics_end {
    RUBRICS_ASKING, /* it is not over */
    RUBRICS_JUDGED,
    RUBRICS_FAILED,
    RUBRICS_CANCELLED /* also where it still has to end */
};

struct rubrics_outcome {
    enum rubrics_end end;
    int code; /* RUBRICS_FAILED: ERR_MISS, ERR_NET */
    struct str problem;
    struct eval_judged judged;
};

/* What came of it, in arena. */
void rubrics_outcome(const struct rubrics *r, struct arena *arena, struct rubrics_outcome *out);

/* ERR_IO: a log could not be written. NULL allowed; before its rig is freed. */
int rubrics_free(struct rubrics *r, struct err *e) MUST_CHECK;
#endif
