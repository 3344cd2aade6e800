/* Rewrites files: drops a torn tail, and interactions that are not wanted. What stays is kept byte
 * for byte. */
#include "cassettes/cassette_int.h"
#include "cassettes/edit.h"
#include "kernel/base/ascii.h"
#include "kernel/base/text.h"
#include "kernel/drive/appender.h"
#include "kernel/drive/files.h"

#include <stdlib.h>
#include <string.h>

/* ---- repair ---- */

enum { TORN_FILES_MAX = 1000 };

/* A name beside path that nothing has: path.torn, path.torn.2, … */
static const char *free_name(struct arena *arena, const char *path)
{
    const char *name = arena_printf(arena, "%s.torn", path).p;
    for (int i = 2; path_exists(name) && i < TORN_FILES_MAX; i++) {
        name = arena_printf(arena, "%s.torn.%d", path, i).p;
    }
    return name;
}

static int drop_tail(const struct cassette *c, struct buf *told, struct err *e)
{
    struct str tail = str_slice(c->source, c->whole, c->source.n);
    const char *aside = free_name(c->arena, c->path);
    int rc = file_replace(aside, tail, e);
    if (rc == 0) {
        rc = file_replace(c->path, str_slice(c->source, 0, c->whole), e);
    }
    if (rc == 0) {
        buf_fmt(told,
                "%s: dropped interaction %zu from line %u on, which was cut off (%zu bytes, kept "
                "in %s); %zu whole interaction%s stay%s",
                c->path, c->n + 1, c->torn_line, tail.n, aside, c->n, c->n == 1 ? "" : "s",
                c->n == 1 ? "s" : "");
    }
    return rc;
}

/* Holds a file, so that no recorder goes on with it meanwhile. */
static int hold(const char *path, struct appender **out, struct err *e)
{
    if (strcmp(path, "-") == 0) {
        return err_set(e, ERR_USAGE, "standard input cannot be rewritten; name a file");
    }
    if (!path_exists(path)) {
        return err_at(e, ERR_NOT_FOUND, path, 0, 0, "is not there");
    }
    return appender_open(path, APPEND_CONTINUE, out, e);
}

int cassette_replace(const char *path, struct str text, struct err *e)
{
    struct appender *held;
    int rc = hold(path, &held, e);
    if (rc == 0) {
        rc = file_replace(path, text, e);
        int closed = appender_close(held, rc == 0 ? e : NULL);
        rc = rc == 0 ? closed : rc;
    }
    return rc;
}

int cassette_whole(const struct cassette *c, struct err *e)
{
    return c->torn
               ? err_at(e, ERR_INPUT, c->path, c->torn_line, 1,
                        "the recording was cut off here; first: assay cassette repair %s", c->path)
               : 0;
}

int cassette_repair(const char *path, struct buf *told, struct err *e)
{
    struct cassette *c;
    struct appender *held;
    int rc = hold(path, &held, e);
    if (rc != 0) {
        return rc;
    }
    rc = cassette_load(path, &c, NULL, e);
    if (rc == 0) {
        if (c->torn) {
            rc = drop_tail(c, told, e);
        } else {
            buf_fmt(told, "%s: nothing is torn, all %zu interactions are whole", path, c->n);
        }
        cassette_free(c);
    }
    int closed = appender_close(held, rc == 0 ? e : NULL);
    return rc == 0 ? closed : rc;
}

/* ---- prune ---- */

/* Marks what "3,5-7" names, from 1 to n. */
static int mark_numbers(const char *list, size_t n, bool *marked, struct err *e)
{
    for (const char *p = list;;) {
        char *end;
        unsigned long first = strtoul(p, &end, 10);
        unsigned long last = first;
        bool good = ascii_digit(*p);
        if (good && *end == '-') {
            p = end + 1;
            good = ascii_digit(*p);
            last = strtoul(p, &end, 10);
        }
        if (!good || (*end != ',' && *end != '\0') || first < 1 || last < first) {
            return err_set(e, ERR_USAGE,
                           "expected numbers of interactions such as 3,5-7, got \"%s\"", list);
        }
        if (last > n) {
            return err_set(e, ERR_USAGE, "there is no interaction %lu, the file holds %zu", last,
                           n);
        }
        for (unsigned long i = first; i <= last; i++) {
            marked[i - 1] = true;
        }
        if (*end == '\0') {
            return 0;
        }
        p = end + 1;
    }
}

static bool asks_model(const struct interaction *it, const char *model)
{
    return str_is(val_text(val_get(it->request_json, "model")), model);
}

static bool has_failed(const struct interaction *it)
{
    return it->ended != HTTP_CLEAN || it->status == 0 || it->status >= 400;
}

/* Whether an earlier one has the same request and the same answer. */
static bool is_duplicate(const struct cassette *c, struct index *x, uint32_t i)
{
    const struct interaction *it = &c->items[i];
    struct key key =
        cassette_key_of_request(it->method, it->uri, it->request_body, it->request_json);
    for (uint32_t k = cassette_index_first(x, key); k != INDEX_NONE;
         k = cassette_index_after(x, k)) {
        if (cassette_answered_alike(&c->items[k], it)) {
            return true;
        }
    }
    cassette_index_add(x, key, i);
    return false;
}

/* Why each interaction goes; NULL = it stays. */
static int choose(const struct cassette *c, const struct pruning *what, const char **why,
                  struct err *e)
{
    bool *marked = mem_zero(c->n + 1);
    bool *kept = mem_zero(c->n + 1);
    int rc = what->drop == NULL ? 0 : mark_numbers(what->drop, c->n, marked, e);
    if (rc == 0 && what->keep != NULL) {
        rc = mark_numbers(what->keep, c->n, kept, e);
    }
    struct index *x = cassette_index_new(c->arena, (uint32_t)c->n);
    for (uint32_t i = 0; i < c->n && rc == 0; i++) {
        const struct interaction *it = &c->items[i];
        bool twice = what->duplicates && is_duplicate(c, x, i);
        why[i] = marked[i]                                            ? "named"
                 : what->keep != NULL && !kept[i]                     ? "not named"
                 : what->model != NULL && asks_model(it, what->model) ? "of that model"
                 : what->failed && has_failed(it)                     ? "failed"
                 : twice                                              ? "a duplicate"
                                                                      : NULL;
    }
    free(marked);
    free(kept);
    return rc;
}

/* How far a line is indented; SIZE_MAX for one that says nothing. */
static size_t indent_of(struct str line)
{
    size_t n = 0;
    while (n < line.n && line.p[n] == ' ') {
        n++;
    }
    bool says = n < line.n && strchr("\r\n#", line.p[n]) == NULL;
    return says ? n : SIZE_MAX;
}

/* Where each interaction begins, and behind the last one where it ends: `at` has n + 1 places.
 * False when they do not stand one after the other, each in lines of its own. */
static bool list_places(const struct cassette *c, size_t *at)
{
    struct str source = c->source;
    size_t from = 0;
    uint32_t line = 1;
    size_t indent = 0;
    for (size_t i = 0; i < c->n; i++) {
        while (line < c->items[i].line && from < source.n) {
            const char *newline = memchr(source.p + from, '\n', source.n - from);
            from = newline == NULL ? source.n : (size_t)(newline - source.p) + 1;
            line++;
        }
        size_t dash = indent_of(str_slice(source, from, source.n));
        if (dash == SIZE_MAX || !str_starts(str_slice(source, from + dash, source.n), "- ") ||
            (i > 0 && (dash != indent || from == at[i - 1]))) {
            return false;
        }
        at[i] = from;
        indent = dash;
    }
    size_t next;
    do {
        const char *newline = memchr(source.p + from, '\n', source.n - from);
        from = newline == NULL ? source.n : (size_t)(newline - source.p) + 1;
        next = indent_of(str_slice(source, from, source.n));
    } while (from < source.n && next > indent);
    at[c->n] = from;
    return true;
}

/* Whether the text holds just what stays. */
static bool holds_the_rest(const struct cassette *c, const char *const *why, struct str text)
{
    struct cassette *left;
    size_t k = 0;
    if (cassette_parse(c->path, text, &left, NULL, NULL) != 0) {
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < c->n && good; i++) {
        if (why[i] == NULL) {
            good = k < left->n && str_eq(left->items[k].uri, c->items[i].uri) &&
                   str_eq(left->items[k].request_body, c->items[i].request_body) &&
                   str_eq(left->items[k].body, c->items[i].body);
            k++;
        }
    }
    good = good && k == left->n;
    cassette_free(left);
    return good;
}

static void cut(const struct cassette *c, const char *const *why, const size_t *at, struct buf *out,
                struct buf *told, size_t *dropped)
{
    buf_add(out, str_slice(c->source, 0, at[0]));
    for (size_t i = 0; i < c->n; i++) {
        const struct interaction *it = &c->items[i];
        if (why[i] == NULL) {
            buf_add(out, str_slice(c->source, at[i], at[i + 1]));
            continue;
        }
        struct buf url = {0};
        cassette_redact_url(it->uri, &url);
        struct str shown = text_preview(c->arena, buf_str(&url), 200);
        buf_fmt(told, "%s:%u: interaction %u goes (%s): %.*s %.*s\n", c->path, it->line, it->n,
                why[i], STR_FMT(it->method), STR_FMT(shown));
        buf_free(&url);
        ++*dropped;
    }
    buf_add(out, str_slice(c->source, at[c->n], c->source.n));
}

int cassette_prune(const struct cassette *c, const struct pruning *what, struct buf *out,
                   struct buf *told, size_t *dropped, struct err *e)
{
    *dropped = 0;
    const char **why = arena_array(c->arena, c->n + 1, sizeof *why);
    size_t *at = arena_array(c->arena, c->n + 1, sizeof *at);
    int rc = cassette_whole(c, e);
    rc = rc != 0 ? rc : choose(c, what, why, e);
    if (rc != 0) {
        return rc;
    }
    if (c->n == 0) {
        buf_add(out, c->source);
        return 0;
    }
    bool good = list_places(c, at);
    if (good) {
        cut(c, why, at, out, told, dropped);
        good = holds_the_rest(c, why, buf_str(out));
    }
    if (!good) {
        return err_at(e, ERR_INPUT, c->path, 0, 0,
                      "its interactions do not stand in lines of their own, so none can be cut "
                      "out; first: assay cassette import %s -o OUT.yaml",
                      c->path);
    }
    return 0;
}
