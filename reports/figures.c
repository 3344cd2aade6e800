#include "reports/report_int.h"

#include <inttypes.h>

enum { FLAKY_SHOWN = 10 };

void share_add(struct buf *out, double share)
{
    double tenths = share * 1000;
    int64_t n = (int64_t)(tenths < 0 ? tenths - 0.5 : tenths + 0.5);
    n = n == 1000 && share < 1 ? 999 : n; /* never all for less than all */
    buf_fmt(out, "%s%" PRId64 ".%" PRId64, n < 0 ? "-" : "", (n < 0 ? -n : n) / 10,
            (n < 0 ? -n : n) % 10);
}

void cost_add(struct buf *out, int64_t nano, struct str currency)
{
    struct buf text = {0};
    money_add(&text, nano, currency);
    line_add(out, buf_str(&text));
    buf_free(&text);
}

void amount_add(struct buf *out, double nano, struct str currency)
{
    double size = nano < 0 ? -nano : nano;
    int64_t whole = (int64_t)(size + 0.5);
    buf_addz(out, nano < 0 && whole > 0 ? "-" : "");
    cost_add(out, whole, currency);
}

static void amounts_add(struct buf *out, const struct eval_costs *costs)
{
    buf_addz(out, costs->n == 0 ? "unpriced" : "");
    for (size_t i = 0; i < costs->n; i++) {
        buf_addz(out, i > 0 ? " + " : "");
        cost_add(out, costs->of[i].nano, costs->of[i].currency);
    }
}

void costs_add(struct buf *out, const struct eval_summary *s)
{
    amounts_add(out, &s->costs);
    if (s->judged > 0) {
        buf_addz(out, ", judge ");
        amounts_add(out, &s->judge_costs);
        buf_fmt(out, " (%lld rubric%s)", (long long)s->judged, s->judged == 1 ? "" : "s");
    }
}

void interval_text(struct buf *out, struct interval v)
{
    if (!v.known) {
        buf_addz(out, "unknown");
        return;
    }
    share_add(out, v.low);
    buf_addz(out, "% to ");
    share_add(out, v.high);
    buf_addz(out, "%");
}

static void add_flaky(struct buf *out, const struct eval_figures *f)
{
    size_t shown = 0;
    for (size_t i = 0; i < f->n_groups; i++) {
        const struct eval_group *g = &f->groups[i];
        if (!eval_is_flaky(g) || shown++ >= FLAKY_SHOWN) {
            continue;
        }
        buf_addz(out, shown == 1 ? "flaky: " : ", ");
        task_add(out, g->task, g->model);
        buf_fmt(out, " %" PRId64 "/%" PRId64, g->passed, g->scored);
    }
    if (shown > FLAKY_SHOWN) {
        buf_fmt(out, " and %zu more", shown - FLAKY_SHOWN);
    }
    buf_addz(out, shown > 0 ? "\n" : "");
}

/* ", 40.0% of input cached": a share that is known. */
static void add_share(struct buf *out, double share, const char *what)
{
    if (share >= 0) {
        buf_addz(out, ", ");
        share_add(out, share);
        buf_fmt(out, "%% of %s", what);
    }
}

/* What the cost is made of, also where it has no price. */
static void add_shares(struct buf *out, const struct eval_figures *f)
{
    add_share(out, f->cached_share, "input cached");
    add_share(out, f->reasoning_share, "output reasoning");
    add_share(out, f->judge_share, "all the judge's");
}

static void add_cost(struct buf *out, const struct eval_summary *s, const struct eval_figures *f)
{
    bool priced = f->priced && f->nano > 0;
    if (!priced && f->cached_share < 0 && f->reasoning_share < 0) {
        return;
    }
    buf_addz(out, priced ? "cost a trial " : f->priced ? "cost nothing" : "cost unpriced");
    if (priced) {
        amount_add(out, f->cost, f->currency);
    }
    if (priced && f->cost_interval.known) {
        buf_addz(out, " (95% interval ");
        amount_add(out, f->cost_interval.low, (struct str){NULL, 0});
        buf_addz(out, " to ");
        amount_add(out, f->cost_interval.high, (struct str){NULL, 0});
        buf_addz(out, ")");
    }
    if (priced && s->passed > 0) {
        buf_addz(out, ", a passed trial ");
        amount_add(out, (double)f->nano / (double)s->passed, f->currency);
    }
    add_shares(out, f);
    buf_char(out, '\n');
}

static void add_models(struct buf *out, const struct eval_report *r, struct arena *arena)
{
    size_t n = 0;
    const struct eval_report *models = eval_several_models(r) ? eval_by_model(r, arena, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        struct eval_figures f;
        eval_figures(&models[i], arena, &f);
        const struct eval_summary *s = &models[i].summary;
        struct str name = models[i].rows[0].shared->model;
        line_add(out, name);
        buf_fmt(out, ": %zu of %zu passed (95%% interval ", s->passed, s->passed + s->failed);
        interval_text(out, f.success);
        buf_addz(out, "), cost ");
        costs_add(out, s);
        if (f.priced && s->passed > 0) {
            buf_addz(out, ", a passed trial ");
            amount_add(out, (double)f.nano / (double)s->passed, f.currency);
        }
        add_shares(out, &f);
        buf_char(out, '\n');
    }
}

void why_add(struct buf *out, const struct eval_summary *s)
{
    struct eval_cause causes[WHYS], kinds[WHYS];
    size_t n = eval_causes(s, WHY_ALL, causes);
    for (size_t i = 0; i < n; i++) {
        size_t n_kinds = eval_causes(s, causes[i].why, kinds);
        buf_fmt(out, "%s%s %zu", i > 0 ? ", " : "", causes[i].name, causes[i].trials);
        for (size_t k = 0; k < n_kinds; k++) {
            buf_fmt(out, "%s%s %zu", k > 0 ? ", " : " (", kinds[k].name, kinds[k].trials);
        }
        buf_addz(out, n_kinds > 0 ? ")" : "");
    }
}

void figures_add(struct buf *out, const struct eval_report *r)
{
    struct arena *arena = arena_new();
    struct eval_figures f;
    eval_figures(r, arena, &f);
    if (f.success.known) {
        buf_addz(out, "95% interval of success ");
        interval_text(out, f.success);
        buf_fmt(out, ", %zu task%s", f.scored, f.scored == 1 ? "" : "s");
        if (f.k > 1) {
            buf_fmt(out, "; pass@%" PRId64 " ", f.k);
            share_add(out, f.pass_at);
            buf_fmt(out, "%%, pass^%" PRId64 " ", f.k);
            share_add(out, f.pass_hat);
            buf_addz(out, "%");
        }
        buf_char(out, '\n');
    }
    add_flaky(out, &f);
    add_cost(out, &r->summary, &f);
    add_models(out, r, arena);
    arena_free(arena);
}
