/* Plots by gnuplot, a program of its own: we write its scripts and data, and run it. */
#include "evals/figures.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"
#include "reports/report_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMES_SHOWN = 1000,
    GNUPLOT_MS_MAX = 60000,
    PLOT_HEIGHT = 420, /* pixels, without the key */
    KEY_LINE_HEIGHT = 20
};

/* What one model did in one run. */
struct mark {
    struct str label;
    const struct eval_report *report;
    struct eval_figures figures;
    double success;
};

struct marks {
    struct arena *arena;
    struct mark *at;
    size_t n;
    struct str currency; /* of all that are priced */
    size_t priced;
};

/* Appends a script that draws `plot` as NAME.svg and NAME.png, high enough for a key of so many
 * lines. */
static void add_script(struct buf *out, const char *name, size_t key_lines, struct str plot)
{
    size_t height = PLOT_HEIGHT + key_lines * KEY_LINE_HEIGHT;
    buf_fmt(out,
            "set terminal svg size 800,%zu background '#ffffff' noenhanced font 'sans,12'\n"
            "set output '%s.svg'\n%.*s",
            height, name, STR_FMT(plot));
    buf_fmt(out,
            "set terminal pngcairo size 800,%zu noenhanced font 'sans,12'\n"
            "set output '%s.png'\nreplot\n",
            height, name);
}

/* ---- what is drawn ---- */

/* Quoted for gnuplot: what could end the quotes or the line is left out. */
static void add_label(struct buf *out, struct str s)
{
    struct buf plain = {0};
    text_add_plain(&plain, s);
    buf_char(out, '"');
    for (size_t i = 0; i < plain.n; i++) {
        char c = plain.p[i];
        buf_char(out, c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\'' ? ' ' : c);
    }
    buf_char(out, '"');
    buf_free(&plain);
}

static struct str label_of(const struct eval_report *r, struct str model, bool runs,
                           struct arena *arena)
{
    if (model.n == 0) {
        return str_of(r->out);
    }
    return runs ? arena_printf(arena, "%.*s (%s)", STR_FMT(model), r->out) : model;
}

static void add_mark(struct marks *m, const struct eval_report *r, bool runs)
{
    const struct eval_summary *s = &r->summary;
    struct mark *mark = &m->at[m->n];
    if (s->passed + s->failed == 0) {
        return;
    }
    mark->label = label_of(r, r->rows[0].shared->model, runs, m->arena);
    mark->report = r;
    mark->success = (double)s->passed / (double)(s->passed + s->failed);
    eval_figures(r, m->arena, &mark->figures);
    m->n++;
    bool priced =
        mark->figures.priced && (m->priced == 0 || str_eq(m->currency, mark->figures.currency));
    mark->figures.priced = priced;
    m->currency = priced ? mark->figures.currency : m->currency;
    m->priced += priced;
}

static void collect(struct marks *m, const struct eval_report *const *runs, size_t n)
{
    size_t room = 0;
    struct eval_report **each = arena_array(m->arena, n, sizeof *each);
    size_t *models = arena_array(m->arena, n, sizeof *models);
    for (size_t i = 0; i < n; i++) {
        each[i] = eval_by_model(runs[i], m->arena, &models[i]);
        room += models[i];
    }
    m->at = arena_array(m->arena, room + 1, sizeof *m->at);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < models[i]; k++) {
            add_mark(m, &each[i][k], n > 1);
        }
    }
}

static int by_cost(const void *a, const void *b)
{
    const struct mark *x = *(const struct mark *const *)a;
    const struct mark *y = *(const struct mark *const *)b;
    int order = (x->figures.cost > y->figures.cost) - (x->figures.cost < y->figures.cost);
    order = order != 0 ? order : (x->success < y->success) - (x->success > y->success);
    return order != 0 ? order : (x > y) - (x < y);
}

static void add_row(struct buf *out, const struct mark *m)
{
    const double shares[] = {m->success, m->figures.success.low, m->figures.success.high};
    int64_t nano = (int64_t)(m->figures.cost + 0.5);
    buf_fmt(out, "%" PRId64 ".%09" PRId64, nano / 1000000000, nano % 1000000000);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        buf_char(out, ' ');
        stats_add(out, shares[i]);
    }
    buf_char(out, '\n');
}

/* The front first: those that no model passes more often for as little; then each model, in the
 * order that it has in the other picture too, for the same colour. */
static void cost_data(struct buf *out, const struct marks *m)
{
    const struct mark **sorted = mem_alloc((m->n + 1) * sizeof *sorted);
    size_t n = 0;
    double best = -1;
    for (size_t i = 0; i < m->n; i++) {
        if (m->at[i].figures.priced) {
            sorted[n++] = &m->at[i];
        }
    }
    qsort(sorted, n, sizeof *sorted, by_cost);
    buf_addz(out, "# cost a trial, success, low, high\n\"Pareto front\"\n");
    for (size_t i = 0; i < n; i++) {
        if (sorted[i]->success > best) {
            best = sorted[i]->success;
            add_row(out, sorted[i]);
        }
    }
    free(sorted);
    for (size_t i = 0; i < m->n; i++) {
        if (m->at[i].figures.priced) {
            buf_addz(out, "\n\n");
            add_label(out, m->at[i].label);
            buf_char(out, '\n');
            add_row(out, &m->at[i]);
        }
    }
}

/* The empty second line of the label below keeps it from the key. gnuplot has eight colours: from
 * then on points have another shape, lines other dashes. */
static void cost_script(struct buf *out, const struct marks *m)
{
    struct buf plot = {0};
    buf_addz(&plot, "set title 'success against cost'\nset xlabel \"cost a trial");
    buf_fmt(&plot, " (%.*s)\\n \"\n", STR_FMT(m->currency));
    buf_addz(&plot, "set ylabel 'success, with its 95% interval'\nset yrange [0:1.05]\n"
                    "set xrange [0:*]\nset offsets 0, graph 0.1, 0, 0\nset grid\nset rmargin 6\n"
                    "set key below autotitle columnhead\n");
    buf_fmt(&plot,
            "plot 'success-cost.dat' index 0 using 1:2 with steps lw 2 lc '#999999', \\\n"
            "     for [i=1:%zu] 'success-cost.dat' index i using 1:2:3:4 with yerrorbars "
            "pt 5+2*(((i-1)/8+1)%%5) lw 2 lc i\n",
            m->priced);
    add_script(out, "success-cost", m->priced + 1, buf_str(&plot));
    buf_free(&plot);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add_step(struct buf *out, int64_t ms, double share)
{
    buf_fmt(out, "%" PRId64 ".%03" PRId64 " ", ms / 1000, ms % 1000);
    stats_add(out, share);
    buf_char(out, '\n');
}

/* The share of trials that took no longer: at most TIMES_SHOWN steps, up from 0 at the shortest. */
static void add_times(struct buf *out, const struct mark *m)
{
    const struct eval_report *r = m->report;
    int64_t *ms = mem_alloc((r->n + 1) * sizeof *ms);
    size_t n = 0, last = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (eval_row_scored(&r->rows[i])) {
            ms[n++] = r->rows[i].ended_ms;
        }
    }
    qsort(ms, n, sizeof *ms, by_time);
    size_t steps = n < TIMES_SHOWN ? n : TIMES_SHOWN;
    add_step(out, n == 0 ? 0 : ms[0], 0);
    for (size_t i = 0; i < steps; i++) {
        last = (i + 1) * n / steps - 1;
        add_step(out, ms[last], (double)(last + 1) / (double)n);
    }
    free(ms);
}

static void time_data(struct buf *out, const struct marks *m)
{
    for (size_t i = 0; i < m->n; i++) {
        buf_addz(out, i > 0 ? "\n\n" : "");
        add_label(out, m->at[i].label);
        buf_char(out, '\n');
        add_times(out, &m->at[i]);
    }
}

static void time_script(struct buf *out, const struct marks *m)
{
    struct buf plot = {0};
    buf_addz(&plot,
             "set title 'time a trial'\n"
             "set xlabel \"seconds (less than a millisecond as one)\\n \"\n"
             "set ylabel 'share of trials that took no longer'\nset yrange [0:1.05]\n"
             "set logscale x\nset grid\nset rmargin 6\nset key below autotitle columnhead\n");
    buf_fmt(&plot,
            "plot for [i=0:%zu] 'latency.dat' index i using ($1 < 0.001 ? 0.001 : $1):2 with steps "
            "lw 2 lc i+1 dt 1+i/8%%5\n",
            m->n - 1);
    add_script(out, "latency", m->n, buf_str(&plot));
    buf_free(&plot);
}

/* ---- drawing ---- */

static int write_plot(const char *dir, const char *name, const struct marks *m,
                      void (*data)(struct buf *, const struct marks *),
                      void (*script)(struct buf *, const struct marks *), struct err *e)
{
    struct arena *arena = arena_new();
    struct buf text = {0};
    data(&text, m);
    const char *path = path_join(arena, dir, arena_printf(arena, "%s.dat", name).p);
    int rc = file_replace(path, buf_str(&text), e);
    buf_clear(&text);
    script(&text, m);
    path = path_join(arena, dir, arena_printf(arena, "%s.gp", name).p);
    rc = rc != 0 ? rc : file_replace(path, buf_str(&text), e);
    buf_free(&text);
    arena_free(arena);
    return rc;
}

int report_plots(const char *dir, const struct eval_report *const *runs, size_t n, bool *drawn,
                 struct buf *why, struct err *e)
{
    struct marks m = {.arena = arena_new()};
    int rc = 0;
    collect(&m, runs, n);
    *drawn = false;
    if (m.n == 0) {
        buf_addz(why, "no plots are drawn: no trial was scored");
    } else {
        rc = write_plot(dir, "latency", &m, time_data, time_script, e);
        *drawn = rc == 0 && gnuplot_draw(dir, "latency", GNUPLOT_MS_MAX, why);
    }
    if (rc == 0 && m.n > 0 && m.priced == 0) {
        buf_addz(why, *drawn ? "success against cost is not drawn: nothing is priced (assay eval "
                               "--prices FILE can name prices)"
                             : "");
        *drawn = false;
    } else if (rc == 0 && m.n > 0) {
        rc = write_plot(dir, "success-cost", &m, cost_data, cost_script, e);
        *drawn = rc == 0 && *drawn && gnuplot_draw(dir, "success-cost", GNUPLOT_MS_MAX, why);
        if (*drawn && m.priced < m.n) {
            buf_fmt(why,
                    "success against cost leaves %zu of %zu models out: they have no price in "
                    "%.*s",
                    m.n - m.priced, m.n, STR_FMT(m.currency));
        }
    }
    arena_free(m.arena);
    return rc;
}
