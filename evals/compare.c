#include "evals/compare.h"
#include "evals/call_diff_int.h"

#include <inttypes.h>
#include <stdlib.h>

#define SIGNIFICANT 0.05
enum { SEED = 1 };

const char *task_change_name(enum task_change c)
{
    switch (c) {
    case TASK_SAME: return "same";
    case TASK_REGRESSED: return "regressed";
    case TASK_IMPROVED: return "improved";
    case TASK_STILL_FAILING: return "still_failing";
    case TASK_FLAKY: return "flaky";
    case TASK_NEW: return "new";
    case TASK_GONE: return "gone";
    case TASK_UNSCORED: return "unscored";
    case TASK_CHANGES: break;
    }
    return "same";
}

const char *compared_verdict_name(enum compared_verdict v)
{
    switch (v) {
    case COMPARED_WORSE: return "worse";
    case COMPARED_BETTER: return "better";
    case COMPARED_SAME: return "no_change";
    case COMPARED_UNSURE: return "not_enough_evidence";
    }
    return "not_enough_evidence";
}

/* ---- tasks ---- */

static enum task_change change_of(const struct eval_group *base, const struct eval_group *head)
{
    if (base == NULL) {
        return TASK_NEW;
    }
    if (head == NULL) {
        return TASK_GONE;
    }
    if (base->scored == 0 || head->scored == 0) {
        return TASK_UNSCORED;
    }
    if (eval_is_flaky(base) || eval_is_flaky(head)) {
        double fell = stats_fisher(base->passed, base->scored, head->passed, head->scored);
        double rose = stats_fisher(head->passed, head->scored, base->passed, base->scored);
        return fell < SIGNIFICANT   ? TASK_REGRESSED
               : rose < SIGNIFICANT ? TASK_IMPROVED
                                    : TASK_FLAKY;
    }
    bool passed = base->passed > 0, passes = head->passed > 0;
    return passed && passes ? TASK_SAME
           : passed         ? TASK_REGRESSED
           : passes         ? TASK_IMPROVED
                            : TASK_STILL_FAILING;
}

static int by_name(const void *a, const void *b)
{
    const struct eval_group *x = *(const struct eval_group *const *)a;
    const struct eval_group *y = *(const struct eval_group *const *)b;
    int order = str_cmp(x->task, y->task);
    return order != 0 ? order : str_cmp(x->model, y->model);
}

static const struct eval_group **sorted_groups(const struct eval_group *groups, size_t n,
                                               struct arena *arena)
{
    const struct eval_group **sorted = arena_array(arena, n, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = &groups[i];
    }
    qsort(sorted, n, sizeof *sorted, by_name);
    return sorted;
}

static const struct eval_group *find(const struct eval_group *const *sorted, size_t n,
                                     const struct eval_group *key)
{
    const struct eval_group *const *at = bsearch(&key, sorted, n, sizeof *sorted, by_name);
    return at == NULL ? NULL : *at;
}

static void add_task(struct comparison_result *c, const struct eval_group *base,
                     const struct eval_group *head)
{
    struct compared_task *t = &c->tasks[c->n++];
    const struct eval_group *one = head != NULL ? head : base;
    *t = (struct compared_task){one->task, one->model, change_of(base, head), base, head};
    c->counts[t->change]++;
}

int eval_difference(const struct comparison_result *c, const struct compared_task *t,
                    struct arena *arena, struct str *out, struct err *e)
{
    *out = (struct str){NULL, 0};
    if (t->base == NULL || t->head == NULL || t->change == TASK_SAME) {
        return 0;
    }
    return calls_difference(c, t, arena, out, e);
}

static void pair_tasks(struct comparison_result *c, const struct eval_report *base,
                       const struct eval_report *head)
{
    bool by_model = eval_several_models(base) || eval_several_models(head);
    size_t n_base = 0, n_head = 0;
    struct eval_group *b = eval_groups(base, by_model, c->arena, &n_base);
    struct eval_group *h = eval_groups(head, by_model, c->arena, &n_head);
    const struct eval_group **sorted_b = sorted_groups(b, n_base, c->arena);
    const struct eval_group **sorted_h = sorted_groups(h, n_head, c->arena);
    size_t gone = 0;
    for (size_t i = 0; i < n_base; i++) {
        gone += find(sorted_h, n_head, &b[i]) == NULL;
    }
    c->tasks = arena_array(c->arena, n_head + gone, sizeof *c->tasks);
    for (size_t i = 0; i < n_head; i++) {
        add_task(c, find(sorted_b, n_base, &h[i]), &h[i]);
    }
    for (size_t i = 0; gone > 0 && i < n_base; i++) {
        if (find(sorted_h, n_head, &b[i]) == NULL) {
            add_task(c, &b[i], NULL);
        }
    }
}

static bool both_scored(const struct compared_task *t)
{
    return t->base != NULL && t->head != NULL && t->base->scored > 0 && t->head->scored > 0;
}

/* How the rate of passed trials moved, without rounding: < 0, 0, > 0. */
static int moved(const struct compared_task *t)
{
    int64_t left = t->head->passed * t->base->scored;
    int64_t right = t->base->passed * t->head->scored;
    return (left > right) - (left < right);
}

/* ---- means ---- */

enum measured { MEASURED_SUCCESS, MEASURED_COST, MEASURED_LATENCY };

static bool measure(const struct eval_group *g, enum measured what, double *out)
{
    double n = (double)g->scored;
    switch (what) {
    case MEASURED_SUCCESS: *out = (double)g->passed / n; return true;
    case MEASURED_COST: *out = (double)g->nano / n; return g->nano >= 0;
    case MEASURED_LATENCY: *out = (double)g->ms / n; return true;
    }
    return false;
}

/* Each task counts once: its mean in the head less that in the base. */
static struct compared_mean mean_of(const struct comparison_result *c, enum measured what)
{
    struct compared_mean m = {.known = c->both > 0};
    struct cluster *changes = mem_alloc((c->n + 1) * sizeof *changes);
    const struct str *currency = NULL;
    size_t n = 0;
    for (size_t i = 0; m.known && i < c->n; i++) {
        const struct compared_task *t = &c->tasks[i];
        double base = 0, head = 0;
        if (!both_scored(t)) {
            continue;
        }
        currency = currency == NULL ? &t->base->currency : currency;
        m.known = measure(t->base, what, &base) && measure(t->head, what, &head) &&
                  (what != MEASURED_COST ||
                   (str_eq(*currency, t->base->currency) && str_eq(*currency, t->head->currency)));
        m.base += base;
        m.head += head;
        changes[n++] = (struct cluster){head - base, 1};
    }
    if (m.known) {
        m.base /= (double)n;
        m.head /= (double)n;
        m.change = stats_mean(changes, n);
        m.interval = what == MEASURED_SUCCESS ? stats_paired(changes, n, SEED)
                                              : stats_bootstrap(changes, n, SEED);
    }
    free(changes);
    return m;
}

/* ---- tags ---- */

struct tag_use {
    struct str tag;
    int moved;
};

static int by_tag(const void *a, const void *b)
{
    const struct tag_use *x = a;
    const struct tag_use *y = b;
    return str_cmp(x->tag, y->tag);
}

static void test_tags(struct comparison_result *c, const struct tag_use *uses, size_t n)
{
    c->tags = arena_array(c->arena, n, sizeof *c->tags);
    for (size_t i = 0; i < n; i++) {
        struct compared_tag *t = c->n_tags == 0 ? NULL : &c->tags[c->n_tags - 1];
        if (t == NULL || !str_eq(t->tag, uses[i].tag)) {
            t = &c->tags[c->n_tags++];
            t->tag = uses[i].tag;
        }
        t->tasks++;
        t->worse += uses[i].moved < 0;
        t->better += uses[i].moved > 0;
    }
    double *p = mem_alloc((c->n_tags + 1) * 2 * sizeof *p);
    for (size_t i = 0; i < c->n_tags; i++) {
        p[i] = c->tags[i].p = stats_mcnemar_two_sided(c->tags[i].worse, c->tags[i].better);
    }
    stats_holm(p, c->n_tags, p + c->n_tags);
    for (size_t i = 0; i < c->n_tags; i++) {
        c->tags[i].p_holm = p[c->n_tags + i];
    }
    free(p);
}

static void compare_tags(struct comparison_result *c)
{
    size_t room = 0, n = 0;
    for (size_t i = 0; i < c->n; i++) {
        room += both_scored(&c->tasks[i]) ? c->tasks[i].head->rows[0]->shared->n_tags : 0;
    }
    struct tag_use *uses = mem_alloc((room + 1) * sizeof *uses);
    for (size_t i = 0; i < c->n; i++) {
        if (!both_scored(&c->tasks[i])) {
            continue;
        }
        const struct eval_shared *s = c->tasks[i].head->rows[0]->shared;
        for (size_t k = 0; k < s->n_tags; k++) {
            uses[n++] = (struct tag_use){s->tags[k], moved(&c->tasks[i])};
        }
    }
    qsort(uses, n, sizeof *uses, by_tag);
    test_tags(c, uses, n);
    free(uses);
}

/* ---- all of it ---- */

static void judge(struct comparison_result *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (both_scored(&c->tasks[i])) {
            int way = moved(&c->tasks[i]);
            c->both++;
            c->worse += way < 0;
            c->better += way > 0;
        }
    }
    c->p_worse = stats_mcnemar(c->worse, c->better);
    c->p_better = stats_mcnemar(c->better, c->worse);
    c->p = stats_mcnemar_two_sided(c->worse, c->better);
    c->success = mean_of(c, MEASURED_SUCCESS);
    c->cost = mean_of(c, MEASURED_COST);
    c->latency = mean_of(c, MEASURED_LATENCY);
    double changed = c->both == 0 ? 0 : (double)(c->worse + c->better) / (double)c->both;
    c->needed = stats_needed(changed, c->margin);
    bool ruled_out = c->success.known && c->success.interval.low >= -c->margin - 1e-9;
    c->verdict = c->p_worse < SIGNIFICANT            ? COMPARED_WORSE
                 : c->p_better < SIGNIFICANT         ? COMPARED_BETTER
                 : ruled_out && c->both >= c->needed ? COMPARED_SAME
                                                     : COMPARED_UNSURE;
}

int eval_compare(const struct eval_report *base, const struct eval_report *head, double margin,
                 struct comparison_result **out, struct err *e)
{
    struct comparison_result *c = mem_zero(sizeof *c);
    c->arena = arena_new();
    c->base = base;
    c->head = head;
    c->margin = margin;
    pair_tasks(c, base, head);
    if (c->counts[TASK_NEW] + c->counts[TASK_GONE] == c->n) {
        eval_compare_free(c);
        return err_set(e, ERR_INPUT,
                       "%s and %s have no task in common: expected runs of the same golden set",
                       base->out, head->out);
    }
    for (size_t i = 0; i < c->n && c->currency.n == 0; i++) {
        c->currency = both_scored(&c->tasks[i]) ? c->tasks[i].head->currency : c->currency;
    }
    judge(c);
    compare_tags(c);
    *out = c;
    return 0;
}

void eval_compare_free(struct comparison_result *c)
{
    if (c != NULL) {
        arena_free(c->arena);
        free(c);
    }
}
