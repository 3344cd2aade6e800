/* What checking a set holds on to while its tasks come and go. */
#ifndef GOLDENS_CHECK_INT_H
#define GOLDENS_CHECK_INT_H

#include "goldens/golden_int.h"

/* Findings that wait for their turn. */
struct golden_queue {
    struct buf bytes;
    struct arena *files; /* owned: names of the files that findings are in */
    const char *file;    /* the last of them */
};

/* Puts a finding behind the others; ctx: the struct golden_queue. */
void golden_queue_add(void *ctx, const struct finding *f);

/* Tells those between two offsets into `bytes`. */
void golden_queue_tell(const struct golden_queue *q, size_t from, size_t to,
                       void (*found)(void *ctx, const struct finding *f), void *ctx);
void golden_queue_free(struct golden_queue *q);

/* The file of the tasks that follow, and where their comments begin among those held. */
struct lint_file {
    const char *path;
    size_t comments;
};

struct golden_lint {
    void (*wrong)(void *ctx, const struct err *e); /* mistakes in tasks, as they come */
    void *ctx;
    bool passed_over; /* a task had a mistake, and is not in the set */
    struct golden_queue tasks;
    struct golden_queue comments;
    struct golden_queue names;
    struct golden_queue tools;
    struct buf script;          /* the one that was looked at last */
    struct golden_lines *lines; /* of the file of these tasks */
    struct lint_file *files;
    size_t n_files, cap_files;
    uint64_t *hashes; /* a task each: of what is asked */
    size_t n_hashes, cap_hashes;
};

/* Opens the set at `path` for checking: mistakes are told, and what is right is in it, perhaps
 * nothing. Never NULL; owned by the caller. */
struct golden_loaded *golden_lint_open(const char *path, struct golden_lint *lint);

/* The tasks that follow are of this file. */
void golden_lint_file(struct golden_lint *lint, const char *path);

/* Looks at a task that has just been loaded, and keeps what the checks of the set need of it. */
void golden_lint_task(struct golden_loaded *l, const struct golden_task *t);

/* The lines of a file in which a comment may cut off a text. */
struct golden_lines *golden_lines_read(const char *path);
void golden_lines_free(struct golden_lines *l); /* NULL allowed */

/* Finds texts of a task that end where a comment begins: `prompt: Order #123`. */
void golden_check_comments(const struct golden_report *r, struct golden_lines *l,
                           const struct golden_task *t);

/* Finds an id that some systems cannot have as a file name. */
void golden_check_name(const struct golden_report *r, const struct golden_task *t);

/* A hash of what the task asks: tasks that are the same have the same. */
uint64_t golden_asked(const struct golden_task *t);

/* Notes which tools of its file the task last loaded names. */
void golden_note_tools(struct golden_loaded *l, const struct golden_task *t);

/* Finds doubts about a set as a whole; the file of `r` does not count. all_right: nothing in it is
 * an error, so that what no task names is not what a mistake has left out. */
void golden_check_set(const struct golden_report *r, struct golden_loaded *l, bool all_right);
#endif
