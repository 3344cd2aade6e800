#include "kernel/base/err.h"

#include <stdio.h>
#include <string.h>

#include "kernel/base/text.h"

int err_vat(struct err *e, int code, const char *file, uint32_t line, uint32_t column,
            const char *fmt, va_list args)
{
    if (e == NULL) {
        return code;
    }
    e->code = code;
    e->line = line;
    e->column = column;
    e->file[0] = '\0';
    if (file != NULL) {
        size_t n = strlen(file);
        if (n >= sizeof e->file) {
            n = sizeof e->file - 1;
        }
        memmove(e->file, file, n);
        e->file[n] = '\0';
    }
    if (vsnprintf(e->message, sizeof e->message, fmt, args) < 0) {
        e->message[0] = '\0';
    }
    e->message[utf8_whole(str_of(e->message)).n] = '\0';
    return code;
}

int err_set(struct err *e, int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    err_vat(e, code, NULL, 0, 0, fmt, args);
    va_end(args);
    return code;
}

int err_at(struct err *e, int code, const char *file, uint32_t line, uint32_t column,
           const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    err_vat(e, code, file, line, column, fmt, args);
    va_end(args);
    return code;
}

const char *err_text(const struct err *e, char *out, unsigned size)
{
    int n = 0;
    if (e->file[0] == '\0') {
        n = snprintf(out, size, "%s", e->message);
    } else if (e->line == 0) {
        n = snprintf(out, size, "%s: %s", e->file, e->message);
    } else if (e->column == 0) {
        n = snprintf(out, size, "%s:%u: %s", e->file, e->line, e->message);
    } else {
        n = snprintf(out, size, "%s:%u:%u: %s", e->file, e->line, e->column, e->message);
    }
    if (n < 0 && size > 0) {
        out[0] = '\0';
    }
    return out;
}
