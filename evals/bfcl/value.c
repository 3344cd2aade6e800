#include "evals/bfcl/bfcl_int.h"

#include <math.h>

#include "kernel/base/hash.h"

/* Dicts up to so many keys are searched key by key while they are built. */
enum { SMALL_DICT = 8 };

struct bfcl_value bfcl_str(struct str s)
{
    return (struct bfcl_value){.type = BFCL_STR, .text = s};
}

struct bfcl_value bfcl_int(struct arena *arena, int64_t v)
{
    return (struct bfcl_value){.type = BFCL_INT, .text = arena_printf(arena, "%lld", (long long)v)};
}

static bool is_float_text(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' || s.p[i] == 'e' || s.p[i] == 'E') {
            return true;
        }
    }
    return false;
}

static struct bfcl_value number_of(struct arena *arena, struct str text)
{
    if (str_is(text, BFCL_NAN)) {
        return (struct bfcl_value){.type = BFCL_FLOAT, .real = NAN};
    }
    if (is_float_text(text)) {
        return (struct bfcl_value){.type = BFCL_FLOAT, .real = bfcl_double(text)};
    }
    return (struct bfcl_value){.type = BFCL_INT, .text = bfcl_digits(arena, text)};
}

struct bfcl_value bfcl_of_val(struct arena *arena, const struct val *v)
{
    struct bfcl_value out = {.type = BFCL_NONE};
    switch (v->kind) {
    case VAL_NULL: return out;
    case VAL_BOOL:
        out.type = BFCL_BOOL;
        out.boolean = v->boolean;
        return out;
    case VAL_NUMBER: return number_of(arena, v->text);
    case VAL_STRING: return bfcl_str(v->text);
    case VAL_ARRAY:
        out.type = BFCL_LIST;
        out.n = v->count;
        out.items = arena_array(arena, v->count, sizeof *out.items);
        for (size_t i = 0; i < v->count; i++) {
            out.items[i] = bfcl_of_val(arena, &v->items[i]);
        }
        return out;
    case VAL_OBJECT: break;
    }
    struct bfcl_pair *pairs = arena_array(arena, v->count, sizeof *pairs);
    for (size_t i = 0; i < v->count; i++) {
        pairs[i].key = bfcl_str(v->members[i].key);
        pairs[i].value = bfcl_of_val(arena, &v->members[i].value);
    }
    bool hashable = bfcl_dict(arena, pairs, v->count, &out);
    (void)hashable; /* keys are strings */
    return out;
}

static bool hashable(const struct bfcl_value *key)
{
    if (key->type == BFCL_LIST || key->type == BFCL_DICT) {
        return false;
    }
    for (size_t i = 0; key->type == BFCL_TUPLE && i < key->n; i++) {
        if (!hashable(&key->items[i])) {
            return false;
        }
    }
    return true;
}

/* Where pairs with string keys stand, by the hash of their keys. */
struct bfcl_index {
    size_t mask;
    size_t slots[]; /* index + 1, 0 = free */
};

static struct bfcl_index *index_new(struct arena *arena, size_t n)
{
    size_t mask = 4 * SMALL_DICT - 1;
    while (mask < 2 * n) {
        mask = 2 * mask + 1;
    }
    struct bfcl_index *index =
        arena_alloc(arena, sizeof *index + (mask + 1) * sizeof index->slots[0]);
    index->mask = mask;
    return index;
}

/* The slot of a key: what it holds is 0 where the dict does not have it. */
static size_t *slot_of(const struct bfcl_value *dict, struct str key)
{
    struct bfcl_index *index = dict->index;
    size_t at = (size_t)hash64(0, key) & index->mask;
    while (index->slots[at] != 0 && !str_eq(dict->pairs[index->slots[at] - 1].key.text, key)) {
        at = (at + 1) & index->mask;
    }
    return &index->slots[at];
}

static struct bfcl_pair *pair_of(const struct bfcl_value *dict, const struct bfcl_value *key)
{
    if (key->type == BFCL_STR && dict->index != NULL) {
        size_t found = *slot_of(dict, key->text);
        return found == 0 ? NULL : &dict->pairs[found - 1];
    }
    for (size_t i = 0; i < dict->n; i++) {
        if (bfcl_equal(&dict->pairs[i].key, key)) {
            return &dict->pairs[i];
        }
    }
    return NULL;
}

bool bfcl_dict(struct arena *arena, struct bfcl_pair *pairs, size_t n, struct bfcl_value *out)
{
    size_t odd = 0;
    *out = (struct bfcl_value){.type = BFCL_DICT, .pairs = pairs};
    out->index = n > SMALL_DICT ? index_new(arena, n) : NULL;
    for (size_t i = 0; i < n; i++) {
        bool is_str = pairs[i].key.type == BFCL_STR;
        odd += is_str ? 0 : 1;
        if (odd > BFCL_ODD_KEYS_MAX || !hashable(&pairs[i].key)) {
            return false;
        }
        struct bfcl_pair *same = pair_of(out, &pairs[i].key);
        if (same != NULL) {
            same->value = pairs[i].value;
            continue;
        }
        out->pairs[out->n++] = pairs[i];
        if (is_str && out->index != NULL) {
            *slot_of(out, pairs[i].key.text) = out->n;
        }
    }
    return true;
}

const struct bfcl_value *bfcl_get(const struct bfcl_value *dict, struct str key)
{
    struct bfcl_value k = bfcl_str(key);
    const struct bfcl_pair *found = pair_of(dict, &k);
    return found == NULL ? NULL : &found->value;
}

static bool is_number(const struct bfcl_value *v)
{
    return v->type == BFCL_BOOL || v->type == BFCL_INT || v->type == BFCL_FLOAT;
}

static struct str digits_of(const struct bfcl_value *v)
{
    return v->type == BFCL_INT ? v->text : v->boolean ? STR("1") : STR("0");
}

static bool numbers_equal(const struct bfcl_value *a, const struct bfcl_value *b)
{
    if (a->type == BFCL_FLOAT && b->type == BFCL_FLOAT) {
        return a->real == b->real;
    }
    if (a->type == BFCL_FLOAT) {
        return bfcl_int_is_double(digits_of(b), a->real);
    }
    if (b->type == BFCL_FLOAT) {
        return bfcl_int_is_double(digits_of(a), b->real);
    }
    return str_eq(digits_of(a), digits_of(b));
}

static bool dicts_equal(const struct bfcl_value *a, const struct bfcl_value *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        const struct bfcl_pair *other = pair_of(b, &a->pairs[i].key);
        if (other == NULL || !bfcl_equal(&a->pairs[i].value, &other->value)) {
            return false;
        }
    }
    return true;
}

bool bfcl_equal(const struct bfcl_value *a, const struct bfcl_value *b)
{
    if (is_number(a) && is_number(b)) {
        return numbers_equal(a, b);
    }
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case BFCL_NONE: return true;
    case BFCL_STR: return str_eq(a->text, b->text);
    case BFCL_LIST:
    case BFCL_TUPLE:
        if (a->n != b->n) {
            return false;
        }
        for (size_t i = 0; i < a->n; i++) {
            if (!bfcl_equal(&a->items[i], &b->items[i])) {
                return false;
            }
        }
        return true;
    case BFCL_DICT: return dicts_equal(a, b);
    case BFCL_OTHER: return str_eq(a->text, b->text);
    case BFCL_BOOL:
    case BFCL_INT:
    case BFCL_FLOAT: break;
    }
    return false;
}

bool bfcl_in(const struct bfcl_value *v, const struct bfcl_value *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (bfcl_equal(v, &list->items[i])) {
            return true;
        }
    }
    return false;
}

bool bfcl_is_empty_str(const struct bfcl_value *v)
{
    return v->type == BFCL_STR && v->text.n == 0;
}

bool bfcl_has_empty(const struct bfcl_value *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (bfcl_is_empty_str(&list->items[i])) {
            return true;
        }
    }
    return false;
}
