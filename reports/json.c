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
        struct str name = models[i].rows[0].shared->model;
        json_next(out);
        buf_char(out, '{');
        json_put_text_or_null(out, "model", name.n > 0 ? name : (struct str){NULL, 0});
        add_sums(out, &models[i]);
        buf_char(out, '}');
    }
    buf_char(out, ']');
    arena_free(arena);
}

/* The trials' lines as they stand: what wrote them knows best what is in them. */
static void add_trials(struct sink *out, const struct eval_report *r)
{
    for (size_t i = 0; sink_ease(out) && i < r->n; i++) {
        struct str line;
        out->code = eval_line(r, &r->rows[i], &line, &out->error);
        if (out->code == 0) {
            json_next(&out->text);
            buf_add(&out->text, line);
        }
    }
}

static void add_run(struct sink *sink, const struct eval_report *r)
{
    struct buf *out = &sink->text;
    json_next(out);
    buf_char(out, '{');
    json_put_text(out, "run", str_of(r->out));
    json_put_bool(out, "interrupted", r->interrupted);
    add_sums(out, r);
    add_models(out, r);
    json_key(out, "trials");
    buf_char(out, '[');
    add_trials(sink, r);
    buf_addz(out, "]}");
}

void report_json(struct sink *sink, const struct eval_report *const *runs, size_t n,
                 const struct report_baseline *baseline)
{
    struct buf *out = &sink->text;
    buf_addz(out, "{\"runs\":[");
    for (size_t i = 0; i < n; i++) {
        add_run(sink, runs[i]);
    }
    buf_char(out, ']');
    if (baseline != NULL) {
        json_key(out, "comparison");
        eval_compare_json(sink, baseline->result, baseline->name, runs[0]->out);
    }
    buf_addz(out, "}\n");
}

void report_json_lines(struct sink *sink, const struct eval_report *r,
                       void (*more)(void *ctx, struct sink *out), void *ctx)
{
    struct buf *out = &sink->text;
    for (size_t i = 0; sink_ease(sink) && i < r->n; i++) {
        struct str line;
        sink->code = eval_line(r, &r->rows[i], &line, &sink->error);
        if (sink->code == 0) {
            buf_add(out, line);
            buf_char(out, '\n');
        }
    }
    buf_char(out, '{');
    add_sums(out, r);
    json_put_text(out, "run", str_of(r->out));
    if (more != NULL) {
        more(ctx, sink);
    }
    buf_addz(out, "}\n");
}
