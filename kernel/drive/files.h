/* Files, folders and their paths. */
#ifndef KERNEL_DRIVE_FILES_H
#define KERNEL_DRIVE_FILES_H

#include "kernel/base/arena.h"
#include "kernel/base/err.h"

/* The whole file at `path` ("-" = standard input) into arena. ERR_NOT_FOUND; ERR_INPUT: a folder, a
 * file that may not be read, a pipe that nobody writes to; ERR_IO (the reason in words); ERR_LIMIT
 * beyond max_bytes. */
int file_read(struct arena *arena, const char *path, size_t max_bytes, struct str *out,
              struct err *e) MUST_CHECK;

/* A regular file of at least so many bytes, to be read piece by piece. NULL: it is none, or cannot
 * be read; file_read reads it or says what is wrong. */
struct file_pieces;
struct file_pieces *file_pieces_open(const char *path, size_t min_bytes);
/* At most n bytes into out, their number into *got: 0 at the end. False: it cannot be read. */
bool file_pieces_next(struct file_pieces *f, char *out, size_t n, size_t *got);
/* From the file's start again. False: that cannot be. */
bool file_pieces_again(struct file_pieces *f);
void file_pieces_close(struct file_pieces *f); /* NULL allowed */

/* A secret: the whole file at `path`, which must belong to this user and be closed to all others
 * (mode 0600 or less). ERR_NOT_FOUND, ERR_INPUT (open to others, another's, a folder), ERR_IO,
 * ERR_LIMIT beyond max_bytes. */
int file_read_secret(struct arena *arena, const char *path, size_t max_bytes, struct str *out,
                     struct err *e) MUST_CHECK;

/* Whether path is a regular file that holds something, and this does not begin with `head` (1 to 64
 * bytes) or, where it is shorter, as `head` does. False for a file that may not be read. */
bool file_begins_otherwise(const char *path, struct str head);

/* Writes `data` beside path, flushes it to disk and renames it into place, so that path holds the
 * old or the new bytes, never a part. ERR_INPUT (a folder), ERR_IO. */
int file_replace(const char *path, struct str data, struct err *e) MUST_CHECK;

/* The same for a file that is written piece by piece. */
struct file_writer;
int file_writer_open(const char *path, struct file_writer **out, struct err *e) MUST_CHECK;
/* The first failure is told each time. */
int file_writer_add(struct file_writer *w, struct str data, struct err *e) MUST_CHECK;
/* Frees w. rc: what writing came to; 0: flushes the file and puts it in its place; else path stays
 * as it was, and rc, which *e tells already, is returned. */
int file_writer_end(struct file_writer *w, int rc, struct err *e) MUST_CHECK;

/* Replaces path likewise, with the permissions of the file `like`, but without flushing: a power
 * cut may leave anything there. For what can be made again; by one writer at a time. ERR_IO. */
int file_swap(const char *path, const char *like, struct str data, struct err *e) MUST_CHECK;

/* Gives a file another name in the same file system, in place of what has it. ERR_IO. */
int file_rename(const char *from, const char *to, struct err *e) MUST_CHECK;

/* Cuts a file to its first `bytes` bytes and flushes it. ERR_IO. */
int file_cut(const char *path, uint64_t bytes, struct err *e) MUST_CHECK;

/* Creates a folder and its parents. ERR_IO, also when something else has the name. */
int dir_make(const char *path, struct err *e) MUST_CHECK;
/* The names in the folder `path` that end with `ending`, sorted by bytes, without hidden ones, into
 * *out and *n (in arena). ERR_NOT_FOUND, ERR_INPUT (no folder), ERR_IO. */
int dir_list(struct arena *arena, const char *path, const char *ending, struct str **out, size_t *n,
             struct err *e) MUST_CHECK;
/* The regular files below the folder `path` whose names end with one of `endings` (NULL ends them),
 * as paths that begin with `path`, folder by folder in the order of dir_list, into *out and *n (in
 * arena). Hidden names are left out, links to folders not followed. Errors as dir_list; ERR_LIMIT
 * beyond 32 folders in each other or 100,000 files. */
int dir_tree(struct arena *arena, const char *path, const char *const *endings, const char ***out,
             size_t *n, struct err *e) MUST_CHECK;
/* Whether both paths lead to one file that is there. */
bool path_same(const char *a, const char *b);
bool path_exists(const char *path);
bool path_is_dir(const char *path);
bool path_is_file(const char *path); /* a regular one, or a link to one */

/* The part of path before its last slash, "." when there is none; in arena. */
const char *path_dir(struct arena *arena, const char *path);
/* dir/name, or name when it is absolute or dir is "."; in arena. */
const char *path_join(struct arena *arena, const char *dir, const char *name);
#endif
