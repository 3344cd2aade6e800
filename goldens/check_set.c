/* Doubts about a set as a whole: tasks that stand there twice, tools that nobody expects, ids that
 * some systems cannot have as file names. */
#include "goldens/golden_int.h"
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

static void check_name(const struct golden_report *r, const struct golden_task *t)
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
    const struct golden_task *task;
    uint64_t hash; /* of what the user says */
};

static uint64_t hash_turns(const struct golden_task *t)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < t->n_turns; i++) {
        hash = hash64(hash, t->turns[i]);
    }
    return hash;
}

static int by_hash(const void *a, const void *b)
{
    const struct twin *x = a;
    const struct twin *y = b;
    return x->hash != y->hash   ? (x->hash < y->hash ? -1 : 1)
           : x->task != y->task ? (x->task < y->task ? -1 : 1)
                                : 0;
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

/* Each task that is another once more is told once, with the nearest one before it. */
static void check_twins(const struct golden_report *r, const struct golden_set *s)
{
    struct arena *scratch = arena_new();
    struct twin *order = arena_array(scratch, s->n_tasks, sizeof *order);
    for (size_t i = 0; i < s->n_tasks; i++) {
        order[i] = (struct twin){&s->tasks[i], hash_turns(&s->tasks[i])};
    }
    if (s->n_tasks > 0) {
        qsort(order, s->n_tasks, sizeof *order, by_hash);
    }
    for (size_t i = 1; i < s->n_tasks; i++) {
        const struct golden_task *a = order[i - 1].task;
        const struct golden_task *b = order[i].task;
        if (order[i].hash == order[i - 1].hash && same_task(a, b)) {
            struct golden_report here = {r->found, r->ctx, b->path};
            struct buf message = {0};
            buf_fmt(&message,
                    "the task \"%.*s\" asks and expects the same as \"%.*s\" (line %u); leave one "
                    "out, or use `trials` to run it more often",
                    STR_FMT(b->id), STR_FMT(a->id), a->line);
            golden_tell(&here, b->line, b->column, FINDING_WARNING, "duplicate_task", &message);
        }
    }
    arena_free(scratch);
}

/* ---- tools ---- */

/* A use of a toolset by a task. */
struct use {
    const struct toolset *tools;
    const struct golden_task *task;
};

static int by_tools(const void *a, const void *b)
{
    const struct use *x = a;
    const struct use *y = b;
    return x->tools != y->tools ? (x->tools < y->tools ? -1 : 1)
           : x->task != y->task ? (x->task < y->task ? -1 : 1)
                                : 0;
}

/* The first use of a toolset, n where there is none. */
static size_t first_use(const struct use *uses, size_t n, const struct toolset *tools)
{
    size_t low = 0;
    for (size_t high = n; low < high;) {
        size_t mid = low + (high - low) / 2;
        if (uses[mid].tools < tools) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < n && uses[low].tools == tools ? low : n;
}

static void mark(const struct tool_spec *specs, size_t n, struct str name, bool *named)
{
    const struct tool_spec *tool = tool_find(specs, n, name);
    if (tool != NULL) {
        named[tool - specs] = true;
    }
}

static void check_tool_file(const struct golden_report *r, const struct golden_tools *t,
                            const struct use *uses, size_t n_uses)
{
    size_t n = 0;
    const struct tool_spec *specs = toolset_specs(t->set, &n);
    struct arena *scratch = arena_new();
    bool *named = arena_array(scratch, n, sizeof *named);
    bool calls = false;
    size_t i = first_use(uses, n_uses, t->set);
    for (; i < n_uses && uses[i].tools == t->set; i++) {
        const struct golden_expect *x = &uses[i].task->expect;
        calls = calls || x->n_calls > 0;
        for (size_t j = 0; j < x->n_calls; j++) {
            mark(specs, n, x->calls[j].name, named);
        }
        for (size_t j = 0; j < x->n_forbid; j++) {
            mark(specs, n, x->forbid[j], named);
        }
    }
    struct buf names = {0};
    uint32_t line = 0;
    for (i = 0; calls && i < n; i++) {
        if (!named[i] && !specs[i].terminal) {
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
    arena_free(scratch);
}

/* A tool of a file. One in a task's own list may be there to mislead. */
static void check_tools(const struct golden_report *r, const struct golden_set *s)
{
    struct arena *scratch = arena_new();
    struct use *uses = arena_array(scratch, s->n_tasks, sizeof *uses);
    for (size_t i = 0; i < s->n_tasks; i++) {
        uses[i] = (struct use){s->tasks[i].tools, &s->tasks[i]};
    }
    if (s->n_tasks > 0) {
        qsort(uses, s->n_tasks, sizeof *uses, by_tools);
    }
    const struct golden_tools *t = ((const struct golden_loaded *)s)->first_tools;
    for (; t != NULL; t = t->next_used) {
        if (!t->broken && t->path != NULL) {
            check_tool_file(r, t, uses, s->n_tasks);
        }
    }
    arena_free(scratch);
}

void golden_check_set(const struct golden_report *r, const struct golden_set *s, bool all_right)
{
    for (size_t i = 0; i < s->n_tasks; i++) {
        struct golden_report here = {r->found, r->ctx, s->tasks[i].path};
        check_name(&here, &s->tasks[i]);
    }
    check_twins(r, s);
    if (all_right) {
        check_tools(r, s);
    }
}
