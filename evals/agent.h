/* A program of any language as the subject of an evaluation: it is started once a trial, asks its
 * models at a session of our server, and is judged by what passes there. evals/README.md. */
#ifndef EVALS_AGENT_H
#define EVALS_AGENT_H

#include "evals/rig.h"

struct agents; /* the program, and the server that all its runs ask */
struct agent;  /* one run of it */

/* A command as words: quotes and backslashes as a POSIX shell has them, and nothing else of it. */
struct agent_command {
    struct str text;
    struct str *words;
    size_t n;
};

/* Reads a command, words in arena. ERR_USAGE: there is none, a quote is not closed, it wants a
 * shell, {prompt} stands in a shell's script; ERR_NOT_FOUND: there is no such program. */
int agent_command_read(const char *text, struct arena *arena, struct agent_command *out,
                       struct err *e) MUST_CHECK;

/* Opens the server. no_proxy: the addresses that programs ask directly so far. What is named
 * outlives it. Errors as server_new. */
int agents_new(struct loop *loop, const struct agent_command *command, struct str no_proxy,
               struct agents **out, struct err *e) MUST_CHECK;
void agents_free(struct agents *a); /* NULL allowed; after its runs */

struct agent_options {
    const struct rig_options *rig; /* source, cassette, prompt, prices, identity, trace, done */
    const struct golden_task *task;
    int64_t trial;
    struct str upstream[3];  /* live: the base URLs, by enum wire_format */
    const char *stderr_path; /* gets what a run that does not end well wrote there */
    const char *stderr_name; /* the same for people */
};

/* Starts a run; rig->done comes once, when it is over. Views of *o and *o->rig outlive it. Errors
 * as rig_new; ERR_IO: the program cannot be started; ERR_INPUT: it cannot be given the prompt. */
int agent_new(struct agents *all, const struct agent_options *o, struct agent **out,
              struct err *e) MUST_CHECK;

/* Kills the program; done is called. */
void agent_cancel(struct agent *a);

/* What answers its requests. */
struct rig *agent_rig(struct agent *a);

/* What a finished run came to, as rig_outcome has it; the first time it writes its trace. ERR_IO:
 * that failed. */
int agent_outcome(struct agent *a, struct rig_outcome *out, struct err *e) MUST_CHECK;

/* Frees everything and closes a recording, as rig_free. NULL allowed. */
int agent_free(struct agent *a, struct err *e) MUST_CHECK;
#endif
