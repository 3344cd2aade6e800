/* The plan of a run: its items, and whether it can be carried out, told before anything is run. */
#include "evals/order_int.h"
#include "evals/plan_int.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static int check_options(const struct eval_options *o, struct err *e)
{
    if (o->n_sets == 0) {
        return err_set(e, ERR_USAGE, "no golden set is named: expected one or more files");
    }
    if (o->jobs < 1 || o->jobs > EVAL_JOBS_MAX) {
        return err_set(e, ERR_USAGE, "jobs is %" PRId64 ": expected 1 to %d", o->jobs,
                       EVAL_JOBS_MAX);
    }
    if (o->trials < 0 || o->trials > EVAL_TRIALS_MAX) {
        return err_set(e, ERR_USAGE, "trials is %" PRId64 ": expected 1 to %d", o->trials,
                       EVAL_TRIALS_MAX);
    }
    if (eval_has_cassettes(o->source) && o->cassettes == NULL) {
        return err_set(e, ERR_USAGE, "no folder of cassettes is named");
    }
    return 0;
}

/* Every task needs a model where one is asked. */
static int check_models(const struct plan *p, struct err *e)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->items[i].model->name.n == 0) {
            return err_set(
                e, ERR_USAGE,
                "no model is named: give --model NAME, set MODEL, or name the models "
                "that the set is run with in it (%s: `models: [NAME]`). --replay DIR needs "
                "none, nor does --fake, which lets the tasks' scripts play the model",
                p->sets[p->items[i].set]->path);
        }
    }
    return 0;
}

/* What can be told without the tasks, but shall not hide that a set is wrong. */
static int check_source_options(const struct eval_options *o, const struct plan *p, struct err *e)
{
    if (eval_is_live(o->source) && o->agent == NULL && check_models(p, e) != 0) {
        return ERR_USAGE;
    }
    if (o->source == EVAL_REPLAY && !path_is_dir(o->cassettes)) {
        return err_set(e, ERR_NOT_FOUND,
                       "%s: %s; expected a folder of cassettes, one for each task%s%s",
                       o->cassettes, path_exists(o->cassettes) ? "is no folder" : "no such folder",
                       o->mend == NULL ? "" : "; to record one: ", o->mend == NULL ? "" : o->mend);
    }
    return plan_check_folders(o, p, e);
}

/* ---- names ---- */

/* The first item of a task. */
struct named {
    struct str id;
    const struct plan_item *item;
};

/* Ids become file names, and some file systems do not tell capitals apart. */
static int by_id(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;
    return str_cmp_nocase(x->id, y->id);
}

/* `sorted` holds each task once. */
static int check_clashes(const struct plan *p, const struct named *sorted, size_t n, struct err *e)
{
    for (size_t i = 1; i < n; i++) {
        if (by_id(&sorted[i - 1], &sorted[i]) == 0) {
            struct golden_entry a = plan_task(p, sorted[i - 1].item);
            struct golden_entry b = plan_task(p, sorted[i].item);
            return err_at(e, ERR_INPUT, b.path, b.line, b.column,
                          "the task %.*s is also in %s (line %u): expected ids that are unique "
                          "among the sets of one run; rename one or run the sets apart",
                          STR_FMT(b.id), a.path, a.line);
        }
    }
    return 0;
}

/* The cassette of trial 2 of `a` is a.2.yaml, which is also that of a task called a.2. */
static int check_cassette_names(const struct plan *p, const struct named *sorted, size_t n,
                                struct err *e)
{
    int rc = 0;
    struct arena *scratch = arena_new();
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        const struct plan_item *item = &p->items[i];
        if (item->trial < 2 || item->model != p->items[0].model) {
            continue;
        }
        struct str id = plan_task(p, item).id;
        struct named key = {arena_printf(scratch, "%.*s.%" PRId64, STR_FMT(id), item->trial), item};
        const struct named *found = bsearch(&key, sorted, n, sizeof *sorted, by_id);
        if (found != NULL) {
            struct golden_entry other = plan_task(p, found->item);
            rc = err_at(e, ERR_INPUT, other.path, other.line, other.column,
                        "the task %.*s and trial %" PRId64 " of the task %.*s would share a "
                        "cassette: rename one of them",
                        STR_FMT(key.id), item->trial, STR_FMT(id));
        }
    }
    arena_free(scratch);
    return rc;
}

struct golden_entry plan_task(const struct plan *p, const struct plan_item *item)
{
    return golden_entry(p->sets[item->set], item->task);
}

/* ---- tasks ---- */

static int64_t trials_of(const struct eval_options *o, const struct golden_entry *task)
{
    int64_t n = o->trials > 0 ? o->trials : task->trials;
    return n > 0 ? n : 1;
}

static int count_items(const struct eval_options *o, struct plan *p, size_t *tasks, struct err *e)
{
    for (size_t s = 0; s < p->n_sets; s++) {
        const struct golden_set *set = p->sets[s];
        for (size_t i = 0; i < set->n_tasks; i++) {
            struct golden_entry task = golden_entry(set, i);
            if (!plan_chooses(p, &task)) {
                continue;
            }
            int64_t trials = trials_of(o, &task);
            size_t models = p->of_set[s].n;
            if (trials > EVAL_TRIALS_MAX ||
                p->n + (size_t)trials * models > (size_t)EVAL_TRIALS_MAX) {
                return err_set(e, ERR_LIMIT, "more than %d trials in one run: lower --trials%s",
                               EVAL_TRIALS_MAX, models > 1 ? ", or run the models apart" : "");
            }
            p->n += (size_t)trials * models;
            p->several = p->several || trials > 1;
            (*tasks)++;
        }
    }
    return 0;
}

/* All trials of one task, model by model. */
static size_t list_task(struct plan *p, size_t s, size_t task, int64_t trials, size_t n)
{
    for (size_t m = 0; m < p->of_set[s].n; m++) {
        for (int64_t t = 1; t <= trials; t++) {
            p->items[n++] = (struct plan_item){p->of_set[s].at[m], t, (uint32_t)s, (uint32_t)task};
        }
    }
    return n;
}

/* Fills the items, and `first` with each task. */
static void list_items(const struct eval_options *o, struct plan *p, struct named *first)
{
    size_t n = 0;
    size_t tasks = 0;
    for (size_t s = 0; s < p->n_sets; s++) {
        const struct golden_set *set = p->sets[s];
        for (size_t i = 0; i < set->n_tasks; i++) {
            struct golden_entry task = golden_entry(set, i);
            if (plan_chooses(p, &task)) {
                first[tasks++] = (struct named){task.id, &p->items[n]};
                n = list_task(p, s, i, trials_of(o, &task), n);
            }
        }
    }
}

static void list_script(struct plan *p, const char *path)
{
    const char *last = p->n_scripts == 0 ? NULL : p->scripts[p->n_scripts - 1];
    if (path != NULL && (last == NULL || strcmp(last, path) != 0)) {
        p->scripts = mem_room(p->scripts, p->n_scripts, &p->cap_scripts, sizeof(const char *));
        p->scripts[p->n_scripts++] = path;
    }
}

/* The scripts of all tasks and judges, whichever shard plays them: tasks in a row mostly share
 * theirs. */
static void list_scripts(const struct eval_options *o, struct plan *p)
{
    for (size_t i = 0; o->source == EVAL_FAKE && i < p->n; i++) {
        struct golden_entry task = plan_task(p, &p->items[i]);
        list_script(p, plan_script(o, task.fake));
        if (task.judge != NULL && task.rubric) {
            list_script(p, task.judge->fake);
        }
    }
}

/* Leaves the tasks of one shard, each with all its models and trials: they are dealt out in turn.
 */
static int keep_shard(const struct eval_options *o, struct plan *p, struct err *e)
{
    size_t n = 0;
    int64_t task = -1;
    struct plan_item last = {0};
    for (size_t i = 0; i < p->n; i++) {
        bool same = i > 0 && p->items[i].set == last.set && p->items[i].task == last.task;
        task += same ? 0 : 1;
        last = p->items[i];
        if (task % o->shards == o->shard - 1) {
            p->items[n++] = p->items[i];
        }
    }
    p->n = n;
    return n > 0 ? 0
                 : err_set(e, ERR_USAGE,
                           "--shard %" PRId64 "/%" PRId64 " has no task: there are %" PRId64
                           "; lower the number of shards",
                           o->shard, o->shards, task + 1);
}

static int make_items(const struct eval_options *o, struct plan *p, struct err *e)
{
    size_t tasks = 0;
    int rc = plan_read_choice(o, p, e);
    rc = rc != 0 ? rc : count_items(o, p, &tasks, e);
    rc = rc != 0 ? rc : plan_check_choice(o, p, e);
    if (rc != 0) {
        return rc;
    }
    p->items = arena_array(p->arena, p->n, sizeof *p->items);
    struct named *sorted = mem_alloc(tasks * sizeof *sorted);
    list_items(o, p, sorted);
    list_scripts(o, p);
    order_list(sorted, tasks, sizeof *sorted, by_id);
    rc = check_clashes(p, sorted, tasks, e);
    if (rc == 0 && p->several && eval_has_cassettes(o->source)) {
        rc = check_cassette_names(p, sorted, tasks, e);
    }
    free(sorted);
    return rc == 0 && o->shards > 0 ? keep_shard(o, p, e) : rc;
}

/* ---- what the source needs ---- */

const char *plan_script(const struct eval_options *o, const char *fake)
{
    return o->script != NULL ? o->script : fake;
}

/* checked: the script that was looked at last, which tasks in a row may share; may be NULL */
static int check_script(const struct eval_options *o, const struct plan *p,
                        const struct plan_item *item, const char **checked, struct err *e)
{
    struct golden_entry task = plan_task(p, item);
    const char *path = plan_script(o, task.fake);
    if (item->trial > 1 || (*checked != NULL && path != NULL && strcmp(*checked, path) == 0)) {
        return 0;
    }
    if (path == NULL) {
        return err_at(e, ERR_INPUT, task.path, task.line, task.column,
                      "the task %.*s has no script to play: expected `fake: FILE`, or run the set "
                      "with --replay or a model",
                      STR_FMT(task.id));
    }
    struct shared_script *script = NULL;
    int rc = scripts_get(p->loaded, path, &script, e);
    scripts_put(p->loaded, script);
    *checked = path;
    return rc;
}

static int check_recording(const struct eval_options *o, const struct plan *p,
                           const struct plan_item *item, struct err *e)
{
    struct arena *scratch = arena_new();
    const char *path = plan_cassette(p, item, "", scratch);
    struct golden_entry task = plan_task(p, item);
    int rc = 0;
    if (str_ends(task.id, ".failed")) {
        rc = err_at(e, ERR_INPUT, task.path, task.line, task.column,
                    "the id %.*s is the name that a failed recording gets; rename the task",
                    STR_FMT(task.id));
    } else if (o->how.mode == CASSETTE_NEW && path_exists(path)) {
        rc = err_at(e, ERR_EXISTS, path, 0, 0,
                    "exists already and is not overwritten; --mode once records only what has no "
                    "recording yet, --mode all records anew, --task names some tasks");
    }
    arena_free(scratch);
    return rc;
}

/* Whether a trial is only replayed. */
static bool is_replayed(const struct eval_options *o, const struct plan *p,
                        const struct plan_item *item)
{
    if (o->source != EVAL_RECORD || o->how.mode != CASSETTE_ONCE) {
        return o->source == EVAL_REPLAY;
    }
    struct arena *scratch = arena_new();
    bool there = path_exists(plan_cassette(p, item, "", scratch));
    arena_free(scratch);
    return there;
}

/* A list of tools that stands in the task. */
static int check_own_programs(const struct plan *p, const struct plan_item *item, struct err *e)
{
    struct golden_task *task = NULL;
    int rc = golden_task_load(p->sets[item->set], item->task, &task, e);
    rc = rc != 0 ? rc : toolset_programs(task->tools, e);
    golden_task_free(task);
    return rc;
}

/* A replay starts no commands. Tasks in a row mostly share their tools. */
static int check_programs(const struct eval_options *o, const struct plan *p, struct err *e)
{
    const struct toolset *checked = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        const struct plan_item *item = &p->items[i];
        const struct toolset *tools = plan_task(p, item).tools;
        if ((tools == NULL || tools != checked) && !is_replayed(o, p, item)) {
            rc = tools == NULL ? check_own_programs(p, item, e) : toolset_programs(tools, e);
            checked = tools;
        }
    }
    return rc;
}

/* A program gets one prompt and ends. */
static int read_agent(const struct eval_options *o, struct plan *p, struct err *e)
{
    int rc = o->agent == NULL ? 0 : agent_command_read(o->agent, p->arena, &p->agent, e);
    for (size_t i = 0; rc == 0 && o->agent != NULL && i < p->n; i++) {
        struct golden_entry task = plan_task(p, &p->items[i]);
        if (task.n_turns > 1) {
            rc = err_at(e, ERR_INPUT, task.path, task.line, task.column,
                        "the task %.*s has %zu turns: a program under --agent gets one prompt and "
                        "ends; leave the task out (--task, --filter), or give it one turn",
                        STR_FMT(task.id), task.n_turns);
        }
    }
    return rc;
}

int plan_check(const struct eval_options *o, struct plan *p, struct err *e)
{
    const char *checked = NULL;
    int rc = check_source_options(o, p, e);
    if (rc == 0 && o->agent == NULL) {
        rc = check_programs(o, p, e);
    }
    if (rc == 0 && o->source == EVAL_RECORD) {
        rc = dir_make(o->cassettes, e);
    }
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        if (o->source == EVAL_FAKE) {
            rc = check_script(o, p, &p->items[i], &checked, e);
        } else if (o->source == EVAL_RECORD) {
            rc = check_recording(o, p, &p->items[i], e);
        }
    }
    return rc != 0 ? rc : plan_check_judges(o, p, e);
}

static int load_sets(const struct eval_options *o, struct plan *p, struct err *e)
{
    p->sets = arena_array(p->arena, o->n_sets, sizeof(struct golden_set *));
    for (size_t i = 0; i < o->n_sets; i++) {
        int rc = golden_open(o->sets[i], &p->sets[i], e);
        if (rc != 0) {
            return rc;
        }
        p->n_sets++;
    }
    return 0;
}

int plan_make(const struct eval_options *o, struct plan *out, struct err *e)
{
    *out = (struct plan){.arena = arena_new(), .no_tools = toolset_new(), .loaded = scripts_new()};
    int rc = check_options(o, e);
    rc = rc != 0 ? rc : load_sets(o, out, e);
    rc = rc != 0 ? rc : plan_list_models(o, out, e);
    rc = rc != 0 ? rc : make_items(o, out, e);
    rc = rc != 0 ? rc : read_agent(o, out, e);
    if (rc != 0) {
        plan_free(out);
    }
    return rc;
}

void plan_free(struct plan *p)
{
    for (size_t i = 0; i < p->n_sets; i++) {
        golden_free(p->sets[i]);
    }
    toolset_free(p->no_tools);
    free(p->scripts);
    scripts_free(p->loaded);
    arena_free(p->arena);
    *p = (struct plan){0};
}
