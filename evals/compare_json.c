#include "evals/compare.h"
#include "kernel/base/json.h"

static void put_number(struct buf *out, const char *key, double v)
{
    json_key(out, key);
    stats_add(out, v);
}

static void put_mean(struct buf *out, const char *key, const struct compared_mean *m)
{
    json_key(out, key);
    if (!m->known) {
        buf_addz(out, "null");
        return;
    }
    buf_char(out, '{');
    put_number(out, "base", m->base);
    put_number(out, "head", m->head);
    put_number(out, "change", m->change);
    json_key(out, "interval");
    interval_add(out, m->interval);
    buf_char(out, '}');
}

static void put_group(struct buf *out, const char *key, const struct eval_group *g)
{
    json_key(out, key);
    if (g == NULL) {
        buf_addz(out, "null");
        return;
    }
    buf_char(out, '{');
    json_put_int(out, "passed", g->passed);
    json_put_int(out, "scored", g->scored);
    json_put_int(out, "errors", g->errors);
    buf_char(out, '}');
}

static void put_task(struct sink *sink, const struct comparison_result *c,
                     const struct compared_task *t, struct arena *scratch)
{
    struct buf *out = &sink->text;
    struct str difference = {NULL, 0};
    if (sink->code == 0) {
        sink->code = eval_difference(c, t, scratch, &difference, &sink->error);
    }
    json_next(out);
    buf_char(out, '{');
    json_put_text(out, "task", t->task);
    if (t->model.n > 0) {
        json_put_text(out, "model", t->model);
    }
    json_put_text(out, "change", str_of(task_change_name(t->change)));
    put_group(out, "base", t->base);
    put_group(out, "head", t->head);
    json_put_text_or_null(out, "difference", difference);
    buf_char(out, '}');
}

static void put_tasks(struct sink *out, const struct comparison_result *c)
{
    struct arena *scratch = arena_new();
    json_key(&out->text, "changes");
    buf_char(&out->text, '[');
    for (size_t i = 0; sink_ease(out) && i < c->n; i++) {
        if (c->tasks[i].change != TASK_SAME) {
            arena_clear(scratch);
            put_task(out, c, &c->tasks[i], scratch);
        }
    }
    buf_char(&out->text, ']');
    arena_free(scratch);
}

static void put_tags(struct buf *out, const struct comparison_result *c)
{
    json_key(out, "tags");
    buf_char(out, '[');
    for (size_t i = 0; i < c->n_tags; i++) {
        const struct compared_tag *t = &c->tags[i];
        json_next(out);
        buf_char(out, '{');
        json_put_text(out, "tag", t->tag);
        json_put_int(out, "tasks", t->tasks);
        json_put_int(out, "worse", t->worse);
        json_put_int(out, "better", t->better);
        put_number(out, "p", t->p);
        put_number(out, "p_holm", t->p_holm);
        buf_char(out, '}');
    }
    buf_char(out, ']');
}

void eval_compare_json(struct sink *sink, const struct comparison_result *c, const char *base,
                       const char *head)
{
    struct buf *out = &sink->text;
    buf_char(out, '{');
    json_put_text(out, "base", str_of(base));
    json_put_text(out, "head", str_of(head));
    json_put_text(out, "verdict", str_of(compared_verdict_name(c->verdict)));
    json_key(out, "needed");
    if (c->verdict == COMPARED_UNSURE) {
        buf_int(out, c->needed);
    } else {
        buf_addz(out, "null");
    }
    json_put_int(out, "compared", c->both);
    for (int i = 0; i < TASK_CHANGES; i++) {
        json_put_int(out, task_change_name((enum task_change)i), (int64_t)c->counts[i]);
    }
    json_put_int(out, "worse", c->worse);
    json_put_int(out, "better", c->better);
    put_number(out, "p_worse", c->p_worse);
    put_number(out, "p_better", c->p_better);
    put_number(out, "p", c->p);
    put_number(out, "margin", c->margin);
    put_mean(out, "success", &c->success);
    put_mean(out, "cost_nano", &c->cost);
    json_put_text_or_null(out, "currency", c->cost.known ? c->currency : (struct str){NULL, 0});
    put_mean(out, "latency_ms", &c->latency);
    put_tags(out, c);
    put_tasks(sink, c);
    buf_char(out, '}');
}
