#include "reports/report_int.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/base/text.h"

static const char names[] =
    "run,set,task,tags,trial,model,outcome,status,tool_selection,precision,recall,f1,arguments,"
    "trajectory,steps,calls,input_tokens,cached_tokens,cache_write_tokens,output_tokens,"
    "reasoning_tokens,cost_nano,currency,latency_ms,failed_checks,trace,judge_asked,judge_cost_"
    "nano\r\n";

/* What a spreadsheet would take for a formula (OWASP, "CSV Injection"). */
static bool is_formula(struct str s)
{
    static const char begins[] = "=+-@\t\r\n";
    return s.n > 0 && memchr(begins, s.p[0], sizeof begins - 1) != NULL;
}

/* Quoted where it must be; a formula gets an apostrophe, and controls that no cell can hold become
 * U+FFFD. */
static void add_text(struct buf *out, struct str s)
{
    bool formula = is_formula(s);
    bool quoted = formula;
    for (size_t i = 0; i < s.n; i++) {
        quoted = quoted || s.p[i] == '"' || s.p[i] == ',' || s.p[i] == '\n' || s.p[i] == '\r';
    }
    buf_addz(out, quoted ? "\"" : "");
    buf_addz(out, formula ? "'" : "");
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) {
            utf8_add(out, 0xfffd);
            continue;
        }
        buf_addz(out, c == '"' ? "\"" : "");
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

static void add_joined(struct buf *out, const struct eval_shared *s)
{
    struct buf text = {0};
    for (size_t i = 0; i < s->n_tags; i++) {
        buf_addz(&text, i > 0 ? ";" : "");
        buf_add(&text, s->tags[i]);
    }
    add_text(out, buf_str(&text));
    buf_free(&text);
}

/* The names of the checks that failed, which are read back where there may be some. */
static void add_failed(struct sink *out, const struct eval_report *r, const struct eval_row *t,
                       struct arena *scratch)
{
    struct buf text = {0};
    struct eval_trial details = {.n_calls = 0};
    if (t->told && out->code == 0) {
        out->code = eval_details(r, t, scratch, &details, &out->error);
    }
    for (size_t i = 0; i < details.verdict.n_checks; i++) {
        if (!details.verdict.checks[i].passed) {
            buf_addz(&text, text.n > 0 ? ";" : "");
            buf_add(&text, details.verdict.checks[i].name);
        }
    }
    add_text(&out->text, buf_str(&text));
    buf_free(&text);
}

static void add_trace(struct sink *out, const struct eval_report *r, const struct eval_row *t,
                      struct arena *scratch)
{
    struct str trace = {NULL, 0};
    if (out->code == 0) {
        out->code = eval_trace_path(r, t, scratch, &trace, &out->error);
    }
    add_text(&out->text, trace);
}

static void add_trial(struct sink *sink, const struct eval_report *r, const struct eval_row *t,
                      struct arena *scratch)
{
    struct buf *out = &sink->text;
    bool ran = eval_row_ran(t);
    add_text(out, str_of(r->out));
    add_text(out, str_of(t->shared->set));
    add_text(out, t->task);
    add_joined(out, t->shared);
    add_known(out, t->trial);
    add_text(out, t->shared->model);
    add_text(out, str_of(eval_outcome_name((enum eval_outcome)t->outcome)));
    add_text(out, str_of(run_status_name((enum run_status)t->status)));
    add_scores(out, t->scores);
    add_known(out, ran ? t->steps : -1);
    add_known(out, ran ? t->calls : -1);
    add_known(out, t->usage.input);
    add_known(out, t->usage.cached);
    add_known(out, t->usage.cache_write);
    add_known(out, t->usage.output);
    add_known(out, t->usage.reasoning);
    add_known(out, t->cost_nano);
    add_text(out, t->cost_nano < 0 ? STR("") : t->shared->currency);
    add_known(out, ran ? t->ended_ms : -1);
    add_failed(sink, r, t, scratch);
    add_trace(sink, r, t, scratch);
    add_known(out, t->judge == NULL ? 0 : t->judge->asked);
    add_known(out, t->judge == NULL ? -1 : t->judge->cost_nano);
    out->n -= 1; /* the last comma */
    buf_addz(out, "\r\n");
}

void report_csv(struct sink *out, const struct eval_report *const *runs, size_t n)
{
    struct arena *scratch = arena_new();
    buf_addz(&out->text, names);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; sink_ease(out) && k < runs[i]->n; k++) {
            arena_clear(scratch);
            add_trial(out, runs[i], &runs[i]->rows[k], scratch);
        }
    }
    arena_free(scratch);
}
