#include "kernel/base/doc.h"

#include <stdio.h>

#include "kernel/base/text.h"

enum { SHOWN_CHARS = 40, RANGE_BYTES = 128, KEYS_COMPARED_MAX = 1000 };

int doc_fail(struct doc d, const struct val *v, struct err *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int rc = err_vat(e, ERR_INPUT, d.file, v == NULL ? 0 : v->line, v == NULL ? 0 : v->column, fmt,
                     args);
    va_end(args);
    return rc;
}

/* What was found, for messages: `a string "x"`, `a number 3`, `true`, `a list`. */
static struct str found(struct doc d, const struct val *v)
{
    switch (v->kind) {
    case VAL_STRING: {
        struct str shown = text_preview(d.arena, v->text, SHOWN_CHARS);
        return arena_printf(d.arena, "a string \"%.*s\"", STR_FMT(shown));
    }
    case VAL_NUMBER: {
        struct str shown = text_preview(d.arena, v->text, SHOWN_CHARS);
        return arena_printf(d.arena, "a number %.*s", STR_FMT(shown));
    }
    case VAL_BOOL: return v->boolean ? STR("true") : STR("false");
    case VAL_NULL:
    case VAL_ARRAY:
    case VAL_OBJECT: break;
    }
    return str_of(val_kind_name(v->kind));
}

static int wrong(struct doc d, const struct val *v, const char *key, const char *expected,
                 struct err *e)
{
    return doc_fail(d, v, e, "\"%s\" must be %s, got %.*s", key, expected, STR_FMT(found(d, v)));
}

/* "a", "b", "c" */
static struct str listed(struct doc d, const char *const *names)
{
    struct buf b = {.max = 512};
    for (size_t i = 0; names[i] != NULL; i++) {
        buf_fmt(&b, "%s\"%s\"", i == 0 ? "" : ", ", names[i]);
    }
    struct str out = arena_str(d.arena, buf_str(&b));
    buf_free(&b);
    return out;
}

static size_t count_names(const char *const *names)
{
    size_t n = 0;
    while (names[n] != NULL) {
        n++;
    }
    return n;
}

static int unknown_key(struct doc d, const struct member *m, const char *what,
                       const char *const *keys, const struct doc_elsewhere *elsewhere,
                       struct err *e)
{
    struct str shown = text_preview(d.arena, m->key, SHOWN_CHARS);
    for (; elsewhere != NULL && elsewhere->key != NULL; elsewhere++) {
        if (str_is(m->key, elsewhere->key)) {
            return err_at(e, ERR_INPUT, d.file, m->line, m->column,
                          "unknown key \"%.*s\" in %s; %s", STR_FMT(shown), what, elsewhere->hint);
        }
    }
    const char *close = text_closest(m->key, keys, count_names(keys));
    if (close != NULL) {
        return err_at(e, ERR_INPUT, d.file, m->line, m->column,
                      "unknown key \"%.*s\" in %s; did you mean \"%s\"?", STR_FMT(shown), what,
                      close);
    }
    return err_at(e, ERR_INPUT, d.file, m->line, m->column,
                  "unknown key \"%.*s\" in %s; known keys are %.*s", STR_FMT(shown), what,
                  STR_FMT(listed(d, keys)));
}

int doc_keys(struct doc d, const struct val *v, const char *what, const char *const *keys,
             struct err *e)
{
    return doc_keys_or(d, v, what, keys, NULL, e);
}

int doc_keys_or(struct doc d, const struct val *v, const char *what, const char *const *keys,
                const struct doc_elsewhere *elsewhere, struct err *e)
{
    if (v == NULL || v->kind != VAL_OBJECT) {
        return doc_fail(d, v, e, "expected a map for %s (keys %.*s), got %.*s", what,
                        STR_FMT(listed(d, keys)),
                        STR_FMT(v == NULL ? STR("nothing") : found(d, v)));
    }
    for (size_t i = 0; i < v->count; i++) {
        const struct member *m = &v->members[i];
        if (str_index(m->key, keys) < 0) {
            return unknown_key(d, m, what, keys, elsewhere, e);
        }
        for (size_t j = 0; j < i; j++) {
            if (str_eq(v->members[j].key, m->key)) {
                return err_at(e, ERR_INPUT, d.file, m->line, m->column,
                              "the key \"%.*s\" stands twice in %s; remove one", STR_FMT(m->key),
                              what);
            }
        }
    }
    return 0;
}

void doc_add_closest(struct buf *out, const struct val *map, struct str word)
{
    size_t n = val_is(map, VAL_OBJECT) ? map->count : 0;
    n = n < KEYS_COMPARED_MAX ? n : KEYS_COMPARED_MAX;
    struct arena *arena = arena_new();
    const char **keys = arena_array(arena, n, sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        keys[i] = arena_cstr(arena, map->members[i].key);
    }
    const char *close = text_closest(word, keys, n);
    if (close != NULL) {
        buf_fmt(out, "; did you mean \"%s\"?", close);
    }
    arena_free(arena);
}

/* The member named `key`; *out NULL where it is absent or null. */
static int member(struct doc d, const struct val *v, const char *key, enum doc_need need,
                  const struct val **out, struct err *e)
{
    const struct val *m = val_get(v, key);
    *out = val_is(m, VAL_NULL) ? NULL : m;
    if (*out == NULL && need == DOC_REQUIRED) {
        return m == NULL ? doc_fail(d, v, e, "\"%s\" is missing here; it is required", key)
                         : doc_fail(d, m, e, "\"%s\" is required, got null", key);
    }
    return 0;
}

int doc_str(struct doc d, const struct val *v, const char *key, enum doc_need need, struct str *out,
            struct err *e)
{
    const struct val *m;
    int rc = member(d, v, key, need, &m, e);
    if (rc != 0 || m == NULL) {
        return rc;
    }
    if (m->kind == VAL_NUMBER || m->kind == VAL_BOOL) {
        return wrong(d, m, key, "a string (put it in quotes)", e);
    }
    if (m->kind != VAL_STRING) {
        return wrong(d, m, key, "a string", e);
    }
    *out = m->text;
    return 0;
}

/* value × 10^-scale without zeros at its end. */
static void scaled_text(char out[RANGE_BYTES / 4], int64_t value, int scale)
{
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t unit = 1;
    for (int i = 0; i < scale; i++) {
        unit *= 10;
    }
    int n = snprintf(out, RANGE_BYTES / 4, "%s%llu.%0*llu", value < 0 ? "-" : "",
                     (unsigned long long)(size / unit), scale == 0 ? 1 : scale,
                     (unsigned long long)(size % unit));
    while (n > 1 && out[n - 1] == '0') {
        out[--n] = '\0';
    }
    if (n > 1 && out[n - 1] == '.') {
        out[n - 1] = '\0';
    }
}

/* "a whole number between 1 and 5", with the ends that are real limits. */
static void range_text(char out[RANGE_BYTES], const char *what, int scale, int64_t min, int64_t max)
{
    char low[RANGE_BYTES / 4], high[RANGE_BYTES / 4];
    scaled_text(low, min, scale);
    scaled_text(high, max, scale);
    int n = 0;
    if (min == INT64_MIN && max == INT64_MAX) {
        n = snprintf(out, RANGE_BYTES, "%s", what);
    } else if (max == INT64_MAX) {
        n = snprintf(out, RANGE_BYTES, "%s of at least %s", what, low);
    } else if (min == INT64_MIN) {
        n = snprintf(out, RANGE_BYTES, "%s of at most %s", what, high);
    } else {
        n = snprintf(out, RANGE_BYTES, "%s between %s and %s", what, low, high);
    }
    if (n < 0) {
        out[0] = '\0';
    }
}

int doc_int(struct doc d, const struct val *v, const char *key, enum doc_need need, int64_t min,
            int64_t max, int64_t *out, struct err *e)
{
    const struct val *m;
    int64_t value = 0;
    int rc = member(d, v, key, need, &m, e);
    if (rc != 0 || m == NULL) {
        return rc;
    }
    if (!val_int(m, &value) || value < min || value > max) {
        char expected[RANGE_BYTES];
        range_text(expected, "a whole number", 0, min, max);
        return wrong(d, m, key, expected, e);
    }
    *out = value;
    return 0;
}

int doc_bool(struct doc d, const struct val *v, const char *key, bool *out, struct err *e)
{
    const struct val *m;
    int rc = member(d, v, key, DOC_OPTIONAL, &m, e);
    if (rc != 0 || m == NULL) {
        return rc;
    }
    if (m->kind != VAL_BOOL) {
        return wrong(d, m, key, "true or false", e);
    }
    *out = m->boolean;
    return 0;
}

int doc_list(struct doc d, const struct val *v, const char *key, enum doc_need need,
             const struct val **out, struct err *e)
{
    const struct val *m;
    int rc = member(d, v, key, need, &m, e);
    if (rc != 0 || m == NULL) {
        return rc;
    }
    if (m->kind != VAL_ARRAY) {
        return wrong(d, m, key, "a list", e);
    }
    *out = m;
    return 0;
}

int doc_strings(struct doc d, const struct val *v, const char *key, const char *what,
                struct str **out, size_t *n, struct err *e)
{
    const struct val *list = NULL;
    int rc = doc_list(d, v, key, DOC_OPTIONAL, &list, e);
    if (rc != 0 || list == NULL) {
        return rc;
    }
    *out = arena_array(d.arena, list->count, sizeof **out);
    *n = list->count;
    for (size_t i = 0; i < list->count; i++) {
        const struct val *item = &list->items[i];
        if (item->kind != VAL_STRING || item->text.n == 0) {
            return doc_fail(d, item, e, "\"%s\" lists strings: expected %s, got %.*s", key, what,
                            STR_FMT(found(d, item)));
        }
        (*out)[i] = item->text;
    }
    return 0;
}

int doc_map(struct doc d, const struct val *v, const char *key, enum doc_need need,
            const struct val **out, struct err *e)
{
    const struct val *m;
    int rc = member(d, v, key, need, &m, e);
    if (rc != 0 || m == NULL) {
        return rc;
    }
    if (m->kind != VAL_OBJECT) {
        return wrong(d, m, key, "a map", e);
    }
    *out = m;
    return 0;
}

int doc_scaled(struct doc d, const struct val *v, const char *key, int scale, int64_t min,
               int64_t max, int64_t *out, struct err *e)
{
    const struct val *m;
    int64_t value = 0;
    int rc = member(d, v, key, DOC_OPTIONAL, &m, e);
    if (rc != 0 || m == NULL) {
        return rc;
    }
    if (m->kind != VAL_NUMBER || !num_scaled(m->text, scale, &value) || value < min ||
        value > max) {
        char expected[RANGE_BYTES];
        range_text(expected, "a number", scale, min, max);
        return wrong(d, m, key, expected, e);
    }
    *out = value;
    return 0;
}

int doc_numbers(struct doc d, const struct val *v, const char *key, const char *what,
                const struct doc_number *numbers, size_t n, struct err *e)
{
    const struct val *map = NULL;
    int rc = doc_map(d, v, key, DOC_OPTIONAL, &map, e);
    if (rc != 0 || map == NULL) {
        return rc;
    }
    const char **keys = arena_array(d.arena, n + 1, sizeof *keys);
    for (size_t i = 0; i < n; i++) {
        keys[i] = numbers[i].key;
    }
    rc = doc_keys(d, map, what, keys, e);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct doc_number *x = &numbers[i];
        rc = x->scale == 0 ? doc_int(d, map, x->key, DOC_OPTIONAL, x->min, x->max, x->out, e)
                           : doc_scaled(d, map, x->key, x->scale, x->min, x->max, x->out, e);
    }
    return rc;
}

int doc_enum(struct doc d, const struct val *v, const char *key, const char *const *names, int *out,
             struct err *e)
{
    const struct val *m;
    int rc = member(d, v, key, DOC_OPTIONAL, &m, e);
    if (rc != 0 || m == NULL) {
        return rc;
    }
    int index = m->kind == VAL_STRING ? str_index(m->text, names) : -1;
    if (index < 0) {
        const char *close =
            m->kind == VAL_STRING ? text_closest(m->text, names, count_names(names)) : NULL;
        return doc_fail(d, m, e, "\"%s\" must be one of %.*s, got %.*s%s%s%s", key,
                        STR_FMT(listed(d, names)), STR_FMT(found(d, m)),
                        close == NULL ? "" : "; did you mean \"", close == NULL ? "" : close,
                        close == NULL ? "" : "\"?");
    }
    *out = index;
    return 0;
}

int doc_version(struct doc d, const struct val *root, struct err *e)
{
    const struct val *m = val_get(root, "version");
    int64_t version = 0;
    if (root == NULL || root->kind != VAL_OBJECT) {
        return doc_fail(d, root, e, "expected a map that begins with \"version: 1\", got %.*s",
                        STR_FMT(root == NULL ? STR("nothing") : found(d, root)));
    }
    if (m == NULL) {
        return doc_fail(d, root, e, "\"version\" is missing; begin the file with \"version: 1\"");
    }
    if (!val_int(m, &version) || version != 1) {
        return wrong(d, m, "version", "1 (the only version this program reads)", e);
    }
    return 0;
}
