#include "reports/report_int.h"

#include <inttypes.h>

static const char names[] =
    "run,set,task,tags,trial,model,outcome,status,tool_selection,precision,recall,f1,arguments,"
    "trajectory,steps,calls,input_tokens,cached_tokens,cache_write_tokens,output_tokens,"
    "reasoning_tokens,cost_nano,currency,latency_ms,failed_checks,trace,judge_asked,judge_cost_"
    "nano\r\n";

/* Quoted where it must be. What a spreadsheet would take for a formula gets an apostrophe. */
static void add_text(struct buf *out, struct str s)
{
    bool formula = s.n > 0 && (s.p[0] == '=' || s.p[0] == '+' || s.p[0] == '-' || s.p[0] == '@');
    bool quoted = formula;
    for (size_t i = 0; i < s.n; i++) {
        quoted = quoted || s.p[i] == '"' || s.p[i] == ',' || s.p[i] == '\n' || s.p[i] == '\r';
    }
    buf_addz(out, quoted ? "\"" : "");
    buf_addz(out, formula ? "'" : "");
    for (size_t i = 0; i < s.n; i++) {
        buf_addz(out, s.p[i] == '"' ? "\"" : "");
        buf_char(out, s.p[i]);
    }
    buf_addz(out, quoted ? "\"," : ",");
}

/* Unknown is empty, as spreadsheets and data frames have it. */
static void add_known(struct buf *out, int64_t n)
{
    if (n >= 0) {
        buf_int(out, n);
    }
    buf_char(out, ',');
}

static void add_ratio(struct buf *out, struct ratio r)
{
    if (r.den > 0) {
        ratio_add(out, r);
    }
    buf_char(out, ',');
}

static void add_scores(struct buf *out, const struct eval_scores *s)
{
    add_ratio(out, s->tool_selection);
    add_ratio(out, s->precision);
    add_ratio(out, s->recall);
    add_ratio(out, s->f1);
    add_ratio(out, s->arguments);
    add_known(out, s->trajectory);
}

static void add_joined(struct buf *out, const struct eval_trial *t)
{
    struct buf text = {0};
    for (size_t i = 0; i < t->n_tags; i++) {
        buf_addz(&text, i > 0 ? ";" : "");
        buf_add(&text, t->tags[i]);
    }
    add_text(out, buf_str(&text));
    buf_free(&text);
}

static void add_failed(struct buf *out, const struct eval_trial *t)
{
    struct buf text = {0};
    for (size_t i = 0; i < t->verdict.n_checks; i++) {
        if (!t->verdict.checks[i].passed) {
            buf_addz(&text, text.n > 0 ? ";" : "");
            buf_add(&text, t->verdict.checks[i].name);
        }
    }
    add_text(out, buf_str(&text));
    buf_free(&text);
}

static void add_trial(struct buf *out, const struct eval_report *r, const struct eval_trial *t)
{
    const struct run_result *x = &t->result;
    add_text(out, str_of(r->out));
    add_text(out, str_of(t->set));
    add_text(out, t->task);
    add_joined(out, t);
    add_known(out, t->trial);
    add_text(out, t->model);
    add_text(out, str_of(eval_outcome_name(t->verdict.outcome)));
    add_text(out, str_of(run_status_name(x->status)));
    add_scores(out, &t->verdict.scores);
    add_known(out, eval_ran(t) ? x->steps : -1);
    add_known(out, eval_ran(t) ? (int64_t)t->n_calls : -1);
    add_known(out, x->usage.input);
    add_known(out, x->usage.cached);
    add_known(out, x->usage.cache_write);
    add_known(out, x->usage.output);
    add_known(out, x->usage.reasoning);
    add_known(out, x->cost_nano);
    add_text(out, x->cost_nano < 0 ? STR("") : x->currency);
    add_known(out, eval_ran(t) ? (int64_t)x->ended_ms : -1);
    add_failed(out, t);
    add_text(out, t->trace);
    add_known(out, t->judged.asked);
    add_known(out, t->judged.asked == 0 ? -1 : t->judged.cost_nano);
    out->n -= 1; /* the last comma */
    buf_addz(out, "\r\n");
}

void report_csv(struct buf *out, const struct eval_report *const *runs, size_t n)
{
    buf_addz(out, names);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < runs[i]->n; k++) {
            add_trial(out, runs[i], &runs[i]->trials[k]);
        }
    }
}
