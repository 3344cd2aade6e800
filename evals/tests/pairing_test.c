#include "ci/testing/testing.h"
#include "evals/pairing.h"
#include "kernel/base/rng.h"

#include <stdio.h>
#include <string.h>

/* Calls in shorthand: a letter is the name, a digit the arguments, `?` any arguments. Expected:
 * brackets hold a `parallel:`. Made: a bar begins the next reply. */
enum { CALLS_MAX = 16 };

struct side {
    char name[CALLS_MAX];
    char args[CALLS_MAX];
    uint32_t group[CALLS_MAX];
    int64_t step[CALLS_MAX];
    size_t n;
};

static struct side read_side(const char *text)
{
    struct side s = {.n = 0};
    uint32_t group = 0, groups = 0;
    int64_t step = 1;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '[') {
            group = ++groups;
        } else if (*p == ']') {
            group = 0;
        } else if (*p == '|') {
            step++;
        } else if (*p != ' ') {
            s.name[s.n] = p[0];
            s.args[s.n] = p[1];
            s.group[s.n] = group;
            s.step[s.n] = step;
            s.n++;
            p++;
        }
    }
    return s;
}

/* The table of two sides; it points into them and into cells. */
static struct fit_table table_of(const struct side *expected, const struct side *made,
                                 uint8_t *cells)
{
    for (size_t e = 0; e < expected->n; e++) {
        for (size_t m = 0; m < made->n; m++) {
            bool name = expected->name[e] == made->name[m];
            bool args = expected->args[e] == '?' || expected->args[e] == made->args[m];
            cells[e * made->n + m] = !name ? FIT_NONE : args ? FIT_ARGS : FIT_NAME;
        }
    }
    return (struct fit_table){expected->n, made->n, cells, expected->group, made->step};
}

static const char *mode_names[] = {"exact", "in_order", "any_order", "subset", "superset"};

/* Which modes hold, by hand: e i a s S in the order of mode_names, - where one does not. */
static const struct {
    const char *expected;
    const char *made;
    const char *modes;
    size_t pairs;
    size_t matches;
} cases[] = {
    {"", "", "eiasS", 0, 0},
    {"", "a1", "-i--S", 0, 0},
    {"a1", "", "---s-", 0, 0},
    {"a1", "a1", "eiasS", 1, 1},
    {"a1", "a2", "-----", 1, 0},
    {"a?", "a2", "eiasS", 1, 1},
    {"a1", "b1", "-----", 0, 0},
    {"a1 b1", "a1|b1", "eiasS", 2, 2},
    {"a1 b1", "a1 b1", "eiasS", 2, 2},
    {"a1 b1", "b1|a1", "--asS", 2, 2},
    {"a1 b1", "a1|c1|b1", "-i--S", 2, 2},
    {"a1 b1 c1", "c1|a1", "---s-", 2, 2},
    {"a1", "a1|a1", "-i--S", 1, 1},
    /* greedy pairing would give a? the a1 and leave a1 with a2 */
    {"a? a1", "a1|a2", "--asS", 2, 2},
    {"a1 a?", "a1|a2", "eiasS", 2, 2},
    /* the wrong call first: the later one with the right arguments is the pair */
    {"a1", "a2|a1", "-i--S", 1, 1},
    {"a1 a2", "a2|a3", "-----", 2, 1},
    {"a1 a2 b1", "a2|b1", "---s-", 2, 2},
    /* parallel */
    {"[a1 b1]", "b1 a1", "eiasS", 2, 2},
    {"[a1 b1]", "a1|b1", "-----", 2, 2},
    {"c1 [a1 b1] d1", "c1|b1 a1|d1", "eiasS", 4, 4},
    {"c1 [a1 b1] d1", "d1|b1 a1|c1", "--asS", 4, 4},
    {"c1 [a1 b1]", "c1 b1 a1", "eiasS", 3, 3},
    {"[a1 b1]", "a1|b1 a1", "-i--S", 2, 2},
    {"[a1 b1] [a1 c1]", "c1 a1|b1 a1", "--asS", 4, 4},
    {"[a? a1]", "a1 a2", "eiasS", 2, 2},
    {"[a1 b1] a1", "a1|a1 b1", "--asS", 3, 3},
    {"[a1 b1] c1", "a1", "---s-", 1, 1},
    {"[a1 b1] c1", "a1|c1|b1", "-----", 3, 3},
};

static void modes_hold_as_worked_by_hand(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct side expected = read_side(cases[i].expected);
        struct side made = read_side(cases[i].made);
        uint8_t cells[CALLS_MAX * CALLS_MAX];
        struct fit_table t = table_of(&expected, &made, cells);
        struct arena *arena = arena_new();
        char got[6] = "eiasS";
        for (int mode = 0; mode < 5; mode++) {
            enum mode_answer a = pairing_mode(&t, (enum golden_mode)mode, arena, NULL);
            got[mode] = a == MODE_HOLDS ? got[mode] : '-';
        }
        struct pairing p;
        pairing_make(&t, arena, &p);
        char all[80], want[80];
        snprintf(all, sizeof all, "%s / %s: %s %zu %zu", cases[i].expected, cases[i].made, got,
                 p.pairs, p.matches);
        snprintf(want, sizeof want, "%s / %s: %s %zu %zu", cases[i].expected, cases[i].made,
                 cases[i].modes, cases[i].pairs, cases[i].matches);
        CHECK_TEXT(all, want);
        arena_free(arena);
    }
}

/* ---- against trying everything ---- */

/* One way to give each row a column or none; row by row. */
struct trial {
    const struct fit_table *t;
    enum golden_mode mode;
    size_t column[CALLS_MAX];
    bool used[CALLS_MAX];
    size_t pairs, matches;           /* of this way, by name */
    size_t best_pairs, best_matches; /* of all */
    bool holds;                      /* some way with matching arguments satisfies the mode */
};

static bool groups_in_one_reply(const struct trial *x)
{
    const struct fit_table *t = x->t;
    for (size_t a = 0; a < t->rows; a++) {
        for (size_t b = 0; b < a; b++) {
            bool both = x->column[a] != SIZE_MAX && x->column[b] != SIZE_MAX;
            if (both && t->group[a] != 0 && t->group[a] == t->group[b] &&
                t->step[x->column[a]] != t->step[x->column[b]]) {
                return false;
            }
        }
    }
    return true;
}

static bool in_order(const struct trial *x)
{
    const struct fit_table *t = x->t;
    for (size_t a = 0; a < t->rows; a++) {
        for (size_t b = 0; b < a; b++) {
            bool together = t->group[a] != 0 && t->group[a] == t->group[b];
            if (!together && x->column[b] > x->column[a]) {
                return false;
            }
        }
    }
    return true;
}

static bool satisfies(const struct trial *x)
{
    bool all_rows = x->pairs == x->t->rows;
    bool all_columns = x->pairs == x->t->columns;
    if (x->matches != x->pairs || !groups_in_one_reply(x)) {
        return false;
    }
    switch (x->mode) {
    case GOLDEN_EXACT: return all_rows && all_columns && in_order(x);
    case GOLDEN_IN_ORDER: return all_rows && in_order(x);
    case GOLDEN_ANY_ORDER: return all_rows && all_columns;
    case GOLDEN_SUBSET: return all_columns;
    case GOLDEN_SUPERSET: return all_rows;
    }
    return false;
}

static void try_all(struct trial *x, size_t row)
{
    if (row == x->t->rows) {
        bool better =
            x->pairs > x->best_pairs || (x->pairs == x->best_pairs && x->matches > x->best_matches);
        x->best_pairs = better ? x->pairs : x->best_pairs;
        x->best_matches = better ? x->matches : x->best_matches;
        x->holds = x->holds || satisfies(x);
        return;
    }
    x->column[row] = SIZE_MAX;
    try_all(x, row + 1);
    for (size_t c = 0; c < x->t->columns; c++) {
        enum fit fit = fit_at(x->t, row, c);
        if (x->used[c] || fit == FIT_NONE) {
            continue;
        }
        x->used[c] = true;
        x->column[row] = c;
        x->pairs++;
        x->matches += fit == FIT_ARGS;
        try_all(x, row + 1);
        x->matches -= fit == FIT_ARGS;
        x->pairs--;
        x->used[c] = false;
    }
}

static struct side random_side(struct rng *r, bool expected)
{
    struct side s = {.n = (size_t)rng_below(r, 6)};
    uint32_t group = 0;
    int64_t step = 1;
    for (size_t i = 0; i < s.n; i++) {
        s.name[i] = "ab"[rng_below(r, 2)];
        s.args[i] = expected ? "12?"[rng_below(r, 3)] : "12"[rng_below(r, 2)];
        step += rng_below(r, 2) == 0;
        s.step[i] = step;
        bool joins = i > 0 && s.group[i - 1] != 0 && rng_below(r, 2) == 0;
        s.group[i] = joins ? s.group[i - 1] : rng_below(r, 3) == 0 ? ++group : 0;
    }
    return s;
}

static void agrees_with_trying_everything(void)
{
    struct rng r = rng_seeded(20261129);
    unsigned wrong = 0;
    unsigned held[5] = {0};
    for (int i = 0; i < 6000; i++) {
        struct side expected = random_side(&r, true);
        struct side made = random_side(&r, false);
        uint8_t cells[CALLS_MAX * CALLS_MAX];
        struct fit_table t = table_of(&expected, &made, cells);
        struct arena *arena = arena_new();
        struct pairing p;
        pairing_make(&t, arena, &p);
        for (int mode = 0; mode < 5; mode++) {
            struct trial x = {.t = &t, .mode = (enum golden_mode)mode};
            try_all(&x, 0);
            bool holds = pairing_mode(&t, (enum golden_mode)mode, arena, NULL) == MODE_HOLDS;
            bool same = holds == x.holds && p.pairs == x.best_pairs && p.matches == x.best_matches;
            held[mode] += x.holds;
            if (!same && wrong++ < 5) {
                printf("\n%s: %.*s / %.*s: got %d %zu %zu, want %d %zu %zu\n", mode_names[mode],
                       (int)expected.n, expected.name, (int)made.n, made.name, holds, p.pairs,
                       p.matches, x.holds, x.best_pairs, x.best_matches);
            }
        }
        arena_free(arena);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    for (int mode = 0; mode < 5; mode++) {
        CU_ASSERT(held[mode] > 50); /* both answers were met */
    }
}

/* 2000 equal calls made, 1000 expected of which one never fits: no blow-up. */
static void large_tables_stay_cheap(void)
{
    enum { ROWS = 1000, COLUMNS = 2000 };
    struct arena *arena = arena_new();
    uint8_t *cells = arena_array(arena, ROWS, COLUMNS);
    uint32_t *group = arena_array(arena, ROWS, sizeof *group);
    int64_t *step = arena_array(arena, COLUMNS, sizeof *step);
    memset(cells, FIT_ARGS, (size_t)ROWS * COLUMNS);
    memset(cells, FIT_NAME, COLUMNS);
    struct fit_table t = {ROWS, COLUMNS, cells, group, step};
    struct pairing p;
    pairing_make(&t, arena, &p);
    CU_ASSERT_EQUAL(p.pairs, ROWS);
    CU_ASSERT_EQUAL(p.matches, ROWS - 1);
    CU_ASSERT_EQUAL(pairing_mode(&t, GOLDEN_SUPERSET, arena, NULL), MODE_BROKEN);
    CU_ASSERT_EQUAL(pairing_mode(&t, GOLDEN_IN_ORDER, arena, NULL), MODE_BROKEN);
    arena_free(arena);
}

/* Eight pairs expected, seven made: whichever of the equal groups goes where is all the same. */
static void equal_groups_are_not_exchanged(void)
{
    struct side expected =
        read_side("[a1 b1] [a1 b1] [a1 b1] [a1 b1] [a1 b1] [a1 b1] [a1 b1] [a1 b1]");
    struct side made = read_side("a1 b1|a1 b1|a1 b1|a1 b1|a1 b1|a1 b1|a1 b1|a1|b1");
    uint8_t cells[CALLS_MAX * CALLS_MAX];
    struct fit_table t = table_of(&expected, &made, cells);
    struct arena *arena = arena_new();
    CU_ASSERT_EQUAL(pairing_mode(&t, GOLDEN_ANY_ORDER, arena, NULL), MODE_BROKEN);
    CU_ASSERT_EQUAL(pairing_mode(&t, GOLDEN_SUPERSET, arena, NULL), MODE_BROKEN);
    CU_ASSERT_EQUAL(pairing_mode(&t, GOLDEN_SUBSET, arena, NULL), MODE_BROKEN);
    arena_free(arena);
}

/* 13 groups of two, each another one, and 1000 calls of which only 12 times two share a reply: 12!
 * ways, none of which is right. */
static void a_search_is_given_up(void)
{
    enum { GROUPS = 13, ROWS = 2 * GROUPS, COLUMNS = 1000, PAIRS = GROUPS - 1 };
    struct arena *arena = arena_new();
    uint8_t *cells = arena_array(arena, ROWS, COLUMNS);
    uint32_t *group = arena_array(arena, ROWS, sizeof *group);
    int64_t *step = arena_array(arena, COLUMNS, sizeof *step);
    memset(cells, FIT_ARGS, (size_t)ROWS * COLUMNS);
    for (uint32_t row = 0; row < ROWS; row++) {
        group[row] = row / 2 + 1;
        cells[row * COLUMNS + COLUMNS - 1 - row / 2] = FIT_NAME;
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        step[c] = (int64_t)(c < 2 * PAIRS ? c / 2 : c);
    }
    struct fit_table t = {ROWS, COLUMNS, cells, group, step};
    size_t looks = 0;
    CU_ASSERT_EQUAL(pairing_mode(&t, GOLDEN_SUPERSET, arena, &looks), MODE_UNDECIDED);
    CU_ASSERT(looks > PAIRING_LOOKS_MAX);
    CU_ASSERT(looks <= PAIRING_LOOKS_MAX + (size_t)ROWS * ROWS * COLUMNS);
    arena_free(arena);
}

TESTS(pairing, {"pairing_modes_hold_as_worked_by_hand", modes_hold_as_worked_by_hand},
      {"pairing_agrees_with_trying_everything", agrees_with_trying_everything},
      {"pairing_stays_cheap_on_large_tables", large_tables_stay_cheap},
      {"pairing_does_not_exchange_equal_groups", equal_groups_are_not_exchanged},
      {"pairing_gives_up_a_search_that_is_too_long", a_search_is_given_up})
