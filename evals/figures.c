#include "evals/figures.h"
#include "evals/order_int.h"
#include "evals/run_int.h"
#include "kernel/base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1 }; /* of the bootstrap: the same run gives the same intervals */

/* ---- groups ---- */

/* A trial that could not be started may not know its model. */
bool eval_several_models(const struct eval_report *r)
{
    struct str first = {NULL, 0};
    for (size_t i = 0; i < r->n; i++) {
        struct str model = r->rows[i].shared->model;
        if (model.n > 0 && first.n > 0 && !str_eq(model, first)) {
            return true;
        }
        first = first.n == 0 ? model : first;
    }
    return false;
}

struct entry {
    const struct eval_row *row;
    struct str model; /* n 0 = not told apart */
};

static int by_task(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    int order = str_cmp(x->row->task, y->row->task);
    order = order != 0 ? order : str_cmp(x->model, y->model);
    order = order != 0 ? order : (x->row->trial > y->row->trial) - (x->row->trial < y->row->trial);
    return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

static int by_place(const void *a, const void *b)
{
    const struct eval_group *x = a;
    const struct eval_group *y = b;
    return (x->rows[0] > y->rows[0]) - (x->rows[0] < y->rows[0]);
}

static void count_trial(struct eval_group *g, const struct eval_row *t)
{
    g->errors += t->outcome == EVAL_ERROR;
    if (!eval_row_scored(t)) {
        return;
    }
    struct str currency = t->shared->currency;
    bool other = g->scored > 0 && !str_eq(g->currency, currency);
    bool known = g->nano >= 0 && t->cost_nano >= 0 && !other;
    g->nano = known && t->cost_nano <= INT64_MAX - g->nano ? g->nano + t->cost_nano : -1;
    g->currency = g->scored == 0 ? currency : g->currency;
    g->scored++;
    g->passed += t->outcome == EVAL_PASS;
    g->ms += t->ended_ms;
}

static size_t count_groups(const struct entry *entries, size_t n)
{
    size_t groups = 0;
    for (size_t i = 0; i < n; i++) {
        groups += i == 0 || !str_eq(entries[i - 1].row->task, entries[i].row->task) ||
                  !str_eq(entries[i - 1].model, entries[i].model);
    }
    return groups;
}

struct eval_group *eval_groups(const struct eval_report *r, bool by_model, struct arena *arena,
                               size_t *n)
{
    struct entry *entries = mem_alloc((r->n + 1) * sizeof *entries);
    for (size_t i = 0; i < r->n; i++) {
        const struct eval_row *row = &r->rows[i];
        entries[i] = (struct entry){row, by_model ? row->shared->model : (struct str){NULL, 0}};
    }
    order_list(entries, r->n, sizeof *entries, by_task);
    const struct eval_row **rows = arena_array(arena, r->n, sizeof *rows);
    struct eval_group *groups = arena_array(arena, count_groups(entries, r->n), sizeof *groups);
    *n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct entry *e = &entries[i];
        struct eval_group *g = *n == 0 ? NULL : &groups[*n - 1];
        rows[i] = e->row;
        if (g == NULL || !str_eq(g->task, e->row->task) || !str_eq(g->model, e->model)) {
            g = &groups[(*n)++];
            *g = (struct eval_group){.task = e->row->task, .model = e->model, .rows = &rows[i]};
        }
        g->n++;
        count_trial(g, e->row);
    }
    free(entries);
    order_list(groups, *n, sizeof *groups, by_place);
    return groups;
}

bool eval_is_flaky(const struct eval_group *g)
{
    return g->passed > 0 && g->passed < g->scored;
}

bool eval_pass_k(const struct eval_group *groups, size_t n, int64_t k, bool every, double *out)
{
    double sum = 0;
    int64_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const struct eval_group *g = &groups[i];
        if (g->scored >= k) {
            sum += every ? stats_pass_hat(g->scored, g->passed, k)
                         : stats_pass_at(g->scored, g->passed, k);
            count++;
        }
    }
    *out = count == 0 ? 0 : sum / (double)count;
    return count > 0;
}

/* ---- models ---- */

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The names of the models, each once, in order. */
static size_t list_models(const struct eval_report *r, struct str *names)
{
    size_t n = 0, all = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (i == 0 || !str_eq(r->rows[i].shared->model, r->rows[i - 1].shared->model)) {
            names[all++] = r->rows[i].shared->model;
        }
    }
    order_list(names, all, sizeof *names, by_name);
    for (size_t i = 0; i < all; i++) {
        if (n == 0 || !str_eq(names[n - 1], names[i])) {
            names[n++] = names[i];
        }
    }
    return n;
}

static struct eval_report *model_of(struct eval_report *reports, const struct str *names, size_t n,
                                    struct str model)
{
    const struct str *at = bsearch(&model, names, n, sizeof *names, by_name);
    assert(at != NULL);
    return &reports[at - names];
}

struct eval_report *eval_by_model(const struct eval_report *r, struct arena *arena, size_t *n)
{
    struct str *names = mem_alloc((r->n + 1) * sizeof *names);
    *n = list_models(r, names);
    struct eval_report *reports = arena_array(arena, *n, sizeof *reports);
    struct eval_row *rows = *n > 1 ? arena_array(arena, r->n, sizeof *rows) : r->rows;
    for (size_t i = 0; i < r->n; i++) {
        model_of(reports, names, *n, r->rows[i].shared->model)->n++;
    }
    for (size_t m = 0, first = 0; m < *n; m++) {
        size_t count = reports[m].n;
        reports[m] = (struct eval_report){.arena = arena,
                                          .out = r->out,
                                          .details = r->details,
                                          .rows = rows + first,
                                          .n = *n > 1 ? 0 : count,
                                          .interrupted = r->interrupted};
        first += count;
    }
    for (size_t i = 0; *n > 1 && i < r->n; i++) {
        struct eval_report *model = model_of(reports, names, *n, r->rows[i].shared->model);
        model->rows[model->n++] = r->rows[i];
    }
    for (size_t m = 0; m < *n; m++) {
        eval_sum(&reports[m], 0);
    }
    free(names);
    return reports;
}

/* ---- figures ---- */

static void figure_costs(struct eval_figures *f, struct cluster *c)
{
    size_t n = 0;
    bool first = true;
    f->priced = true;
    for (size_t i = 0; i < f->n_groups; i++) {
        const struct eval_group *g = &f->groups[i];
        if (g->scored == 0) {
            continue;
        }
        bool same = first || str_eq(f->currency, g->currency);
        if (g->nano < 0 || !same || f->nano > INT64_MAX - g->nano) {
            f->priced = false;
            break;
        }
        f->currency = g->currency;
        f->nano += g->nano;
        c[n++] = (struct cluster){(double)g->nano, g->scored};
        first = false;
    }
    f->priced = f->priced && n > 0;
    if (f->priced) {
        f->cost = stats_mean(c, n);
        f->cost_interval = stats_bootstrap(c, n, SEED);
    }
}

static double share_of(int64_t part, int64_t whole)
{
    return part < 0 || whole <= 0 ? -1 : (double)part / (double)whole;
}

static void figure_shares(struct eval_figures *f, const struct eval_summary *s)
{
    f->cached_share = share_of(s->usage.cached, s->usage.input);
    f->reasoning_share = share_of(s->usage.reasoning, s->usage.output);
    const struct eval_cost *a = &s->costs.of[0], *b = &s->judge_costs.of[0];
    bool one = s->judged > 0 && s->costs.n == 1 && s->judge_costs.n == 1 &&
               str_eq(a->currency, b->currency) && a->nano <= INT64_MAX - b->nano;
    f->judge_share = one ? share_of(b->nano, b->nano + a->nano) : -1;
}

static void figure_latency(struct eval_figures *f, struct cluster *c)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_groups; i++) {
        const struct eval_group *g = &f->groups[i];
        if (g->scored > 0) {
            c[n++] = (struct cluster){(double)g->ms, g->scored};
        }
    }
    f->latency = stats_mean(c, n);
    f->latency_interval = stats_bootstrap(c, n, SEED);
}

static void figure_success(struct eval_figures *f, struct cluster *c)
{
    size_t n = 0;
    int64_t passed = 0, scored = 0;
    for (size_t i = 0; i < f->n_groups; i++) {
        const struct eval_group *g = &f->groups[i];
        f->errors += (size_t)g->errors;
        f->flaky += eval_is_flaky(g);
        if (g->scored == 0) {
            continue;
        }
        f->trials_most = g->scored > f->trials_most ? g->scored : f->trials_most;
        f->k = f->k == 0 || g->scored < f->k ? g->scored : f->k;
        passed += g->passed;
        scored += g->scored;
        c[n++] = (struct cluster){(double)g->passed, g->scored};
    }
    f->scored = n;
    f->clustered = f->trials_most > 1 && n > 1;
    f->success = f->clustered ? stats_clustered(c, n) : stats_wilson(passed, scored);
}

void eval_figures(const struct eval_report *r, struct arena *arena, struct eval_figures *out)
{
    *out = (struct eval_figures){.k = 0};
    out->groups = eval_groups(r, eval_several_models(r), arena, &out->n_groups);
    struct cluster *c = mem_alloc((out->n_groups + 1) * sizeof *c);
    figure_success(out, c);
    figure_costs(out, c);
    figure_shares(out, &r->summary);
    figure_latency(out, c);
    free(c);
    if (out->k > 0) {
        (void)eval_pass_k(out->groups, out->n_groups, out->k, false, &out->pass_at);
        (void)eval_pass_k(out->groups, out->n_groups, out->k, true, &out->pass_hat);
    }
}

/* ---- JSON ---- */

static void put_number(struct buf *out, const char *key, bool known, double v)
{
    json_key(out, key);
    if (known) {
        stats_add(out, v);
    } else {
        buf_addz(out, "null");
    }
}

static void put_interval(struct buf *out, const char *key, struct interval v)
{
    json_key(out, key);
    interval_add(out, v);
}

static void put_flaky(struct buf *out, const struct eval_figures *f)
{
    json_key(out, "flaky");
    buf_char(out, '[');
    for (size_t i = 0; i < f->n_groups; i++) {
        const struct eval_group *g = &f->groups[i];
        if (eval_is_flaky(g)) {
            json_next(out);
            buf_char(out, '{');
            json_put_text(out, "task", g->task);
            if (g->model.n > 0) {
                json_put_text(out, "model", g->model);
            }
            json_put_int(out, "passed", g->passed);
            json_put_int(out, "scored", g->scored);
            buf_char(out, '}');
        }
    }
    buf_char(out, ']');
}

void eval_figures_json(struct buf *out, const struct eval_report *r)
{
    struct arena *arena = arena_new();
    struct eval_figures f;
    eval_figures(r, arena, &f);
    int64_t passed = (int64_t)r->summary.passed;
    put_interval(out, "success_interval", f.success);
    json_put_int(out, "tasks", (int64_t)f.n_groups);
    json_put_int(out, "k", f.k);
    put_number(out, "pass_at_k", f.k > 0, f.pass_at);
    put_number(out, "pass_hat_k", f.k > 0, f.pass_hat);
    put_flaky(out, &f);
    put_number(out, "cost_nano_per_trial", f.priced, f.cost);
    put_interval(out, "cost_nano_interval", f.cost_interval);
    put_number(out, "cost_nano_per_passed", f.priced && passed > 0,
               passed > 0 ? (double)f.nano / (double)passed : 0);
    put_number(out, "latency_ms_mean", f.k > 0, f.latency);
    put_interval(out, "latency_ms_interval", f.latency_interval);
    put_number(out, "cached_share", f.cached_share >= 0, f.cached_share);
    put_number(out, "reasoning_share", f.reasoning_share >= 0, f.reasoning_share);
    put_number(out, "judge_share", f.judge_share >= 0, f.judge_share);
    arena_free(arena);
}
