/* Finds credentials in what a body says, however it is written: a JSON string is looked at as its
 * characters, a text that a stream brings in pieces as a whole, and JSON inside of a string (the
 * arguments of a call, the output of a tool) again as JSON. What is found is told in bytes of the
 * body, so that blanking it leaves the same events and the same JSON. What stands between the
 * strings is looked at as it is.
 *
 * A text is judged by its characters alone, so that it is judged alike wherever it comes: in an
 * answer's pieces, and whole in the requests that quote it. Else a replay would not match. */
#include "cassettes/cassette_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING_MAX = 8 };

/* The inside of a JSON string at [at, at + n), and which text of the body it is a piece of. */
struct piece {
    size_t at;
    size_t n;
    uint64_t text;
};

static void find_text(struct str text, unsigned depth, struct buf *parts);

void cassette_add_part(struct buf *parts, const struct redacted *part)
{
    buf_add(parts, (struct str){(const char *)part, sizeof *part});
}

struct redacted *cassette_parts(const struct buf *parts, size_t *n)
{
    *n = parts->n / sizeof(struct redacted);
    return (struct redacted *)(void *)parts->p;
}

static int by_place(const void *a, const void *b)
{
    const struct redacted *x = a;
    const struct redacted *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

void cassette_sort_parts(struct buf *parts)
{
    size_t n;
    struct redacted *list = cassette_parts(parts, &n);
    size_t kept = 0;
    if (n > 1) {
        qsort(list, n, sizeof *list, by_place);
    }
    for (size_t i = 0; i < n; i++) {
        struct redacted *last = kept > 0 ? &list[kept - 1] : NULL;
        if (last == NULL || list[i].at >= last->at + last->n) {
            list[kept++] = list[i];
            continue;
        }
        size_t end = list[i].at + list[i].n;
        last->n = end > last->at + last->n ? end - last->at : last->n;
        if (list[i].hidden > last->hidden) {
            last->hidden = list[i].hidden;
            last->id = list[i].id;
        }
    }
    parts->n = kept * sizeof *list;
}

/* By shape, in the characters as they are; `from` is added to their places. */
static void find_shapes(struct str text, size_t from, struct buf *parts)
{
    struct redacted part = {0, 0, REDACTED_NUMBERED, 0, NULL};
    size_t done = 0;
    while (cassette_find_credential(text, done, &part.at, &part.n, &part.what)) {
        done = part.at + part.n;
        part.id = cassette_secret_id(str_slice(text, part.at, done));
        part.at += from;
        cassette_add_part(parts, &part);
    }
}

/* ---- the pieces of one text ---- */

/* A stretch of a JSON string's inside: one escape, or all up to the next one. */
struct stretch {
    size_t n;    /* bytes in the body */
    size_t said; /* bytes that it says */
    bool escape;
    char text[4]; /* what an escape says */
};

static struct stretch next_stretch(struct str inside, size_t at)
{
    struct stretch s = {.escape = inside.p[at] == '\\'};
    if (s.escape) {
        size_t end = at;
        s.said = json_decode_escape(inside, &end, s.text);
        s.n = end - at;
    } else {
        const char *escape = memchr(inside.p + at, '\\', inside.n - at);
        s.n = escape == NULL ? inside.n - at : (size_t)(escape - inside.p) - at;
        s.said = s.n;
    }
    return s;
}

static void decode(struct str body, const struct piece *pieces, size_t n, struct buf *out)
{
    for (size_t i = 0; i < n; i++) {
        struct str inside = str_slice(body, pieces[i].at, pieces[i].at + pieces[i].n);
        for (size_t at = 0; at < inside.n;) {
            struct stretch s = next_stretch(inside, at);
            buf_add(out, s.escape ? (struct str){s.text, s.said} : str_slice(inside, at, at + s.n));
            at += s.n;
        }
    }
}

/* Where the findings of a text stand in the body: `said` bytes of the text are passed, the findings
 * before `next` lie behind them. */
struct placing {
    const struct redacted *found; /* in order, apart from each other */
    size_t n;
    size_t next;
    size_t said;
    struct buf *parts;
    bool open; /* the newest part belongs to found[next] */
};

/* The next stretch of the text, which stands at `at` of the body. */
static void place_stretch(struct placing *p, const struct stretch *s, size_t at)
{
    size_t end = p->said + s->said;
    while (p->next < p->n && p->found[p->next].at < end) {
        const struct redacted *f = &p->found[p->next];
        size_t from = f->at > p->said ? f->at - p->said : 0;
        size_t to = f->at + f->n < end ? f->at + f->n - p->said : s->said;
        struct redacted part = {at, s->n, p->open ? REDACTED_REST : f->hidden, f->id, f->what};
        if (!s->escape) {
            part.at = at + from;
            part.n = to - from;
        }
        cassette_add_part(p->parts, &part);
        p->open = f->at + f->n > end;
        if (p->open) {
            break;
        }
        p->next++;
    }
    p->said = end;
}

static void find_joined(struct str body, const struct piece *pieces, size_t n, unsigned depth,
                        struct buf *parts)
{
    struct str first = str_slice(body, pieces[0].at, pieces[0].at + pieces[0].n);
    if (n == 1 && (first.n == 0 || memchr(first.p, '\\', first.n) == NULL)) {
        find_shapes(first, pieces[0].at, parts);
        return;
    }
    struct buf text = {0};
    struct buf found = {0};
    struct placing p = {.parts = parts};
    decode(body, pieces, n, &text);
    find_text(buf_str(&text), depth, &found);
    p.found = cassette_parts(&found, &p.n);
    for (size_t i = 0; i < n && p.next < p.n; i++) {
        struct str inside = str_slice(body, pieces[i].at, pieces[i].at + pieces[i].n);
        for (size_t at = 0; at < inside.n && p.next < p.n;) {
            struct stretch s = next_stretch(inside, at);
            place_stretch(&p, &s, pieces[i].at + at);
            at += s.n;
        }
    }
    buf_free(&text);
    buf_free(&found);
}

/* A name that every event repeats is no text that comes in pieces. */
static bool is_repeated(struct str body, const struct piece *pieces, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (pieces[i].n != pieces[0].n ||
            memcmp(body.p + pieces[i].at, body.p + pieces[0].at, pieces[0].n) != 0) {
            return false;
        }
    }
    return n > 1;
}

/* ---- all pieces of a body ---- */

static int by_text(const void *a, const void *b)
{
    const struct piece *x = a;
    const struct piece *y = b;
    if (x->text != y->text) {
        return x->text < y->text ? -1 : 1;
    }
    return x->at < y->at ? -1 : x->at > y->at;
}

/* A value that the key before it says is a secret. */
static void find_named(struct str body, size_t from, const struct piece *piece, struct buf *parts)
{
    struct buf value = {0};
    size_t n = 0;
    decode(body, piece, 1, &value);
    const char *what =
        cassette_named_credential(str_slice(body, from, piece->at), buf_str(&value), &n);
    if (what != NULL && n == value.n) {
        struct redacted part = {piece->at, piece->n, REDACTED_NUMBERED,
                                cassette_secret_id(buf_str(&value)), what};
        cassette_add_part(parts, &part);
    }
    buf_free(&value);
}

/* In what stands between the pieces, and in each text. The pieces come in their order. */
static void find_in_pieces(struct str body, const struct buf *list, unsigned depth,
                           struct buf *parts)
{
    struct piece *pieces = (struct piece *)(void *)list->p;
    size_t n = list->n / sizeof *pieces;
    size_t done = 0;
    for (size_t i = 0; i < n; i++) {
        find_shapes(str_slice(body, done, pieces[i].at), done, parts);
        find_named(body, done, &pieces[i], parts);
        done = pieces[i].at + pieces[i].n;
    }
    find_shapes(str_slice(body, done, body.n), done, parts);
    if (n > 1) {
        qsort(pieces, n, sizeof *pieces, by_text);
    }
    for (size_t i = 0, next; i < n; i = next) {
        next = i + 1;
        while (next < n && pieces[next].text == pieces[i].text) {
            next++;
        }
        size_t at_once = is_repeated(body, &pieces[i], next - i) ? 1 : next - i;
        for (size_t k = i; k < next; k += at_once) {
            find_joined(body, &pieces[k], at_once, depth, parts);
        }
    }
    cassette_sort_parts(parts);
}

/* Every string of a valid JSON text that is a value, each a text of its own. */
static void list_strings(struct str json, struct buf *list)
{
    for (size_t at = 0; at < json.n; at++) {
        if (json.p[at] != '"') {
            continue;
        }
        struct piece piece = {at + 1, 0, at};
        for (at++; at < json.n && json.p[at] != '"'; at++) {
            at += json.p[at] == '\\';
        }
        assert(at < json.n);
        piece.n = at - piece.at;
        size_t behind = at + 1;
        while (behind < json.n && strchr(" \t\r\n", json.p[behind]) != NULL) {
            behind++;
        }
        if (behind == json.n || json.p[behind] != ':') {
            buf_add(list, (struct str){(const char *)&piece, sizeof piece});
        }
    }
}

static void find_json(struct str json, unsigned depth, struct buf *parts)
{
    struct buf list = {0};
    list_strings(json, &list);
    find_in_pieces(json, &list, depth, parts);
    buf_free(&list);
}

/* An object or a list; one without a string says nothing that is not there to see. */
static bool is_json(struct str text)
{
    struct str start = str_trim(text);
    if ((!str_starts(start, "{") && !str_starts(start, "[")) ||
        memchr(start.p, '"', start.n) == NULL) {
        return false;
    }
    struct arena *arena = arena_new();
    struct val *v = NULL;
    bool good = json_parse(arena, NULL, text, &v, NULL) == 0;
    arena_free(arena);
    return good;
}

static void find_text(struct str text, unsigned depth, struct buf *parts)
{
    if (depth < NESTING_MAX && is_json(text)) {
        find_json(text, depth + 1, parts);
    } else {
        find_shapes(text, 0, parts);
    }
}

/* ---- streams ---- */

struct listing {
    struct str body;
    struct buf path; /* to the value at hand: what is the same for each piece of a text */
    struct buf *list;
};

static bool is_index(const struct member *m, bool top)
{
    if (m->value.kind == VAL_NUMBER) {
        return str_is(m->key, "index") || str_ends(m->key, "_index");
    }
    return top && m->value.kind == VAL_STRING && str_is(m->key, "type");
}

static void list_value(struct listing *l, const struct val *v);

/* What tells an object from others of its kind is part of the way to what it holds: the index of a
 * choice, of a call, of an output item; of an event also its type. */
static void list_object(struct listing *l, const struct val *v)
{
    bool top = l->path.n == 0;
    for (size_t i = 0; i < v->count; i++) {
        if (is_index(&v->members[i], top)) {
            buf_add(&l->path, v->members[i].value.text);
            buf_char(&l->path, '#');
        }
    }
    size_t here = l->path.n;
    for (size_t i = 0; i < v->count; i++) {
        buf_add(&l->path, v->members[i].key);
        buf_char(&l->path, '.');
        list_value(l, &v->members[i].value);
        l->path.n = here;
    }
}

static void list_array(struct listing *l, const struct val *v)
{
    size_t here = l->path.n;
    for (size_t i = 0; i < v->count; i++) {
        int64_t index;
        if (!val_int(val_get(&v->items[i], "index"), &index)) {
            buf_int(&l->path, (int64_t)i);
            buf_char(&l->path, '#');
        }
        list_value(l, &v->items[i]);
        l->path.n = here;
    }
}

static void list_value(struct listing *l, const struct val *v)
{
    struct piece piece;
    switch (v->kind) {
    case VAL_STRING:
        piece.at = (size_t)(v->raw.p - l->body.p) + 1;
        piece.n = v->raw.n - 2;
        piece.text = hash64(0, buf_str(&l->path));
        buf_add(l->list, (struct str){(const char *)&piece, sizeof piece});
        break;
    case VAL_ARRAY: list_array(l, v); break;
    case VAL_OBJECT: list_object(l, v); break;
    case VAL_NULL:
    case VAL_BOOL:
    case VAL_NUMBER: break;
    }
}

struct str cassette_json_of_line(struct str line)
{
    if (str_starts(line, "data:")) {
        line = str_slice(line, sizeof "data:" - 1, line.n);
    }
    return str_trim(line);
}

/* The strings of a stream's events, one a line. Before each stands an empty piece: what is hidden
 * before an event never takes a part of it along. */
static void list_events(struct str body, struct buf *list)
{
    struct listing l = {.body = body, .list = list};
    for (size_t from = 0; from < body.n;) {
        size_t newline = str_find(str_slice(body, from, body.n), STR("\n"));
        size_t end = newline == SIZE_MAX ? body.n : from + newline + 1;
        struct str line = cassette_json_of_line(str_slice(body, from, end));
        struct arena *arena = arena_new();
        struct val *v = NULL;
        if (str_starts(line, "{") && json_parse(arena, NULL, line, &v, NULL) == 0) {
            struct piece edge = {from, 0, 0};
            buf_add(list, (struct str){(const char *)&edge, sizeof edge});
            list_value(&l, v);
            buf_clear(&l.path);
        }
        arena_free(arena);
        from = end;
    }
    buf_free(&l.path);
}

/* ---- what others call ---- */

void cassette_find_in_text(struct str text, struct buf *parts)
{
    if (cassette_may_hold_credential(text)) {
        find_text(text, 1, parts);
    }
}

void cassette_find_in_json(struct str json, struct buf *parts)
{
    if (cassette_may_hold_credential(json)) {
        find_json(json, 1, parts);
    }
}

static void find_body(struct str body, struct buf *parts)
{
    if (is_json(body)) {
        find_json(body, 1, parts);
        return;
    }
    struct buf list = {0};
    list_events(body, &list);
    find_in_pieces(body, &list, 1, parts);
    buf_free(&list);
}

void cassette_find_in_answer(const struct interaction *it, struct buf *parts)
{
    if (it->tool) {
        find_text(it->body, 1, parts);
    } else {
        find_body(it->body, parts);
    }
}
