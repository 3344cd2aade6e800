/* Doubts about a set as a whole: tasks that stand there twice, tools that nobody expects, ids that
 * some systems cannot have as file names. */
#include "goldens/check_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- ids as file names ---- */

/* Names that Windows keeps for devices, whatever ending follows (Naming Files, Paths, and
 * Namespaces, learn.microsoft.com). */
static bool is_device(struct str id)
{
    static const char *const devices[] = {"con", "prn", "aux", "nul"};
    struct str stem = str_slice(id, 0, str_find(id, STR(".")));
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        if (str_cmp_nocase(stem, str_of(devices[i])) == 0) {
            return true;
        }
    }
    bool port = stem.n == 4 && (str_cmp_nocase(str_slice(stem, 0, 3), STR("com")) == 0 ||
                                str_cmp_nocase(str_slice(stem, 0, 3), STR("lpt")) == 0);
    return port && stem.p[3] >= '1' && stem.p[3] <= '9';
}

void golden_check_name(const struct golden_report *r, const struct golden_task *t)
{
    const char *why = is_device(t->id)             ? "Windows keeps this name for a device"
                      : str_ends(t->id, ".")       ? "Windows drops a dot at the end"
                      : str_ends(t->id, ".failed") ? "a recording that failed gets this ending"
                                                   : NULL;
    const struct val *id = val_get(t->at, "id");
    struct buf message = {0};
    if (why != NULL) {
        buf_fmt(&message, "the id \"%.*s\" makes a bad file name: %s; choose another",
                STR_FMT(t->id), why);
        golden_tell(r, id->line, id->column, FINDING_WARNING, "bad_file_name", &message);
    }
}

/* ---- twins ---- */

struct twin {
    uint64_t hash;
    size_t task;
};

uint64_t golden_asked(const struct golden_task *t)
{
    uint64_t hash = hash64(0, t->system);
    for (size_t i = 0; i < t->n_turns; i++) {
        hash = hash64(hash, t->turns[i]);
    }
    return hash;
}

static int by_hash(const void *a, const void *b)
{
    const struct twin *x = a;
    const struct twin *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : x->task < y->task ? -1 : 1;
}

static bool same_value(const struct val *a, const struct val *b)
{
    return a == b || (a != NULL && b != NULL && val_equal(a, b));
}

static bool same_task(const struct golden_task *a, const struct golden_task *b)
{
    bool same = a->n_turns == b->n_turns && a->tools == b->tools && str_eq(a->system, b->system) &&
                same_value(val_get(a->at, "expect"), val_get(b->at, "expect")) &&
                same_value(val_get(a->at, "budget"), val_get(b->at, "budget"));
    for (size_t i = 0; same && i < a->n_turns; i++) {
        same = str_eq(a->turns[i], b->turns[i]);
    }
    return same;
}

/* Whether only their texts can tell. Tasks that list tools themselves are never the same. */
static bool may_be_same(const struct golden_set *s, struct twin a, struct twin b)
{
    const struct toolset *tools = golden_entry(s, a.task).tools;
    return a.hash == b.hash && tools != NULL && tools == golden_entry(s, b.task).tools;
}

static struct golden_task *load(struct golden_loaded *l, size_t i)
{
    struct golden_task *t = NULL;
    struct err e;
    if (golden_task_load(&l->set, i, &t, &e) != 0) {
        l->lint->wrong(l->lint->ctx, &e);
        return NULL;
    }
    return t;
}

static void check_twin(const struct golden_report *r, const struct golden_task *a,
                       const struct golden_task *b)
{
    struct golden_report here = {r->found, r->ctx, b->path};
    bool same_file = strcmp(a->path, b->path) == 0;
    struct buf message = {0};
    if (same_task(a, b)) {
        buf_fmt(&message,
                "the task \"%.*s\" asks and expects the same as \"%.*s\" (line %u%s%s); leave one "
                "out, or use `trials` to run it more often",
                STR_FMT(b->id), STR_FMT(a->id), a->line, same_file ? "" : " of ",
                same_file ? "" : a->path);
        golden_tell(&here, b->line, b->column, FINDING_WARNING, "duplicate_task", &message);
    }
}

/* Each task that is another once more is told once, with the nearest one before it. */
static void check_twins(const struct golden_report *r, struct golden_loaded *l)
{
    size_t n = l->lint->n_hashes;
    struct arena *scratch = arena_new();
    struct twin *order = arena_array(scratch, n, sizeof *order);
    struct golden_task *before = NULL; /* the one at i - 1, where it has been loaded */
    for (size_t i = 0; i < n; i++) {
        order[i] = (struct twin){l->lint->hashes[i], i};
    }
    if (n > 0) {
        qsort(order, n, sizeof *order, by_hash);
    }
    for (size_t i = 1; i < n; i++) {
        struct golden_task *t = NULL;
        if (may_be_same(&l->set, order[i - 1], order[i])) {
            before = before != NULL ? before : load(l, order[i - 1].task);
            t = load(l, order[i].task);
        }
        if (before != NULL && t != NULL) {
            check_twin(r, before, t);
        }
        golden_task_free(before);
        before = t;
    }
    golden_task_free(before);
    arena_free(scratch);
}

/* ---- tools ---- */

static void mark(struct golden_tools *used, const struct tool_spec *specs, size_t n,
                 struct str name)
{
    const struct tool_spec *tool = tool_find(specs, n, name);
    if (tool != NULL) {
        used->named[tool - specs] = true;
    }
}

/* A tool of a file. One in a task's own list may be there to mislead. */
void golden_note_tools(struct golden_loaded *l, const struct golden_task *t)
{
    const struct golden_expect *x = &t->expect;
    struct golden_tools *used = l->shared;
    if (used == NULL || used->path == NULL) {
        return;
    }
    size_t n = 0;
    const struct tool_spec *specs = toolset_specs(used->set, &n);
    if (used->named == NULL) {
        used->named = arena_array(l->set.arena, n, sizeof *used->named);
    }
    used->calls = used->calls || x->n_calls > 0;
    for (size_t i = 0; i < x->n_calls; i++) {
        mark(used, specs, n, x->calls[i].name);
    }
    for (size_t i = 0; i < x->n_forbid; i++) {
        mark(used, specs, n, x->forbid[i]);
    }
}

static void check_tool_file(const struct golden_report *r, const struct golden_tools *t)
{
    size_t n = 0;
    const struct tool_spec *specs = toolset_specs(t->set, &n);
    struct buf names = {0};
    uint32_t line = 0;
    for (size_t i = 0; i < n; i++) {
        if (!t->named[i] && !specs[i].terminal) {
            line = line == 0 ? toolset_line(t->set, specs[i].name) : line;
            buf_fmt(&names, "%s%.*s", names.n > 0 ? ", " : "", STR_FMT(specs[i].name));
        }
    }
    if (names.n > 0) {
        struct golden_report here = {r->found, r->ctx, t->path};
        struct buf message = {0};
        buf_addz(&message, "no task expects or forbids a call of: ");
        buf_add(&message, buf_str(&names));
        buf_addz(&message, "; write tasks for them, or take them out of the file");
        golden_tell(&here, line, line == 0 ? 0 : 1, FINDING_WARNING, "unused_tool", &message);
    }
    buf_free(&names);
}

void golden_check_set(const struct golden_report *r, struct golden_loaded *l, bool all_right)
{
    check_twins(r, l);
    for (const struct golden_tools *t = l->first_tools; all_right && t != NULL; t = t->next_used) {
        if (!t->broken && t->calls) {
            check_tool_file(r, t);
        }
    }
}
