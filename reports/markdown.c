#include "kernel/base/text.h"
#include "reports/report_int.h"

#include <inttypes.h>
#include <string.h>

enum {
    BYTES_MAX = 60000, /* GitHub takes comments of 65,536 characters */
    STORY_CHARS = 1500,
    COMPARED_CHARS = 20000,
    STORIES_MAX = 1000,
    FENCE_LEAST = 3
};

/* GitHub looks for mentions, issues and addresses in the text that it shows, where backslashes are
 * gone: a space without width, or an entity, stands in their way. NULL = the character is none of
 * theirs. */
static const char *unlinked(struct str rest)
{
    return str_starts(rest, "@")      ? "@&#8203;"
           : str_starts(rest, "#")    ? "#&#8203;"
           : str_starts(rest, "://")  ? "&#58;"
           : str_starts(rest, "www.") ? "w&#8203;"
           : str_starts(rest, "GH-")  ? "G&#8203;"
           : str_starts(rest, "<")    ? "&lt;"
           : str_starts(rest, "&")    ? "&amp;"
                                      : NULL;
}

/* A cell or heading: nothing in it is markup, or a link. */
static void add_plain(struct buf *out, struct str s)
{
    struct buf line = {0};
    line_add(&line, s);
    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];
        const char *other = unlinked(str_slice(buf_str(&line), i, line.n));
        if (other != NULL) {
            buf_addz(out, other);
            continue;
        }
        buf_addz(out, strchr("|*_`[]\\~", c) != NULL ? "\\" : "");
        buf_char(out, c);
    }
    buf_free(&line);
}

static void add_spent(struct buf *out, const struct eval_summary *s)
{
    struct buf text = {0};
    costs_add(&text, s);
    add_plain(out, buf_str(&text));
    buf_free(&text);
}

static void add_amount(struct buf *out, double nano, struct str currency)
{
    struct buf text = {0};
    amount_add(&text, nano, currency);
    add_plain(out, buf_str(&text));
    buf_free(&text);
}

/* A fenced block, whose fence is longer than any row of backticks in it. */
static void add_block(struct buf *out, struct str s, size_t max_chars)
{
    size_t longest = 0, row = 0;
    for (size_t i = 0; i < s.n; i++) {
        row = s.p[i] == '`' ? row + 1 : 0;
        longest = row > longest ? row : longest;
    }
    size_t fence = longest + 1 > FENCE_LEAST ? longest + 1 : FENCE_LEAST;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < fence; i++) {
            buf_char(out, '`');
        }
        buf_addz(out, side == 0 ? "text\n" : "\n");
        if (side == 0) {
            struct buf text = {0};
            block_add(&text, s, 0, max_chars);
            buf_add(out, buf_str(&text));
            buf_free(&text);
        }
    }
}

static void add_headline(struct buf *out, const struct eval_report *const *runs, size_t n)
{
    size_t passed = 0, failed = 0, errors = 0;
    bool whole = true;
    for (size_t i = 0; i < n; i++) {
        whole = whole && !runs[i]->interrupted;
        passed += runs[i]->summary.passed;
        failed += runs[i]->summary.failed;
        errors += runs[i]->summary.errors;
    }
    buf_fmt(out, "### assay: %s, %zu of %zu passed",
            failed + errors > 0 ? "failed"
            : whole             ? "passed"
                                : "not finished",
            passed, passed + failed);
    buf_addz(out, !whole && failed + errors > 0 ? ", not finished" : "");
    if (errors > 0) {
        buf_addz(out, ", ");
        count_add(out, (int64_t)errors, "error");
    }
    buf_addz(out, "\n\n");
}

/* The same as task_add, in a cell or heading. */
static void add_task(struct buf *out, struct str task, struct str model)
{
    struct buf name = {0};
    task_add(&name, task, model);
    add_plain(out, buf_str(&name));
    buf_free(&name);
}

/* Lets `add` append a line for each run; for each of its models too, where it has several. */
static void add_lines(struct buf *out, const struct eval_report *const *runs, size_t n,
                      void (*add)(struct buf *, const struct eval_report *, struct str model))
{
    for (size_t i = 0; i < n; i++) {
        struct arena *arena = arena_new();
        size_t models = 0;
        const struct eval_report *each =
            eval_several_models(runs[i]) ? eval_by_model(runs[i], arena, &models) : NULL;
        add(out, runs[i], STR(""));
        for (size_t k = 0; k < models && out->n < BYTES_MAX; k++) {
            add(out, &each[k], each[k].rows[0].shared->model);
        }
        arena_free(arena);
    }
}

static void add_row(struct buf *out, const struct eval_report *r, struct str model)
{
    struct arena *arena = arena_new();
    struct eval_figures f;
    const struct eval_summary *s = &r->summary;
    eval_figures(r, arena, &f);
    buf_addz(out, "| ");
    add_task(out, str_of(r->out), model);
    buf_fmt(out, " | %zu/%zu | ", s->passed, s->passed + s->failed);
    interval_text(out, f.success);
    buf_fmt(out, " | %zu | %zu | ", s->errors, f.flaky);
    add_spent(out, s);
    buf_addz(out, " | ");
    if (f.priced && s->passed > 0) {
        add_amount(out, (double)f.nano / (double)s->passed, f.currency);
    } else {
        buf_addz(out, f.priced ? "none passed" : "unpriced");
    }
    buf_addz(out, " | ");
    if (s->p50_latency_ms >= 0) {
        seconds_add(out, s->p50_latency_ms);
        buf_addz(out, " / ");
        seconds_add(out, s->p95_latency_ms);
    }
    buf_addz(out, " |\n");
    arena_free(arena);
}

static void add_story(struct sink *sink, const struct alike *a, size_t n, bool several,
                      struct arena *scratch)
{
    const struct eval_report *r = a->report;
    struct buf *out = &sink->text;
    struct eval_trial details;
    const struct eval_trial *t = &details;
    if (sink->code == 0) {
        sink->code = eval_details(r, a->rows[n], scratch, &details, &sink->error);
    }
    if (sink->code != 0) {
        return;
    }
    struct buf text = {0}, trials = {0};
    buf_addz(out, "**");
    add_task(out, t->task, alike_model(a, n));
    alike_add_trials(&trials, a, n);
    buf_add(out, buf_str(&trials));
    if (several && trials.n == 0) {
        buf_fmt(out, " trial %" PRId64, t->trial);
    }
    buf_addz(out, "**");
    if (t->file != NULL) {
        buf_addz(out, " (");
        add_plain(out, str_of(t->file));
        buf_fmt(out, ":%" PRIu32 ")", t->line);
    }
    buf_addz(out, "\n\n");
    for (size_t i = 0; i < t->verdict.n_checks; i++) {
        const struct eval_check *c = &t->verdict.checks[i];
        if (!c->passed) {
            buf_fmt(&text, "%s%.*s: ", text.n > 0 ? "\n" : "", STR_FMT(c->name));
            buf_add(&text, c->message);
        }
    }
    buf_addz(&text, text.n > 0 && t->problem.n > 0 ? "\n" : "");
    alike_add_problem(&text, a, t, scratch);
    if (eval_ran(t)) {
        buf_fmt(&text, "\nassay trace show %s/%.*s", r->out, STR_FMT(t->trace));
    }
    buf_char(&text, '\n');
    alike_add_others(&text, a, n);
    add_block(out, str_trim(buf_str(&text)), STORY_CHARS);
    buf_char(out, '\n');
    buf_free(&text);
    buf_free(&trials);
}

/* The first trials with this outcome. */
static void find_stories(struct sink *sink, const struct eval_report *r, enum eval_outcome outcome,
                         struct arena *arena, struct alike *out)
{
    const struct eval_row **rows = arena_array(arena, STORIES_MAX, sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; i < r->n && n < STORIES_MAX; i++) {
        if (r->rows[i].outcome == outcome) {
            rows[n++] = &r->rows[i];
        }
    }
    if (sink->code == 0) {
        sink->code = alike_find(r, rows, n, arena, out, &sink->error);
    }
}

/* How many trials are told of. */
static size_t add_stories(struct sink *sink, const struct alike *a)
{
    bool several = several_trials(a->report);
    struct arena *scratch = arena_new();
    size_t told = 0;
    for (size_t i = 0; i < a->n; i++) {
        if (!alike_is_told(a, i)) {
            told++;
        } else if (sink->text.n < BYTES_MAX) {
            arena_clear(scratch);
            add_story(sink, a, i, several, scratch);
            told++;
        }
    }
    arena_free(scratch);
    return told;
}

/* The failures, then the errors, of one run, folded. */
static void add_folded(struct sink *sink, const struct eval_report *r, enum eval_outcome outcome)
{
    struct buf *out = &sink->text;
    size_t n = outcome == EVAL_FAIL ? r->summary.failed : r->summary.errors, shown;
    if (n == 0) {
        return;
    }
    buf_fmt(out, "<details><summary>%zu %s in ", n,
            outcome == EVAL_FAIL ? "failed" : "with errors");
    add_plain(out, str_of(r->out));
    buf_addz(out, "</summary>\n\n");
    struct arena *arena = arena_new();
    struct alike a = {.n = 0};
    find_stories(sink, r, outcome, arena, &a);
    shown = add_stories(sink, &a);
    struct buf commands = {0};
    alike_add_commands(&commands, &a, a.n < n);
    if (commands.n > 0) {
        add_block(out, str_trim(buf_str(&commands)), STORY_CHARS);
        buf_char(out, '\n');
    }
    buf_free(&commands);
    arena_free(arena);
    if (shown < n) {
        buf_fmt(out, "and %zu more\n\n", n - shown);
    }
    buf_addz(out, "</details>\n");
}

static void add_flaky(struct buf *out, const struct eval_report *r)
{
    struct arena *arena = arena_new();
    struct eval_figures f;
    eval_figures(r, arena, &f);
    if (f.flaky > 0) {
        buf_fmt(out, "<details><summary>%zu flaky in ", f.flaky);
        add_plain(out, str_of(r->out));
        buf_addz(out, "</summary>\n\n| task | passed |\n|---|---|\n");
    }
    for (size_t i = 0; f.flaky > 0 && i < f.n_groups && out->n < BYTES_MAX; i++) {
        const struct eval_group *g = &f.groups[i];
        if (eval_is_flaky(g)) {
            buf_addz(out, "| ");
            add_task(out, g->task, g->model);
            buf_fmt(out, " | %" PRId64 "/%" PRId64 " |\n", g->passed, g->scored);
        }
    }
    buf_addz(out, f.flaky > 0 ? "\n</details>\n" : "");
    arena_free(arena);
}

static void add_score_row(struct buf *out, const struct eval_report *r, struct str model)
{
    const struct eval_summary *s = &r->summary;
    const struct ratio all[] = {s->success, s->tool_selection, s->arguments, s->trajectory, s->f1};
    buf_addz(out, "| ");
    add_task(out, str_of(r->out), model);
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        buf_addz(out, " | ");
        percent_add(out, all[k]);
    }
    buf_addz(out, " |\n");
}

static void add_scores(struct buf *out, const struct eval_report *const *runs, size_t n)
{
    buf_addz(out, "<details><summary>scores</summary>\n\n| run | success | tool selection | "
                  "arguments | trajectory | f1 |\n|---|---|---|---|---|---|\n");
    add_lines(out, runs, n, add_score_row);
    buf_addz(out, "\n</details>\n");
}

static void add_share_cell(struct buf *out, double share)
{
    buf_addz(out, " | ");
    if (share >= 0) {
        share_add(out, share);
    }
    buf_addz(out, share >= 0 ? "%" : "unknown");
}

static void add_cost_row(struct buf *out, const struct eval_report *r, struct str model,
                         struct arena *arena)
{
    struct eval_figures f;
    eval_figures(r, arena, &f);
    buf_addz(out, "| ");
    add_plain(out, str_of(r->out));
    buf_addz(out, " | ");
    add_plain(out, model);
    buf_addz(out, " | ");
    add_spent(out, &r->summary);
    buf_addz(out, " | ");
    if (f.priced) {
        add_amount(out, f.cost, f.currency);
    } else {
        buf_addz(out, "unpriced");
    }
    add_share_cell(out, f.cached_share);
    add_share_cell(out, f.reasoning_share);
    buf_addz(out, " | ");
    if (f.judge_share >= 0) {
        share_add(out, f.judge_share);
        buf_char(out, '%');
    } else {
        buf_addz(out, r->summary.judged > 0 ? "unknown" : "none");
    }
    buf_addz(out, " |\n");
}

/* What was spent on what, a line a model. */
static void add_costs(struct buf *out, const struct eval_report *const *runs, size_t n)
{
    buf_addz(out, "<details><summary>cost</summary>\n\n| run | model | cost | a trial | of input "
                  "cached | of output reasoning | of all the judge's |\n|---|---|---|---|---|---|"
                  "---|\n");
    for (size_t i = 0; i < n; i++) {
        struct arena *arena = arena_new();
        size_t models = 0;
        const struct eval_report *each = eval_by_model(runs[i], arena, &models);
        for (size_t k = 0; k < models && out->n < BYTES_MAX; k++) {
            add_cost_row(out, &each[k], each[k].rows[0].shared->model, arena);
        }
        arena_free(arena);
    }
    buf_addz(out, "\n</details>\n");
}

/* A line, and what it rests on, folded. */
static void add_comparison(struct sink *sink, const struct report_baseline *b, const char *head)
{
    struct buf *out = &sink->text;
    const struct comparison_result *c = b->result;
    struct sink text = {.write = NULL};
    buf_addz(out, "Against ");
    add_plain(out, str_of(b->name));
    buf_fmt(out, ": **%zu regressed**, %zu improved, %zu flaky, %zu new, %zu gone; ",
            c->counts[TASK_REGRESSED], c->counts[TASK_IMPROVED], c->counts[TASK_FLAKY],
            c->counts[TASK_NEW], c->counts[TASK_GONE]);
    verdict_add(out, c);
    buf_addz(out, ".\n\n<details><summary>what changed</summary>\n\n");
    report_compare(&text, c, b->name, head, false);
    add_block(out, buf_str(&text.text), COMPARED_CHARS);
    buf_addz(out, "\n</details>\n");
    int rc = sink_end(&text, sink->code == 0 ? &sink->error : NULL);
    sink->code = sink->code != 0 ? sink->code : rc;
}

/* A line a run of which something did not pass. */
static void add_why(struct buf *out, const struct eval_report *const *runs, size_t n)
{
    for (size_t i = 0; i < n && out->n < BYTES_MAX; i++) {
        struct buf why = {0};
        why_add(&why, &runs[i]->summary);
        if (why.n > 0) {
            buf_addz(out, n > 1 ? "Why in " : "Why");
            add_plain(out, n > 1 ? str_of(runs[i]->out) : STR(""));
            buf_addz(out, ": ");
            add_plain(out, buf_str(&why));
            buf_addz(out, "\n\n");
        }
        buf_free(&why);
    }
}

void report_markdown(struct sink *sink, const struct eval_report *const *runs, size_t n,
                     const struct report_baseline *baseline)
{
    struct buf *out = &sink->text;
    add_headline(out, runs, n);
    buf_addz(out, "| run | passed | 95% interval | errors | flaky | cost | a passed trial | time "
                  "p50 / p95 |\n|---|---|---|---|---|---|---|---|\n");
    add_lines(out, runs, n, add_row);
    buf_char(out, '\n');
    add_why(out, runs, n);
    if (baseline != NULL) {
        add_comparison(sink, baseline, runs[0]->out);
    }
    for (size_t i = 0; i < n; i++) {
        add_folded(sink, runs[i], EVAL_FAIL);
        add_folded(sink, runs[i], EVAL_ERROR);
        add_flaky(out, runs[i]);
    }
    add_scores(out, runs, n);
    add_costs(out, runs, n);
}
