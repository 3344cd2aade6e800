#include "evals/pairing_int.h"

#include <string.h>

/* Why pairing_make is exact: two calls can only be paired when their names are equal, so the graph
 * falls apart by name, and within a name everything may be paired with everything. The number of
 * pairs is therefore the sum over names of the smaller count, whatever is chosen, and every
 * matching on arguments extends to that many pairs. So: a maximum matching on arguments first, then
 * fill up. */

enum { NODES_MAX = 4096 /* placements of parallel groups tried before giving up */ };

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

/* Pins the groups from `group` on to replies one after another. A group that is not pinned yet may
 * spread, so a table that fails already fails with any pin. */
static enum mode_answer try_pins(struct matcher *m, int64_t *pins, uint32_t group, uint32_t groups,
                                 struct need need, unsigned *nodes)
{
    if (++*nodes > NODES_MAX) {
        return MODE_UNDECIDED;
    }
    match_all(m);
    if (!enough(m, need)) {
        return MODE_BROKEN;
    }
    if (group > groups) {
        return MODE_HOLDS;
    }
    const struct fit_table *t = m->t;
    for (size_t c = 0; c < t->columns; c++) {
        if (c > 0 && t->step[c] == t->step[c - 1]) {
            continue;
        }
        pins[group] = t->step[c];
        enum mode_answer a = try_pins(m, pins, group + 1, groups, need, nodes);
        if (a != MODE_BROKEN) {
            return a;
        }
    }
    pins[group] = -1;
    return t->columns == 0 ? MODE_HOLDS : MODE_BROKEN;
}

/* The recursion goes as deep as there are groups; a set with more than this is not written by
 * people. */
enum { GROUPS_MAX = 256 };

static enum mode_answer holds_unordered(struct matcher *m, struct need need, struct arena *arena)
{
    uint32_t groups = 0;
    for (size_t row = 0; row < m->t->rows; row++) {
        groups = m->t->group[row] > groups ? m->t->group[row] : groups;
    }
    if (groups > GROUPS_MAX) {
        return MODE_UNDECIDED;
    }
    int64_t *pins = arena_array(arena, (size_t)groups + 1, sizeof *pins);
    for (uint32_t g = 0; g <= groups; g++) {
        pins[g] = -1;
    }
    m->pinned = pins;
    unsigned nodes = 0;
    return try_pins(m, pins, 1, groups, need, &nodes);
}

enum mode_answer pairing_mode(const struct fit_table *t, enum golden_mode mode, struct arena *arena)
{
    struct matcher m = matcher_new(t, arena);
    switch (mode) {
    case GOLDEN_EXACT: return holds_exactly(&m) ? MODE_HOLDS : MODE_BROKEN;
    case GOLDEN_IN_ORDER: return holds_in_order(&m) ? MODE_HOLDS : MODE_BROKEN;
    case GOLDEN_ANY_ORDER: return holds_unordered(&m, (struct need){true, true}, arena);
    case GOLDEN_SUBSET: return holds_unordered(&m, (struct need){false, true}, arena);
    case GOLDEN_SUPERSET: return holds_unordered(&m, (struct need){true, false}, arena);
    }
    return MODE_BROKEN;
}
