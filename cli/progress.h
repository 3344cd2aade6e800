/* The line that shows how far an evaluation is. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "evals/eval.h"

/* On a terminal as standard error that draws; NULL elsewhere. */
struct progress;
struct progress *progress_new(void);
void progress_show(void *progress, const struct eval_progress *p);
void progress_free(struct progress *p); /* takes the line away; NULL allowed */
#endif
