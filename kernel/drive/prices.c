#include "kernel/drive/prices.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/date.h"
#include "kernel/base/doc.h"
#include "kernel/base/hash.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"
#include "kernel/drive/prices_int.h"

enum { TOKENS_MAX = 1000000000 }; /* of an input; replies to longer ones have no cost */

/* A name or pattern. */
struct entry {
    struct str match;
    size_t stars;        /* 0 = an exact name */
    struct str currency; /* of the price */
    const struct price *price;
    const struct val *at;
};

struct prices {
    struct arena *arena;
    uint64_t hash;         /* of its text */
    struct entry *entries; /* in the order of the file */
    size_t n;
    size_t cap;
};

/* ---- loading ---- */

static int read_amounts(struct doc d, const struct val *v, struct price *out, struct err *e)
{
    const struct {
        const char *key;
        int64_t *out;
    } amounts[] = {{"input", &out->input},
                   {"cached", &out->cached},
                   {"cache_write", &out->cache_write},
                   {"output", &out->output},
                   {"reasoning", &out->reasoning}};
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        *amounts[i].out = -1;
        int rc = doc_scaled(d, v, amounts[i].key, 9, 0, PRICE_NANO_MAX, amounts[i].out, e);
        if (rc != 0) {
            return rc;
        }
    }
    const char *missing = out->input < 0 ? "input" : out->output < 0 ? "output" : NULL;
    return missing == NULL ? 0
                           : doc_fail(d, v, e,
                                      "\"%s\" is missing here: what a million tokens cost, such as "
                                      "1.25",
                                      missing);
}

/* What longer inputs cost: a chain of prices behind `first`. */
static int read_above(struct doc d, const struct val *model, struct price *first, struct err *e)
{
    static const char *const keys[] = {"tokens", "input",     "cached", "cache_write",
                                       "output", "reasoning", NULL};
    const struct val *above = NULL;
    int rc = doc_list(d, model, "above", DOC_OPTIONAL, &above, e);
    size_t n = above == NULL ? 0 : above->count;
    if (n >= PRICE_TIERS_MAX) {
        return doc_fail(d, above, e, "\"above\" may have up to %d prices, got %zu",
                        PRICE_TIERS_MAX - 1, n);
    }
    struct price *last = first;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct val *v = val_item(above, i);
        struct price *p = arena_alloc(d.arena, sizeof *p);
        int64_t min = last == first ? 1 : last->above + 1;
        rc = doc_keys(d, v, "a price of longer inputs", keys, e);
        rc = rc != 0 ? rc : doc_int(d, v, "tokens", DOC_REQUIRED, min, TOKENS_MAX, &last->above, e);
        rc = rc != 0 ? rc : read_amounts(d, v, p, e);
        last->beyond = p;
        p->above = last->above; /* the next one must be more */
        last = p;
    }
    return rc;
}

static size_t count_stars(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += s.p[i] == '*';
    }
    return n;
}

/* One name or pattern; `entry` has the price already. */
static int add_match(struct prices *t, struct doc d, const struct val *v, struct entry entry,
                     struct err *e)
{
    struct str s = val_text(v);
    if (!val_is(v, VAL_STRING) || s.n == 0) {
        return doc_fail(d, v, e,
                        "\"match\" wants a model's name or a pattern such as \"gpt-4.1-20*\", got "
                        "%s",
                        val_is(v, VAL_STRING) ? "\"\"" : val_kind_name(v->kind));
    }
    if (s.n > PRICES_NAME_MAX) {
        return doc_fail(d, v, e, "a name or pattern may have up to %d bytes, got %zu",
                        PRICES_NAME_MAX, s.n);
    }
    if (str_find(s, STR("**")) != SIZE_MAX) {
        return doc_fail(d, v, e, "\"**\": one star stands for any characters already");
    }
    if (t->n == PRICES_MODELS_MAX) {
        return err_at(e, ERR_LIMIT, d.file, v->line, v->column, "more than %d names and patterns",
                      PRICES_MODELS_MAX);
    }
    if (t->n == t->cap) {
        size_t cap = t->cap == 0 ? 64 : 2 * t->cap;
        struct entry *more = arena_array(t->arena, cap, sizeof *more);
        if (t->n > 0) {
            memcpy(more, t->entries, t->n * sizeof *more);
        }
        t->entries = more;
        t->cap = cap;
    }
    entry.match = s;
    entry.stars = count_stars(s);
    entry.at = v;
    t->entries[t->n++] = entry;
    return 0;
}

static int read_model(struct prices *t, struct doc d, const struct val *v, struct str currency,
                      struct err *e)
{
    static const char *const keys[] = {"match",  "input",     "cached", "cache_write",
                                       "output", "reasoning", "above",  NULL};
    struct price *price = arena_alloc(d.arena, sizeof *price);
    struct entry entry = {.currency = currency, .price = price};
    int rc = doc_keys(d, v, "a model's price", keys, e);
    rc = rc != 0 ? rc : read_amounts(d, v, price, e);
    rc = rc != 0 ? rc : read_above(d, v, price, e);
    if (rc != 0) {
        return rc;
    }
    const struct val *match = val_get(v, "match");
    if (match == NULL || val_is(match, VAL_NULL)) {
        return doc_fail(d, v, e, "\"match\" is missing here: the model's name, or a list of names");
    }
    if (!val_is(match, VAL_ARRAY)) {
        return add_match(t, d, match, entry, e);
    }
    if (match->count == 0) {
        return doc_fail(d, match, e, "\"match\" has no name");
    }
    for (size_t i = 0; rc == 0 && i < match->count; i++) {
        rc = add_match(t, d, val_item(match, i), entry, e);
    }
    return rc;
}

/* Three capital letters, as ISO 4217 names currencies. */
static bool is_currency(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < 'A' || s.p[i] > 'Z') {
            return false;
        }
    }
    return s.n == 3;
}

/* 2026-11-29 */
static bool is_date(struct str s)
{
    struct buf time = {0};
    int64_t ms;
    buf_add(&time, s);
    buf_addz(&time, "T00:00:00.000Z");
    bool good = s.n == 10 && date_parse(buf_str(&time), &ms);
    buf_free(&time);
    return good;
}

/* One table; at the top of a file `version` stands beside it. */
static int read_table(struct prices *t, struct doc d, const struct val *v, const char *const *keys,
                      struct err *e)
{
    struct str currency = {NULL, 0}, as_of = {NULL, 0}, source;
    const struct val *models = NULL;
    int rc = doc_keys(d, v, "a price table", keys, e);
    rc = rc != 0 ? rc : doc_str(d, v, "currency", DOC_REQUIRED, &currency, e);
    if (rc == 0 && !is_currency(currency)) {
        rc = doc_fail(d, val_get(v, "currency"), e,
                      "\"currency\" must be three capital letters such as USD or CNY");
    }
    rc = rc != 0 ? rc : doc_str(d, v, "as_of", DOC_OPTIONAL, &as_of, e);
    if (rc == 0 && as_of.p != NULL && !is_date(as_of)) {
        rc = doc_fail(d, val_get(v, "as_of"), e, "\"as_of\" must be a date such as 2026-11-29");
    }
    rc = rc != 0 ? rc : doc_str(d, v, "source", DOC_OPTIONAL, &source, e);
    rc = rc != 0 ? rc : doc_list(d, v, "models", DOC_REQUIRED, &models, e);
    for (size_t i = 0; rc == 0 && i < models->count; i++) {
        rc = read_model(t, d, val_item(models, i), currency, e);
    }
    return rc;
}

static int read_root(struct prices *t, struct doc d, const struct val *root, struct err *e)
{
    static const char *const file_keys[] = {"version", "tables", NULL};
    static const char *const one_keys[] = {"version", "currency", "as_of",
                                           "source",  "models",   NULL};
    const struct val *tables = NULL;
    int rc = doc_version(d, root, e);
    if (rc != 0) {
        return rc;
    }
    if (val_get(root, "tables") == NULL) {
        return read_table(t, d, root, one_keys, e);
    }
    rc = doc_keys(d, root, "a file of several price tables", file_keys, e);
    rc = rc != 0 ? rc : doc_list(d, root, "tables", DOC_REQUIRED, &tables, e);
    for (size_t i = 0; rc == 0 && i < tables->count; i++) {
        rc = read_table(t, d, val_item(tables, i), one_keys + 1, e);
    }
    return rc;
}

/* ---- what is priced twice ---- */

static int by_match(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    int order = str_cmp(x->match, y->match);
    return order != 0 ? order : (x > y) - (x < y); /* both in one array: the order of the file */
}

static int check_twice(const struct prices *t, struct doc d, struct err *e)
{
    const struct entry **sorted = arena_array(t->arena, t->n + 1, sizeof(struct entry *));
    const struct entry *first = NULL, *second = NULL;
    for (size_t i = 0; i < t->n; i++) {
        sorted[i] = &t->entries[i];
    }
    qsort(sorted, t->n, sizeof(struct entry *), by_match);
    for (size_t i = 1; i < t->n; i++) {
        bool twice = str_eq(sorted[i - 1]->match, sorted[i]->match);
        if (twice && (second == NULL || sorted[i] < second)) {
            first = sorted[i - 1];
            second = sorted[i];
        }
    }
    return second == NULL
               ? 0
               : doc_fail(d, second->at, e, "\"%.*s\" has its price at line %u already; remove one",
                          STR_FMT(second->match), first->at->line);
}

/* ---- the public face ---- */

static int load(const char *file, struct str text, struct arena *arena, struct prices **out,
                struct err *e)
{
    struct prices *t = arena_alloc(arena, sizeof *t);
    struct doc d = {arena, file};
    struct val *root;
    t->arena = arena;
    int rc = yaml_parse(arena, file, text, YAML_CORE, &root, e);
    rc = rc != 0 ? rc : read_root(t, d, root, e);
    rc = rc != 0 ? rc : check_twice(t, d, e);
    *out = t;
    return rc;
}

int prices_load(const char *path, struct prices **out, struct err *e)
{
    struct arena *arena = arena_new();
    struct str text;
    int rc = file_read(arena, path, PRICES_BYTES_MAX, &text, e);
    rc = rc != 0 ? rc : load(arena_cstr(arena, str_of(path)), text, arena, out, e);
    if (rc != 0) {
        *out = NULL;
        arena_free(arena);
    } else {
        (*out)->hash = hash64(0, text);
    }
    return rc;
}

uint64_t prices_hash(const struct prices *p)
{
    return p != NULL ? p->hash
                     : hash64(0, (struct str){(const char *)prices_yaml, prices_yaml_size});
}

void prices_free(struct prices *p)
{
    if (p != NULL) {
        arena_free(p->arena);
    }
}

const struct prices *prices_shipped(void)
{
    static struct prices *shipped; /* what a constant is read into, once */
    if (shipped == NULL) {
        struct str text = {(const char *)prices_yaml, prices_yaml_size};
        struct err e;
        int rc = load("prices.yaml", text, arena_new(), &shipped, &e);
        assert(rc == 0); /* a test loads it */
        (void)rc;
    }
    return shipped;
}

/* Whether a pattern fits: its pieces between the stars are found one behind the other, the first at
 * the start and the last at the end. */
static bool fits(struct str pattern, struct str name)
{
    size_t star = str_find(pattern, STR("*"));
    struct str head = str_slice(pattern, 0, star);
    if (name.n < head.n || !str_eq(head, str_slice(name, 0, head.n))) {
        return false;
    }
    name = str_slice(name, head.n, name.n);
    while (star != SIZE_MAX) {
        pattern = str_slice(pattern, star + 1, pattern.n);
        star = str_find(pattern, STR("*"));
        struct str piece = str_slice(pattern, 0, star);
        size_t at = star == SIZE_MAX && piece.n <= name.n ? name.n - piece.n : 0;
        size_t found = str_find(str_slice(name, at, name.n), piece);
        if (found == SIZE_MAX) {
            return false;
        }
        name = str_slice(name, at + found + piece.n, name.n);
    }
    return name.n == 0;
}

const struct price *prices_find(const struct prices *p, struct str model, struct str *currency)
{
    const struct entry *best = NULL;
    size_t most = 0; /* characters of the best pattern besides its stars */
    for (size_t i = 0; i < p->n; i++) {
        const struct entry *entry = &p->entries[i];
        size_t plain = entry->match.n - entry->stars;
        if (entry->stars == 0 && str_eq(entry->match, model)) {
            best = entry;
            break;
        }
        if (entry->stars > 0 && (best == NULL || plain > most) && fits(entry->match, model)) {
            best = entry;
            most = plain;
        }
    }
    if (best == NULL) {
        return NULL;
    }
    *currency = best->currency;
    return best->price;
}
