/* The calls that a run's model made, taken from the lines of its log. */
#ifndef EVALS_LOG_CALLS_INT_H
#define EVALS_LOG_CALLS_INT_H

#include "evals/judge.h"
#include "evals/resume.h"

/* at: freed by whoever has the list. */
struct call_list {
    struct eval_call *at;
    size_t n, room;
};

/* Adds the calls of a reply (an llm_reply of the log), but those of terminal tools; views of it. */
void calls_of_reply(struct call_list *list, const struct val *reply, const struct tool_spec *specs,
                    size_t n_specs);

/* Likewise of all replies among whole lines of a log that the kernel has written; in arena. */
void calls_of_lines(struct call_list *list, struct str lines, const struct tool_spec *specs,
                    size_t n_specs, struct arena *arena);
#endif
