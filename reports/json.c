#include "kernel/base/json.h"
#include "evals/figures.h"
#include "reports/report_int.h"

static void add_sums(struct buf *out, const struct eval_report *r)
{
    json_key(out, "summary");
    eval_summary_json(out, &r->summary);
    json_key(out, "figures");
    buf_char(out, '{');
    eval_figures_json(out, r);
    buf_char(out, '}');
}

static void add_models(struct buf *out, const struct eval_report *r)
{
    struct arena *arena = arena_new();
    size_t n = 0;
    const struct eval_report *models = eval_by_model(r, arena, &n);
    json_key(out, "models");
    buf_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        struct str name = models[i].trials[0].model;
        json_next(out);
        buf_char(out, '{');
        json_put_text_or_null(out, "model", name.n > 0 ? name : (struct str){NULL, 0});
        add_sums(out, &models[i]);
        buf_char(out, '}');
    }
    buf_char(out, ']');
    arena_free(arena);
}

static void add_run(struct buf *out, const struct eval_report *r)
{
    json_next(out);
    buf_char(out, '{');
    json_put_text(out, "run", str_of(r->out));
    json_put_bool(out, "interrupted", r->interrupted);
    add_sums(out, r);
    add_models(out, r);
    json_key(out, "trials");
    buf_char(out, '[');
    for (size_t i = 0; i < r->n; i++) {
        json_next(out);
        eval_trial_json(out, &r->trials[i]);
        out->n -= 1; /* its newline */
    }
    buf_addz(out, "]}");
}

void report_json(struct buf *out, const struct eval_report *const *runs, size_t n,
                 const struct report_baseline *baseline)
{
    buf_addz(out, "{\"runs\":[");
    for (size_t i = 0; i < n; i++) {
        add_run(out, runs[i]);
    }
    buf_char(out, ']');
    if (baseline != NULL) {
        json_key(out, "comparison");
        eval_compare_json(out, baseline->result, baseline->name, runs[0]->out);
    }
    buf_addz(out, "}\n");
}
