#include "goldens/make.h"
#include "goldens/golden_int.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdio.h>
#include <string.h>

enum { WORD_BYTES_MAX = 60 };

/* ---- form ---- */

void golden_put_text(struct buf *out, struct str s)
{
    struct buf json = {0};
    json_add_string(&json, s);
    yaml_add_json(out, buf_str(&json));
    buf_free(&json);
}

void golden_put_word(struct buf *out, struct str s)
{
    static const char *const meant[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};
    bool plain = s.n > 0 && s.n <= WORD_BYTES_MAX;
    for (size_t i = 0; i < s.n && plain; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        plain = letter || (i > 0 && ((c >= '0' && c <= '9') || c == '_' || c == '-'));
    }
    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++) {
        plain = plain && str_cmp_nocase(s, str_of(meant[i])) != 0;
    }
    if (plain) {
        buf_add(out, s);
    } else {
        golden_put_text(out, s);
    }
}

void golden_put_value(struct buf *out, const struct val *v)
{
    struct buf json = {0};
    json_add_spaced(&json, v);
    yaml_add_json(out, buf_str(&json));
    buf_free(&json);
}

struct str golden_word(struct arena *arena, struct str text, const char *usual)
{
    struct buf word = {0};
    for (size_t i = 0; i < text.n && word.n < WORD_BYTES_MAX; i++) {
        char c = text.p[i];
        char low = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        if ((low >= 'a' && low <= 'z') || (low >= '0' && low <= '9') || low == '_') {
            buf_char(&word, c);
        } else if (word.n > 0 && word.p[word.n - 1] != '-') {
            buf_char(&word, '-');
        }
    }
    while (word.n > 0 && word.p[word.n - 1] == '-') {
        word.n--;
    }
    struct str made = arena_str(arena, word.n > 0 ? buf_str(&word) : str_of(usual));
    buf_free(&word);
    return made;
}

void golden_add_pattern(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool special = c < 0x7f && c > 0x20 && strchr("\\^$.|?*+()[]{}#-", c) != NULL;
        buf_addz(out, special ? "\\" : "");
        buf_char(out, c);
    }
}

/* ---- writing ---- */

/* Gives `text` the name `path` if it loads as a set. */
static int write_checked(struct arena *arena, const char *path, struct str text, struct err *e)
{
    const char *draft = arena_printf(arena, "%s.draft", path).p;
    struct golden_set *set = NULL;
    int rc = file_replace(draft, text, e);
    if (rc != 0) {
        return rc;
    }
    rc = golden_open(draft, &set, e);
    golden_free(set);
    rc = rc != 0 ? rc : file_rename(draft, path, e);
    if (rc != 0) {
        (void)remove(draft);
    }
    return rc;
}

static int write_new(const char *path, struct str set, struct err *e)
{
    struct arena *arena = arena_new();
    int rc = path_exists(path) ? err_at(e, ERR_EXISTS, path, 0, 0,
                                        "is there already and is not overwritten; name another "
                                        "file with -o")
                               : write_checked(arena, path, set, e);
    arena_free(arena);
    return rc;
}

/* ---- sets made of other programs' files ---- */

void golden_made_free(struct golden_made *m)
{
    buf_free(&m->text);
    buf_free(&m->sources);
}

static uint32_t count_lines(struct str text)
{
    uint32_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    return n;
}

int golden_made_add(struct golden_made *m, struct str task, uint32_t line, uint32_t column,
                    struct err *e)
{
    if (m->tasks == GOLDEN_TASKS_MAX) {
        return err_at(e, ERR_LIMIT, m->from, line, column,
                      "one more task here than the %d that a set may hold; import it in parts",
                      (int)GOLDEN_TASKS_MAX);
    }
    if (task.n > GOLDEN_SET_BYTES_MAX || m->text.n > GOLDEN_SET_BYTES_MAX - task.n) {
        return err_at(e, ERR_LIMIT, m->from, line, column,
                      "with the task made here the set is larger than the %d MiB that a set may "
                      "have; import it in parts",
                      GOLDEN_SET_BYTES_MAX >> 20);
    }
    if (m->tasks == 0) {
        m->lines = count_lines(buf_str(&m->text)); /* its head */
    }
    struct golden_source source = {m->lines + 1, line, column};
    buf_add(&m->sources, (struct str){(const char *)&source, sizeof source});
    buf_add(&m->text, task);
    m->lines += count_lines(task);
    m->tasks++;
    return 0;
}

/* The place where the line of the set comes from; 0 = none. */
static struct golden_source source_of(const struct golden_made *m, uint32_t line)
{
    struct golden_source found = {0}, next;
    for (size_t i = 0; i < m->tasks; i++) {
        memcpy(&next, m->sources.p + i * sizeof next, sizeof next);
        if (next.at > line) {
            break;
        }
        found = next;
    }
    return found;
}

int golden_write_made(const char *path, const struct golden_made *set, struct err *e)
{
    struct err why;
    int rc = write_new(path, buf_str(&set->text), &why);
    if (rc == ERR_INPUT) { /* at a line of a draft that is not there any more */
        struct golden_source from = source_of(set, why.line);
        return err_at(e, rc, set->from, from.line, from.column,
                      "what this makes is no golden set: %s", why.message);
    }
    if (rc != 0 && e != NULL) {
        *e = why;
    }
    return rc;
}

/* ---- a task more ---- */

/* The set that a first task makes. */
static void begin_set(struct arena *arena, const char *path, struct str task, struct buf *out)
{
    struct str name = str_of(path);
    for (size_t i = name.n; i > 0; i--) {
        if (name.p[i - 1] == '/') {
            name = str_slice(name, i, name.n);
            break;
        }
    }
    size_t dot = str_find(name, STR("."));
    name = golden_word(arena, str_slice(name, 0, dot), "set");
    buf_fmt(out, "version: 1\nname: %.*s\ntasks:\n", STR_FMT(name));
    buf_add(out, task);
}

/* Appends the lines of `text`, each moved to the right. */
static void add_indented(struct buf *out, struct str text, size_t indent)
{
    while (text.n > 0) {
        size_t end = str_find(text, STR("\n"));
        end = end == SIZE_MAX ? text.n : end + 1;
        buf_fmt(out, "%*s", (int)indent, "");
        buf_add(out, str_slice(text, 0, end));
        text = str_slice(text, end, text.n);
    }
}

static int check_id(const struct golden_set *set, struct str id, struct err *e)
{
    for (size_t i = 0; i < set->n_tasks; i++) {
        struct golden_entry t = golden_entry(set, i);
        if (str_cmp_nocase(t.id, id) == 0) {
            return err_at(e, ERR_INPUT, t.path, t.line, t.column,
                          "the id \"%.*s\" is taken by this task; name another with --id",
                          STR_FMT(id));
        }
    }
    return 0;
}

/* The set's text with the task behind its last one. */
static int append(struct arena *arena, const struct golden_set *set, struct str task,
                  struct buf *out, struct err *e)
{
    struct golden_entry last = golden_entry(set, set->n_tasks - 1);
    struct str text;
    int rc = file_read(arena, set->path, GOLDEN_SET_BYTES_MAX, &text, e);
    if (rc == 0 && (!str_eq(str_of(last.path), str_of(set->path)) || last.column < 3)) {
        rc = err_at(e, ERR_INPUT, set->path, 0, 0,
                    "its tasks are no block list (- id: ...), so that none can be added; name a "
                    "new file with -o");
    }
    if (rc == 0) {
        buf_add(out, text);
        buf_addz(out, text.n > 0 && text.p[text.n - 1] != '\n' ? "\n" : "");
        add_indented(out, task, last.column - 3);
    }
    return rc;
}

static int add_to(struct arena *arena, const char *path, struct str id, struct str task,
                  struct err *e)
{
    struct golden_set *set = NULL;
    struct buf text = {0};
    struct err why;
    int rc = golden_open(path, &set, e);
    rc = rc != 0 ? rc : check_id(set, id, e);
    rc = rc != 0 ? rc : append(arena, set, task, &text, e);
    if (rc == 0) {
        rc = write_checked(arena, path, buf_str(&text), &why);
        if (rc == ERR_INPUT) {
            rc = err_at(e, ERR_INPUT, path, 0, 0,
                        "the task cannot be added behind its last line (%s); `tasks` must be its "
                        "last key, in block style; or name a new file with -o",
                        why.message);
        } else if (rc != 0 && e != NULL) {
            *e = why;
        }
    }
    golden_free(set);
    buf_free(&text);
    return rc;
}

/* A mistake would stand in a draft that is not there any more. */
static int write_first(const char *path, struct str text, struct err *e)
{
    struct err why;
    int rc = write_new(path, text, &why);
    if (rc == ERR_INPUT) {
        return err_at(e, rc, path, 0, 0, "is not made, since the task does not load: %s",
                      why.message);
    }
    if (rc != 0 && e != NULL) {
        *e = why;
    }
    return rc;
}

int golden_add_task(const char *path, struct str id, struct str task, struct err *e)
{
    struct arena *arena = arena_new();
    struct buf text = {0};
    int rc;
    if (path_exists(path)) {
        rc = add_to(arena, path, id, task, e);
    } else {
        begin_set(arena, path, task, &text);
        rc = write_first(path, buf_str(&text), e);
    }
    buf_free(&text);
    arena_free(arena);
    return rc;
}
