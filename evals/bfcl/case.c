/* All calls of a case by its category. */
#include <string.h>

#include "evals/bfcl/bfcl_int.h"
#include "evals/pairing.h"

static const char no_index[] = BFCL_EXCEPTION "IndexError";

static const struct val *find_function(const struct bfcl_case *k, struct str name)
{
    for (size_t i = 0; i < k->functions->count; i++) {
        if (str_eq(val_text(val_get(&k->functions->items[i], "name")), name)) {
            return &k->functions->items[i];
        }
    }
    return NULL;
}

/* The function that an expected call is of. */
static struct bfcl_function function_of(const struct bfcl_case *k, const struct val *expected)
{
    return bfcl_function_of(find_function(k, expected->members[0].key));
}

static const char *check_simple(const struct bfcl_checker *c, const struct bfcl_case *k,
                                const struct bfcl_calls *calls)
{
    if (calls->n != 1) {
        return "simple_function_checker:wrong_count";
    }
    if (k->functions->count == 0 || k->truth->count == 0) {
        return no_index;
    }
    const struct bfcl_function function = bfcl_function_of(&k->functions->items[0]);
    return bfcl_check_call(c, &function, &calls->at[0], &k->truth->items[0]);
}

static const char *check_multiple(const struct bfcl_checker *c, const struct bfcl_case *k,
                                  const struct bfcl_calls *calls)
{
    if (calls->n != k->truth->count) {
        return "multiple_function_checker:wrong_count";
    }
    if (calls->n == 0) {
        return c->mended ? NULL : no_index;
    }
    const struct val *expected = &k->truth->items[0];
    const struct bfcl_function function = function_of(k, expected);
    return bfcl_check_call(c, &function, &calls->at[0], expected);
}

static const char no_match[] = "parallel_function_checker_no_order:cannot_find_match";

/* Each expected call takes the first call that is left and passes. */
static const char *pair_greedily(const struct bfcl_checker *c, const struct bfcl_case *k,
                                 const struct bfcl_calls *calls)
{
    bool *taken = arena_array(c->work->arena, calls->n, sizeof *taken);
    for (size_t i = 0; i < k->truth->count; i++) {
        const struct val *expected = &k->truth->items[i];
        const struct bfcl_function function = function_of(k, expected);
        const char *error = no_match;
        for (size_t j = 0; error != NULL && j < calls->n; j++) {
            if (taken[j]) {
                continue;
            }
            error = bfcl_check_call(c, &function, &calls->at[j], expected);
            taken[j] = error == NULL;
            if (error != NULL && strncmp(error, BFCL_EXCEPTION, strlen(BFCL_EXCEPTION)) == 0) {
                return error;
            }
        }
        if (error != NULL) {
            return no_match;
        }
    }
    return NULL;
}

/* The most pairs that there can be. */
static const char *pair_best(const struct bfcl_checker *c, const struct bfcl_case *k,
                             const struct bfcl_calls *calls)
{
    struct arena *arena = c->work->arena;
    size_t n = calls->n;
    struct fit_table table = {.rows = n, .columns = n};
    table.cells = arena_array(arena, n * n, sizeof *table.cells);
    table.group = arena_array(arena, n, sizeof *table.group);
    table.step = arena_array(arena, n, sizeof *table.step);
    for (size_t i = 0; i < n; i++) {
        const struct val *expected = &k->truth->items[i];
        const struct bfcl_function function = function_of(k, expected);
        for (size_t j = 0; j < n; j++) {
            bool fits = bfcl_check_call(c, &function, &calls->at[j], expected) == NULL;
            table.cells[i * n + j] = fits ? FIT_ARGS : FIT_NONE;
        }
    }
    struct pairing pairing;
    pairing_make(&table, arena, &pairing);
    return pairing.matches == n ? NULL : no_match;
}

static const char *check_parallel(const struct bfcl_checker *c, const struct bfcl_case *k,
                                  const struct bfcl_calls *calls)
{
    if (calls->n != k->truth->count) {
        return "parallel_function_checker_no_order:wrong_count";
    }
    if (!c->mended) {
        return pair_greedily(c, k, calls);
    }
    const char *error = pair_best(c, k, calls);
    if (error == NULL && c->why != NULL && c->why->n == 0) {
        *c->why = STR("every expected call has a call of its own; the official checker takes the "
                      "first that fits, and another would have needed it");
    }
    return error;
}

const char *bfcl_check_calls(const struct bfcl_checker *c, const char *category,
                             const struct bfcl_case *k, const struct bfcl_calls *calls)
{
    if (strstr(category, "parallel") != NULL) {
        return check_parallel(c, k, calls);
    }
    if (strstr(category, "multiple") != NULL) {
        return check_multiple(c, k, calls);
    }
    return check_simple(c, k, calls);
}

/* The text behind quotes, fences and brackets, and behind a fence's language. */
static struct str unwrapped(struct str s)
{
    static const char *const languages[] = {"python", "json", "tool_code", "java", "javascript"};
    const char wrapping[] = " \t\r\n`[('\"";
    for (int turn = 0; turn < 2; turn++) {
        while (s.n > 0 && memchr(wrapping, s.p[0], sizeof wrapping - 1) != NULL) {
            s = str_slice(s, 1, s.n);
        }
        for (size_t i = 0; turn == 0 && i < sizeof languages / sizeof languages[0]; i++) {
            size_t n = strlen(languages[i]);
            if (str_starts(s, languages[i]) && s.n > n && s.p[n] == '\n') {
                s = str_slice(s, n, s.n);
                break;
            }
        }
    }
    return s;
}

/* A list of texts alone is what some models give for a text. */
static bool has_map(const struct val *list)
{
    for (size_t i = 0; val_is(list, VAL_ARRAY) && i < list->count; i++) {
        if (list->items[i].kind == VAL_OBJECT && list->items[i].count > 0) {
            return true;
        }
    }
    return false;
}

bool bfcl_means_call(const struct bfcl_case *k, const struct bfcl_result *r)
{
    if (r->calls != NULL || !val_is(r->result, VAL_STRING)) {
        return has_map(r->calls != NULL ? r->calls : r->result);
    }
    struct str text = unwrapped(r->result->text);
    for (size_t i = 0; i < k->functions->count; i++) {
        struct str name = val_text(val_get(&k->functions->items[i], "name"));
        if (text.n > name.n && str_eq(str_slice(text, 0, name.n), name) && text.p[name.n] == '(') {
            return true;
        }
    }
    return false;
}
