#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"
#include "kernel/drive/tools.h"

/* Whether the last thing on standard error is a line of tell_over. */
static bool line_stands;

void tell_over(struct str line)
{
    struct buf out = {0};
    if (line_stands || line.n > 0) {
        buf_addz(&out, "\r\033[K");
        text_add_plain(&out, line);
        fwrite(out.p, 1, out.n, stderr);
        fflush(stderr);
    }
    line_stands = line.n > 0;
    buf_free(&out);
}

void tell(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = mem_alloc((size_t)(n < 0 ? 0 : n) + 1);
    va_start(args, fmt);
    struct str rest = {text,
                       n > 0 && vsnprintf(text, (size_t)n + 1, fmt, args) == n ? (size_t)n : 0};
    va_end(args);
    while (rest.n > 0 && strchr(" \n", rest.p[rest.n - 1]) != NULL) {
        rest.n--;
    }
    struct buf plain = {0}, out = {0};
    text_add_plain(&plain, rest);
    buf_addz(&out, "assay: ");
    for (size_t i = 0; i < plain.n; i++) {
        bool inner = i > 0 && plain.p[i - 1] == '\n' && plain.p[i] != '\n' && plain.p[i] != ' ';
        buf_addz(&out, inner ? "  " : "");
        buf_char(&out, plain.p[i]);
    }
    buf_char(&out, '\n');
    tell_over((struct str){NULL, 0});
    fwrite(out.p, 1, out.n, stderr);
    buf_free(&plain);
    buf_free(&out);
    free(text);
}

int tell_no_file(const char *verb, const char *word)
{
    tell("%s %s wants a file: FILE...; assay %s --help shows an example", verb, word, verb);
    return EXIT_USAGE;
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

static int write_stdout(void *ctx, struct str piece, struct err *e)
{
    (void)ctx;
    return put_out(piece) ? 0 : err_set(e, ERR_IO, "standard output could not be written");
}

struct sink sink_to_stdout(void)
{
    return (struct sink){.write = write_stdout};
}

/* What could not be written put_out has said already. */
bool sink_end_stdout(struct sink *s)
{
    struct err e;
    int rc = sink_end(s, &e);
    if (rc != 0 && rc != ERR_IO) {
        tell_error(&e);
    }
    return rc == 0;
}

bool put_text(struct str s)
{
    if (isatty(STDOUT_FILENO) != 1) {
        return put_out(s);
    }
    struct buf plain = {0};
    text_add_plain(&plain, s);
    bool written = put_out(buf_str(&plain));
    buf_free(&plain);
    return written;
}

bool draws(int fd)
{
    const char *term = getenv("TERM");
    return (term == NULL || strcmp(term, "dumb") != 0) && isatty(fd) == 1;
}

bool want_color(int fd)
{
    const char *no = getenv("NO_COLOR");
    return (no == NULL || no[0] == '\0') && draws(fd);
}

static void add_line(struct buf *out, const struct finding *f)
{
    text_add_plain(out, str_of(f->file));
    buf_char(out, ':');
    if (f->line > 0) {
        buf_fmt(out, "%u:", f->line);
    }
    if (f->column > 0) {
        buf_fmt(out, "%u:", f->column);
    }
    buf_fmt(out, " %s: ", finding_severity_name(f->severity));
    text_add_plain(out, f->message);
    buf_fmt(out, " [%s]\n", f->code);
}

static void add_json(struct buf *out, const struct finding *f)
{
    buf_char(out, '{');
    json_put_text(out, "file", str_of(f->file));
    json_put_int(out, "line", f->line);
    json_put_int(out, "column", f->column);
    json_put_text(out, "severity", str_of(finding_severity_name(f->severity)));
    json_put_text(out, "code", str_of(f->code));
    json_put_text(out, "message", f->message);
    buf_addz(out, "}\n");
}

void findings_add(void *ctx, const struct finding *f)
{
    struct findings *all = ctx;
    switch (f->severity) {
    case FINDING_ERROR: all->errors++; break;
    case FINDING_WARNING: all->warnings++; break;
    }
    if (all->json) {
        add_json(&all->out, f);
    } else {
        add_line(&all->out, f);
    }
}

void findings_add_err(struct findings *f, const char *file, const struct err *e)
{
    struct finding told = {
        .file = e->file[0] == '\0' ? file : e->file,
        .line = e->line,
        .column = e->column,
        .severity = FINDING_ERROR,
        .code = e->code == ERR_IO || e->code == ERR_NOT_FOUND ? "unreadable" : "invalid",
        .message = str_of(e->message),
    };
    f->unread += e->code == ERR_IO;
    findings_add(f, &told);
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
    if (f->errors > f->unread) {
        return written ? EXIT_USAGE : EXIT_ENVIRONMENT;
    }
    return f->unread > 0 || !written ? EXIT_ENVIRONMENT : EXIT_OK;
}

static int add_builtins(struct toolset *t, struct str names, struct err *e)
{
    for (bool more = names.n > 0; more; more = names.p != NULL) {
        struct str name = str_trim(str_cut(&names, ','));
        int rc = name.n == 0
                     ? err_set(e, ERR_USAGE, "--tools: a comma must stand between two tools")
                     : toolset_add_builtin(t, name, e);
        if (rc != 0) {
            return rc;
        }
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
