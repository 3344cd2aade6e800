/* The user's lines: from a terminal with editing and history (libedit), else as they come. */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include "kernel/base/str.h"

struct line_reader;

enum line_end {
    LINE_READ,
    LINE_OVER,        /* Ctrl+D, the end of the input */
    LINE_INTERRUPTED, /* Ctrl+C; what was typed is dropped */
    LINE_TERMINATED,  /* SIGTERM */
    LINE_TOO_LONG     /* it is passed over */
};

enum { LINE_BYTES_MAX = 1 << 20 };

/* Reads standard input; editing where that and standard output are terminals. One at a time. */
struct line_reader *line_open(bool color);
void line_close(struct line_reader *l); /* NULL allowed */

bool line_edits(const struct line_reader *l);

/* The next line without its newline; *out is valid until the next call. prompt: shown on a
 * terminal, with a space behind it. While it waits SIGINT and SIGTERM end it, whatever else handles
 * them. */
enum line_end line_next(struct line_reader *l, const char *prompt, struct str *out);
#endif
