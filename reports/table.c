#include "reports/report_int.h"

#include "kernel/base/text.h"
#include "kernel/drive/lines.h"

#include <inttypes.h>
#include <string.h>

enum {
    COLUMNS = 8,
    MODEL = 1, /* the column that is left out where there is but one */
    OUTCOME = 2,
    COST = 6,            /* the column that is left out when nothing is priced */
    NAME_WIDTH_MAX = 60, /* of a task, a model */
    MESSAGE_CHARS = 2000 /* of one failing check */
};

static const char *const titles[COLUMNS] = {"task",  "model",  "outcome", "made/expected",
                                            "steps", "tokens", "cost",    "time"};

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
        if (r->rows[i].trial > 1) {
            return true;
        }
    }
    return false;
}

static struct str text_of(struct buf *b, struct arena *arena)
{
    struct str s = arena_str(arena, buf_str(b));
    buf_free(b);
    return s;
}

/* model: beside the task; n 0 = the task alone. */
static struct str task_name(const struct eval_row *t, struct str model, bool several,
                            struct arena *arena)
{
    struct buf b = {0};
    task_add(&b, t->task, model);
    if (several) {
        buf_fmt(&b, " #%" PRId32, t->trial);
    }
    return text_of(&b, arena);
}

static struct str cost_text(const struct eval_row *r, struct arena *arena)
{
    struct buf b = {0};
    if (r->cost_nano < 0) {
        return STR("unpriced");
    }
    cost_add(&b, r->cost_nano, r->shared->currency);
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

static struct str calls_text(const struct eval_row *t, struct arena *arena)
{
    return t->expected_calls < 0
               ? arena_printf(arena, "%" PRId32, t->calls)
               : arena_printf(arena, "%" PRId32 "/%" PRId32, t->calls, t->expected_calls);
}

static struct row row_of(const struct eval_row *t, bool several, struct arena *arena)
{
    struct buf model = {0};
    line_add(&model, t->shared->model);
    struct row row = {.cells = {task_name(t, STR(""), several, arena), text_of(&model, arena),
                                str_of(eval_outcome_name((enum eval_outcome)t->outcome))}};
    for (size_t i = OUTCOME + 1; i < COLUMNS; i++) {
        row.cells[i] = STR("-");
    }
    if (eval_row_ran(t)) {
        row.cells[3] = calls_text(t, arena);
        row.cells[4] = arena_printf(arena, "%" PRId32, t->steps);
        row.cells[5] = tokens_text(&t->usage, arena);
        row.cells[COST] = cost_text(t, arena);
        row.cells[7] = time_of(t->ended_ms, arena);
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
        cell_add(&cell, row->cells[i], layout->widths[i], i <= OUTCOME ? ALIGN_LEFT : ALIGN_RIGHT);
        buf_addz(out, i > 0 ? "  " : "");
        paint_add(out, buf_str(&cell), paints[i], layout->color);
        buf_free(&cell);
    }
    buf_char(out, '\n');
}

static bool has_prices(const struct eval_report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (eval_row_ran(&r->rows[i]) && r->rows[i].cost_nano >= 0) {
            return true;
        }
    }
    return false;
}

/* ---- which trials are shown ---- */

/* Some of a run's trials. */
struct chosen {
    const struct eval_row **rows;
    size_t n;
    size_t left; /* how many more there are of their kind */
};

static void choose(struct chosen *c, const struct eval_row *row, size_t most)
{
    if (c->n < most) {
        c->rows[c->n++] = row;
    } else {
        c->left++;
    }
}

/* All of a short run; of a long one those that did not pass. */
static struct chosen choose_rows(const struct eval_report *r, struct arena *arena)
{
    size_t most = r->n < TABLE_ROWS_MAX ? r->n : TABLE_ROWS_MAX;
    struct chosen c = {.rows = arena_array(arena, most, sizeof(const struct eval_row *))};
    for (size_t i = 0; i < r->n; i++) {
        if (r->n <= TABLE_ROWS_MAX || r->rows[i].outcome != EVAL_PASS) {
            choose(&c, &r->rows[i], most);
        }
    }
    return c;
}

static bool has_story(const struct eval_row *t)
{
    return t->outcome != EVAL_PASS || t->told;
}

/* All of a short run, in their order; of a long one first of those that did not pass. */
static struct chosen choose_stories(const struct eval_report *r, struct arena *arena)
{
    bool all = r->n <= TABLE_ROWS_MAX;
    size_t most = all ? r->n : TABLE_STORIES_MAX;
    struct chosen c = {.rows = arena_array(arena, most, sizeof(const struct eval_row *))};
    for (int passed = 0; passed <= (all ? 0 : 1); passed++) {
        for (size_t i = 0; i < r->n; i++) {
            bool wanted = all || (r->rows[i].outcome == EVAL_PASS) == (passed == 1);
            if (wanted && has_story(&r->rows[i])) {
                choose(&c, &r->rows[i], most);
            }
        }
    }
    return c;
}

static const char *results_name(const struct eval_report *r)
{
    return r->details == NULL ? r->out : lines_name(r->details);
}

static void add_left(struct buf *out, const struct eval_report *r, const struct chosen *c)
{
    if (c->left > 0) {
        buf_fmt(out, "… and %zu more; all in ", c->left);
        line_add(out, str_of(results_name(r)));
        buf_char(out, '\n');
    }
    if (r->n > TABLE_ROWS_MAX && r->summary.passed > 0) {
        buf_fmt(out, "%zu trial%s that passed %s not listed\n", r->summary.passed,
                r->summary.passed == 1 ? "" : "s", r->summary.passed == 1 ? "is" : "are");
    }
}

static void add_rows(struct buf *out, const struct eval_report *r, bool color)
{
    struct arena *arena = arena_new();
    bool several = several_trials(r);
    struct chosen c = choose_rows(r, arena);
    struct row *rows = arena_array(arena, c.n + 1, sizeof *rows);
    struct layout layout = {.color = color};
    for (size_t i = 0; i < COLUMNS; i++) {
        rows[0].cells[i] = str_of(titles[i]);
    }
    for (size_t i = 0; i <= c.n; i++) {
        if (i > 0) {
            rows[i] = row_of(c.rows[i - 1], several, arena);
        }
        for (size_t k = 0; k < COLUMNS; k++) {
            size_t width = text_width(rows[i].cells[k]);
            bool fits = k > MODEL || width <= NAME_WIDTH_MAX;
            layout.widths[k] = fits && width > layout.widths[k] ? width : layout.widths[k];
        }
    }
    layout.widths[MODEL] = eval_several_models(r) ? layout.widths[MODEL] : 0;
    layout.widths[COST] = has_prices(r) ? layout.widths[COST] : 0;
    enum paint paints[COLUMNS] = {PAINT_BOLD, PAINT_BOLD, PAINT_BOLD, PAINT_BOLD,
                                  PAINT_BOLD, PAINT_BOLD, PAINT_BOLD, PAINT_BOLD};
    bool none = c.n == 0 && r->n > 0;
    for (size_t i = 0; !none && i <= c.n; i++) {
        if (i > 0) {
            memset(paints, 0, sizeof paints);
            paints[OUTCOME] = outcome_paint((enum eval_outcome)c.rows[i - 1]->outcome);
        }
        add_row(out, &rows[i], &layout, paints);
    }
    add_left(out, r, &c);
    arena_free(arena);
}

/* ---- why ---- */

static void add_reasons(struct buf *out, const struct alike *a, size_t i,
                        const struct eval_trial *t, struct arena *scratch)
{
    struct buf problem = {0}, others = {0};
    for (size_t k = 0; k < t->verdict.n_checks; k++) {
        const struct eval_check *c = &t->verdict.checks[k];
        if (!c->passed) {
            buf_addz(out, "  ");
            line_add(out, c->name);
            buf_char(out, '\n');
            block_add(out, c->message, 4, MESSAGE_CHARS);
        }
    }
    alike_add_problem(&problem, a, t, scratch);
    if (problem.n > 0) {
        block_add(out, buf_str(&problem), 2, MESSAGE_CHARS);
    }
    if (eval_ran(t) && t->verdict.outcome != EVAL_PASS) {
        struct buf path = {0};
        buf_fmt(&path, "%s/%.*s", a->report->out, STR_FMT(t->trace));
        buf_addz(out, "  assay trace show ");
        word_add(out, buf_str(&path));
        buf_char(out, '\n');
        buf_free(&path);
    }
    alike_add_others(&others, a, i);
    if (others.n > 0) {
        block_add(out, buf_str(&others), 2, 0);
    }
    buf_free(&problem);
    buf_free(&others);
}

static void add_story(struct sink *sink, const struct alike *a, size_t i, bool several, bool color,
                      struct arena *scratch)
{
    const struct eval_row *row = a->rows[i];
    struct buf *out = &sink->text, trials = {0};
    struct eval_trial t;
    enum eval_outcome outcome = (enum eval_outcome)row->outcome;
    if (sink->code == 0) {
        sink->code = eval_details(a->report, row, scratch, &t, &sink->error);
    }
    if (sink->code != 0) {
        return;
    }
    buf_char(out, '\n');
    paint_add(out, str_of(eval_outcome_name(outcome)), outcome_paint(outcome), color);
    alike_add_trials(&trials, a, i);
    struct str name = task_name(row, alike_model(a, i), several && trials.n == 0, scratch);
    buf_fmt(out, " %.*s%.*s", STR_FMT(name), STR_FMT(buf_str(&trials)));
    buf_free(&trials);
    if (row->shared->file != NULL) {
        buf_addz(out, " (");
        line_add(out, str_of(row->shared->file));
        buf_fmt(out, ":%" PRIu32 ")", row->line);
    }
    buf_addz(out, outcome == EVAL_PASS ? ", but\n" : "\n");
    add_reasons(out, a, i, &t, scratch);
}

static void add_stories(struct sink *out, const struct eval_report *r, bool color)
{
    struct arena *arena = arena_new(), *scratch = arena_new();
    bool several = several_trials(r);
    struct chosen c = choose_stories(r, arena);
    struct alike a = {.n = 0};
    if (out->code == 0) {
        out->code = alike_find(r, c.rows, c.n, arena, &a, &out->error);
    }
    for (size_t i = 0; sink_ease(out) && i < a.n; i++) {
        if (alike_is_told(&a, i)) {
            arena_clear(scratch);
            add_story(out, &a, i, several, color, scratch);
        }
    }
    buf_addz(&out->text, a.missed > 1 ? "\n" : "");
    alike_add_commands(&out->text, &a, c.left > 0);
    if (c.left > 0) {
        buf_fmt(&out->text, "\n… and why %zu more did not pass or were warned of: ", c.left);
        line_add(&out->text, str_of(results_name(r)));
        buf_char(&out->text, '\n');
    }
    arena_free(arena);
    arena_free(scratch);
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
    struct buf counts = {0}, why = {0};
    buf_fmt(&counts, "%zu passed, %zu failed, ", s->passed, s->failed);
    count_add(&counts, (int64_t)s->errors, "error");
    bool good = s->failed == 0 && s->errors == 0;
    buf_char(out, '\n');
    paint_add(out, buf_str(&counts), good ? PAINT_GOOD : PAINT_BAD, color);
    buf_char(out, '\n');
    why_add(&why, s);
    buf_addz(out, why.n > 0 ? "why: " : "");
    buf_add(out, buf_str(&why));
    buf_addz(out, why.n > 0 ? "\n" : "");
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
    line_add(out, str_of(r->out));
    buf_char(out, '\n');
    if (r->stopped.n > 0) {
        block_add(out, r->stopped, 0, 0);
    }
    if (r->interrupted) {
        buf_addz(out, "interrupted: only finished trials are counted\n");
    }
    buf_free(&counts);
    buf_free(&why);
}

void report_table(struct sink *out, const struct eval_report *r, bool color)
{
    add_rows(&out->text, r, color);
    add_stories(out, r, color);
    add_totals(&out->text, r, color);
}
