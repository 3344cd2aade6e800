#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"
#include "kernel/drive/tools.h"

int exit_of_code(int code)
{
    switch ((enum err_code)code) {
    case ERR_USAGE:
    case ERR_INPUT:
    case ERR_NOT_FOUND:
    case ERR_LIMIT:
    case ERR_EXISTS:
    case ERR_STATE:
    case ERR_UNSUPPORTED: return EXIT_USAGE;
    case ERR_MISS: return EXIT_MISS;
    case ERR_IO:
    case ERR_NET: return EXIT_ENVIRONMENT;
    }
    return EXIT_USAGE;
}

int exit_of_status(enum run_status s)
{
    switch (s) {
    case RUN_COMPLETED: return EXIT_OK;
    case RUN_MAX_STEPS:
    case RUN_TOKEN_BUDGET:
    case RUN_TIME_BUDGET:
    case RUN_COST_BUDGET:
    case RUN_CALL_BUDGET:
    case RUN_REPEATED_CALLS:
    case RUN_NO_PROGRESS:
    case RUN_TRUNCATED:
    case RUN_REFUSED:
    case RUN_SCRIPT_MISMATCH: return EXIT_FAILED;
    case RUN_MODEL_ERROR: return EXIT_ENVIRONMENT;
    case RUN_CASSETTE_MISS: return EXIT_MISS;
    case RUN_CANCELLED: return EXIT_INTERRUPTED;
    }
    return EXIT_FAILED;
}

static int gravity(int status)
{
    static const int order[] = {EXIT_OK,   EXIT_FAILED, EXIT_ENVIRONMENT,
                                EXIT_MISS, EXIT_USAGE,  EXIT_INTERRUPTED};
    for (int i = 0; i < (int)(sizeof order / sizeof order[0]); i++) {
        if (order[i] == status) {
            return i;
        }
    }
    return 0;
}

int exit_worse(int a, int b)
{
    return gravity(a) >= gravity(b) ? a : b;
}

void tell(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("assay: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

int tell_error(const struct err *e)
{
    char text[2048];
    tell("%s", err_text(e, text, sizeof text));
    return exit_of_code(e->code);
}

bool put_out(struct str s)
{
    while (s.n > 0) {
        ssize_t n = write(STDOUT_FILENO, s.p, s.n);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            tell("standard output cannot be written: %s", strerror(errno));
            return false;
        }
        s.p += n;
        s.n -= (size_t)n;
    }
    return true;
}

bool want_color(int fd)
{
    const char *no = getenv("NO_COLOR");
    return (no == NULL || no[0] == '\0') && isatty(fd) == 1;
}

void findings_add(struct findings *f, const char *file, uint32_t line, uint32_t column,
                  const char *severity, const char *code, struct str message)
{
    bool error = strcmp(severity, "error") == 0;
    f->errors += error;
    f->warnings += !error;
    if (!f->json) {
        buf_fmt(&f->out, "%s:", file);
        if (line > 0) {
            buf_fmt(&f->out, "%u:", line);
        }
        if (column > 0) {
            buf_fmt(&f->out, "%u:", column);
        }
        buf_fmt(&f->out, " %s: ", severity);
        buf_add(&f->out, message);
        buf_fmt(&f->out, " [%s]\n", code);
        return;
    }
    buf_char(&f->out, '{');
    json_put_text(&f->out, "file", str_of(file));
    json_put_int(&f->out, "line", line);
    json_put_int(&f->out, "column", column);
    json_put_text(&f->out, "severity", str_of(severity));
    json_put_text(&f->out, "code", str_of(code));
    json_put_text(&f->out, "message", message);
    buf_addz(&f->out, "}\n");
}

void findings_add_err(struct findings *f, const char *file, const struct err *e)
{
    findings_add(f, e->file[0] == '\0' ? file : e->file, e->line, e->column, "error",
                 e->code == ERR_IO || e->code == ERR_NOT_FOUND ? "unreadable" : "invalid",
                 str_of(e->message));
}

int findings_end(struct findings *f, const char *what, size_t n_files)
{
    if (!f->json) {
        buf_fmt(&f->out, "%zu %s%s checked: %zu error%s, %zu warning%s\n", n_files, what,
                n_files == 1 ? "" : "s", f->errors, f->errors == 1 ? "" : "s", f->warnings,
                f->warnings == 1 ? "" : "s");
    }
    bool written = put_out(buf_str(&f->out));
    buf_free(&f->out);
    return !written ? EXIT_ENVIRONMENT : f->errors > 0 ? EXIT_USAGE : EXIT_OK;
}

int check_files(int argc, char **argv, const char *verb, const char *what,
                void (*check_file)(const char *path, struct findings *f))
{
    struct findings findings = {0};
    const struct option options[] = {{"json", OPTION_FLAG, &findings.json, 0, 0}};
    struct words words;
    struct err e;
    if (options_parse(options, 1, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n < 2 || strcmp(words.at[0], "check") != 0) {
        tell("%s wants: check FILE...; assay %s --help shows an example", verb, verb);
        return EXIT_USAGE;
    }
    for (size_t i = 1; i < words.n; i++) {
        check_file(words.at[i], &findings);
    }
    return findings_end(&findings, what, words.n - 1);
}

static int add_builtins(struct toolset *t, struct str names, struct err *e)
{
    while (names.n > 0) {
        size_t comma = str_find(names, STR(","));
        int rc = toolset_add_builtin(t, str_slice(names, 0, comma), e);
        if (rc != 0) {
            return rc;
        }
        if (comma == names.n - 1) {
            return err_set(e, ERR_USAGE, "--tools ends with a comma; expected one more tool");
        }
        names = comma == SIZE_MAX ? (struct str){NULL, 0} : str_slice(names, comma + 1, names.n);
    }
    return 0;
}

/* A value without a dot or slash cannot be meant as a file that is not there. */
static bool looks_like_names(const char *value)
{
    return strpbrk(value, "./") == NULL && !path_exists(value);
}

int tools_open(const char *value, struct toolset **out, struct err *e)
{
    struct toolset *t = toolset_new();
    int rc = value == NULL             ? add_builtins(t, STR("calculator,search_docs,now"), e)
             : looks_like_names(value) ? add_builtins(t, str_of(value), e)
                                       : toolset_add_file(t, value, e);
    if (rc != 0) {
        toolset_free(t);
        return rc;
    }
    *out = t;
    return 0;
}
