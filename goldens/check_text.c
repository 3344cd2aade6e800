/* Texts that YAML or a regular expression takes otherwise than they were meant. */
#include "goldens/check_int.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 16, SHOWN_CHARS = 40 };

/* ---- comments ---- */

struct line {
    uint32_t number; /* from 1 */
    struct str text;
};

/* Those with a # in them that may begin a comment; the others need not stay. */
struct golden_lines {
    struct arena *arena;
    struct line *lines;
    size_t n, cap;
    /* Where the last text began that was looked at, and the # that comes next; those of a line are
     * looked at from left to right mostly. */
    const struct line *line;
    uint32_t column;
    size_t at;
    size_t comment;
};

/* Where " #" stands, from `at` on, with something behind it. SIZE_MAX = nowhere. */
static size_t next_comment(struct str line, size_t at)
{
    for (size_t i = at; i + 2 < line.n; i++) {
        const char *blank = memchr(line.p + i, ' ', line.n - 2 - i);
        if (blank == NULL) {
            return SIZE_MAX;
        }
        i = (size_t)(blank - line.p);
        if (line.p[i + 1] == '#') {
            return i;
        }
    }
    return SIZE_MAX;
}

static void add_line(struct golden_lines *l, uint32_t number, struct str text)
{
    if (text.n > 0 && memchr(text.p, '#', text.n) != NULL && next_comment(text, 0) != SIZE_MAX) {
        l->lines = mem_room(l->lines, l->n, &l->cap, sizeof *l->lines);
        l->lines[l->n++] = (struct line){number, arena_str(l->arena, text)};
    }
}

/* Takes the lines that end in a piece; what is left of it waits in `rest`. */
static void add_piece(struct golden_lines *l, struct str piece, uint32_t *number, struct buf *rest)
{
    for (const char *end; piece.n > 0 && (end = memchr(piece.p, '\n', piece.n)) != NULL;) {
        struct str line = str_slice(piece, 0, (size_t)(end - piece.p));
        piece = str_slice(piece, line.n + 1, piece.n);
        if (rest->n > 0) {
            buf_add(rest, line);
            line = buf_str(rest);
        }
        add_line(l, *number, line);
        buf_clear(rest);
        ++*number;
    }
    buf_add(rest, piece);
}

struct golden_lines *golden_lines_read(const char *path)
{
    struct golden_lines *l = mem_zero(sizeof *l);
    struct file_pieces *file = file_pieces_open(path, 1);
    struct buf rest = {0};
    char *piece = mem_alloc(PIECE_BYTES);
    uint32_t number = 1;
    size_t n = 0;
    l->arena = arena_new();
    while (file != NULL && file_pieces_next(file, piece, PIECE_BYTES, &n) && n > 0) {
        add_piece(l, (struct str){piece, n}, &number, &rest);
    }
    add_line(l, number, buf_str(&rest));
    buf_free(&rest);
    free(piece);
    file_pieces_close(file);
    return l;
}

void golden_lines_free(struct golden_lines *l)
{
    if (l != NULL) {
        arena_free(l->arena);
        free(l->lines);
        free(l);
    }
}

static int by_number(const void *number, const void *line)
{
    uint32_t a = *(const uint32_t *)number;
    uint32_t b = ((const struct line *)line)->number;
    return a < b ? -1 : a > b;
}

/* Goes to a column of a line. */
static void go_to(struct golden_lines *l, const struct line *line, uint32_t column)
{
    if (l->line != line || column < l->column) {
        l->line = line;
        l->column = 1;
        l->at = 0;
        l->comment = next_comment(line->text, 0);
    }
    struct str ahead = str_slice(line->text, l->at, line->text.n);
    l->at += utf8_prefix(ahead, column - l->column).n;
    l->column = column;
    if (l->comment < l->at) {
        l->comment = next_comment(line->text, l->at);
    }
}

/* Whether nothing but blanks stands between the text v that begins at l->at and the comment. Only a
 * plain text stands in its line as it is. */
static bool comes_next(const struct golden_lines *l, struct str line, struct str v)
{
    size_t end = l->at + v.n;
    if (v.n == 0 || end > l->comment || !str_eq(str_slice(line, l->at, end), v)) {
        return false;
    }
    while (end < l->comment && strchr(" \t", line.p[end]) != NULL) {
        end++;
    }
    return end == l->comment;
}

/* The comment that cuts off the plain text v, such as "#123 now"; n 0 = none. A remark has a blank
 * behind its #. */
static struct str cut_off(struct golden_lines *l, const struct line *line, const struct val *v)
{
    struct str text = line->text;
    go_to(l, line, v->column);
    if (l->comment == SIZE_MAX || strchr(" #\t\r", text.p[l->comment + 2]) != NULL ||
        !comes_next(l, text, v->text)) {
        return (struct str){0};
    }
    return str_trim(str_slice(text, l->comment + 1, text.n));
}

static void check_text(const struct golden_report *r, struct golden_lines *l, const struct val *v)
{
    const struct line *line = bsearch(&v->line, l->lines, l->n, sizeof *l->lines, by_number);
    struct str comment = line == NULL || v->column == 0 ? (struct str){0} : cut_off(l, line, v);
    if (comment.n > 0) {
        struct buf message = {0};
        buf_fmt(&message,
                "this text ends before \"%.*s\", which is a comment in YAML; put the whole text "
                "in quotes",
                STR_FMT(text_preview(l->arena, comment, SHOWN_CHARS)));
        golden_tell(r, v->line, v->column, FINDING_WARNING, "comment_in_text", &message);
    }
}

/* Recursion ends at the file's depth. */
static void check_value(const struct golden_report *r, struct golden_lines *l, const struct val *v)
{
    for (size_t i = 0; v->kind == VAL_ARRAY && i < v->count; i++) {
        check_value(r, l, &v->items[i]);
    }
    for (size_t i = 0; v->kind == VAL_OBJECT && i < v->count; i++) {
        check_value(r, l, &v->members[i].value);
    }
    if (v->kind == VAL_STRING) {
        check_text(r, l, v);
    }
}

void golden_check_comments(const struct golden_report *r, struct golden_lines *l,
                           const struct golden_task *t)
{
    static const char *const keys[] = {"prompt", "turns", "system", "expect"};
    for (size_t k = 0; l->n > 0 && k < sizeof keys / sizeof keys[0]; k++) {
        const struct val *v = val_get(t->at, keys[k]);
        if (v != NULL) {
            check_value(r, l, v);
        }
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
