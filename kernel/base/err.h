/* Errors: one code list and one record that says what went wrong and where in the user's file. */
#ifndef KERNEL_BASE_ERR_H
#define KERNEL_BASE_ERR_H

#include <stdarg.h>
#include <stdint.h>

/* Every error code of the project: name, value (always negative), meaning. */
#define ERR_CODES(X)                                                                               \
    X(ERR_USAGE, -1, "bad usage")                                                                  \
    X(ERR_INPUT, -2, "bad input")             /* a file or text that people write is wrong */      \
    X(ERR_NOT_FOUND, -3, "not found")         /* a file, task, tool that was named is not there */ \
    X(ERR_LIMIT, -4, "limit exceeded")        /* input beyond a stated limit */                    \
    X(ERR_IO, -5, "input/output error")       /* disk, pipe, permission */                         \
    X(ERR_NET, -6, "network error")           /* endpoint unreachable or misbehaving */            \
    X(ERR_MISS, -7, "cassette miss or drift") /* no recording fits */                              \
    X(ERR_EXISTS, -8, "exists already")                                                            \
    X(ERR_STATE, -9, "wrong state") /* an event that cannot happen now */                          \
    X(ERR_UNSUPPORTED, -10, "not supported")

#define ERR_ENUM(name, value, text) name = value,
enum err_code { ERR_CODES(ERR_ENUM) };
#undef ERR_ENUM

/* What went wrong. `file` is the user's file ("" when there is none), `line` and `column` count
 * from 1 (0 = unknown). The message says what was found, what was expected and what to try. */
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

/* Writes "file:line:column: message" (the parts that are known) into out[0..size), cut if needed,
 * always terminated. Returns out. */
const char *err_text(const struct err *e, char *out, unsigned size);

/* The meaning of a code, static text; "unknown error" for a code that is not in the list. */
const char *err_name(int code);

/* Marks functions whose result must be looked at. */
#define MUST_CHECK __attribute__((warn_unused_result))

#endif
