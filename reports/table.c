#include "reports/report_int.h"

#include "kernel/base/text.h"

#include <inttypes.h>
#include <string.h>

enum {
    COLUMNS = 7,
    COST = 5, /* the column that is left out when nothing is priced */
    TASK_WIDTH_MAX = 60,
    MESSAGE_CHARS = 2000 /* of one failing check */
};

static const char *const titles[COLUMNS] = {"task",   "outcome", "made/expected", "steps",
                                            "tokens", "cost",    "time"};

/* One line of the table, before the widths are known. */
struct row {
    struct str cells[COLUMNS];
};

/* How the lines are set. */
struct layout {
    size_t widths[COLUMNS]; /* 0 = the column is left out */
    bool color;
};

static enum paint outcome_paint(enum eval_outcome o)
{
    switch (o) {
    case EVAL_PASS: return PAINT_GOOD;
    case EVAL_FAIL: return PAINT_BAD;
    case EVAL_ERROR: return PAINT_ODD;
    case EVAL_NONE: return PAINT_DIM;
    }
    return PAINT_NONE;
}

bool several_trials(const struct eval_report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->trials[i].trial > 1) {
            return true;
        }
    }
    return false;
}

static struct str task_name(const struct eval_trial *t, bool several, struct arena *arena)
{
    return several ? arena_printf(arena, "%.*s #%" PRId64, STR_FMT(t->task), t->trial) : t->task;
}

static struct str text_of(struct buf *b, struct arena *arena)
{
    struct str s = arena_str(arena, buf_str(b));
    buf_free(b);
    return s;
}

static struct str cost_text(const struct run_result *r, struct arena *arena)
{
    struct buf b = {0};
    if (r->cost_nano < 0) {
        return STR("unpriced");
    }
    money_add(&b, r->cost_nano, r->currency);
    return text_of(&b, arena);
}

static struct str time_of(int64_t ms, struct arena *arena)
{
    struct buf b = {0};
    seconds_add(&b, ms);
    return text_of(&b, arena);
}

static struct str tokens_text(const struct usage *u, struct arena *arena)
{
    return u->input < 0 || u->output < 0 ? STR("?")
                                         : arena_printf(arena, "%" PRId64, u->input + u->output);
}

static struct str calls_text(const struct eval_trial *t, struct arena *arena)
{
    return t->expected_calls < 0
               ? arena_printf(arena, "%zu", t->n_calls)
               : arena_printf(arena, "%zu/%" PRId64, t->n_calls, t->expected_calls);
}

static struct row row_of(const struct eval_trial *t, bool several, struct arena *arena)
{
    struct row row = {
        .cells = {task_name(t, several, arena), str_of(eval_outcome_name(t->verdict.outcome))}};
    for (size_t i = 2; i < COLUMNS; i++) {
        row.cells[i] = STR("-");
    }
    if (eval_ran(t)) {
        row.cells[2] = calls_text(t, arena);
        row.cells[3] = arena_printf(arena, "%" PRId64, t->result.steps);
        row.cells[4] = tokens_text(&t->result.usage, arena);
        row.cells[COST] = cost_text(&t->result, arena);
        row.cells[6] = time_of((int64_t)t->result.ended_ms, arena);
    }
    return row;
}

static void add_row(struct buf *out, const struct row *row, const struct layout *layout,
                    enum paint paints[COLUMNS])
{
    for (size_t i = 0; i < COLUMNS; i++) {
        struct buf cell = {0};
        if (layout->widths[i] == 0) {
            continue;
        }
        cell_add(&cell, row->cells[i], layout->widths[i], i < 2 ? ALIGN_LEFT : ALIGN_RIGHT);
        buf_addz(out, i > 0 ? "  " : "");
        paint_add(out, buf_str(&cell), paints[i], layout->color);
        buf_free(&cell);
    }
    buf_char(out, '\n');
}

static bool has_prices(const struct eval_report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (eval_ran(&r->trials[i]) && r->trials[i].result.cost_nano >= 0) {
            return true;
        }
    }
    return false;
}

static void add_rows(struct buf *out, const struct eval_report *r, bool color)
{
    struct arena *arena = arena_new();
    bool several = several_trials(r);
    struct row *rows = arena_array(arena, r->n + 1, sizeof *rows);
    struct layout layout = {.color = color};
    for (size_t c = 0; c < COLUMNS; c++) {
        rows[0].cells[c] = str_of(titles[c]);
    }
    for (size_t i = 0; i <= r->n; i++) {
        if (i > 0) {
            rows[i] = row_of(&r->trials[i - 1], several, arena);
        }
        for (size_t c = 0; c < COLUMNS; c++) {
            size_t width = text_width(rows[i].cells[c]);
            bool fits = c > 0 || width <= TASK_WIDTH_MAX;
            layout.widths[c] = fits && width > layout.widths[c] ? width : layout.widths[c];
        }
    }
    layout.widths[COST] = has_prices(r) ? layout.widths[COST] : 0;
    enum paint paints[COLUMNS] = {PAINT_BOLD, PAINT_BOLD, PAINT_BOLD, PAINT_BOLD,
                                  PAINT_BOLD, PAINT_BOLD, PAINT_BOLD};
    add_row(out, &rows[0], &layout, paints);
    memset(paints, 0, sizeof paints);
    for (size_t i = 1; i <= r->n; i++) {
        paints[1] = outcome_paint(r->trials[i - 1].verdict.outcome);
        add_row(out, &rows[i], &layout, paints);
    }
    arena_free(arena);
}

/* ---- why ---- */

static bool has_story(const struct eval_trial *t)
{
    return t->verdict.outcome != EVAL_PASS || t->problem.n > 0;
}

static void add_story(struct buf *out, const struct eval_report *r, const struct eval_trial *t,
                      struct str name, bool color)
{
    const char *outcome = eval_outcome_name(t->verdict.outcome);
    buf_char(out, '\n');
    paint_add(out, str_of(outcome), outcome_paint(t->verdict.outcome), color);
    buf_fmt(out, " %.*s", STR_FMT(name));
    if (t->file != NULL) {
        buf_fmt(out, " (%s:%" PRIu32 ")", t->file, t->line);
    }
    buf_addz(out, t->verdict.outcome == EVAL_PASS ? ", but\n" : "\n");
    for (size_t i = 0; i < t->verdict.n_checks; i++) {
        const struct eval_check *c = &t->verdict.checks[i];
        if (!c->passed) {
            buf_fmt(out, "  %.*s\n", STR_FMT(c->name));
            block_add(out, c->message, 4, MESSAGE_CHARS);
        }
    }
    if (t->problem.n > 0) {
        block_add(out, t->problem, 2, MESSAGE_CHARS);
    }
    if (eval_ran(t) && t->verdict.outcome != EVAL_PASS) {
        buf_fmt(out, "  assay trace show %s/%.*s\n", r->out, STR_FMT(t->trace));
    }
}

static void add_stories(struct buf *out, const struct eval_report *r, bool color)
{
    struct arena *arena = arena_new();
    bool several = several_trials(r);
    for (size_t i = 0; i < r->n; i++) {
        if (has_story(&r->trials[i])) {
            add_story(out, r, &r->trials[i], task_name(&r->trials[i], several, arena), color);
        }
    }
    arena_free(arena);
}

/* ---- totals ---- */

void percent_add(struct buf *out, struct ratio r)
{
    if (r.den == 0) {
        buf_addz(out, "-");
        return;
    }
    uint64_t den = (uint64_t)r.den;
    uint64_t tenths = (uint64_t)r.num / den;
    uint64_t rest = (uint64_t)r.num % den;
    for (int i = 0; i < 3; i++) { /* ten times a rest below 10^18 fits 64 bits */
        rest *= 10;
        tenths = tenths * 10 + rest / den;
        rest %= den;
    }
    tenths += rest >= den - rest && !(tenths == 999) ? 1 : 0;
    buf_fmt(out, "%" PRIu64 ".%" PRIu64 "%%", tenths / 10, tenths % 10);
}

static void score_add(struct buf *out, const char *name, struct ratio r)
{
    buf_addz(out, name);
    percent_add(out, r);
}

static void add_totals(struct buf *out, const struct eval_report *r, bool color)
{
    const struct eval_summary *s = &r->summary;
    struct buf counts = {0};
    buf_fmt(&counts, "%zu passed, %zu failed, ", s->passed, s->failed);
    count_add(&counts, (int64_t)s->errors, "error");
    bool good = s->failed == 0 && s->errors == 0;
    buf_char(out, '\n');
    paint_add(out, buf_str(&counts), good ? PAINT_GOOD : PAINT_BAD, color);
    buf_char(out, '\n');
    score_add(out, "success ", s->success);
    if (s->errors > 0) {
        buf_fmt(out, " of %zu scored, %zu not scored", s->passed + s->failed, s->errors);
    }
    score_add(out, ", tool selection ", s->tool_selection);
    score_add(out, ", arguments ", s->arguments);
    score_add(out, ", trajectory ", s->trajectory);
    score_add(out, ", f1 ", s->f1);
    buf_char(out, '\n');
    count_add(out, s->steps, "step");
    buf_addz(out, ", ");
    count_add(out, s->calls, "call");
    buf_addz(out, ", ");
    tokens_add(out, &s->usage);
    buf_addz(out, ", cost ");
    costs_add(out, s);
    if (s->p50_latency_ms >= 0) {
        buf_addz(out, ", time p50 ");
        seconds_add(out, s->p50_latency_ms);
        buf_addz(out, ", p95 ");
        seconds_add(out, s->p95_latency_ms);
    }
    buf_char(out, '\n');
    figures_add(out, r);
    buf_fmt(out, "%s\n", r->out);
    if (r->stopped.n > 0) {
        block_add(out, r->stopped, 0, 0);
    }
    if (r->interrupted) {
        buf_addz(out, "interrupted: only finished trials are counted\n");
    }
    buf_free(&counts);
}

void report_table(struct buf *out, const struct eval_report *r, bool color)
{
    add_rows(out, r, color);
    add_stories(out, r, color);
    add_totals(out, r, color);
}
