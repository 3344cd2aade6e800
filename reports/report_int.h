/* Text for a terminal: widths, times, tokens, and what models say made harmless. */
#ifndef REPORTS_REPORT_INT_H
#define REPORTS_REPORT_INT_H

#include "kernel/core/model.h"
#include "reports/report.h"

/* Columns that s takes on a terminal: wide (East Asian) characters take 2, combining ones 0. */
size_t text_width(struct str s);

enum align { ALIGN_LEFT, ALIGN_RIGHT };
/* Appends s padded with spaces to `width` columns. */
void cell_add(struct buf *out, struct str s, size_t width, enum align align);

enum paint { PAINT_NONE, PAINT_GOOD, PAINT_BAD, PAINT_ODD, PAINT_DIM, PAINT_BOLD };
/* Appends s in a colour, when color is set. */
void paint_add(struct buf *out, struct str s, enum paint paint, bool color);

/* Appends "1 step", "2 steps"; "? steps" for a count that is not known (negative). what: in the
 * singular. */
void count_add(struct buf *out, int64_t n, const char *what);

/* Appends milliseconds as "0.412 s". */
void seconds_add(struct buf *out, int64_t ms);

/* Appends "tokens 100 in (40 cached), 10 out (5 reasoning)", or "tokens unknown" where the provider
 * gave none. */
void tokens_add(struct buf *out, const struct usage *u);

/* Appends s as a part of one line: what a terminal would obey, newlines and tabs become spaces. */
void line_add(struct buf *out, struct str s);

/* Appends "TASK (MODEL)", or "RUN (MODEL)", likewise; model n 0 = without it. */
void task_add(struct buf *out, struct str task, struct str model);

/* Appends a word of a command likewise, in quotes where a shell needs them. */
void word_add(struct buf *out, struct str s);

/* Appends s line by line, each behind `indent` spaces and ended by a newline; what a
 * terminal would obey becomes spaces. Beyond max_chars it is cut, and says how much there was; 0 =
 * no limit. */
void block_add(struct buf *out, struct str s, size_t indent, size_t max_chars);

/* Whether a run has more than one trial of a task. */
bool several_trials(const struct eval_report *r);

/* Appends a percentage with one decimal, rounded half up; but never 100 for less than all; "-" for
 * null. */
void percent_add(struct buf *out, struct ratio r);

/* Likewise of a number, without the sign of percent: "-5.0". */
void share_add(struct buf *out, double share);

/* Appends "83.5% to 98.6%", or "unknown". */
void interval_text(struct buf *out, struct interval v);

/* Appends an amount as money_add, with what a terminal would obey in its currency as spaces. */
void cost_add(struct buf *out, int64_t nano, struct str currency);

/* Appends nano-units that may be a mean or a difference, rounded to one: "-0.0012 USD". */
void amount_add(struct buf *out, double nano, struct str currency);

/* Appends "0.50 USD", or "1.20 CNY + 0.50 USD": amounts of two currencies have no sum; or
 * "unpriced". Where judges were asked, what they cost besides: ", judge 0.01 USD (3 rubrics)". */
void costs_add(struct buf *out, const struct eval_summary *s);

/* Appends "answer 3, calls 2 (wrong argument 1, missing call 1)": why trials did not pass; nothing
 * where all did. */
void why_add(struct buf *out, const struct eval_summary *s);

/* Appends lines with the interval of the success, flaky tasks, what a trial costs, and each model
 * where there are several; without what is not known. */
void figures_add(struct buf *out, const struct eval_report *r);

/* A trial of which something is told. */
struct story {
    uint64_t key;
    size_t first; /* the first that tells the same, itself where none does before it */
    bool missed;
    struct str begin, end; /* of the command that records it anew (struct eval_miss) */
};

/* Some trials of a run, told once where several have the same story: trials of one task that failed
 * alike, and all those that missed a recording for the same reason. */
struct alike {
    const struct eval_report *report;
    const struct eval_row *const *rows;
    struct story *stories; /* n */
    size_t n;
    size_t missed; /* tasks */
    bool models;   /* there are several, so that a task is named with its model */
};

/* Fills *out, in arena; views of rows. Errors as eval_details. */
int alike_find(const struct eval_report *r, const struct eval_row *const *rows, size_t n,
               struct arena *arena, struct alike *out, struct err *e) MUST_CHECK;
/* Whether story i is told; where not, an earlier one is told for it. */
bool alike_is_told(const struct alike *a, size_t i);
/* The model that stands beside the task of story i; n 0 = there is but one. */
struct str alike_model(const struct alike *a, size_t i);
/* Appends " (trials 1, 2 and 3)" where several trials of its task are told together. */
void alike_add_trials(struct buf *out, const struct alike *a, size_t i);
/* Appends the problem of a trial, without the command of a miss where one for all stands below. */
void alike_add_problem(struct buf *out, const struct alike *a, const struct eval_trial *t,
                       struct arena *scratch);
/* Appends a line with the other tasks that story i is told for, if there are any. */
void alike_add_others(struct buf *out, const struct alike *a, size_t i);
/* Appends a line with the command that records anew what is missing, where several tasks missed;
 * more: there are misses that a does not hold. */
void alike_add_commands(struct buf *out, const struct alike *a, bool more);

/* Appends what a comparison comes to, in one line without its newline. */
void verdict_add(struct buf *out, const struct comparison_result *c);

/* Lets gnuplot run dir/NAME.gp, which shall make NAME.svg and NAME.png there. False: it is not
 * there, failed, made no pictures, or was killed, since it took longer than `ms_max` milliseconds
 * or said far too much; `why` then gets a line without its newline that tells which, and how to try
 * it. */
bool gnuplot_draw(const char *dir, const char *name, uint64_t ms_max, struct buf *why);
#endif
