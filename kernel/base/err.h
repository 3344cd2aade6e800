/* Errors: one code list and one record that says what went wrong and where in the user's file. */
#ifndef KERNEL_BASE_ERR_H
#define KERNEL_BASE_ERR_H

#include <stdarg.h>
#include <stdint.h>

/* Every error code of the project; always negative. */
enum err_code {
    ERR_USAGE = -1,
    ERR_INPUT = -2,     /* a file or text that people write is wrong */
    ERR_NOT_FOUND = -3, /* a file, task, tool that was named is not there */
    ERR_LIMIT = -4,     /* input beyond a stated limit */
    ERR_IO = -5,        /* disk, pipe, permission */
    ERR_NET = -6,       /* endpoint unreachable or misbehaving */
    ERR_MISS = -7,      /* no recording fits, or what was sent has drifted from it */
    ERR_EXISTS = -8,    /* what would be made is there already */
    ERR_STATE = -9,     /* an event that cannot happen now */
    ERR_UNSUPPORTED = -10
};

/* What went wrong. `file` is the user's file ("" when there is none), `line` and `column` count
 * from 1 (0 = unknown). The message says what was found, what was expected and what to try; one
 * that is too long is cut at a character. */
struct err {
    int code;
    uint32_t line;
    uint32_t column;
    char file[512];
    char message[1024];
};

/* Fills `e` (may be NULL) with a code and a printf-style message, no position. Returns `code`. */
int err_set(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like err_set, with a position in the user's file. `file` may be NULL; 0 = line or column unknown.
 */
int err_at(struct err *e, int code, const char *file, uint32_t line, uint32_t column,
           const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* The same with the arguments of `fmt` as a list. */
int err_vat(struct err *e, int code, const char *file, uint32_t line, uint32_t column,
            const char *fmt, va_list args) __attribute__((format(printf, 6, 0)));

/* Writes "file:line:column: message" (the parts that are known) into out[0..size), cut if needed,
 * always terminated. Returns out. */
const char *err_text(const struct err *e, char *out, unsigned size);

/* Marks functions whose result must be looked at. */
#define MUST_CHECK __attribute__((warn_unused_result))

#endif
