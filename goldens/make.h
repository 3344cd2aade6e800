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

/* Where a task that is made comes from. */
struct golden_source {
    uint32_t at; /* its first line in the set, from 1 */
    uint32_t line, column;
};

/* A set that is made of another program's file. Begins as {.from = that file}; what it holds is
 * freed by golden_made_free, also after an error. */
struct golden_made {
    const char *from;
    struct buf text;
    struct buf sources; /* struct golden_source, a task each */
    size_t tasks;
    uint32_t lines; /* of the text that golden_made_add has seen */
};
void golden_made_free(struct golden_made *m);

/* Appends a task's lines, which come from this place of m->from. ERR_LIMIT with that place: a set
 * holds no more. */
int golden_made_add(struct golden_made *m, struct str task, uint32_t line, uint32_t column,
                    struct err *e) MUST_CHECK;

/* The set, called `name`, that the promptfoo configuration at out->from makes; what is not taken
 * over goes to `left` with its place and the reason, as a warning. Errors as file_read; ERR_INPUT
 * with place: no YAML, no prompts or tests; ERR_LIMIT: more than a set may hold. */
int golden_import_promptfoo(struct golden_made *out, struct str name,
                            void (*left)(void *ctx, const struct finding *f), void *ctx,
                            struct err *e) MUST_CHECK;

/* The same of questions of the Berkeley Function Calling Leaderboard, with their answers (NULL:
 * none, for questions that want no call). Errors as bfcl_set_load. */
int golden_import_bfcl(struct golden_made *out, const char *answers, struct str name,
                       void (*left)(void *ctx, const struct finding *f), void *ctx,
                       struct err *e) MUST_CHECK;

/* Writes it to `path`, where nothing is. ERR_EXISTS; ERR_INPUT, with the place in set->from: it
 * does not load; ERR_IO. */
int golden_write_made(const char *path, const struct golden_made *set, struct err *e) MUST_CHECK;

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
