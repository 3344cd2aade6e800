/* The rows of a report: small, with what they share kept once; and the way back from a row to its
 * line. */
#include "evals/order_int.h"
#include "evals/rows_int.h"
#include "evals/run_int.h"
#include "evals/runs.h"
#include "kernel/base/hash.h"
#include "kernel/base/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is kept once ---- */

struct eval_pool {
    struct table shared;
    struct table scores;
    size_t rows_room;
    struct str last_task; /* trials of a task mostly follow each other */
};

static bool same_z(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_shared(const void *a, const void *b)
{
    const struct eval_shared *x = a, *y = b;
    bool same = same_z(x->set, y->set) && same_z(x->file, y->file) && str_eq(x->model, y->model) &&
                str_eq(x->currency, y->currency) && str_eq(x->trace_begin, y->trace_begin) &&
                str_eq(x->trace_end, y->trace_end) && x->n_tags == y->n_tags;
    for (size_t i = 0; same && i < x->n_tags; i++) {
        same = str_eq(x->tags[i], y->tags[i]);
    }
    return same;
}

static uint64_t hash_shared(const struct eval_shared *s)
{
    uint64_t hash = hash64(s->n_tags, str_of(s->set));
    hash = hash64(hash, str_of(s->file));
    hash = hash64(hash, s->model);
    hash = hash64(hash, s->currency);
    hash = hash64(hash, s->trace_end);
    for (size_t i = 0; i < s->n_tags; i++) {
        hash = hash64(hash, s->tags[i]);
    }
    return hash;
}

static const char *copy_z(struct arena *arena, const char *z)
{
    return z == NULL ? NULL : arena_cstr(arena, str_of(z));
}

static const struct eval_shared *share(struct eval_report *r, const struct eval_shared *s)
{
    struct table *t = &r->pool->shared;
    uint64_t hash = hash_shared(s);
    struct table_slot *slot = table_find(t, hash, s, same_shared);
    if (slot->piece != NULL) {
        return slot->piece;
    }
    struct eval_shared *kept = arena_alloc(r->arena, sizeof *kept);
    struct str *tags = arena_array(r->arena, s->n_tags, sizeof *tags);
    for (size_t i = 0; i < s->n_tags; i++) {
        tags[i] = arena_str(r->arena, s->tags[i]);
    }
    *kept = (struct eval_shared){.set = copy_z(r->arena, s->set),
                                 .file = copy_z(r->arena, s->file),
                                 .model = arena_str(r->arena, s->model),
                                 .currency = arena_str(r->arena, s->currency),
                                 .tags = tags,
                                 .n_tags = s->n_tags,
                                 .trace_begin = arena_str(r->arena, s->trace_begin),
                                 .trace_end = arena_str(r->arena, s->trace_end)};
    table_put(t, slot, hash, kept);
    return kept;
}

/* Field by field: there may be anything between them. */
static bool same_scores(const void *a, const void *b)
{
    const struct eval_scores *x = a, *y = b;
    const struct ratio p[] = {x->tool_selection, x->precision, x->recall, x->f1, x->arguments};
    const struct ratio q[] = {y->tool_selection, y->precision, y->recall, y->f1, y->arguments};
    return memcmp(p, q, sizeof p) == 0 && x->trajectory == y->trajectory &&
           x->success == y->success;
}

static const struct eval_scores *share_scores(struct eval_report *r, const struct eval_scores *s)
{
    struct table *t = &r->pool->scores;
    const struct ratio p[] = {s->tool_selection, s->precision, s->recall, s->f1, s->arguments};
    uint64_t hash = hash64((uint64_t)(s->trajectory + 1) * 2 + s->success,
                           (struct str){(const char *)p, sizeof p});
    struct table_slot *slot = table_find(t, hash, s, same_scores);
    if (slot->piece == NULL) {
        struct eval_scores *kept = arena_alloc(r->arena, sizeof *kept);
        *kept = *s;
        table_put(t, slot, hash, kept);
    }
    return slot->piece;
}

/* ---- rows ---- */

struct eval_report *report_new(const char *out)
{
    struct eval_report *r = mem_zero(sizeof *r);
    r->arena = arena_new();
    r->pool = mem_zero(sizeof *r->pool);
    r->out = arena_cstr(r->arena, str_of(out));
    return r;
}

void eval_report_free(struct eval_report *r)
{
    if (r == NULL) {
        return;
    }
    lines_free(r->details);
    table_free(&r->pool->shared);
    table_free(&r->pool->scores);
    free(r->pool);
    free(r->rows);
    arena_free(r->arena);
    free(r);
}

void report_make_rows(struct eval_report *r, size_t n)
{
    r->rows = mem_zero(n * sizeof *r->rows);
    r->n = r->pool->rows_room = n;
    for (size_t i = 0; i < n; i++) {
        r->rows[i].outcome = EVAL_NONE;
    }
}

void report_close_rows(struct eval_report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->rows[i].outcome != EVAL_NONE) {
            r->rows[n++] = r->rows[i];
        }
    }
    r->n = r->pool->rows_room = n;
    r->rows = mem_grow(r->rows, n * sizeof *r->rows);
}

void report_read_from(struct eval_report *r, struct lines *lines)
{
    lines_free(r->details);
    r->details = lines;
}

/* Takes the trace's path apart, so that the trials of a run share what is left of it. */
static enum eval_trace read_trace(const struct eval_trial *t, struct eval_shared *s)
{
    const struct str ending = STR(".jsonl");
    char number[32];
    int digits = snprintf(number, sizeof number, ".%" PRId64, t->trial);
    if (t->trace.n == 0) {
        return EVAL_TRACE_NONE;
    }
    struct str rest = str_slice(t->trace, 0, t->trace.n - ending.n);
    bool numbered = digits > 0 && str_ends(rest, number);
    rest.n -= numbered ? (size_t)digits : 0;
    size_t at = str_find(rest, t->task);
    if (t->trace.n < ending.n || !str_ends(t->trace, ending.p) || at == SIZE_MAX) {
        return EVAL_TRACE_OTHER;
    }
    s->trace_begin = str_slice(rest, 0, at);
    s->trace_end = str_slice(rest, at + t->task.n, rest.n);
    return numbered ? EVAL_TRACE_NUMBERED : EVAL_TRACE_TASK;
}

/* And puts it together. */
static struct str trace_path(const struct eval_row *row, struct arena *arena)
{
    struct buf path = {0};
    buf_add(&path, row->shared->trace_begin);
    buf_add(&path, row->task);
    buf_add(&path, row->shared->trace_end);
    if (row->trace == EVAL_TRACE_NUMBERED) {
        buf_fmt(&path, ".%" PRId32, row->trial);
    }
    buf_addz(&path, ".jsonl");
    struct str s = arena_str(arena, buf_str(&path));
    buf_free(&path);
    return s;
}

static bool is_told(const struct eval_trial *t)
{
    bool failed = false;
    for (size_t i = 0; i < t->verdict.n_checks; i++) {
        failed = failed || !t->verdict.checks[i].passed;
    }
    return failed || t->problem.n > 0;
}

static struct str keep_task(struct eval_report *r, struct str task)
{
    if (r->pool->last_task.p == NULL || !str_eq(r->pool->last_task, task)) {
        r->pool->last_task = arena_str(r->arena, task);
    }
    return r->pool->last_task;
}

static const struct eval_row_judge *keep_judge(struct eval_report *r, const struct eval_judged *j)
{
    if (j->asked == 0) {
        return NULL;
    }
    struct eval_row_judge *kept = arena_alloc(r->arena, sizeof *kept);
    *kept = (struct eval_row_judge){j->asked, j->cost_nano, arena_str(r->arena, j->currency)};
    return kept;
}

static uint32_t hash_line(struct str line)
{
    return (uint32_t)hash64(0, line);
}

void report_fill_row(struct eval_report *r, const struct eval_trial *t, struct str line,
                     uint64_t at, struct eval_row *out)
{
    const struct run_result *x = &t->result;
    struct eval_shared shared = {.set = t->set,
                                 .file = t->file,
                                 .model = t->model,
                                 .currency = x->currency,
                                 .tags = t->tags,
                                 .n_tags = t->n_tags};
    enum eval_trace trace = read_trace(t, &shared);
    *out = (struct eval_row){.shared = share(r, &shared),
                             .scores = share_scores(r, &t->verdict.scores),
                             .judge = keep_judge(r, &t->judged),
                             .task = keep_task(r, t->task),
                             .usage = x->usage,
                             .cost_nano = x->cost_nano,
                             .ended_ms = (int64_t)x->ended_ms,
                             .at = at,
                             .bytes = (uint32_t)line.n,
                             .hash = hash_line(line),
                             .line = t->line,
                             .trial = (int32_t)t->trial,
                             .steps = (int32_t)x->steps,
                             .calls = (int32_t)t->n_calls,
                             .expected_calls = (int32_t)t->expected_calls,
                             .drifts = (int32_t)t->drifts,
                             .code = (int16_t)t->code,
                             .why = eval_why_bits(t),
                             .outcome = (uint8_t)t->verdict.outcome,
                             .status = (uint8_t)x->status,
                             .trace = (uint8_t)trace,
                             .told = is_told(t)};
}

int report_add_line(struct eval_report *r, const struct eval_trial *t, struct str line, uint64_t at,
                    struct err *e)
{
    if (r->n == EVAL_TRIALS_MAX) {
        return err_at(e, ERR_LIMIT, lines_name(r->details), (uint32_t)r->n + 1, 0,
                      "more than %d trials in one run", EVAL_TRIALS_MAX);
    }
    r->rows = mem_room(r->rows, r->n, &r->pool->rows_room, sizeof *r->rows);
    report_fill_row(r, t, line, at, &r->rows[r->n++]);
    return 0;
}

bool eval_row_ran(const struct eval_row *r)
{
    return r->trace != EVAL_TRACE_NONE;
}

bool eval_row_scored(const struct eval_row *r)
{
    return eval_is_scored((enum eval_outcome)r->outcome);
}

/* ---- each trial once ---- */

int eval_row_cmp(const struct eval_row *a, const struct eval_row *b)
{
    int order = str_cmp(a->task, b->task);
    order = order != 0 ? order : str_cmp(a->shared->model, b->shared->model);
    return order != 0 ? order : (a->trial > b->trial) - (a->trial < b->trial);
}

/* The same trials side by side, in the order of their lines. */
static int by_identity(const void *a, const void *b)
{
    const struct eval_row *x = *(const struct eval_row *const *)a;
    const struct eval_row *y = *(const struct eval_row *const *)b;
    int order = eval_row_cmp(x, y);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int told_twice(const struct eval_report *r, const struct eval_row *first,
                      const struct eval_row *second, struct err *e)
{
    return err_at(e, ERR_INPUT, lines_name(r->details), (uint32_t)(second - r->rows) + 1, 0,
                  "trial %" PRId32 " of %.*s is also in line %" PRIu32 ": expected each trial once",
                  first->trial, STR_FMT(first->task), (uint32_t)(first - r->rows) + 1);
}

int report_check_twice(struct eval_report *r, bool journal, struct err *e)
{
    struct eval_row **sorted = mem_alloc((r->n + 1) * sizeof *sorted);
    int rc = 0;
    for (size_t i = 0; i < r->n; i++) {
        sorted[i] = &r->rows[i];
    }
    order_list(sorted, r->n, sizeof *sorted, by_identity);
    for (size_t i = 1; rc == 0 && i < r->n; i++) {
        if (eval_row_cmp(sorted[i - 1], sorted[i]) != 0) {
            continue;
        }
        if (journal) {
            sorted[i - 1]->outcome = EVAL_NONE;
        } else {
            rc = told_twice(r, sorted[i - 1], sorted[i], e);
        }
    }
    free(sorted);
    report_close_rows(r);
    return rc;
}

/* ---- back to the lines ---- */

int eval_line(const struct eval_report *r, const struct eval_row *row, struct str *out,
              struct err *e)
{
    struct str line;
    int rc = lines_at(r->details, row->at, (size_t)row->bytes + 1, &line, e);
    if (rc != 0) {
        return rc;
    }
    bool whole = line.n == (size_t)row->bytes + 1 && line.p[row->bytes] == '\n';
    line.n -= whole ? 1 : 0;
    if (!whole || hash_line(line) != row->hash) {
        return err_at(e, ERR_INPUT, lines_name(r->details), 0, 0,
                      "the line of trial %" PRId32 " of %.*s has changed since the run was read: "
                      "expected a run directory that nothing else writes to meanwhile; try again",
                      row->trial, STR_FMT(row->task));
    }
    *out = line;
    return 0;
}

int eval_details(const struct eval_report *r, const struct eval_row *row, struct arena *arena,
                 struct eval_trial *out, struct err *e)
{
    struct str line;
    int rc = eval_line(r, row, &line, e);
    rc = rc != 0 ? rc
                 : run_trial_read(arena, lines_name(r->details), 0, arena_str(arena, line), out, e);
    if (rc == 0) {
        out->file = row->shared->file;
        out->code = row->code;
    }
    return rc;
}

int eval_trace_path(const struct eval_report *r, const struct eval_row *row, struct arena *arena,
                    struct str *out, struct err *e)
{
    struct eval_trial t;
    enum eval_trace kind = (enum eval_trace)row->trace;
    *out = (struct str){NULL, 0};
    int rc = kind == EVAL_TRACE_OTHER ? eval_details(r, row, arena, &t, e) : 0;
    if (rc == 0 && kind == EVAL_TRACE_OTHER) {
        *out = arena_str(arena, t.trace);
    } else if (rc == 0 && kind != EVAL_TRACE_NONE) {
        *out = trace_path(row, arena);
    }
    return rc;
}
