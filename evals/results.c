#include "evals/eval.h"
#include "kernel/base/json.h"

#include <inttypes.h>

static void add_key(struct buf *out, const char *key)
{
    char last = out->n > 0 ? out->p[out->n - 1] : '{';
    buf_addz(out, last == '{' ? "\"" : ",\"");
    buf_addz(out, key);
    buf_addz(out, "\":");
}

static void add_text(struct buf *out, const char *key, struct str s)
{
    add_key(out, key);
    if (s.p == NULL) {
        buf_addz(out, "null");
    } else {
        json_add_string(out, s);
    }
}

static void add_int(struct buf *out, const char *key, int64_t v)
{
    add_key(out, key);
    buf_int(out, v);
}

/* A count or amount that may be unknown. */
static void add_known(struct buf *out, const char *key, int64_t v)
{
    add_key(out, key);
    if (v < 0) {
        buf_addz(out, "null");
    } else {
        buf_int(out, v);
    }
}

static void add_ratio(struct buf *out, const char *key, struct ratio r)
{
    add_key(out, key);
    ratio_add(out, r);
}

/* state: 1, 0, -1 = null */
static void add_truth(struct buf *out, const char *key, int state)
{
    add_key(out, key);
    buf_addz(out, state < 0 ? "null" : state > 0 ? "true" : "false");
}

static void add_usage(struct buf *out, const struct usage *u)
{
    add_key(out, "usage");
    buf_char(out, '{');
    add_known(out, "input", u->input);
    add_known(out, "cached", u->cached);
    add_known(out, "cache_write", u->cache_write);
    add_known(out, "output", u->output);
    add_known(out, "reasoning", u->reasoning);
    buf_char(out, '}');
}

/* Errors have no scores: they leave every denominator. */
static void add_scores(struct buf *out, const struct eval_verdict *v)
{
    const struct eval_scores *s = &v->scores;
    bool scored = v->outcome == EVAL_PASS || v->outcome == EVAL_FAIL;
    add_key(out, "scores");
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
    add_key(out, "checks");
    buf_char(out, '[');
    for (size_t i = 0; i < v->n_checks; i++) {
        const struct eval_check *c = &v->checks[i];
        buf_addz(out, i > 0 ? ",{" : "{");
        add_text(out, "name", c->name);
        add_truth(out, "passed", c->passed ? 1 : 0);
        add_text(out, "message", c->message);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

static void add_calls(struct buf *out, const struct eval_trial *t)
{
    add_key(out, "calls");
    buf_char(out, '[');
    for (size_t i = 0; i < t->n_calls; i++) {
        buf_addz(out, i > 0 ? ",{" : "{");
        add_text(out, "name", t->calls[i].name);
        add_key(out, "arguments");
        json_add_string(out, t->calls[i].arguments);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

void eval_trial_json(struct buf *out, const struct eval_trial *t)
{
    const struct run_result *r = &t->result;
    buf_char(out, '{');
    add_text(out, "task", t->task);
    add_int(out, "trial", t->trial);
    add_text(out, "model", t->model.n > 0 ? t->model : (struct str){NULL, 0});
    add_text(out, "outcome", str_of(eval_outcome_name(t->verdict.outcome)));
    add_text(out, "status", str_of(run_status_name(r->status)));
    add_scores(out, &t->verdict);
    add_checks(out, &t->verdict);
    add_calls(out, t);
    add_text(out, "answer", r->answer);
    add_int(out, "steps", r->steps);
    add_usage(out, &r->usage);
    add_known(out, "cost_nano", r->cost_nano);
    add_int(out, "latency_ms", (int64_t)r->ended_ms);
    add_text(out, "trace", t->trace.n > 0 ? t->trace : (struct str){NULL, 0});
    add_text(out, "problem", t->problem.n > 0 ? t->problem : (struct str){NULL, 0});
    buf_addz(out, "}\n");
}

void eval_summary_json(struct buf *out, const struct eval_summary *s)
{
    buf_char(out, '{');
    add_int(out, "trials", (int64_t)s->trials);
    add_int(out, "passed", (int64_t)s->passed);
    add_int(out, "failed", (int64_t)s->failed);
    add_int(out, "errors", (int64_t)s->errors);
    add_int(out, "misses", (int64_t)s->misses);
    add_int(out, "drifts", (int64_t)s->drifts);
    add_ratio(out, "success", s->success);
    add_ratio(out, "tool_selection", s->tool_selection);
    add_ratio(out, "precision", s->precision);
    add_ratio(out, "recall", s->recall);
    add_ratio(out, "f1", s->f1);
    add_ratio(out, "arguments", s->arguments);
    add_ratio(out, "trajectory", s->trajectory);
    add_int(out, "steps", s->steps);
    add_int(out, "calls", s->calls);
    add_usage(out, &s->usage);
    add_known(out, "cost_nano", s->cost_nano);
    add_known(out, "p50_latency_ms", s->p50_latency_ms);
    add_known(out, "p95_latency_ms", s->p95_latency_ms);
    buf_char(out, '}');
}
