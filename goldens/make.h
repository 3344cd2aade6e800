/* Golden sets made from other things: sessions that went well, other programs' files. */
#ifndef GOLDENS_MAKE_H
#define GOLDENS_MAKE_H

#include "goldens/golden.h"

/* ---- a session that went well ---- */

struct golden_promotion {
    const char *trace; /* its event log */
    const char *tools; /* the tool file that it ran with; NULL = built-in tools, or none */
    const char *set;   /* where the task is to stand; relative paths are made from its folder */
    struct str id;     /* of the task; n 0 = the log's file name */
};

/* Appends the task that the log at p->trace makes, as an item of a block list: what the user said,
 * the calls that were carried out, the answer word for word. *id gets its id, in arena. Errors as
 * file_read; ERR_INPUT: no event log, a run that did not end well or is not over, tools that
 * p->tools lacks. */
int golden_promote(const struct golden_promotion *p, struct arena *arena, struct buf *task,
                   struct str *id, struct err *e) MUST_CHECK;

/* Adds a task to the set at `path`, which is made where it is missing: the text of golden_promote
 * with its id. Nothing is written unless the whole set then loads. ERR_INPUT: the id is taken; the
 * set is wrong, or its list of tasks does not stand at its end in block style. ERR_IO. */
int golden_add_task(const char *path, struct str id, struct str task, struct err *e) MUST_CHECK;

/* ---- other programs' files ---- */

/* Appends the set, called `name`, that a promptfoo configuration makes; what is not taken over goes
 * to `left` with its place and the reason, as a warning. *tasks gets how many there are. Errors as
 * file_read; ERR_INPUT with place: no YAML, no prompts or tests. */
int golden_import_promptfoo(const char *path, struct str name, struct buf *set, size_t *tasks,
                            void (*left)(void *ctx, const struct finding *f), void *ctx,
                            struct err *e) MUST_CHECK;

/* The same of questions of the Berkeley Function Calling Leaderboard, with their answers (NULL:
 * none, for questions that want no call). Errors as bfcl_set_load. */
int golden_import_bfcl(const char *questions, const char *answers, struct str name, struct buf *set,
                       size_t *tasks, void (*left)(void *ctx, const struct finding *f), void *ctx,
                       struct err *e) MUST_CHECK;

/* Writes a set to `path`, where nothing is. ERR_EXISTS; ERR_INPUT: it does not load; ERR_IO. */
int golden_write_new(const char *path, struct str set, struct err *e) MUST_CHECK;

/* ---- the form of what is written ---- */

/* Appends a text, or a value in flow style, as YAML on one line; a word without quotes where it is
 * one that needs none. */
void golden_put_text(struct buf *out, struct str s);
void golden_put_word(struct buf *out, struct str s);
void golden_put_value(struct buf *out, const struct val *v);

/* Appends a regular expression for exactly this text. */
void golden_add_pattern(struct buf *out, struct str text);

/* A word that can be an id or a set's name, made from a text: runs of other characters become one
 * dash. In arena; `usual` where nothing is left. */
struct str golden_word(struct arena *arena, struct str text, const char *usual);
#endif
