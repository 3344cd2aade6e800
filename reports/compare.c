#include "reports/report_int.h"

#include <inttypes.h>

enum { TASKS_SHOWN = 50 };

/* In the order in which people want to know. */
static const struct {
    enum task_change change;
    const char *title;
    enum paint paint;
} sections[] = {{TASK_REGRESSED, "regressed", PAINT_BAD},
                {TASK_IMPROVED, "improved", PAINT_GOOD},
                {TASK_STILL_FAILING, "still failing", PAINT_BAD},
                {TASK_FLAKY, "flaky", PAINT_ODD},
                {TASK_UNSCORED, "not scored in one of them", PAINT_ODD},
                {TASK_NEW, "new", PAINT_DIM},
                {TASK_GONE, "gone", PAINT_DIM}};
enum { N_SECTIONS = sizeof sections / sizeof sections[0] };

static void add_rate(struct buf *out, const struct eval_group *g)
{
    if (g == NULL) {
        buf_addz(out, "none");
    } else if (g->scored == 0) {
        buf_addz(out, "error");
    } else {
        buf_fmt(out, "%" PRId64 "/%" PRId64, g->passed, g->scored);
    }
}

static void add_task(struct sink *sink, const struct comparison_result *c,
                     const struct compared_task *t, struct arena *scratch)
{
    struct buf *out = &sink->text;
    struct str difference = {NULL, 0};
    if (sink->code == 0) {
        sink->code = eval_difference(c, t, scratch, &difference, &sink->error);
    }
    buf_addz(out, "  ");
    task_add(out, t->task, t->model);
    buf_addz(out, "  ");
    add_rate(out, t->base);
    buf_addz(out, " → ");
    add_rate(out, t->head);
    buf_char(out, '\n');
    if (difference.n > 0) {
        block_add(out, difference, 6, 0);
    }
}

static void add_section(struct sink *sink, const struct comparison_result *c, size_t i, bool color)
{
    struct buf *out = &sink->text;
    size_t n = c->counts[sections[i].change], shown = 0;
    struct buf title = {0};
    if (n == 0) {
        return;
    }
    buf_fmt(&title, "%s: %zu", sections[i].title, n);
    paint_add(out, buf_str(&title), sections[i].paint, color);
    buf_char(out, '\n');
    struct arena *scratch = arena_new();
    for (size_t k = 0; k < c->n && shown < TASKS_SHOWN; k++) {
        if (c->tasks[k].change == sections[i].change) {
            arena_clear(scratch);
            add_task(sink, c, &c->tasks[k], scratch);
            shown++;
        }
    }
    arena_free(scratch);
    if (n > shown) {
        buf_fmt(out, "  and %zu more (--json lists all)\n", n - shown);
    }
    buf_free(&title);
}

static void add_seconds(struct buf *out, double ms, struct str unit)
{
    (void)unit;
    double size = ms < 0 ? -ms : ms;
    int64_t whole = (int64_t)(size + 0.5);
    buf_addz(out, ms < 0 && whole > 0 ? "-" : "");
    seconds_add(out, whole);
}

static void add_share(struct buf *out, double share, struct str unit)
{
    share_add(out, share);
    buf_add(out, unit);
}

/* What a mean was and is, and by how much it changed; unit: of the means, NULL is none. */
static void add_change(struct buf *out, const struct compared_mean *m,
                       void (*add)(struct buf *out, double v, struct str unit), struct str unit,
                       const char *of_change)
{
    const struct str none = {NULL, 0};
    add(out, m->base, unit);
    buf_addz(out, " → ");
    add(out, m->head, unit);
    buf_addz(out, ", change ");
    add(out, m->change, none);
    buf_addz(out, of_change);
    if (!m->interval.known) {
        buf_addz(out, " (the same in every task)\n");
        return;
    }
    buf_addz(out, " (95% interval ");
    add(out, m->interval.low, none);
    buf_addz(out, " to ");
    add(out, m->interval.high, none);
    buf_addz(out, ")\n");
}

static void add_success(struct buf *out, const struct comparison_result *c)
{
    const struct compared_mean *m = &c->success;
    if (!m->known) {
        return;
    }
    buf_addz(out, "success ");
    add_change(out, m, add_share, STR("%"), " points");
    buf_fmt(out, "%" PRId64 " of %" PRId64 " tasks fell, %" PRId64 " rose: exact McNemar p ",
            c->worse, c->both, c->better);
    stats_add(out, c->p_worse);
    buf_addz(out, " for worse, ");
    stats_add(out, c->p);
    buf_addz(out, " two-sided\n");
}

static void add_tags(struct buf *out, const struct comparison_result *c)
{
    for (size_t i = 0; i < c->n_tags; i++) {
        const struct compared_tag *t = &c->tags[i];
        if (t->worse + t->better == 0) {
            continue;
        }
        buf_addz(out, "tag ");
        line_add(out, t->tag);
        buf_fmt(out, ": %" PRId64 " of %" PRId64 " fell, %" PRId64 " rose, p ", t->worse, t->tasks,
                t->better);
        stats_add(out, t->p);
        buf_fmt(out, ", ");
        stats_add(out, t->p_holm);
        buf_fmt(out, " by Holm over %zu tags\n", c->n_tags);
    }
}

static void add_cost(struct buf *out, const struct comparison_result *c)
{
    const struct compared_mean *m = &c->cost;
    if (!m->known) {
        buf_addz(out, c->both > 0 ? "cost unpriced\n" : "");
        return;
    }
    buf_addz(out, "cost a trial ");
    add_change(out, m, amount_add, c->currency, "");
}

static void add_latency(struct buf *out, const struct comparison_result *c)
{
    const struct compared_mean *m = &c->latency;
    if (!m->known) {
        return;
    }
    buf_addz(out, "time a trial ");
    add_change(out, m, add_seconds, (struct str){NULL, 0}, "");
}

void verdict_add(struct buf *out, const struct comparison_result *c)
{
    switch (c->verdict) {
    case COMPARED_WORSE: buf_addz(out, "worse: the fall is more than chance"); break;
    case COMPARED_BETTER: buf_addz(out, "better: the rise is more than chance"); break;
    case COMPARED_SAME:
        buf_addz(out, "no change: a fall by more than ");
        share_add(out, c->margin);
        buf_addz(out, " points is ruled out");
        break;
    case COMPARED_UNSURE:
        buf_fmt(out, "not enough evidence: %" PRId64 " tasks would be needed to see a fall by ",
                c->needed);
        share_add(out, c->margin);
        buf_fmt(out, " points, %" PRId64 " were compared", c->both);
        break;
    }
}

static void add_verdict(struct buf *out, const struct comparison_result *c, bool color)
{
    static const enum paint paints[] = {[COMPARED_WORSE] = PAINT_BAD,
                                        [COMPARED_BETTER] = PAINT_GOOD,
                                        [COMPARED_SAME] = PAINT_GOOD,
                                        [COMPARED_UNSURE] = PAINT_ODD};
    struct buf text = {0};
    verdict_add(&text, c);
    paint_add(out, buf_str(&text), paints[c->verdict], color);
    buf_char(out, '\n');
    buf_free(&text);
}

void report_compare(struct sink *sink, const struct comparison_result *c, const char *base,
                    const char *head, bool color)
{
    struct buf *out = &sink->text;
    line_add(out, str_of(base));
    buf_addz(out, " → ");
    line_add(out, str_of(head));
    buf_fmt(out, ": %" PRId64 " tasks compared, %zu pass in both\n", c->both, c->counts[TASK_SAME]);
    for (size_t i = 0; i < N_SECTIONS; i++) {
        add_section(sink, c, i, color);
    }
    add_success(out, c);
    add_tags(out, c);
    add_cost(out, c);
    add_latency(out, c);
    add_verdict(out, c, color);
}
