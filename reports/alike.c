/* Which trials tell the same story, so that it is told once. */
#include "kernel/base/hash.h"
#include "reports/report_int.h"

#include <inttypes.h>
#include <string.h>

enum {
    NAMES_SHOWN = 10,
    COMMANDS_SHOWN = 5,
    TASKS_MAX = 100 /* that a command names */
};

static uint64_t hash_next(uint64_t seed, struct str s)
{
    return hash64(hash64(seed, s), STR("|"));
}

/* The same for trials of one task and model that failed alike, and for all trials that missed for
 * the same reason; 0 = told alone. */
static uint64_t key_of(const struct eval_trial *t, const struct eval_miss *miss)
{
    if (miss->why.n > 0) {
        return hash_next(1, miss->why);
    }
    uint64_t key = hash_next(hash_next(2, t->task), t->model);
    for (size_t i = 0; i < t->verdict.n_checks; i++) {
        const struct eval_check *c = &t->verdict.checks[i];
        if (!c->passed) {
            key = hash_next(hash_next(key, c->name), c->message);
        }
    }
    return hash_next(key ^ (uint64_t)t->verdict.outcome, t->problem);
}

int alike_find(const struct eval_report *r, const struct eval_row *const *rows, size_t n,
               struct arena *arena, struct alike *out, struct err *e)
{
    struct arena *scratch = arena_new();
    *out = (struct alike){.report = r, .rows = rows, .n = n, .models = eval_several_models(r)};
    out->stories = arena_array(arena, n, sizeof *out->stories);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct story *s = &out->stories[i];
        struct eval_trial t;
        struct eval_miss miss = {.why = {NULL, 0}};
        arena_clear(scratch);
        rc = eval_details(r, rows[i], scratch, &t, e);
        if (rc != 0) {
            break;
        }
        s->missed = eval_missed(&t, scratch, &miss);
        s->begin = arena_str(arena, miss.begin);
        s->end = arena_str(arena, miss.end);
        s->key = key_of(&t, &miss);
        while (out->stories[s->first].key != s->key) {
            s->first++;
        }
        out->missed += s->missed && (i == 0 || !str_eq(rows[i]->task, rows[i - 1]->task));
    }
    arena_free(scratch);
    return rc;
}

bool alike_is_told(const struct alike *a, size_t i)
{
    return a->stories[i].first == i;
}

struct str alike_model(const struct alike *a, size_t i)
{
    return a->models ? a->rows[i]->shared->model : STR("");
}

static bool same_task(const struct eval_row *x, const struct eval_row *y)
{
    return str_eq(x->task, y->task) && str_eq(x->shared->model, y->shared->model);
}

/* Appends ", " or " and " before the i-th of n. */
static void add_comma(struct buf *out, size_t i, size_t n)
{
    buf_addz(out, i == 0 ? "" : i + 1 == n ? " and " : ", ");
}

void alike_add_trials(struct buf *out, const struct alike *a, size_t i)
{
    size_t n = 0, told = 0;
    for (size_t k = i; k < a->n; k++) {
        n += a->stories[k].first == i && same_task(a->rows[k], a->rows[i]);
    }
    for (size_t k = i; n > 1 && k < a->n; k++) {
        if (a->stories[k].first == i && same_task(a->rows[k], a->rows[i]) && told < NAMES_SHOWN) {
            buf_addz(out, told == 0 ? " (trials " : "");
            add_comma(out, told++, n);
            buf_fmt(out, "%" PRId32, a->rows[k]->trial);
        }
    }
    if (n > told && n > 1) {
        buf_fmt(out, " and %zu more", n - told);
    }
    buf_addz(out, n > 1 ? ")" : "");
}

void alike_add_others(struct buf *out, const struct alike *a, size_t i)
{
    struct buf names = {0};
    size_t n = 0;
    for (size_t k = i + 1; k < a->n; k++) {
        bool other = a->stories[k].first == i && !same_task(a->rows[k], a->rows[i]) &&
                     (k == 0 || !same_task(a->rows[k], a->rows[k - 1]));
        if (other && n++ < NAMES_SHOWN) {
            buf_addz(&names, n == 1 ? "" : ", ");
            task_add(&names, a->rows[k]->task, alike_model(a, k));
        }
    }
    if (n > 0) {
        buf_fmt(out, "the same for %zu more: %.*s%s\n", n, STR_FMT(buf_str(&names)),
                n > NAMES_SHOWN ? ", …" : "");
    }
    buf_free(&names);
}

/* The first story of which the command is that of story i but for the task. */
static size_t first_command(const struct alike *a, size_t i)
{
    size_t k = 0;
    while (!str_eq(a->stories[k].begin, a->stories[i].begin) ||
           !str_eq(a->stories[k].end, a->stories[i].end)) {
        k++;
    }
    return k;
}

/* Appends the command that records story i and those with the same command. */
static void add_command(struct buf *out, const struct alike *a, size_t i, bool more)
{
    const struct eval_report *r = a->report;
    struct buf tasks = {0}, command = {0};
    size_t n = 0;
    for (size_t k = i; k < a->n; k++) {
        bool again = k > i && str_eq(a->rows[k]->task, a->rows[k - 1]->task);
        if (!again && a->stories[k].begin.n > 0 && first_command(a, k) == i) {
            buf_addz(&tasks, n++ == 0 ? " --task " : ",");
            buf_add(&tasks, a->rows[k]->task);
        }
    }
    bool missed = r->whole && r->summary.misses == r->n && n == a->missed;
    bool all = missed || more || n > TASKS_MAX;
    buf_add(&command, a->stories[i].begin);
    buf_add(&command, all ? (struct str){NULL, 0} : buf_str(&tasks));
    buf_add(&command, a->stories[i].end);
    buf_addz(out, all ? "to record all tasks anew: " : "to record what is missing: ");
    line_add(out, buf_str(&command));
    buf_char(out, '\n');
    buf_free(&tasks);
    buf_free(&command);
}

void alike_add_problem(struct buf *out, const struct alike *a, const struct eval_trial *t,
                       struct arena *scratch)
{
    struct eval_miss miss;
    bool grouped = a->missed > 1 && eval_missed(t, scratch, &miss);
    buf_add(out, grouped ? miss.text : t->problem);
}

void alike_add_commands(struct buf *out, const struct alike *a, bool more)
{
    size_t shown = 0;
    for (size_t i = 0; a->missed > 1 && i < a->n && shown < COMMANDS_SHOWN; i++) {
        if (a->stories[i].begin.n > 0 && first_command(a, i) == i) {
            add_command(out, a, i, more);
            shown++;
        }
    }
}
