/* Two runs compared on the tasks that both have. */
#ifndef EVALS_COMPARE_H
#define EVALS_COMPARE_H

#include "evals/figures.h"
#include "kernel/base/sink.h"

/* The fall of the success that matters, where nobody says another. */
#define MARGIN_USUAL 0.05

/* What became of a task. A task stands or falls with all of its scored trials; one that does so
 * only now and then, in either run, is flaky, unless the change is more than chance by itself
 * (Fisher's exact test, 5 %). */
enum task_change {
    TASK_SAME,          /* passes in both */
    TASK_REGRESSED,     /* passed, fails */
    TASK_IMPROVED,      /* failed, passes */
    TASK_STILL_FAILING, /* fails in both */
    TASK_FLAKY,
    TASK_NEW,      /* only in the head */
    TASK_GONE,     /* only in the base */
    TASK_UNSCORED, /* in one of them every trial ended in an error */
    TASK_CHANGES   /* how many there are */
};
const char *task_change_name(enum task_change c);

struct compared_task {
    struct str task;
    struct str model; /* n 0 = not told apart */
    enum task_change change;
    const struct eval_group *base; /* NULL = it has none */
    const struct eval_group *head;
};

/* The tasks of one tag. */
struct compared_tag {
    struct str tag;
    int64_t tasks, worse, better;
    double p;      /* two-sided */
    double p_holm; /* adjusted for the number of tags */
};

enum compared_verdict {
    COMPARED_WORSE,  /* a fall of the rate that is more than chance (one-sided, 5 %) */
    COMPARED_BETTER, /* a rise, likewise */
    COMPARED_SAME,   /* a fall by more than the margin is ruled out */
    COMPARED_UNSURE  /* not enough evidence */
};
const char *compared_verdict_name(enum compared_verdict v);

/* A mean in both runs and its change with a 95 % interval (paired bootstrap; that of the success
 * stats_paired), unknown where cost or time changed by the same in all tasks. */
struct compared_mean {
    bool known;
    double base, head, change;
    struct interval interval;
};

struct comparison_result {
    struct arena *arena;
    const struct eval_report *base, *head;
    struct compared_task *tasks; /* in the order of the head, then those that are gone */
    size_t n;
    size_t counts[TASK_CHANGES];
    int64_t both;          /* tasks that both have scored */
    int64_t worse, better; /* of them: their rate of passed trials fell, rose */
    double p_worse, p_better, p;
    double margin;
    struct compared_mean success; /* change: head − base */
    struct compared_mean cost;    /* nano-units a trial */
    struct compared_mean latency; /* ms a trial */
    struct str currency;
    struct compared_tag *tags;
    size_t n_tags;
    enum compared_verdict verdict;
    int64_t needed; /* tasks to see a fall by `margin` */
};

/* Compares head with base, which must outlive *out. margin: the fall of the rate that matters, 0 to
 * 1. ERR_INPUT: no task is in both. *out is the caller's. */
int eval_compare(const struct eval_report *base, const struct eval_report *head, double margin,
                 struct comparison_result **out, struct err *e) MUST_CHECK;
void eval_compare_free(struct comparison_result *c); /* NULL allowed */

/* The first difference in the calls of a task that changed, or in its answers, in one line, into
 * arena; n 0 = none. It is read from the run directories. Errors as eval_details. */
int eval_difference(const struct comparison_result *c, const struct compared_task *t,
                    struct arena *arena, struct str *out, struct err *e) MUST_CHECK;

/* Appends the object of `assay compare --json`, without a newline. */
void eval_compare_json(struct sink *out, const struct comparison_result *c, const char *base,
                       const char *head);
#endif
