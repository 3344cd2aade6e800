#include "evals/exit.h"
#include "evals/ratio.h"
#include "evals/run_int.h"
#include "evals/stats.h"

#include <stdlib.h>
#include <string.h>

/* A mean that grows. */
struct mean {
    struct ratio sum;
    int64_t n;
};

static void mean_add(struct mean *m, struct ratio r)
{
    if (r.den == 0) {
        return;
    }
    m->sum = m->n == 0 ? r : ratio_plus(m->sum, r);
    m->n++;
}

static struct ratio mean_of(const struct mean *m)
{
    return m->n == 0 ? (struct ratio){0, 0} : ratio_over(m->sum, m->n);
}

static void sum_scores(const struct eval_report *r, struct eval_summary *s)
{
    struct mean selection = {0}, precision = {0}, recall = {0}, f1 = {0}, arguments = {0};
    struct mean trajectory = {0};
    for (size_t i = 0; i < r->n; i++) {
        const struct eval_scores *x = r->rows[i].scores;
        if (!eval_row_scored(&r->rows[i])) {
            continue;
        }
        mean_add(&selection, x->tool_selection);
        mean_add(&precision, x->precision);
        mean_add(&recall, x->recall);
        mean_add(&f1, x->f1);
        mean_add(&arguments, x->arguments);
        mean_add(&trajectory, (struct ratio){x->trajectory, x->trajectory < 0 ? 0 : 1});
    }
    s->tool_selection = mean_of(&selection);
    s->precision = mean_of(&precision);
    s->recall = mean_of(&recall);
    s->f1 = mean_of(&f1);
    s->arguments = mean_of(&arguments);
    s->trajectory = mean_of(&trajectory);
}

static void count_outcome(struct eval_summary *s, const struct eval_row *t)
{
    s->trials++;
    s->drifts += (size_t)t->drifts;
    s->misses += t->code == ERR_MISS ? 1 : 0;
    switch ((enum eval_outcome)t->outcome) {
    case EVAL_PASS: s->passed++; break;
    case EVAL_FAIL: s->failed++; break;
    case EVAL_ERROR: s->errors++; break;
    case EVAL_NONE: break;
    }
}

/* Adds what is known; an unknown of a scored trial makes the sum unknown. One of an error does so
 * only where nothing was scored: it often stopped before there was anything to know. */
static void add_amount(int64_t *sum, int64_t more, bool scored)
{
    if (more < 0) {
        *sum = scored ? -1 : *sum;
    } else if (*sum >= 0) {
        *sum = more > INT64_MAX - *sum ? INT64_MAX : *sum + more;
    }
}

static void add_amounts(struct eval_summary *s, const struct eval_row *t, bool scored)
{
    const struct usage *u = &t->usage;
    add_amount(&s->usage.input, u->input, scored);
    add_amount(&s->usage.cached, u->cached, scored);
    add_amount(&s->usage.cache_write, u->cache_write, scored);
    add_amount(&s->usage.output, u->output, scored);
    add_amount(&s->usage.reasoning, u->reasoning, scored);
    add_amount(&s->steps, t->steps, scored);
    add_amount(&s->calls, t->calls, scored);
}

bool eval_cost_is_usd(struct str currency)
{
    return currency.n == 0 || str_is(currency, "USD");
}

bool eval_cost_add(struct eval_costs *costs, struct str currency, int64_t nano)
{
    struct eval_cost *c = costs->of, *end = c + costs->n;
    while (c < end && str_cmp(c->currency, currency) < 0) {
        c++;
    }
    if (c == end || !str_eq(c->currency, currency)) {
        if (costs->n == EVAL_CURRENCIES_MAX) {
            return false;
        }
        memmove(c + 1, c, (size_t)(end - c) * sizeof *c);
        *c = (struct eval_cost){currency, 0};
        costs->n++;
    }
    bool fits = nano <= INT64_MAX - c->nano;
    c->nano += fits ? nano : 0;
    return fits;
}

/* What judges cost, also for trials that ended in an error. */
static void sum_judges(const struct eval_report *r, struct eval_summary *s)
{
    bool known = true;
    for (size_t i = 0; i < r->n; i++) {
        const struct eval_row_judge *j = r->rows[i].judge;
        if (j == NULL) {
            continue;
        }
        s->judged += j->asked;
        known =
            known && j->cost_nano >= 0 && eval_cost_add(&s->judge_costs, j->currency, j->cost_nano);
    }
    s->judge_costs.n = known ? s->judge_costs.n : 0;
}

/* One unknown cost makes all of it unknown, as for the other amounts. */
static void sum_costs(const struct eval_report *r, struct eval_summary *s)
{
    bool any_scored = s->passed + s->failed > 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct eval_row *t = &r->rows[i];
        int64_t nano = t->cost_nano;
        if (!eval_row_ran(t) || (nano < 0 && any_scored && !eval_row_scored(t))) {
            continue;
        }
        if (nano < 0 || !eval_cost_add(&s->costs, t->shared->currency, nano)) {
            s->costs.n = 0;
            return;
        }
    }
}

static void sum_amounts(const struct eval_report *r, struct eval_summary *s)
{
    bool any_scored = s->passed + s->failed > 0;
    bool any_ran = false;
    for (size_t i = 0; i < r->n; i++) {
        const struct eval_row *t = &r->rows[i];
        if (eval_row_ran(t)) {
            any_ran = true;
            add_amounts(s, t, !any_scored || eval_row_scored(t));
        }
    }
    if (!any_ran) {
        s->usage = USAGE_UNKNOWN;
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void sum_latency(const struct eval_report *r, struct eval_summary *s)
{
    int64_t *ms = mem_alloc((r->n + 1) * sizeof *ms);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (eval_row_scored(&r->rows[i])) {
            ms[n++] = r->rows[i].ended_ms;
        }
    }
    qsort(ms, n, sizeof *ms, by_value);
    s->p50_latency_ms = stats_percentile(ms, n, 50);
    s->p95_latency_ms = stats_percentile(ms, n, 95);
    free(ms);
}

/* Errors count only beyond what is allowed. */
static int exit_status(const struct eval_report *r, int64_t allow_errors)
{
    const struct eval_summary *s = &r->summary;
    int status = r->interrupted                      ? EXIT_INTERRUPTED
                 : s->failed > 0 || r->stopped.n > 0 ? EXIT_FAILED
                                                     : EXIT_OK;
    bool too_many = s->errors > (uint64_t)(allow_errors < 0 ? 0 : allow_errors);
    for (size_t i = 0; too_many && i < r->n; i++) {
        const struct eval_row *t = &r->rows[i];
        if (t->outcome == EVAL_ERROR) {
            status = exit_worse(status, exit_of_code(t->code));
        }
    }
    return status;
}

void eval_sum(struct eval_report *r, int64_t allow_errors)
{
    struct eval_summary *s = &r->summary;
    *s = (struct eval_summary){0};
    for (size_t i = 0; i < r->n; i++) {
        count_outcome(s, &r->rows[i]);
        eval_why_count(s, &r->rows[i]);
    }
    s->success = (struct ratio){(int64_t)s->passed, (int64_t)(s->passed + s->failed)};
    sum_amounts(r, s);
    sum_costs(r, s);
    sum_judges(r, s);
    sum_scores(r, s);
    sum_latency(r, s);
    r->exit_status = exit_status(r, allow_errors);
}
