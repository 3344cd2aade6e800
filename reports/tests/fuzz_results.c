/* Any bytes as lines of results: what is read is written, read and written again as the same bytes,
 * and every report takes it. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "evals/rows_int.h"
#include "evals/run_int.h"
#include "evals/runs.h"
#include "reports/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_MAX = 50 };

static size_t read_lines(struct arena *arena, struct str text, struct eval_trial *out)
{
    size_t n = 0;
    for (uint32_t line = 1; text.n > 0 && n < LINES_MAX; line++) {
        size_t end = str_find(text, STR("\n"));
        struct err e = {0};
        int rc = run_trial_read(arena, "f", line, str_slice(text, 0, end), &out[n], &e);
        assert(rc == 0 || e.message[0] != '\0');
        n += rc == 0;
        text = end == SIZE_MAX ? STR("") : str_slice(text, end + 1, text.n);
    }
    return n;
}

static void write_lines(struct buf *out, const struct eval_trial *trials, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        eval_trial_json(out, &trials[i]);
    }
}

/* The report of trials whose lines these are. */
static struct eval_report *report_of(const struct eval_trial *trials, struct str lines)
{
    struct eval_report *r = report_new("run");
    for (size_t i = 0, at = 0; at < lines.n; i++) {
        struct str rest = str_slice(lines, at, lines.n);
        struct str line = str_slice(rest, 0, str_find(rest, STR("\n")));
        int rc = report_add_line(r, &trials[i], line, at, NULL);
        assert(rc == 0);
        at += line.n + 1;
    }
    report_read_from(r, lines_over("f", lines));
    eval_sum(r, 0);
    return r;
}

static void report(const struct eval_report *r)
{
    struct sink out = {.write = NULL};
    struct comparison_result *c = NULL;
    report_table(&out, r, false);
    report_junit(&out, &r, 1);
    report_csv(&out, &r, 1);
    if (eval_compare(r, r, 0.05, &c, NULL) == 0) {
        struct report_baseline b = {"base", c};
        report_compare(&out, c, "base", "head", false);
        report_markdown(&out, &r, 1, &b);
        report_json(&out, &r, 1, &b);
        assert(c->worse == 0 && c->better == 0);
        eval_compare_free(c);
    }
    assert(sink_end(&out, NULL) == 0);
}

/* What rows keep is what the trials say. */
static void compare_rows(const struct eval_report *r, const struct eval_trial *trials)
{
    struct arena *arena = arena_new();
    for (size_t i = 0; i < r->n; i++) {
        struct eval_trial t;
        struct str trace;
        assert(eval_details(r, &r->rows[i], arena, &t, NULL) == 0);
        assert(str_eq(t.task, trials[i].task) && str_eq(t.task, r->rows[i].task));
        assert(eval_trace_path(r, &r->rows[i], arena, &trace, NULL) == 0);
        assert(str_eq(trace, trials[i].trace));
    }
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new();
    struct eval_trial trials[LINES_MAX], again[LINES_MAX];
    struct buf first = {0}, second = {0};
    size_t n = read_lines(arena, (struct str){(const char *)data, size}, trials);
    write_lines(&first, trials, n);
    size_t n_again = read_lines(arena, buf_str(&first), again);
    write_lines(&second, again, n_again);
    assert(n == n_again && str_eq(buf_str(&first), buf_str(&second)));
    struct eval_report *r = report_of(trials, buf_str(&first));
    compare_rows(r, trials);
    report(r);
    eval_report_free(r);
    buf_free(&first);
    buf_free(&second);
    arena_free(arena);
    return 0;
}
