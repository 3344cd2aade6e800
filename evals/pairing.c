#include "evals/pairing.h"

#include <string.h>

/* Why pairing_make is exact: two calls can only be paired when their names are equal, so the graph
 * falls apart by name, and within a name everything may be paired with everything. The number of
 * pairs is therefore the sum over names of the smaller count, whatever is chosen, and every
 * matching on arguments extends to that many pairs. So: a maximum matching on arguments first, then
 * fill up. */

enum fit fit_at(const struct fit_table *t, size_t row, size_t column)
{
    return (enum fit)t->cells[row * t->columns + column];
}

/* A matching that grows by one column at a time (Kuhn's algorithm, breadth first). */
struct matcher {
    const struct fit_table *t;
    size_t *column_of;
    size_t *row_of;
    size_t size;
    const int64_t
        *pinned; /* per group number: the step it must come in, -1 = any; NULL = no pins */
    /* scratch */
    size_t *queue;     /* columns to look at */
    size_t *came_from; /* per row: the column it was reached from */
    size_t *open;      /* rows not reached yet */
    size_t looks;      /* cells looked at: the work done so far */
};

static void clear(size_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = SIZE_MAX;
    }
}

/* Forgets what rows [from, to) are matched with. */
static void matcher_reset(struct matcher *m, size_t from, size_t to)
{
    for (size_t row = from; row < to; row++) {
        if (m->column_of[row] != SIZE_MAX) {
            m->row_of[m->column_of[row]] = SIZE_MAX;
            m->column_of[row] = SIZE_MAX;
        }
    }
    m->size = 0;
}

static struct matcher matcher_new(const struct fit_table *t, struct arena *arena)
{
    struct matcher m = {.t = t};
    m.column_of = arena_array(arena, t->rows, sizeof *m.column_of);
    m.row_of = arena_array(arena, t->columns, sizeof *m.row_of);
    m.queue = arena_array(arena, t->rows + 1, sizeof *m.queue);
    m.came_from = arena_array(arena, t->rows, sizeof *m.came_from);
    m.open = arena_array(arena, t->rows, sizeof *m.open);
    clear(m.column_of, t->rows);
    clear(m.row_of, t->columns);
    return m;
}

static bool allowed(const struct matcher *m, size_t row, size_t column)
{
    if (fit_at(m->t, row, column) != FIT_ARGS) {
        return false;
    }
    if (m->pinned == NULL || m->t->group[row] == 0) {
        return true;
    }
    int64_t step = m->pinned[m->t->group[row]];
    return step < 0 || step == m->t->step[column];
}

/* Turns the path that ends at the free row around, so that `column` is matched too. */
static void flip(struct matcher *m, size_t row)
{
    while (row != SIZE_MAX) {
        size_t column = m->came_from[row];
        size_t next = m->row_of[column];
        m->row_of[column] = row;
        m->column_of[row] = column;
        row = next;
    }
}

/* Tries to match `column` using rows [from, to), moving others aside where that helps. Each row is
 * reached at most once, so dense tables cost one scan. */
static bool grow(struct matcher *m, size_t column, size_t from, size_t to)
{
    size_t n_open = 0;
    for (size_t row = from; row < to; row++) {
        m->open[n_open++] = row;
    }
    size_t head = 0;
    size_t tail = 0;
    m->queue[tail++] = column;
    while (head < tail) {
        size_t at = m->queue[head++];
        size_t kept = 0;
        m->looks += n_open;
        for (size_t i = 0; i < n_open; i++) {
            size_t row = m->open[i];
            if (!allowed(m, row, at)) {
                m->open[kept++] = row;
                continue;
            }
            m->came_from[row] = at;
            if (m->column_of[row] == SIZE_MAX) {
                flip(m, row);
                m->size++;
                return true;
            }
            m->queue[tail++] = m->column_of[row];
        }
        n_open = kept;
    }
    return false;
}

static void match_all(struct matcher *m)
{
    matcher_reset(m, 0, m->t->rows);
    for (size_t c = 0; c < m->t->columns && m->size < m->t->rows; c++) {
        grow(m, c, 0, m->t->rows);
    }
}

void pairing_make(const struct fit_table *t, struct arena *arena, struct pairing *out)
{
    struct matcher m = matcher_new(t, arena);
    match_all(&m);
    size_t pairs = m.size;
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t c = 0; m.column_of[row] == SIZE_MAX && c < t->columns; c++) {
            if (m.row_of[c] == SIZE_MAX && fit_at(t, row, c) != FIT_NONE) {
                m.column_of[row] = c;
                m.row_of[c] = row;
                pairs++;
            }
        }
    }
    *out = (struct pairing){m.column_of, m.row_of, pairs, m.size};
}

/* The end of the element that begins at `row`: a call alone, or a whole `parallel:`. */
static size_t element_end(const struct fit_table *t, size_t row)
{
    size_t end = row + 1;
    while (t->group[row] != 0 && end < t->rows && t->group[end] == t->group[row]) {
        end++;
    }
    return end;
}

/* Places rows [row, end) on columns from `column` on that belong to one reply, so that the last one
 * used comes as early as it can. Returns the column behind it, or SIZE_MAX. */
static size_t place_element(struct matcher *m, size_t row, size_t end, size_t column)
{
    const struct fit_table *t = m->t;
    matcher_reset(m, row, end);
    for (size_t c = column; c < t->columns; c++) {
        if (c > column && t->step[c] != t->step[c - 1]) {
            matcher_reset(m, row, end);
        }
        grow(m, c, row, end);
        if (m->size == end - row) {
            return c + 1;
        }
    }
    return SIZE_MAX;
}

/* Taking the earliest end for each element is exact: a later start never allows an earlier end. */
static bool holds_in_order(struct matcher *m)
{
    size_t column = 0;
    for (size_t row = 0; row < m->t->rows;) {
        size_t end = element_end(m->t, row);
        column = place_element(m, row, end, column);
        if (column == SIZE_MAX) {
            return false;
        }
        row = end;
    }
    return true;
}

static bool holds_exactly(struct matcher *m)
{
    if (m->t->rows != m->t->columns) {
        return false;
    }
    for (size_t row = 0; row < m->t->rows;) {
        size_t end = element_end(m->t, row);
        if (m->t->step[row] != m->t->step[end - 1] || place_element(m, row, end, row) != end) {
            return false;
        }
        row = end;
    }
    return true;
}

/* Rows and columns that must all be matched. */
struct need {
    bool rows;
    bool columns;
};

static bool enough(const struct matcher *m, struct need need)
{
    return (!need.rows || m->size == m->t->rows) && (!need.columns || m->size == m->t->columns);
}

/* The calls of one `parallel:`, rows [row, end). */
struct group {
    size_t row;
    size_t end;
    uint32_t twin; /* a group before it with the same cells; 0 = none */
    size_t reply;  /* that it is pinned to */
};

/* The recursion goes as deep as there are groups; a set with more than this is not written by
 * people. */
enum { GROUPS_MAX = 256 };

/* A search for replies that the groups can be pinned to. */
struct search {
    struct matcher *m;
    struct need need;
    size_t *replies; /* the column where each begins, and the end of the last */
    size_t n_replies;
    struct group *groups; /* from 1 */
    uint32_t n_groups;
    int64_t *pins; /* per group */
};

/* Whether the group could have its calls in this reply, if it had the reply for itself. Where not
 * all expected calls are needed, one of them is enough. */
static bool may_pin(struct search *s, const struct group *g, size_t reply)
{
    const struct fit_table *t = s->m->t;
    size_t from = s->replies[reply];
    size_t to = s->replies[reply + 1];
    size_t rows = 0;
    for (size_t row = g->row; row < g->end; row++) {
        bool fits = false;
        for (size_t c = from; c < to && !fits; c++) {
            s->m->looks++;
            fits = fit_at(t, row, c) == FIT_ARGS;
        }
        rows += fits;
    }
    size_t size = g->end - g->row;
    return s->need.rows ? rows == size && to - from >= size : rows > 0;
}

/* Pins the groups from `group` on to replies one after another. A group that is not pinned yet may
 * spread, so a table that fails already fails with any pin. Of groups with the same cells none
 * comes before its twin: exchanging them changes nothing. */
static enum mode_answer try_pins(struct search *s, uint32_t group)
{
    if (s->m->looks > PAIRING_LOOKS_MAX) {
        return MODE_UNDECIDED;
    }
    match_all(s->m);
    if (!enough(s->m, s->need)) {
        return MODE_BROKEN;
    }
    if (group > s->n_groups) {
        return MODE_HOLDS;
    }
    struct group *g = &s->groups[group];
    bool tried = false;
    for (size_t reply = g->twin == 0 ? 0 : s->groups[g->twin].reply; reply < s->n_replies;
         reply++) {
        if (!may_pin(s, g, reply)) {
            continue;
        }
        tried = true;
        g->reply = reply;
        s->pins[group] = s->m->t->step[s->replies[reply]];
        enum mode_answer a = try_pins(s, group + 1);
        if (a != MODE_BROKEN) {
            return a;
        }
    }
    s->pins[group] = -1;
    g->reply = 0;
    /* None of its calls was made: without a pin it can do no harm. */
    return tried || s->need.rows ? MODE_BROKEN : try_pins(s, group + 1);
}

static bool same_cells(const struct fit_table *t, const struct group *a, const struct group *b)
{
    size_t n = a->end - a->row;
    return n == b->end - b->row && memcmp(t->cells + a->row * t->columns,
                                          t->cells + b->row * t->columns, n * t->columns) == 0;
}

/* False when there are too many groups. */
static bool find_groups(struct search *s, struct arena *arena)
{
    const struct fit_table *t = s->m->t;
    s->groups = arena_array(arena, GROUPS_MAX + 1, sizeof *s->groups);
    for (size_t row = 0; row < t->rows;) {
        struct group g = {.row = row, .end = element_end(t, row)};
        if (t->group[row] != 0 && s->n_groups == GROUPS_MAX) {
            return false;
        }
        for (uint32_t i = 1; t->group[row] != 0 && i <= s->n_groups; i++) {
            g.twin = same_cells(t, &s->groups[i], &g) ? i : g.twin;
        }
        if (t->group[row] != 0) {
            s->groups[++s->n_groups] = g;
        }
        row = g.end;
    }
    return true;
}

static void find_replies(struct search *s, struct arena *arena)
{
    const struct fit_table *t = s->m->t;
    s->replies = arena_array(arena, t->columns + 1, sizeof *s->replies);
    for (size_t c = 0; c < t->columns; c++) {
        if (c == 0 || t->step[c] != t->step[c - 1]) {
            s->replies[s->n_replies++] = c;
        }
    }
    s->replies[s->n_replies] = t->columns;
}

static enum mode_answer holds_unordered(struct matcher *m, struct need need, struct arena *arena)
{
    struct search s = {.m = m, .need = need};
    if (!find_groups(&s, arena)) {
        return MODE_UNDECIDED;
    }
    find_replies(&s, arena);
    s.pins = arena_array(arena, GROUPS_MAX + 1, sizeof *s.pins);
    for (uint32_t g = 0; g <= GROUPS_MAX; g++) {
        s.pins[g] = -1;
    }
    m->pinned = s.pins;
    return try_pins(&s, 1);
}

static enum mode_answer answer(struct matcher *m, enum golden_mode mode, struct arena *arena)
{
    switch (mode) {
    case GOLDEN_EXACT: return holds_exactly(m) ? MODE_HOLDS : MODE_BROKEN;
    case GOLDEN_IN_ORDER: return holds_in_order(m) ? MODE_HOLDS : MODE_BROKEN;
    case GOLDEN_ANY_ORDER: return holds_unordered(m, (struct need){true, true}, arena);
    case GOLDEN_SUBSET: return holds_unordered(m, (struct need){false, true}, arena);
    case GOLDEN_SUPERSET: return holds_unordered(m, (struct need){true, false}, arena);
    }
    return MODE_BROKEN;
}

enum mode_answer pairing_mode(const struct fit_table *t, enum golden_mode mode, struct arena *arena,
                              size_t *looks)
{
    struct matcher m = matcher_new(t, arena);
    enum mode_answer a = answer(&m, mode, arena);
    if (looks != NULL) {
        *looks = m.looks;
    }
    return a;
}
