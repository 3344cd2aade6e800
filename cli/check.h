/* Files that the check verbs look at, and what they find. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "cli/options.h"
#include "kernel/base/finding.h"

/* Prints findings of the check verbs, for people or as JSON lines. */
struct findings {
    bool json;
    size_t errors;
    size_t warnings;
    size_t unread; /* of the errors: files that the machine could not read */
    struct buf out;
};
/* ctx: the struct findings. */
void findings_add(void *ctx, const struct finding *f);
/* A file that could not be loaded, as a finding of its own. */
void findings_add_err(struct findings *f, const char *file, const struct err *e);
/* Prints them and the count; returns the exit status: 0, 2 when there were errors, or 4 when
 * all of them are files that could not be read though they may be. */
int findings_end(struct findings *f, const char *what, size_t n_files);

/* Files of one kind, as verbs look for them below a folder. */
struct file_kind {
    const char *what;                 /* "golden set", for messages */
    const char *const *endings;       /* of their names; NULL ends them */
    bool (*is_one)(const char *path); /* NULL = the ending is enough */
    const char *like;                 /* how one is known: "*.yaml" */
};

extern const struct file_kind
    kind_cassette;                      /* any *.yaml, *.yml, *.json but tools, sets and scripts */
extern const struct file_kind kind_set; /* a golden set */
extern const struct file_kind kind_script; /* a script of a fake model */

/* The files that the words name, in their order, into *out and *n (in arena): a word that is a
 * folder stands for each file of this kind below it. ERR_INPUT: there is none. Errors as dir_tree.
 */
int words_files(struct arena *arena, const struct words *words, const struct file_kind *kind,
                const char ***out, size_t *n, struct err *e) MUST_CHECK;

/* What is behind `check`: `FILE... [--json]`, each file given to check_file; a folder stands for
 * those below it. verb names it in messages. */
int check_files(int argc, char **argv, const char *verb, const struct file_kind *kind,
                void (*check_file)(const char *path, struct findings *f));
#endif
