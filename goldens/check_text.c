/* Texts that YAML or a regular expression takes otherwise than they were meant. */
#include "goldens/golden_int.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"

#include <string.h>

enum { FILE_BYTES_MAX = 64 << 20, SHOWN_CHARS = 40 };

/* ---- comments ---- */

/* A file of the set, by lines. */
struct file_lines {
    struct arena *arena;
    struct str *lines;
    size_t n;
};

static void split(struct file_lines *l, struct str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    l->lines = arena_array(l->arena, n, sizeof *l->lines);
    l->n = n;
    for (size_t i = 0; i < n; i++) {
        const char *end = text.n == 0 ? NULL : memchr(text.p, '\n', text.n);
        size_t length = end == NULL ? text.n : (size_t)(end - text.p);
        l->lines[i] = str_slice(text, 0, length);
        text = str_slice(text, length + 1, text.n);
    }
}

/* The comment that cuts off the plain text which begins in this column, such as "#123 now"; n 0 =
 * none. A remark has a blank behind its #. */
static struct str cut_off(struct str line, uint32_t column)
{
    size_t at = utf8_prefix(line, column - 1).n;
    if (at >= line.n || strchr("\"'|>&*!", line.p[at]) != NULL) {
        return (struct str){0};
    }
    for (size_t i = at; i + 2 < line.n; i++) {
        if (line.p[i] == ' ' && line.p[i + 1] == '#') {
            bool remark = strchr(" #\t\r", line.p[i + 2]) != NULL;
            return remark ? (struct str){0} : str_trim(str_slice(line, i + 1, line.n));
        }
    }
    return (struct str){0};
}

/* Recursion ends at the file's depth. */
static void check_value(const struct golden_report *r, const struct file_lines *l,
                        const struct val *v)
{
    for (size_t i = 0; v->kind == VAL_ARRAY && i < v->count; i++) {
        check_value(r, l, &v->items[i]);
    }
    for (size_t i = 0; v->kind == VAL_OBJECT && i < v->count; i++) {
        check_value(r, l, &v->members[i].value);
    }
    if (v->kind != VAL_STRING || v->line == 0 || v->line > l->n || v->column == 0) {
        return;
    }
    struct str comment = cut_off(l->lines[v->line - 1], v->column);
    if (comment.n > 0) {
        struct buf message = {0};
        buf_fmt(&message,
                "this text ends before \"%.*s\", which is a comment in YAML; put the whole text "
                "in quotes",
                STR_FMT(text_preview(l->arena, comment, SHOWN_CHARS)));
        golden_tell(r, v->line, v->column, FINDING_WARNING, "comment_in_text", &message);
    }
}

static void check_file(const struct golden_report *r, const struct golden_set *s)
{
    static const char *const keys[] = {"prompt", "turns", "system", "expect"};
    struct file_lines l = {.arena = arena_new()};
    struct str text;
    if (file_read(l.arena, r->file, FILE_BYTES_MAX, &text, NULL) == 0) {
        split(&l, text);
        for (size_t i = 0; i < s->n_tasks; i++) {
            const struct golden_task *t = &s->tasks[i];
            for (size_t k = 0; strcmp(t->path, r->file) == 0 && k < sizeof keys / sizeof keys[0];
                 k++) {
                const struct val *v = val_get(t->at, keys[k]);
                if (v != NULL) {
                    check_value(r, &l, v);
                }
            }
        }
    }
    arena_free(l.arena);
}

void golden_check_comments(const struct golden_report *r, const struct golden_set *s)
{
    for (size_t i = 0; i < s->n_files; i++) {
        struct golden_report here = {r->found, r->ctx, s->files[i]};
        check_file(&here, s);
    }
}

/* ---- regular expressions ---- */

bool golden_check_slashes(const struct golden_report *r, const struct val *at, struct str regex)
{
    size_t end = regex.n;
    while (end > 0 && strchr("gimsuy", regex.p[end - 1]) != NULL) {
        end--;
    }
    if (end == regex.n || end < 3 || regex.p[end - 1] != '/' || regex.p[0] != '/') {
        return false;
    }
    struct arena *scratch = arena_new();
    struct str inner = text_preview(scratch, str_slice(regex, 1, end - 1), SHOWN_CHARS);
    struct buf message = {0};
    buf_fmt(&message,
            "the slashes of this regex and the letters behind them are looked for in the text; "
            "without regard to capitals it is (?i)%.*s",
            STR_FMT(inner));
    golden_tell(r, at->line, at->column, FINDING_WARNING, "slashes", &message);
    arena_free(scratch);
    return true;
}
