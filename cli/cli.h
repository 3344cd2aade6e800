/* The program `assay`: one file a verb, and what they share. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "evals/exit.h"
#include "kernel/base/sink.h"

enum { HELP_TEXTS_MAX = 8 };

struct verb {
    const char *name;
    const char *summary;
    /* What --help prints, one behind the other: usage, options, an example; NULL ends them. */
    const char *help[HELP_TEXTS_MAX + 1];
    int (*run)(int argc, char **argv); /* the words behind the verb; returns the exit status */
};

/* A verb's second word. */
struct sub_verb {
    const char *name;
    int (*run)(int argc, char **argv); /* the words without the second one */
};

/* Runs the one that the first word which is no flag names; unknown or missing: says which there
 * are. */
int sub_verb_run(const char *verb, const struct sub_verb *subs, size_t n, int argc, char **argv);

extern const struct verb verb_run, verb_init, verb_chat, verb_resume, verb_fork, verb_eval,
    verb_golden, verb_cassette, verb_fake, verb_serve, verb_record, verb_replay, verb_trace,
    verb_score, verb_compare, verb_report, verb_merge;

/* ---- rescore.c ---- */

/* `assay score RUN`. */
int score_run(int argc, char **argv);

/* ---- trace_check.c ---- */

/* `assay trace check`. */
int trace_check(int argc, char **argv);

/* ---- tell.c: talking to people ---- */

/* Says an error on stderr; returns the exit status that its code stands for. */
int tell_error(const struct err *e);

/* Says that `assay VERB WORD` wants files; returns the exit status for that. */
int tell_no_file(const char *verb, const char *word);

/* A message on stderr: ends with one newline, further lines are indented, and what a terminal would
 * obey are spaces. */
void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Draws a line without its newline on stderr, a terminal, over the last one drawn; the next message
 * takes its place. line: n 0 = takes it away. */
void tell_over(struct str line);

/* All of `s` to standard output; false when it could not be written (closed pipe, full disk), said
 * on stderr. */
bool put_out(struct str s);
/* The same for what a model said: a terminal gets it without what it would obey, a file or pipe
 * gets every byte. */
bool put_text(struct str s);

/* Text for standard output that goes out piece by piece. */
struct sink sink_to_stdout(void);
/* The rest of it; false when it could not be written or made, said on stderr. */
bool sink_end_stdout(struct sink *s);

/* Whether this stream is a terminal that obeys what moves and colours: not where TERM is dumb. */
bool draws(int fd);
/* Whether colours are wanted there: it draws, and there is no NO_COLOR. */
bool want_color(int fd);
#endif
