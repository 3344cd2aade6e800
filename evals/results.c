#include "evals/results.h"
#include "kernel/base/json.h"

#include <inttypes.h>

static void add_ratio(struct buf *out, const char *key, struct ratio r)
{
    json_key(out, key);
    ratio_add(out, r);
}

/* state: 1, 0, -1 = null */
static void add_truth(struct buf *out, const char *key, int state)
{
    json_key(out, key);
    buf_addz(out, state < 0 ? "null" : state > 0 ? "true" : "false");
}

/* Errors have no scores: they leave every denominator. */
static void add_scores(struct buf *out, const struct eval_verdict *v)
{
    const struct eval_scores *s = &v->scores;
    bool scored = eval_is_scored(v->outcome);
    json_key(out, "scores");
    buf_char(out, '{');
    add_ratio(out, "tool_selection", s->tool_selection);
    add_ratio(out, "precision", s->precision);
    add_ratio(out, "recall", s->recall);
    add_ratio(out, "f1", s->f1);
    add_ratio(out, "arguments", s->arguments);
    add_truth(out, "trajectory", s->trajectory);
    add_truth(out, "success", !scored ? -1 : s->success ? 1 : 0);
    buf_char(out, '}');
}

static void add_checks(struct buf *out, const struct eval_verdict *v)
{
    json_key(out, "checks");
    buf_char(out, '[');
    for (size_t i = 0; i < v->n_checks; i++) {
        const struct eval_check *c = &v->checks[i];
        json_next(out);
        buf_char(out, '{');
        json_put_text(out, "name", c->name);
        json_put_bool(out, "passed", c->passed);
        json_put_text_or_null(out, "message", c->message);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

static void add_calls(struct buf *out, const struct eval_trial *t)
{
    json_key(out, "calls");
    buf_char(out, '[');
    for (size_t i = 0; i < t->n_calls; i++) {
        json_next(out);
        buf_char(out, '{');
        json_put_text(out, "name", t->calls[i].name);
        json_key(out, "arguments");
        json_add_string(out, t->calls[i].arguments);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

bool eval_ran(const struct eval_trial *t)
{
    return t->trace.n > 0;
}

/* An amount, and its currency where it is known. */
static void add_cost(struct buf *out, int64_t nano, struct str currency)
{
    json_put_known(out, "cost_nano", nano);
    if (nano >= 0) {
        json_put_text(out, "currency", currency);
    }
}

/* Amounts of several currencies have no sum: each stands for itself. */
static void add_costs(struct buf *out, const struct eval_costs *costs)
{
    if (costs->n == 1) {
        add_cost(out, costs->of[0].nano, costs->of[0].currency);
        return;
    }
    add_cost(out, -1, (struct str){NULL, 0});
    if (costs->n == 0) {
        return;
    }
    json_key(out, "costs");
    buf_char(out, '{');
    for (size_t i = 0; i < costs->n; i++) {
        json_next(out);
        json_add_string(out, costs->of[i].currency);
        buf_char(out, ':');
        buf_int(out, costs->of[i].nano);
    }
    buf_char(out, '}');
}

/* Where the task stands, without the set's path, which may differ between machines. */
static void add_place(struct buf *out, const struct eval_trial *t)
{
    json_put_text(out, "set", str_of(t->set));
    json_put_int(out, "line", t->line);
    json_put_texts(out, "tags", t->tags, t->n_tags);
    json_put_known(out, "expected_calls", t->expected_calls);
    if (t->cassette.n > 0) {
        json_put_text(out, "cassette", t->cassette);
    }
    if (t->drifts > 0) {
        json_put_int(out, "drifts", (int64_t)t->drifts);
    }
}

/* What was asked of a judge, where one was asked. */
static void add_judged(struct buf *out, const struct eval_judged *j)
{
    if (j->asked == 0) {
        return;
    }
    json_key(out, "judge");
    buf_char(out, '{');
    json_put_text(out, "model", j->model);
    json_put_int(out, "asked", j->asked);
    json_key(out, "verdicts");
    buf_char(out, '[');
    for (size_t i = 0; i < j->n_verdicts; i++) {
        json_next(out);
        buf_char(out, '{');
        json_put_text(out, "rubric", j->verdicts[i].rubric);
        json_put_bool(out, "pass", j->verdicts[i].pass);
        json_put_text(out, "reason", j->verdicts[i].reason);
        buf_char(out, '}');
    }
    buf_char(out, ']');
    usage_put(out, &j->usage);
    add_cost(out, j->cost_nano, j->currency);
    buf_char(out, '}');
}

void eval_trial_json(struct buf *out, const struct eval_trial *t)
{
    const struct run_result *r = &t->result;
    buf_char(out, '{');
    json_put_text(out, "task", t->task);
    json_put_int(out, "trial", t->trial);
    json_put_text_or_null(out, "model", t->model.n > 0 ? t->model : (struct str){NULL, 0});
    json_put_text(out, "outcome", str_of(eval_outcome_name(t->verdict.outcome)));
    json_put_text(out, "status", str_of(run_status_name(r->status)));
    add_scores(out, &t->verdict);
    add_checks(out, &t->verdict);
    add_calls(out, t);
    json_put_text_or_null(out, "answer", r->answer);
    json_put_int(out, "steps", r->steps);
    usage_put(out, &r->usage);
    add_cost(out, r->cost_nano, r->currency);
    json_put_known(out, "latency_ms", eval_ran(t) ? (int64_t)r->ended_ms : -1);
    json_put_text_or_null(out, "trace", t->trace.n > 0 ? t->trace : (struct str){NULL, 0});
    json_put_text_or_null(out, "problem", t->problem.n > 0 ? t->problem : (struct str){NULL, 0});
    add_place(out, t);
    add_judged(out, &t->judged);
    buf_addz(out, "}\n");
}

/* [{"name", "trials"}], with its "kinds" where there are some; nothing where all is empty. */
static void add_why(struct buf *out, const struct eval_summary *s, const char *key,
                    enum eval_why of)
{
    struct eval_cause causes[WHYS];
    size_t n = eval_causes(s, of, causes);
    if (n == 0) {
        return;
    }
    json_key(out, key);
    buf_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        json_next(out);
        buf_char(out, '{');
        json_put_text(out, "name", str_of(causes[i].name));
        json_put_int(out, "trials", (int64_t)causes[i].trials);
        add_why(out, s, "kinds", causes[i].why);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

void eval_summary_json(struct buf *out, const struct eval_summary *s)
{
    buf_char(out, '{');
    json_put_int(out, "trials", (int64_t)s->trials);
    json_put_int(out, "passed", (int64_t)s->passed);
    json_put_int(out, "failed", (int64_t)s->failed);
    json_put_int(out, "errors", (int64_t)s->errors);
    json_put_int(out, "scored", (int64_t)(s->passed + s->failed));
    json_put_int(out, "misses", (int64_t)s->misses);
    json_put_int(out, "drifts", (int64_t)s->drifts);
    add_ratio(out, "success", s->success);
    add_ratio(out, "tool_selection", s->tool_selection);
    add_ratio(out, "precision", s->precision);
    add_ratio(out, "recall", s->recall);
    add_ratio(out, "f1", s->f1);
    add_ratio(out, "arguments", s->arguments);
    add_ratio(out, "trajectory", s->trajectory);
    json_put_int(out, "steps", s->steps);
    json_put_int(out, "calls", s->calls);
    usage_put(out, &s->usage);
    add_costs(out, &s->costs);
    if (s->judged > 0) {
        json_key(out, "judge");
        buf_char(out, '{');
        json_put_int(out, "asked", s->judged);
        add_costs(out, &s->judge_costs);
        buf_char(out, '}');
    }
    json_put_known(out, "p50_latency_ms", s->p50_latency_ms);
    json_put_known(out, "p95_latency_ms", s->p95_latency_ms);
    add_why(out, s, "why", WHY_ALL);
    buf_char(out, '}');
}
