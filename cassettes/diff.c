#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

enum { PREVIEW_CHARS = 120, PATH_BYTES_MAX = 400, AHEAD_BYTES = 30 };

/* One comparison under way. Both values are canonical: keys sorted, none twice. */
struct comparing {
    struct arena *arena;
    struct difference *d;
    struct buf path;
    void (*told)(void *ctx, struct str path, struct str a, struct str b); /* NULL: nobody is told */
    void *ctx;
    size_t most;
};

/* `from`: where a long string is shown from, so that the difference is in sight. */
static void add_value(struct comparing *c, struct buf *out, const struct val *v, size_t from)
{
    if (v == NULL) {
        buf_addz(out, "nothing");
        return;
    }
    struct buf text = {0};
    if (from > 0) {
        buf_addz(&text, "…");
        json_add_string(&text, str_slice(v->text, from, v->text.n));
    } else {
        json_add(&text, v);
    }
    struct str shown = text_preview(c->arena, buf_str(&text), PREVIEW_CHARS);
    buf_add(out, shown);
    if (val_is(v, VAL_STRING) &&
        str_ends(shown, "…")) { /* cut: the closing quote went with the rest */
        buf_char(out, '"');
    }
    buf_free(&text);
}

/* A character's start a little ahead of where two strings part, 0 when that is near their start. */
static size_t parting(const struct val *a, const struct val *b)
{
    if (!val_is(a, VAL_STRING) || !val_is(b, VAL_STRING)) {
        return 0;
    }
    size_t at = 0;
    while (at < a->text.n && at < b->text.n && a->text.p[at] == b->text.p[at]) {
        at++;
    }
    at = at > 2 * AHEAD_BYTES ? at - AHEAD_BYTES : 0;
    while (at > 0 && ((unsigned char)a->text.p[at] & 0xc0) == 0x80) {
        at--;
    }
    return at;
}

static void differs(struct comparing *c, const struct val *recorded, const struct val *sent)
{
    struct str path = c->path.n == 0 ? STR("the body") : buf_str(&c->path);
    size_t from = parting(recorded, sent);
    size_t nth = c->d->count++;
    if (c->told != NULL && nth < c->most) {
        struct buf a = {0};
        struct buf b = {0};
        add_value(c, &a, recorded, from);
        add_value(c, &b, sent, from);
        c->told(c->ctx, path, buf_str(&a), buf_str(&b));
        buf_free(&a);
        buf_free(&b);
    }
    if (nth == 0) {
        buf_add(&c->d->where, path);
        buf_addz(&c->d->where, ": recorded ");
        add_value(c, &c->d->where, recorded, from);
        buf_addz(&c->d->where, ", sent ");
        add_value(c, &c->d->where, sent, from);
    }
}

static void compare(struct comparing *c, const struct val *a, const struct val *b);

static void shorten(struct comparing *c, size_t n)
{
    c->path.n = n;
    c->path.truncated = false;
}

/* Compares what stands under a key or an index, with the path longer by it meanwhile. */
static void compare_member(struct comparing *c, struct str key, const struct val *a,
                           const struct val *b)
{
    size_t n = c->path.n;
    if (n > 0) {
        buf_char(&c->path, '.');
    }
    buf_add(&c->path, key);
    compare(c, a, b);
    shorten(c, n);
}

static void compare_objects(struct comparing *c, const struct val *a, const struct val *b)
{
    size_t i = 0;
    size_t k = 0;
    while ((i < a->count || k < b->count) && c->d->count < DIFFERENCES_MAX) {
        const struct member *left = i < a->count ? &a->members[i] : NULL;
        const struct member *right = k < b->count ? &b->members[k] : NULL;
        int order = left == NULL ? 1 : right == NULL ? -1 : str_cmp(left->key, right->key);
        compare_member(c, order <= 0 ? left->key : right->key, order <= 0 ? &left->value : NULL,
                       order >= 0 ? &right->value : NULL);
        i += order <= 0;
        k += order >= 0;
    }
}

static void compare_arrays(struct comparing *c, const struct val *a, const struct val *b)
{
    size_t n = a->count > b->count ? a->count : b->count;
    for (size_t i = 0; i < n && c->d->count < DIFFERENCES_MAX; i++) {
        size_t length = c->path.n;
        buf_fmt(&c->path, "[%zu]", i);
        compare(c, val_item(a, i), val_item(b, i));
        shorten(c, length);
    }
}

static void compare(struct comparing *c, const struct val *a, const struct val *b)
{
    if (a == NULL || b == NULL || a->kind != b->kind) {
        differs(c, a, b);
        return;
    }
    switch (a->kind) {
    case VAL_OBJECT: compare_objects(c, a, b); break;
    case VAL_ARRAY: compare_arrays(c, a, b); break;
    case VAL_NULL: break;
    case VAL_BOOL:
        if (a->boolean != b->boolean) {
            differs(c, a, b);
        }
        break;
    case VAL_NUMBER:
    case VAL_STRING:
        if (!str_eq(a->text, b->text)) {
            differs(c, a, b);
        }
        break;
    }
}

/* All of two values; of texts that are no JSON, or are written otherwise, the texts. */
static struct difference compared(struct comparing *c, struct str recorded, struct str sent)
{
    struct difference d = {0};
    if (str_eq(recorded, sent)) {
        return d;
    }
    struct val *a = NULL;
    struct val *b = NULL;
    c->arena = arena_new();
    c->d = &d;
    c->path.max = PATH_BYTES_MAX;
    if (json_parse(c->arena, NULL, recorded, &a, NULL) == 0 &&
        json_parse(c->arena, NULL, sent, &b, NULL) == 0) {
        compare(c, a, b);
    }
    if (d.count == 0) {
        struct val texts[] = {val_of_str(recorded), val_of_str(sent)};
        differs(c, &texts[0], &texts[1]);
    }
    buf_free(&c->path);
    arena_free(c->arena);
    return d;
}

struct difference cassette_difference(struct str recorded, struct str sent)
{
    struct comparing c = {0};
    return compared(&c, recorded, sent);
}

size_t cassette_differences(struct str a, struct str b, size_t most,
                            void (*told)(void *ctx, struct str path, struct str a, struct str b),
                            void *ctx)
{
    struct comparing c = {.told = told, .ctx = ctx, .most = most};
    struct difference d = compared(&c, a, b);
    size_t count = d.count;
    cassette_difference_free(&d);
    return count;
}

void cassette_difference_free(struct difference *d)
{
    buf_free(&d->where);
}
