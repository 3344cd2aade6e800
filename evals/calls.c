#include "evals/calls_int.h"
#include "evals/pairing.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

#include <inttypes.h>

enum {
    CELLS_MAX = 16 << 20, /* calls expected × calls made that are compared */
    FINDINGS_MAX = 20,    /* lines of one message */
    NAMES_MAX = 40,       /* names in a listing */
    PREVIEW_CHARS = 80
};

/* The arguments of a made call, read when first compared. */
struct made_args {
    enum { ARGS_UNREAD, ARGS_OBJECT, ARGS_OTHER /* no JSON, or no object */ } state;
    const struct val *object;
};

/* What is compared: the expectation, the calls made, their arguments as values. */
struct comparison {
    const struct golden_expect *expect;
    const struct eval_run *run;
    const struct val **schemas; /* per expected call: its tool's parameters or NULL */
    struct made_args *args;     /* per made call */
    struct fit_table table;
    struct arena *scratch;
};

static const struct val *tool_schema(const struct golden_task *task, struct str name)
{
    size_t n = 0;
    const struct tool_spec *specs = task->tools == NULL ? NULL : toolset_specs(task->tools, &n);
    const struct tool_spec *tool = tool_find(specs, n, name);
    return tool == NULL ? NULL : tool->schema;
}

/* Models that mean "none" may send nothing at all. */
static void read_arguments(struct made_args *args, struct str text, struct arena *arena)
{
    struct val *v = NULL;
    if (args->state != ARGS_UNREAD) {
        return;
    }
    if (str_trim(text).n == 0) {
        text = STR("{}");
    }
    args->state = ARGS_OTHER;
    if (json_parse(arena, NULL, text, &v, NULL) == 0 && val_is(v, VAL_OBJECT)) {
        *args = (struct made_args){ARGS_OBJECT, v};
    }
}

static bool arguments_match(const struct comparison *c, size_t row, size_t column, struct buf *why)
{
    const struct val *args = c->args[column].object;
    const struct golden_call *call = &c->expect->calls[row];
    if (args == NULL) {
        return false;
    }
    struct args_match_options o = {
        .schema = c->schemas[row], .ignore_extra = c->expect->ignore_extra_args, .all = true};
    return call->args == NULL || args_match_test(call->args, args, &o, why);
}

static void fill_row(struct comparison *c, size_t row)
{
    uint8_t *cells = c->table.cells + row * c->table.columns;
    for (size_t column = 0; column < c->table.columns; column++) {
        const struct eval_call *made = &c->run->calls[column];
        if (!str_eq(made->name, c->expect->calls[row].name)) {
            continue;
        }
        read_arguments(&c->args[column], made->arguments, c->scratch);
        cells[column] = arguments_match(c, row, column, NULL) ? FIT_ARGS : FIT_NAME;
    }
}

static void compare(struct comparison *c, const struct golden_task *task)
{
    size_t rows = c->expect->has_calls ? c->expect->n_calls : 0;
    size_t columns = c->run->n_calls;
    uint32_t *group = arena_array(c->scratch, rows, sizeof *group);
    int64_t *step = arena_array(c->scratch, columns, sizeof *step);
    c->schemas = arena_array(c->scratch, rows, sizeof *c->schemas);
    c->args = arena_array(c->scratch, columns, sizeof *c->args);
    c->table =
        (struct fit_table){rows, columns, arena_array(c->scratch, rows, columns), group, step};
    for (size_t i = 0; i < columns; i++) {
        step[i] = c->run->calls[i].step;
    }
    for (size_t i = 0; i < rows; i++) {
        group[i] = c->expect->calls[i].group;
        c->schemas[i] = tool_schema(task, c->expect->calls[i].name);
        fill_row(c, i);
    }
}

static bool mode_allows_extra(enum golden_mode mode)
{
    return mode == GOLDEN_IN_ORDER || mode == GOLDEN_SUPERSET;
}

/* num / den; where there is nothing to divide by, 1 when both sides are none, else 0. */
static struct ratio share(size_t num, size_t den, bool both_none)
{
    if (den == 0) {
        return (struct ratio){both_none ? 1 : 0, 1};
    }
    return (struct ratio){(int64_t)num, (int64_t)den};
}

static void score(const struct comparison *c, const struct pairing *p, enum mode_answer holds,
                  struct eval_scores *out)
{
    enum golden_mode mode = c->expect->mode;
    size_t expected = mode == GOLDEN_SUBSET ? p->pairs : c->table.rows;
    size_t made = mode_allows_extra(mode) ? p->pairs : c->table.columns;
    bool none = expected == 0 && made == 0;
    out->tool_selection = share(p->pairs, expected > made ? expected : made, none);
    out->precision = share(p->pairs, made, none);
    out->recall = share(p->pairs, expected, none);
    out->f1 = share(2 * p->pairs, expected + made, none);
    out->arguments = (struct ratio){(int64_t)p->matches, (int64_t)p->pairs};
    out->trajectory = holds == MODE_HOLDS ? 1 : 0;
}

/* The findings of one message, a line each. */
struct findings {
    struct buf text;
    size_t n;
};

/* Begins a finding; false when there are too many already. */
static bool finding(struct findings *f)
{
    if (f->n > 0 && f->n < FINDINGS_MAX) {
        buf_char(&f->text, '\n');
    }
    return f->n++ < FINDINGS_MAX;
}

static struct str preview(const struct comparison *c, struct str s)
{
    return text_preview(c->scratch, s, PREVIEW_CHARS);
}

/* Begins a finding about a call that was made. */
static bool finding_of(struct findings *f, const struct comparison *c, size_t column)
{
    if (!finding(f)) {
        return false;
    }
    buf_fmt(&f->text, "call %zu of %zu: %.*s", column + 1, c->table.columns,
            STR_FMT(preview(c, c->run->calls[column].name)));
    return true;
}

/* Each place in which the arguments differ. */
static void explain_pair(struct findings *f, const struct comparison *c, size_t row, size_t column)
{
    struct buf why = {0};
    if (c->args[column].state == ARGS_OTHER) {
        if (finding_of(f, c, column)) {
            buf_fmt(&f->text, ": expected arguments that are a JSON object, got %.*s",
                    STR_FMT(preview(c, c->run->calls[column].arguments)));
        }
        return;
    }
    arguments_match(c, row, column, &why);
    for (struct str rest = buf_str(&why); rest.n > 0;) {
        struct str line = str_cut(&rest, '\n');
        if (finding_of(f, c, column)) {
            buf_char(&f->text, '.');
            buf_add(&f->text, line);
        }
    }
    buf_free(&why);
}

static struct str expected_name(const struct comparison *c, size_t row)
{
    return preview(c, c->expect->calls[row].name);
}

static struct str made_name(const struct comparison *c, size_t column)
{
    return preview(c, c->run->calls[column].name);
}

/* Whether the call at this place is another one than is expected there. */
static bool is_swapped(const struct comparison *c, const struct pairing *p, size_t place)
{
    return c->expect->mode == GOLDEN_EXACT && place < c->table.rows && place < c->table.columns &&
           p->column_of[place] == SIZE_MAX && p->row_of[place] == SIZE_MAX;
}

static void explain_missing(struct findings *f, const struct comparison *c, const struct pairing *p,
                            size_t row)
{
    if (c->expect->mode == GOLDEN_SUBSET || !finding(f)) {
        return;
    }
    if (is_swapped(c, p, row)) {
        buf_fmt(&f->text, "call %zu of %zu: expected %.*s, got %.*s", row + 1, c->table.columns,
                STR_FMT(expected_name(c, row)), STR_FMT(made_name(c, row)));
    } else {
        buf_fmt(&f->text, "expected call %zu of %zu: %.*s was not made", row + 1, c->table.rows,
                STR_FMT(expected_name(c, row)));
    }
}

static void explain_pairs(struct findings *f, const struct comparison *c, const struct pairing *p)
{
    bool extra_allowed = mode_allows_extra(c->expect->mode);
    for (size_t row = 0; row < c->table.rows; row++) {
        size_t column = p->column_of[row];
        if (column == SIZE_MAX) {
            explain_missing(f, c, p, row);
        } else if (fit_at(&c->table, row, column) != FIT_ARGS) {
            explain_pair(f, c, row, column);
        }
    }
    for (size_t column = 0; !extra_allowed && column < c->table.columns; column++) {
        if (p->row_of[column] == SIZE_MAX && !is_swapped(c, p, column) &&
            finding_of(f, c, column)) {
            buf_addz(&f->text, " was not expected");
        }
    }
}

/* "a, parallel [b, c]" */
static void list_expected(struct buf *out, const struct comparison *c)
{
    uint32_t open = 0;
    for (size_t i = 0; i < c->table.rows; i++) {
        uint32_t group = c->table.group[i];
        if (open != 0 && group != open) {
            buf_char(out, ']');
        }
        if (i == NAMES_MAX) {
            buf_addz(out, ", …");
            return;
        }
        buf_addz(out, i > 0 ? ", " : "");
        buf_addz(out, group != 0 && group != open ? "parallel [" : "");
        buf_add(out, expected_name(c, i));
        open = group;
    }
    buf_addz(out, open != 0 ? "]" : "");
}

/* "reply 1: a; reply 2: b, c" */
static void list_made(struct buf *out, const struct comparison *c)
{
    for (size_t i = 0; i < c->table.columns; i++) {
        if (i == NAMES_MAX) {
            buf_addz(out, ", …");
            return;
        }
        int64_t step = c->table.step[i];
        if (i == 0 || step != c->table.step[i - 1]) {
            buf_fmt(out, "%sreply %" PRId64 ": ", i > 0 ? "; " : "", step);
        } else {
            buf_addz(out, ", ");
        }
        buf_add(out, made_name(c, i));
    }
}

/* What the mode asks for beside the calls themselves. */
static const char *mode_wants(enum golden_mode mode)
{
    switch (mode) {
    case GOLDEN_EXACT: return "mode exact wants this order: ";
    case GOLDEN_IN_ORDER: return "mode in_order wants this order: ";
    case GOLDEN_ANY_ORDER: return "mode any_order wants parallel calls in one reply: ";
    case GOLDEN_SUBSET: return "mode subset wants parallel calls in one reply: ";
    case GOLDEN_SUPERSET: return "mode superset wants parallel calls in one reply: ";
    }
    return "";
}

static void explain_order(struct findings *f, const struct comparison *c, enum mode_answer holds)
{
    if (!finding(f)) {
        return;
    }
    buf_addz(&f->text, holds == MODE_UNDECIDED
                           ? "given up: there are too many ways to place the parallel calls in "
                             "replies; mode exact or in_order asks for one; expected "
                           : mode_wants(c->expect->mode));
    list_expected(&f->text, c);
    buf_addz(&f->text, "; made ");
    list_made(&f->text, c);
}

static struct str explain(const struct comparison *c, const struct pairing *p,
                          enum mode_answer holds, struct arena *arena)
{
    struct findings f = {0};
    explain_pairs(&f, c, p);
    if (f.n == 0 || holds == MODE_UNDECIDED) {
        explain_order(&f, c, holds);
    }
    if (f.n > FINDINGS_MAX) {
        buf_fmt(&f.text, "\nand %zu more", f.n - FINDINGS_MAX);
    }
    struct str text = arena_str(arena, buf_str(&f.text));
    buf_free(&f.text);
    return text;
}

static const struct eval_scores null_scores = {.trajectory = -1};

void calls_judge(const struct golden_task *task, const struct eval_run *run, struct arena *arena,
                 struct calls_verdict *out)
{
    const struct golden_expect *expect = &task->expect;
    size_t rows = expect->has_calls ? expect->n_calls : 0;
    *out = (struct calls_verdict){.scored = expect->has_calls || expect->no_calls,
                                  .scores = null_scores};
    if (!out->scored) {
        return;
    }
    if (rows > 0 && run->n_calls > CELLS_MAX / rows) {
        out->scores.trajectory = 0;
        out->message =
            arena_printf(arena, "%zu calls were made: too many to compare with %zu expected",
                         run->n_calls, rows);
        return;
    }
    struct comparison c = {.expect = expect, .run = run, .scratch = arena_new()};
    compare(&c, task);
    struct pairing p;
    pairing_make(&c.table, c.scratch, &p);
    enum mode_answer holds = pairing_mode(&c.table, expect->mode, c.scratch, NULL);
    score(&c, &p, holds, &out->scores);
    if (holds != MODE_HOLDS) {
        out->message = explain(&c, &p, holds, arena);
    }
    arena_free(c.scratch);
}
