/* A file of lines, read from its begin to its end or here and there, through a small window:
 * however large it is, little of it is in memory. */
#ifndef KERNEL_DRIVE_LINES_H
#define KERNEL_DRIVE_LINES_H

#include "kernel/base/arena.h"
#include "kernel/base/err.h"

struct lines;

enum { LINES_LINE_MAX = 1 << 28 }; /* bytes of one line */

/* Opens the file at path. What it holds is read while it is open, also when another file has taken
 * its name. ERR_NOT_FOUND; ERR_INPUT: a folder, or a file that may not be read; ERR_IO. Owned by
 * the caller. */
int lines_open(const char *path, struct lines **out, struct err *e) MUST_CHECK;
/* The same over text, which must outlive it. */
struct lines *lines_over(const char *name, struct str text);
void lines_free(struct lines *l); /* NULL allowed */
const char *lines_name(const struct lines *l);

enum line_found { LINE_NONE, LINE_WHOLE, LINE_TORN /* without a newline: the last one */ };

/* The line that begins at byte *at, without its newline, until the next call; *at moves behind it,
 * but not behind a torn one. ERR_LIMIT with *at: longer than LINES_LINE_MAX; ERR_IO. */
int lines_next(struct lines *l, uint64_t *at, struct str *out, enum line_found *found,
               struct err *e) MUST_CHECK;

/* The n bytes from byte `at` on, until the next call; fewer where the file ends before. ERR_IO. */
int lines_at(struct lines *l, uint64_t at, size_t n, struct str *out, struct err *e) MUST_CHECK;
#endif
