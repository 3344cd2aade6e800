#include "kernel/base/val_pack.h"

enum { PACKED_DEPTH_MAX = 1000, KIND_BITS = 7, BOOLEAN_BIT = 8, BINARY_BIT = 16 };

/* ---- writing ---- */

/* Seven bits a byte, the lowest first; the high bit says that more follow. */
static void add_number(struct buf *out, uint64_t n)
{
    for (; n >= 0x80; n >>= 7) {
        buf_char(out, (char)(unsigned char)(0x80 | (n & 0x7f)));
    }
    buf_char(out, (char)(unsigned char)n);
}

static void add_text(struct buf *out, struct str s)
{
    add_number(out, s.n);
    buf_add(out, s);
    buf_char(out, '\0');
}

void val_pack(struct buf *out, const struct val *v)
{
    buf_char(out, (char)(v->kind | (v->boolean ? BOOLEAN_BIT : 0) | (v->binary ? BINARY_BIT : 0)));
    add_number(out, v->line);
    add_number(out, v->column);
    switch (v->kind) {
    case VAL_NULL:
    case VAL_BOOL: break;
    case VAL_NUMBER:
    case VAL_STRING: add_text(out, v->text); break;
    case VAL_ARRAY:
        add_number(out, v->count);
        for (size_t i = 0; i < v->count; i++) {
            val_pack(out, &v->items[i]);
        }
        break;
    case VAL_OBJECT:
        add_number(out, v->count);
        for (size_t i = 0; i < v->count; i++) {
            const struct member *m = &v->members[i];
            add_text(out, m->key);
            add_number(out, m->line);
            add_number(out, m->column);
            val_pack(out, &m->value);
        }
        break;
    }
}

/* ---- reading ---- */

struct reader {
    struct arena *arena;
    struct str from;
    size_t at;
    unsigned depth;
};

static bool read_value(struct reader *r, struct val *out);

static bool read_long(struct reader *r, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && r->at < r->from.n; shift += 7) {
        unsigned char c = (unsigned char)r->from.p[r->at++];
        *out |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80) {
            return true;
        }
    }
    return false;
}

/* Most are one byte. */
static inline bool read_number(struct reader *r, uint64_t *out)
{
    if (r->at < r->from.n && (unsigned char)r->from.p[r->at] < 0x80) {
        *out = (unsigned char)r->from.p[r->at++];
        return true;
    }
    return read_long(r, out);
}

static bool read_place(struct reader *r, uint32_t *line, uint32_t *column)
{
    uint64_t a = 0;
    uint64_t b = 0;
    bool good = read_number(r, &a) && read_number(r, &b) && a <= UINT32_MAX && b <= UINT32_MAX;
    *line = (uint32_t)a;
    *column = (uint32_t)b;
    return good;
}

static bool read_text(struct reader *r, struct str *out)
{
    uint64_t n = 0;
    if (!read_number(r, &n) || n >= r->from.n - r->at || r->from.p[r->at + n] != '\0') {
        return false;
    }
    *out = (struct str){r->from.p + r->at, n};
    r->at += n + 1;
    return true;
}

/* Each item has a byte at least, so a count beyond the bytes that are left is wrong. */
static bool read_count(struct reader *r, size_t *out)
{
    uint64_t n = 0;
    bool good = read_number(r, &n) && n <= r->from.n - r->at;
    *out = n;
    return good;
}

static bool read_items(struct reader *r, struct val *out)
{
    bool good = read_count(r, &out->count);
    out->items =
        good && out->count > 0 ? arena_array(r->arena, out->count, sizeof *out->items) : NULL;
    for (size_t i = 0; good && i < out->count; i++) {
        good = read_value(r, &out->items[i]);
    }
    return good;
}

static bool read_members(struct reader *r, struct val *out)
{
    bool good = read_count(r, &out->count);
    out->members =
        good && out->count > 0 ? arena_array(r->arena, out->count, sizeof *out->members) : NULL;
    for (size_t i = 0; good && i < out->count; i++) {
        struct member *m = &out->members[i];
        good = read_text(r, &m->key) && read_place(r, &m->line, &m->column) &&
               read_value(r, &m->value);
    }
    return good;
}

static bool read_value(struct reader *r, struct val *out)
{
    unsigned char head = r->at < r->from.n ? (unsigned char)r->from.p[r->at++] : KIND_BITS;
    if ((head & KIND_BITS) > VAL_OBJECT || r->depth == PACKED_DEPTH_MAX) {
        return false;
    }
    *out = (struct val){.kind = (enum val_kind)(head & KIND_BITS),
                        .boolean = (head & BOOLEAN_BIT) != 0,
                        .binary = (head & BINARY_BIT) != 0};
    bool good = read_place(r, &out->line, &out->column);
    r->depth++;
    switch (out->kind) {
    case VAL_NULL:
    case VAL_BOOL: break;
    case VAL_NUMBER:
    case VAL_STRING: good = good && read_text(r, &out->text); break;
    case VAL_ARRAY: good = good && read_items(r, out); break;
    case VAL_OBJECT: good = good && read_members(r, out); break;
    }
    r->depth--;
    return good;
}

struct val *val_unpack(struct arena *arena, struct str packed)
{
    struct reader r = {.arena = arena, .from = packed};
    struct val *v = arena_alloc(arena, sizeof *v);
    return read_value(&r, v) && r.at == packed.n ? v : NULL;
}
