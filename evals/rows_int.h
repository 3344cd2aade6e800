/* Reports that grow row by row. */
#ifndef EVALS_ROWS_INT_H
#define EVALS_ROWS_INT_H

#include "evals/results.h"
#include "kernel/drive/lines.h"

/* A report without trials of the run at `out`, owned by the caller. */
struct eval_report *report_new(const char *out);

/* Makes it n rows that did not come to their end. Once, before any other row. */
void report_make_rows(struct eval_report *r, size_t n);

/* What stays of a trial whose line (without its newline) begins at byte `at`; texts are kept once a
 * report. */
void report_fill_row(struct eval_report *r, const struct eval_trial *t, struct str line,
                     uint64_t at, struct eval_row *out);
/* The same as one more row, of the next line of its file. ERR_LIMIT: more than EVAL_TRIALS_MAX. */
int report_add_line(struct eval_report *r, const struct eval_trial *t, struct str line, uint64_t at,
                    struct err *e) MUST_CHECK;

/* Leaves out the rows of trials that did not come to their end, and gives back what memory is
 * spare. */
void report_close_rows(struct eval_report *r);

/* By task, model and trial, like strcmp; 0: they are of the same trial. */
int eval_row_cmp(const struct eval_row *a, const struct eval_row *b);

/* Closes the rows of a file of which each was made by one line, the first by the first. ERR_INPUT:
 * a trial has two lines; of a journal only the last of them stays. */
int report_check_twice(struct eval_report *r, bool journal, struct err *e) MUST_CHECK;

/* Takes `lines` as what the details are read from, in place of what was; the report owns it. */
void report_read_from(struct eval_report *r, struct lines *lines);
#endif
