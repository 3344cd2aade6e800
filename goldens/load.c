#include "goldens/check_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdlib.h>
#include <string.h>

enum {
    TURNS_MAX = 1000,
    FILES_MAX = 1000, /* of one set, included ones among them */
    INCLUDE_DEPTH_MAX = 16,
    ID_BYTES_MAX = 128, /* file names: with ".N.jsonl" and a model's name in front below 255 */
    NAME_BYTES_MAX = 100,
    COUNT_MAX = 1000000000,
    TRIALS_MAX = 10000,
    SECONDS_MAX = 7 * 24 * 3600,
    SHOWN_CHARS = 60,
};

/* ---- files that it names ---- */

void golden_add_close_file(struct buf *out, const char *path)
{
    struct arena *arena = arena_new();
    struct str *names = NULL;
    size_t n = 0;
    const char *slash = strrchr(path, '/');
    if (dir_list(arena, path_dir(arena, path), ".yaml", &names, &n, NULL) == 0) {
        const char **files = arena_array(arena, n, sizeof *files);
        for (size_t i = 0; i < n; i++) {
            files[i] = arena_cstr(arena, names[i]);
        }
        const char *close = text_closest(str_of(slash == NULL ? path : slash + 1), files, n);
        if (close != NULL) {
            buf_fmt(out, "; did you mean %s?", close);
        }
    }
    arena_free(arena);
}

/* what: it should be, "tool file". */
static int no_file(struct doc d, const struct val *v, const char *what, const char *path,
                   struct err *e)
{
    struct buf close = {0};
    golden_add_close_file(&close, path);
    int rc = doc_fail(d, v, e, "there is no %s %s%.*s", what, path, STR_FMT(buf_str(&close)));
    buf_free(&close);
    return rc;
}

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
        struct doc d = {l->set.arena, l->doc.file};
        return t->list == NULL ? 0 : toolset_add_list(t->set, d, t->list, l->dir, e);
    }
    int rc = toolset_add_file(t->set, t->path, e);
    if (rc == ERR_NOT_FOUND) {
        return no_file(l->doc, v, "tool file", t->path, e);
    }
    return rc;
}

/* The toolset made from what `key` names, or NULL; *bucket gets where it belongs. */
static struct golden_tools *find_toolset(struct golden_loaded *l, const struct golden_tools *key,
                                         struct golden_tools ***bucket)
{
    uint64_t hash = key->path != NULL
                        ? hash64(0, str_of(key->path))
                        : hash64(0, (struct str){(const char *)&key->list, sizeof key->list});
    *bucket = &l->tools[hash % GOLDEN_TOOLS_BUCKETS];
    struct golden_tools *have = **bucket;
    for (; have != NULL; have = have->next) {
        bool same_path = have->path != NULL && key->path != NULL &&
                         str_eq(str_of(have->path), str_of(key->path));
        if (same_path || (have->path == NULL && key->path == NULL && have->list == key->list)) {
            break;
        }
    }
    return have;
}

/* Where the set is checked, notes the doubts about tools that load. Returns rc. */
static int check_tools(struct golden_loaded *l, const struct toolset *t, int rc)
{
    if (rc == 0 && l->lint != NULL) {
        toolset_check(t, golden_queue_add, &l->lint->tools);
    }
    return rc;
}

/* The toolset that v (a path, a list, or NULL for none) names, made at its first use. own: the task
 * says so itself; a list of its own goes with it where the set is opened. */
static int get_toolset(struct golden_loaded *l, const struct val *v, bool own, struct toolset **out,
                       struct err *e)
{
    struct golden_tools key = {.list = val_is(v, VAL_ARRAY) ? v : NULL};
    struct golden_tools **bucket;
    if (val_is(v, VAL_STRING) && v->text.n > 0) {
        key.path = path_join(l->doc.arena, l->dir, arena_cstr(l->doc.arena, v->text));
    } else if (v != NULL && key.list == NULL) {
        return doc_fail(l->doc, v, e,
                        "expected the path of a tool file, or a list of tools, found %s",
                        val_kind_name(v->kind));
    }
    l->shared = NULL;
    if (l->opened != NULL && own && key.list != NULL) {
        *out = l->own_tools = toolset_new();
        return check_tools(l, *out, toolset_add_list(*out, l->doc, key.list, l->dir, e));
    }
    struct golden_tools *t = find_toolset(l, &key, &bucket);
    if (t != NULL) {
        *out = t->set;
        l->shared = t;
        return t->broken ? err_set(e, ERR_STATE, "its tools are broken") : 0;
    }
    t = arena_alloc(l->set.arena, sizeof *t);
    *t = (struct golden_tools){
        .next = *bucket,
        .path = key.path == NULL ? NULL : arena_cstr(l->set.arena, str_of(key.path)),
        .list = key.list,
        .set = toolset_new()};
    *bucket = t;
    *(l->last_tools == NULL ? &l->first_tools : &l->last_tools->next_used) = t;
    l->last_tools = t;
    *out = t->set;
    l->shared = t;
    int rc = check_tools(l, t->set, add_tools(l, v, t, e));
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

/* `fake`: absent inherits, null takes it away. */
static int load_fake(struct golden_loaded *l, const struct val *v, const struct val *usual,
                     struct golden_task *out, struct err *e)
{
    struct str fake = val_text(usual);
    out->fake_at = usual;
    if (val_get(v, "fake") != NULL) {
        fake = (struct str){0};
        out->fake_at = val_get(v, "fake");
    }
    int rc = doc_str(l->doc, v, "fake", DOC_OPTIONAL, &fake, e);
    if (rc == 0 && fake.n > 0) {
        out->fake = path_join(l->doc.arena, l->dir, arena_cstr(l->doc.arena, fake));
    }
    return rc;
}

/* One message of the user. */
static int load_message(struct doc d, const struct val *v, const char *key, struct str *out,
                        struct err *e)
{
    int rc = doc_str(d, v, key, DOC_REQUIRED, out, e);
    if (rc == 0 && out->n == 0) {
        return doc_fail(d, val_get(v, key), e, "the %s is empty",
                        strcmp(key, "user") == 0 ? "user's message" : key);
    }
    return rc;
}

/* `turns: [{user: TEXT}, ...]` in place of `prompt`. */
static int load_turns(struct doc d, const struct val *v, struct golden_task *out, struct err *e)
{
    static const char *const keys[] = {"user", NULL};
    const struct val *turns = NULL;
    int rc = doc_list(d, v, "turns", DOC_REQUIRED, &turns, e);
    if (rc != 0) {
        return rc;
    }
    if (val_get(v, "prompt") != NULL) {
        return doc_fail(d, turns, e,
                        "expected one of prompt and turns, found both: the prompt is the first "
                        "turn, write it as {user: ...}");
    }
    if (turns->count == 0 || turns->count > TURNS_MAX) {
        return doc_fail(d, turns, e, "expected 1 to %d turns, each {user: TEXT}, found %zu",
                        (int)TURNS_MAX, turns->count);
    }
    out->turns = arena_array(d.arena, turns->count, sizeof *out->turns);
    for (size_t i = 0; i < turns->count && rc == 0; i++) {
        rc = doc_keys(d, &turns->items[i], "a turn", keys, e);
        rc = rc != 0 ? rc : load_message(d, &turns->items[i], "user", &out->turns[i], e);
    }
    out->n_turns = turns->count;
    out->prompt = out->turns[0];
    return rc;
}

static int load_prompt(struct doc d, const struct val *v, struct golden_task *out, struct err *e)
{
    const struct val *turns = val_get(v, "turns");
    if (turns != NULL && turns->kind != VAL_NULL) {
        return load_turns(d, v, out, e);
    }
    int rc = load_message(d, v, "prompt", &out->prompt, e);
    out->turns = arena_alloc(d.arena, sizeof *out->turns);
    out->turns[0] = out->prompt;
    out->n_turns = 1;
    return rc;
}

int golden_task_read(struct golden_loaded *l, const struct val *v,
                     const struct golden_defaults *def, struct golden_task *out, struct err *e)
{
    static const char *const keys[] = {"id",     "tags", "prompt", "turns",  "system", "tools",
                                       "budget", "fake", "trials", "expect", NULL};
    struct doc d = l->doc;
    const struct val *tools = def->tools;
    out->at = v;
    out->path = d.file;
    out->line = v->line;
    out->column = v->column;
    out->system = def->system;
    out->budget = def->budget;
    out->trials = def->trials;
    out->judge = l->judge;
    int rc = doc_keys_or(d, v, "a task", keys, golden_not_in_task, e);
    rc = rc != 0 ? rc : load_word(d, v, "id", ID_BYTES_MAX, &out->id, e);
    rc = rc != 0 ? rc : load_prompt(d, v, out, e);
    rc = rc != 0 ? rc : doc_strings(d, v, "tags", "a tag", &out->tags, &out->n_tags, e);
    rc = rc != 0 ? rc : load_system(d, v, &out->system, e);
    rc = rc != 0 ? rc : load_budget(d, v, &out->budget, e);
    rc = rc != 0 ? rc : doc_int(d, v, "trials", DOC_OPTIONAL, 1, TRIALS_MAX, &out->trials, e);
    rc = rc != 0 ? rc : load_fake(l, v, def->fake, out, e);
    find_tools(v, &tools);
    rc = rc != 0 ? rc : get_toolset(l, tools, val_get(v, "tools") != NULL, &out->tools, e);
    return rc != 0 ? rc : golden_expect_load(l, val_get(v, "expect"), &out->expect, e);
}

/* ---- ids ---- */

struct id {
    struct str id;
    size_t task;
};

/* Equal ids by place, so that the later of two comes second. */
static int compare_ids(const void *a, const void *b)
{
    const struct id *x = a;
    const struct id *y = b;
    int diff = str_cmp_nocase(x->id, y->id);
    return diff != 0 ? diff : x->task < y->task ? -1 : x->task > y->task;
}

static int compare_to_id(const void *id, const void *have)
{
    return str_cmp_nocase(*(const struct str *)id, ((const struct id *)have)->id);
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

static int taken(struct golden_entry a, struct golden_entry b, struct err *e)
{
    bool same = strcmp(a.path, b.path) == 0;
    return err_at(e, ERR_INPUT, b.path, b.line, b.column,
                  "the id \"%.*s\" is taken by the task at line %u%s%s (capitals do not count: ids "
                  "become file names)",
                  STR_FMT(b.id), a.line, same ? "" : " of ", same ? "" : a.path);
}

static int check_ids(const struct golden_set *s, struct err *e)
{
    int rc = 0;
    struct id *order = mem_alloc(s->n_tasks * sizeof *order);
    for (size_t i = 0; i < s->n_tasks; i++) {
        order[i] = (struct id){golden_entry(s, i).id, i};
    }
    qsort(order, s->n_tasks, sizeof *order, compare_ids);
    for (size_t i = 1; i < s->n_tasks && rc == 0; i++) {
        if (str_cmp_nocase(order[i - 1].id, order[i].id) == 0) {
            rc = taken(golden_entry(s, order[i - 1].task), golden_entry(s, order[i].task), e);
        }
    }
    for (size_t i = 0; i < s->n_tasks && rc == 0; i++) {
        struct golden_entry t = golden_entry(s, i);
        struct str task;
        if (trial_of(t.id, &task) &&
            bsearch(&task, order, s->n_tasks, sizeof *order, compare_to_id) != NULL) {
            rc = err_at(e, ERR_INPUT, t.path, t.line, t.column,
                        "the id \"%.*s\" is the file name of a further trial of the task "
                        "\"%.*s\"; choose another",
                        STR_FMT(t.id), STR_FMT(task));
        }
    }
    free(order);
    return rc;
}

/* ---- the set ---- */

static int load_defaults(struct doc d, const struct val *root, struct golden_defaults *out,
                         struct err *e)
{
    static const char *const keys[] = {"system", "tools", "budget", "trials", "fake", NULL};
    const struct val *v = NULL;
    struct str fake = {0};
    *out = (struct golden_defaults){.budget = BUDGET_DEFAULT, .trials = 1};
    int rc = doc_map(d, root, "defaults", DOC_OPTIONAL, &v, e);
    if (rc != 0 || v == NULL) {
        return rc;
    }
    rc = doc_keys(d, v, "defaults", keys, e);
    rc = rc != 0 ? rc : load_system(d, v, &out->system, e);
    find_tools(v, &out->tools);
    rc = rc != 0 ? rc : load_budget(d, v, &out->budget, e);
    rc = rc != 0 ? rc : doc_str(d, v, "fake", DOC_OPTIONAL, &fake, e);
    out->fake = fake.n > 0 ? val_get(v, "fake") : NULL;
    return rc != 0 ? rc : doc_int(d, v, "trials", DOC_OPTIONAL, 1, TRIALS_MAX, &out->trials, e);
}

/* Room for so many more tasks. */
static int reserve(struct golden_loaded *l, const struct val *tasks, struct err *e)
{
    struct golden_set *s = &l->set;
    size_t n = tasks->count;
    if (n > GOLDEN_TASKS_MAX - s->n_tasks) {
        return doc_fail(l->doc, tasks, e, "expected 1 to %d tasks in all, found %zu",
                        (int)GOLDEN_TASKS_MAX, s->n_tasks + n);
    }
    if (l->opened == NULL && s->n_tasks + n > l->cap) {
        l->cap = 2 * s->n_tasks + n;
        struct golden_task *more = arena_array(s->arena, l->cap, sizeof *more);
        if (s->n_tasks > 0) {
            memcpy(more, s->tasks, s->n_tasks * sizeof *more);
        }
        s->tasks = more;
    }
    return 0;
}

/* first: where the set is opened, the number of the first task that was put aside. */
static int load_tasks(struct golden_loaded *l, const struct val *root, size_t first, struct err *e)
{
    struct golden_set *s = &l->set;
    const struct val *include = val_get(root, "include");
    const struct val *tasks = NULL;
    struct golden_defaults def;
    bool included = include != NULL && include->kind != VAL_NULL;
    int rc = load_defaults(l->doc, root, &def, e);
    rc = rc != 0
             ? rc
             : doc_list(l->doc, root, "tasks", included ? DOC_OPTIONAL : DOC_REQUIRED, &tasks, e);
    if (rc != 0 || tasks == NULL) {
        return rc;
    }
    if (tasks->count == 0) {
        return doc_fail(l->doc, tasks, e, "expected 1 to %d tasks, found 0", (int)GOLDEN_TASKS_MAX);
    }
    rc = reserve(l, tasks, e);
    if (rc == 0 && l->opened != NULL) {
        return golden_opened_add(l, tasks, first, &def, e);
    }
    for (size_t i = 0; i < tasks->count && rc == 0; i++) {
        rc = golden_task_read(l, &tasks->items[i], &def, &s->tasks[s->n_tasks++], e);
    }
    return rc;
}

static int load_file(struct golden_loaded *l, const char *path, struct err *e);

/* Whether the file at `path` is being loaded. */
static bool is_open(const struct golden_loaded *l, const char *path)
{
    const struct include *at = l->within;
    while (at != NULL && !path_same(at->path, path)) {
        at = at->by;
    }
    return at != NULL;
}

static size_t depth(const struct golden_loaded *l)
{
    size_t n = 0;
    for (const struct include *at = l->within; at != NULL; at = at->by) {
        n++;
    }
    return n;
}

/* The tasks of another set, which stands by itself: its own defaults, its own folder. */
static int load_include(struct golden_loaded *l, const struct val *v, struct err *e)
{
    const struct golden_loaded outer = *l;
    struct str name = val_text(v);
    if (name.n == 0) {
        return doc_fail(l->doc, v, e, "expected the path of a golden set, found %s",
                        val_is(v, VAL_STRING) ? "an empty text" : val_kind_name(v->kind));
    }
    const char *path = path_join(l->set.arena, l->dir, arena_cstr(l->set.arena, name));
    if (path_is_dir(path)) {
        return doc_fail(l->doc, v, e, "%s is a folder: expected the path of a golden set", path);
    }
    if (!path_exists(path)) {
        return no_file(l->doc, v, "golden set", path, e);
    }
    if (!path_is_file(path)) {
        return doc_fail(l->doc, v, e, "%s is no plain file: expected the path of a golden set",
                        path);
    }
    if (is_open(l, path)) {
        return doc_fail(l->doc, v, e, "%s includes itself on this way", path);
    }
    if (depth(l) >= INCLUDE_DEPTH_MAX || l->set.n_files >= FILES_MAX) {
        return doc_fail(l->doc, v, e,
                        "too many includes: expected at most %d within each other and %d in all",
                        (int)INCLUDE_DEPTH_MAX, (int)FILES_MAX);
    }
    int rc = load_file(l, path, e);
    l->doc = outer.doc;
    l->dir = outer.dir;
    l->within = outer.within;
    l->judge = outer.judge;
    l->set.models = outer.set.models;
    l->set.n_models = outer.set.n_models;
    return rc;
}

static int load_includes(struct golden_loaded *l, const struct val *root, struct err *e)
{
    const struct val *v = val_get(root, "include");
    if (v == NULL || v->kind == VAL_NULL) {
        return 0;
    }
    if (v->kind == VAL_STRING) {
        return load_include(l, v, e);
    }
    if (v->kind != VAL_ARRAY || v->count == 0) {
        return doc_fail(l->doc, v, e,
                        "expected the path of a golden set, or a list of them, found %s",
                        v->kind == VAL_ARRAY ? "an empty list" : val_kind_name(v->kind));
    }
    int rc = 0;
    for (size_t i = 0; i < v->count && rc == 0; i++) {
        rc = load_include(l, &v->items[i], e);
    }
    return rc;
}

/* Name and models of an included set do not count, but they must be right. */
static int load_set(struct golden_loaded *l, const struct val *root, size_t first, struct err *e)
{
    static const char *const keys[] = {"version", "name",    "defaults", "tasks",
                                       "models",  "include", "judge",    NULL};
    struct golden_set *s = &l->set;
    struct str name = {0};
    bool included = l->within->by != NULL;
    int rc = doc_keys_or(l->doc, root, "a golden set", keys, golden_not_in_set, e);
    rc = rc != 0 ? rc : doc_version(l->doc, root, e);
    rc = rc != 0 ? rc : load_word(l->doc, root, "name", NAME_BYTES_MAX, &name, e);
    rc = rc != 0 ? rc : golden_models_load(l, root, e);
    rc = rc != 0 ? rc : golden_judge_load(l, root, e);
    if (rc != 0) {
        return rc;
    }
    s->name = included ? s->name : name;
    rc = load_includes(l, root, e);
    return rc != 0 ? rc : load_tasks(l, root, first, e);
}

/* A set that holds nothing yet. */
static struct golden_loaded *set_new(const char *path)
{
    struct arena *arena = arena_new();
    struct golden_loaded *l = arena_alloc(arena, sizeof *l);
    l->set.arena = arena;
    l->set.path = arena_cstr(arena, str_of(path));
    return l;
}

static void add_file(struct golden_loaded *l, const char *path)
{
    struct golden_set *s = &l->set;
    if (s->n_files == l->files_cap) {
        l->files_cap = l->files_cap == 0 ? 4 : 2 * l->files_cap;
        const char **more = arena_array(s->arena, l->files_cap, sizeof *more);
        for (size_t i = 0; i < s->n_files; i++) {
            more[i] = s->files[i];
        }
        s->files = more;
    }
    s->files[s->n_files++] = path;
}

/* The text stays only where values of JSON point into it. */
static int read_whole(struct golden_loaded *l, struct val **root, size_t *first, struct err *e)
{
    struct arena *arena = l->set.arena;
    struct arena *reading = arena_new();
    struct str text;
    int rc = file_read(reading, l->doc.file, GOLDEN_SET_BYTES_MAX, &text, e);
    if (rc == 0) {
        l->set.hash = hash64(l->set.hash, text);
        rc = l->opened == NULL ? yaml_parse(arena, l->doc.file, text, YAML_CORE, root, e)
                               : golden_opened_read(l, text, root, first, e);
    }
    if (rc == 0 && (*root)->raw.n > 0) {
        arena_join(arena, reading);
    } else {
        arena_free(reading);
    }
    return rc;
}

static int load_file(struct golden_loaded *l, const char *path, struct err *e)
{
    struct arena *arena = l->set.arena;
    struct val *root = NULL;
    struct include *within = arena_alloc(arena, sizeof *within);
    size_t first = 0;
    int rc = 0;
    *within = (struct include){l->within, path};
    l->within = within;
    l->doc = (struct doc){arena, path};
    l->dir = path_dir(arena, path);
    add_file(l, path);
    if (l->opened == NULL || !golden_opened_stream(l, GOLDEN_SET_BYTES_MAX, &root, &first)) {
        rc = read_whole(l, &root, &first, e);
    }
    return rc != 0 ? rc : load_set(l, root, first, e);
}

static int load_all(struct golden_loaded *l, struct err *e)
{
    int rc = load_file(l, l->set.path, e);
    return rc != 0 ? rc : check_ids(&l->set, e);
}

static int load(struct golden_loaded *l, struct golden_set **out, struct err *e)
{
    int rc = load_all(l, e);
    if (rc != 0) {
        golden_free(&l->set);
        return rc;
    }
    *out = &l->set;
    return 0;
}

int golden_load(const char *path, struct golden_set **out, struct err *e)
{
    return load(set_new(path), out, e);
}

int golden_open(const char *path, struct golden_set **out, struct err *e)
{
    struct golden_loaded *l = set_new(path);
    l->opened = golden_opened_new();
    int rc = load(l, out, e);
    if (rc == 0) {
        golden_opened_end(l->opened);
    }
    return rc;
}

struct golden_loaded *golden_lint_open(const char *path, struct golden_lint *lint)
{
    struct golden_loaded *l = set_new(path);
    struct err e;
    l->opened = golden_opened_new();
    l->lint = lint;
    if (load_all(l, &e) != 0) {
        lint->wrong(lint->ctx, &e);
    }
    golden_opened_end(l->opened);
    return l;
}

void golden_tool_files(const struct golden_set *s, void (*found)(void *ctx, const char *path),
                       void *ctx)
{
    const struct golden_loaded *l = (const struct golden_loaded *)s;
    for (const struct golden_tools *t = l->first_tools; t != NULL; t = t->next_used) {
        if (t->path != NULL) {
            found(ctx, t->path);
        }
    }
}

void golden_free(struct golden_set *s)
{
    if (s == NULL) {
        return;
    }
    struct golden_loaded *l = (struct golden_loaded *)s;
    for (size_t i = 0; s->tasks != NULL && i < s->n_tasks; i++) {
        golden_expect_free(&s->tasks[i].expect);
    }
    golden_opened_free(l->opened);
    golden_answers_free(l->answers);
    for (struct golden_tools *t = l->first_tools; t != NULL; t = t->next_used) {
        toolset_free(t->set);
    }
    arena_free(s->arena);
}
