#include "goldens/golden_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdlib.h>

enum {
    SET_BYTES_MAX = 64 << 20,
    TASKS_MAX = 100000,
    ID_BYTES_MAX = 128, /* file names: with ".N.jsonl" and a model's name in front below 255 */
    NAME_BYTES_MAX = 100,
    COUNT_MAX = 1000000000,
    TRIALS_MAX = 10000,
    SECONDS_MAX = 7 * 24 * 3600,
    SHOWN_CHARS = 60,
};

/* What a task inherits. */
struct defaults {
    struct str system;
    const struct val *tools; /* where it is written; NULL = none */
    struct budget budget;
    int64_t trials;
};

/* ---- pieces of a task ---- */

static int load_budget(struct doc d, const struct val *v, struct budget *out, struct err *e)
{
    const struct doc_number numbers[] = {
        {"steps", 0, 1, COUNT_MAX, &out->steps},
        {"tokens", 0, 1, COUNT_MAX, &out->tokens},
        {"seconds", 0, 1, SECONDS_MAX, &out->seconds},
        {"cost_usd", 9, 0, INT64_MAX, &out->cost_nano},
        {"calls", 0, 0, COUNT_MAX, &out->calls},
        {"calls_per_reply", 0, 1, COUNT_MAX, &out->calls_per_reply},
    };
    return doc_numbers(d, v, "budget", "a budget", numbers, sizeof numbers / sizeof numbers[0], e);
}

/* `system` and `tools` of a task: absent inherits, null takes it away. */
static int load_system(struct doc d, const struct val *v, struct str *out, struct err *e)
{
    if (val_is(val_get(v, "system"), VAL_NULL)) {
        *out = (struct str){0};
        return 0;
    }
    return doc_str(d, v, "system", DOC_OPTIONAL, out, e);
}

static void find_tools(const struct val *v, const struct val **out)
{
    const struct val *tools = val_get(v, "tools");
    if (tools != NULL) {
        *out = tools->kind == VAL_NULL ? NULL : tools;
    }
}

static int add_tools(struct golden_loaded *l, const struct val *v, struct golden_tools *t,
                     struct err *e)
{
    if (t->path == NULL) {
        return t->list == NULL ? 0 : toolset_add_list(t->set, l->doc, t->list, l->dir, e);
    }
    int rc = toolset_add_file(t->set, t->path, e);
    if (rc == ERR_NOT_FOUND) {
        return doc_fail(l->doc, v, e, "there is no tool file %s", t->path);
    }
    return rc;
}

/* The toolset that v (a path, a list, or NULL for none) names, made at its first use. */
static int get_toolset(struct golden_loaded *l, const struct val *v, struct toolset **out,
                       struct err *e)
{
    struct golden_tools *t = arena_alloc(l->doc.arena, sizeof *t);
    if (val_is(v, VAL_STRING) && v->text.n > 0) {
        t->path = path_join(l->doc.arena, l->dir, arena_cstr(l->doc.arena, v->text));
    } else if (val_is(v, VAL_ARRAY)) {
        t->list = v;
    } else if (v != NULL) {
        return doc_fail(l->doc, v, e,
                        "expected the path of a tool file, or a list of tools, found %s",
                        val_kind_name(v->kind));
    }
    uint64_t hash = t->path != NULL
                        ? hash64(0, str_of(t->path))
                        : hash64(0, (struct str){(const char *)&t->list, sizeof t->list});
    struct golden_tools **bucket = &l->tools[hash % GOLDEN_TOOLS_BUCKETS];
    for (struct golden_tools *have = *bucket; have != NULL; have = have->next) {
        bool same_path =
            have->path != NULL && t->path != NULL && str_eq(str_of(have->path), str_of(t->path));
        if (same_path || (have->path == NULL && t->path == NULL && have->list == t->list)) {
            *out = have->set;
            return have->broken ? err_set(e, ERR_STATE, "its tools are broken") : 0;
        }
    }
    t->next = *bucket;
    *bucket = t;
    *(l->last_tools == NULL ? &l->first_tools : &l->last_tools->next_used) = t;
    l->last_tools = t;
    t->set = toolset_new();
    *out = t->set;
    int rc = add_tools(l, v, t, e);
    t->broken = rc != 0;
    return rc;
}

/* A word that becomes a name on disk: a task's id, a set's name. */
static int load_word(struct doc d, const struct val *v, const char *key, size_t max,
                     struct str *out, struct err *e)
{
    int rc = doc_str(d, v, key, DOC_REQUIRED, out, e);
    if (rc != 0) {
        return rc;
    }
    bool good = out->n > 0 && out->n <= max && out->p[0] != '.';
    for (size_t i = 0; i < out->n && good; i++) {
        char c = out->p[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '.' || c == '-';
    }
    if (good) {
        return 0;
    }
    return doc_fail(d, val_get(v, key), e,
                    "the %s becomes a file name: expected 1 to %zu of the characters "
                    "A-Z a-z 0-9 _ . - and no dot first, found \"%.*s\"",
                    key, max, STR_FMT(text_preview(d.arena, *out, SHOWN_CHARS)));
}

/* Keys that the format has and this version does not run. */
static int refuse_unsupported(struct doc d, const struct val *v, const char *const *keys,
                              struct err *e)
{
    for (; *keys != NULL; keys++) {
        const struct val *found = val_get(v, *keys);
        if (found != NULL) {
            return doc_fail(d, found, e, "this version does not support \"%s\" yet", *keys);
        }
    }
    return 0;
}

static int load_fake(struct golden_loaded *l, const struct val *v, struct golden_task *out,
                     struct err *e)
{
    struct str fake = {0};
    int rc = doc_str(l->doc, v, "fake", DOC_OPTIONAL, &fake, e);
    if (rc == 0 && fake.n > 0) {
        out->fake = path_join(l->doc.arena, l->dir, arena_cstr(l->doc.arena, fake));
        out->fake_at = val_get(v, "fake");
    }
    return rc;
}

static int load_task(struct golden_loaded *l, const struct val *v, const struct defaults *def,
                     struct golden_task *out, struct err *e)
{
    static const char *const keys[] = {"id",     "tags", "prompt", "turns",  "system", "tools",
                                       "budget", "fake", "trials", "expect", NULL};
    static const char *const later[] = {"turns", NULL};
    struct doc d = l->doc;
    const struct val *tools = def->tools;
    out->line = v->line;
    out->column = v->column;
    out->system = def->system;
    out->budget = def->budget;
    out->trials = def->trials;
    int rc = doc_keys(d, v, "a task", keys, e);
    rc = rc != 0 ? rc : load_word(d, v, "id", ID_BYTES_MAX, &out->id, e);
    rc = rc != 0 ? rc : refuse_unsupported(d, v, later, e);
    rc = rc != 0 ? rc : doc_str(d, v, "prompt", DOC_REQUIRED, &out->prompt, e);
    if (rc == 0 && out->prompt.n == 0) {
        return doc_fail(d, val_get(v, "prompt"), e, "the prompt is empty");
    }
    rc = rc != 0 ? rc : doc_strings(d, v, "tags", "a tag", &out->tags, &out->n_tags, e);
    rc = rc != 0 ? rc : load_system(d, v, &out->system, e);
    rc = rc != 0 ? rc : load_budget(d, v, &out->budget, e);
    rc = rc != 0 ? rc : doc_int(d, v, "trials", DOC_OPTIONAL, 1, TRIALS_MAX, &out->trials, e);
    rc = rc != 0 ? rc : load_fake(l, v, out, e);
    find_tools(v, &tools);
    rc = rc != 0 ? rc : get_toolset(l, tools, &out->tools, e);
    return rc != 0 ? rc : golden_expect_load(l, val_get(v, "expect"), &out->expect, e);
}

/* ---- ids ---- */

/* Equal ids by place, so that the later of two comes second. */
static int compare_tasks(const void *a, const void *b)
{
    const struct golden_task *x = *(const struct golden_task *const *)a;
    const struct golden_task *y = *(const struct golden_task *const *)b;
    int diff = str_cmp_nocase(x->id, y->id);
    return diff != 0 ? diff : x < y ? -1 : x > y;
}

static int compare_to_id(const void *id, const void *task)
{
    const struct golden_task *t = *(const struct golden_task *const *)task;
    return str_cmp_nocase(*(const struct str *)id, t->id);
}

/* "a" where the id is "a.N" with N ≥ 2: the name that trial N of task "a" has on disk. */
static bool trial_of(struct str id, struct str *task)
{
    size_t dot = id.n;
    while (dot > 0 && id.p[dot - 1] >= '0' && id.p[dot - 1] <= '9') {
        dot--;
    }
    struct str digits = str_slice(id, dot, id.n);
    if (digits.n == 0 || digits.p[0] == '0' || str_is(digits, "1") || dot < 2 ||
        id.p[dot - 1] != '.') {
        return false;
    }
    *task = str_slice(id, 0, dot - 1);
    return true;
}

static int check_ids(struct golden_loaded *l, struct err *e)
{
    struct golden_set *s = &l->set;
    const struct golden_task **order = arena_array(s->arena, s->n_tasks, sizeof *order);
    for (size_t i = 0; i < s->n_tasks; i++) {
        order[i] = &s->tasks[i];
    }
    qsort(order, s->n_tasks, sizeof *order, compare_tasks);
    for (size_t i = 1; i < s->n_tasks; i++) {
        const struct golden_task *a = order[i - 1];
        const struct golden_task *b = order[i];
        if (str_cmp_nocase(a->id, b->id) == 0) {
            return err_at(e, ERR_INPUT, s->path, b->line, b->column,
                          "the id \"%.*s\" is taken by the task at line %u (capitals do not count: "
                          "ids become file names)",
                          STR_FMT(b->id), a->line);
        }
    }
    for (size_t i = 0; i < s->n_tasks; i++) {
        const struct golden_task *t = &s->tasks[i];
        struct str task;
        if (trial_of(t->id, &task) &&
            bsearch(&task, order, s->n_tasks, sizeof *order, compare_to_id) != NULL) {
            return err_at(e, ERR_INPUT, s->path, t->line, t->column,
                          "the id \"%.*s\" is the file name of a further trial of the task "
                          "\"%.*s\"; choose another",
                          STR_FMT(t->id), STR_FMT(task));
        }
    }
    return 0;
}

/* ---- the set ---- */

static int load_defaults(struct doc d, const struct val *root, struct defaults *out, struct err *e)
{
    static const char *const keys[] = {"system", "tools", "budget", "trials", NULL};
    const struct val *v = NULL;
    *out = (struct defaults){.budget = BUDGET_DEFAULT, .trials = 1};
    int rc = doc_map(d, root, "defaults", DOC_OPTIONAL, &v, e);
    if (rc != 0 || v == NULL) {
        return rc;
    }
    rc = doc_keys(d, v, "defaults", keys, e);
    rc = rc != 0 ? rc : load_system(d, v, &out->system, e);
    find_tools(v, &out->tools);
    rc = rc != 0 ? rc : load_budget(d, v, &out->budget, e);
    return rc != 0 ? rc : doc_int(d, v, "trials", DOC_OPTIONAL, 1, TRIALS_MAX, &out->trials, e);
}

/* Tells a mistake in the last task and takes the task away. Tools that are broken were told at the
 * first task that names them. */
static void pass_over(struct golden_loaded *l, const struct err *e)
{
    struct golden_task *t = &l->set.tasks[--l->set.n_tasks];
    if (e->code != ERR_STATE) {
        l->wrong(l->wrong_ctx, e);
    }
    golden_expect_free(&t->expect);
    *t = (struct golden_task){0};
}

static int load_set(struct golden_loaded *l, const struct val *root, struct err *e)
{
    static const char *const keys[] = {"version", "name",    "defaults", "tasks",
                                       "models",  "include", NULL};
    static const char *const later[] = {"models", "include", NULL};
    struct golden_set *s = &l->set;
    struct defaults def;
    const struct val *tasks = NULL;
    int rc = doc_keys(l->doc, root, "a golden set", keys, e);
    rc = rc != 0 ? rc : doc_version(l->doc, root, e);
    rc = rc != 0 ? rc : refuse_unsupported(l->doc, root, later, e);
    rc = rc != 0 ? rc : load_word(l->doc, root, "name", NAME_BYTES_MAX, &s->name, e);
    rc = rc != 0 ? rc : load_defaults(l->doc, root, &def, e);
    rc = rc != 0 ? rc : doc_list(l->doc, root, "tasks", DOC_REQUIRED, &tasks, e);
    if (rc != 0) {
        return rc;
    }
    if (tasks->count == 0 || tasks->count > TASKS_MAX) {
        return doc_fail(l->doc, tasks, e, "expected 1 to %d tasks, found %zu", (int)TASKS_MAX,
                        tasks->count);
    }
    s->tasks = arena_array(s->arena, tasks->count, sizeof *s->tasks);
    for (size_t i = 0; i < tasks->count && rc == 0; i++) {
        rc = load_task(l, &tasks->items[i], &def, &s->tasks[s->n_tasks++], e);
        if (rc != 0 && l->wrong != NULL) {
            pass_over(l, e);
            rc = 0;
        }
    }
    return rc != 0 ? rc : check_ids(l, e);
}

/* A set that holds nothing yet. */
static struct golden_loaded *set_new(const char *path)
{
    struct arena *arena = arena_new();
    struct golden_loaded *l = arena_alloc(arena, sizeof *l);
    l->set.arena = arena;
    l->set.path = arena_cstr(arena, str_of(path));
    l->doc = (struct doc){arena, l->set.path};
    l->dir = path_dir(arena, path);
    return l;
}

static int load_file(struct golden_loaded *l, struct err *e)
{
    struct arena *arena = l->set.arena;
    struct str text;
    struct val *root;
    int rc = file_read(arena, l->set.path, SET_BYTES_MAX, &text, e);
    rc = rc != 0 ? rc : yaml_parse(arena, l->doc.file, text, YAML_CORE, &root, e);
    return rc != 0 ? rc : load_set(l, root, e);
}

int golden_load(const char *path, struct golden_set **out, struct err *e)
{
    struct golden_loaded *l = set_new(path);
    int rc = load_file(l, e);
    if (rc != 0) {
        golden_free(&l->set);
        return rc;
    }
    *out = &l->set;
    return 0;
}

struct golden_set *golden_load_all(const char *path, void (*wrong)(void *ctx, const struct err *e),
                                   void *ctx)
{
    struct golden_loaded *l = set_new(path);
    struct err e;
    l->wrong = wrong;
    l->wrong_ctx = ctx;
    if (load_file(l, &e) != 0) {
        wrong(ctx, &e);
    }
    return &l->set;
}

void golden_free(struct golden_set *s)
{
    if (s == NULL) {
        return;
    }
    struct golden_loaded *l = (struct golden_loaded *)s;
    for (size_t i = 0; i < s->n_tasks; i++) {
        golden_expect_free(&s->tasks[i].expect);
    }
    golden_answers_free(l->answers);
    for (struct golden_tools *t = l->first_tools; t != NULL; t = t->next_used) {
        toolset_free(t->set);
    }
    arena_free(s->arena);
}
