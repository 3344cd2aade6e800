/* The lines of results.jsonl and trials.jsonl, each a trial. */
#ifndef EVALS_TRIAL_LINES_INT_H
#define EVALS_TRIAL_LINES_INT_H

#include "evals/runs.h"
#include "kernel/drive/lines.h"

/* Goes from line to line of such a file; the first three are the caller's, the rest begins as zeros
 * and is valid until the next step. */
struct trial_lines {
    struct lines *from;
    struct arena *scratch; /* of one line: cleared by each step */
    bool journal;          /* a torn last line is its end; of results it is an error */
    enum line_found found; /* LINE_WHOLE = these are of a line: */
    uint32_t number;       /* from 1 */
    uint64_t at;           /* the byte that it begins at, and the next one: */
    uint64_t next;
    struct str text; /* without its newline */
    struct eval_trial trial;
};

/* One step. Behind the last whole line `found` is another than LINE_WHOLE. ERR_INPUT: the line is
 * no result, or torn; ERR_LIMIT; ERR_IO. */
int trial_lines_next(struct trial_lines *l, struct err *e) MUST_CHECK;

/* Of two members with one name readers take either: nobody knows what is meant. ERR_INPUT: an
 * object has such; ERR_LIMIT: too many to look for them. What is no object is 0. line: 0 = none. */
int members_check(const char *file, uint32_t line, const struct val *object,
                  struct err *e) MUST_CHECK;
#endif
