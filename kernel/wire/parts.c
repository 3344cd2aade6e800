/* The parts of an assistant message in the order in which the provider sent them, and wants to see
 * them again: what is kept of a reply for that, and what an encoder makes of it. */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

enum { PART_DEPTH_MAX = 256 }; /* nesting of one part: a log and a request hold it deeper */

/* ---- what is kept ---- */

/* Whether the provider wants to see the block again as it was: signed reasoning, a text with the
 * places it cites. */
static bool is_wanted(const struct block *b)
{
    switch (b->kind) {
    case BLOCK_TEXT: return own_tells(b->own, "citations");
    case BLOCK_REASONING: return own_tells(b->own, "signature");
    case BLOCK_GONE: return false;
    case BLOCK_REFUSAL:
    case BLOCK_CALL:
    case BLOCK_SERVER_CALL:
    case BLOCK_OTHER: break;
    }
    return true;
}

/* How deep the lists and maps of a JSON text are nested. */
static size_t nesting(struct str json)
{
    size_t depth = 0;
    size_t deepest = 0;
    bool inside = false; /* of a string */
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        if (inside) {
            inside = c != '"';
            i += c == '\\';
        } else if (c == '{' || c == '[') {
            deepest = ++depth > deepest ? depth : deepest;
        } else if (c == '}' || c == ']') {
            depth--;
        } else {
            inside = c == '"';
        }
    }
    return deepest;
}

/* Gives Messages' own block what came of it in pieces. */
static void take_pieces(struct draft *d, struct block *b)
{
    struct str text = buf_str(&b->text);
    switch (b->kind) {
    case BLOCK_TEXT: own_set(d, b, STR("text"), text); break;
    case BLOCK_REASONING: own_set(d, b, STR("thinking"), text); break;
    case BLOCK_CALL:
    case BLOCK_SERVER_CALL: own_json(d, b, STR("input"), text); break;
    case BLOCK_GONE:
    case BLOCK_REFUSAL:
    case BLOCK_OTHER: break;
    }
}

/* Appends the block's own JSON, if it is wanted. */
static bool add_own(struct buf *out, struct draft *d, enum wire_format f, struct block *b)
{
    if (b->own == NULL || !is_wanted(b)) {
        return false;
    }
    if (f == WIRE_MESSAGES) {
        take_pieces(d, b);
    }
    struct buf own = {0};
    own_add(&own, b->own);
    bool good = nesting(buf_str(&own)) <= PART_DEPTH_MAX;
    if (good) {
        json_next(out);
        buf_add(out, buf_str(&own));
    }
    buf_free(&own);
    return good;
}

/* Appends the part as it came, or what stands for it: a size, null. */
static bool add_part(struct buf *out, struct draft *d, enum wire_format f, struct block *b)
{
    if (b->told) {
        return false;
    }
    if (add_own(out, d, f, b)) {
        return true;
    }
    if (b->kind == BLOCK_TEXT && b->text.n > 0) {
        json_next(out);
        buf_int(out, (int64_t)b->text.n);
    } else if (b->kind == BLOCK_CALL) {
        json_next(out);
        buf_addz(out, "null");
    }
    return false;
}

struct str parts_kept(struct draft *d, enum wire_format f)
{
    size_t own = 0;
    struct buf out = {0};
    buf_char(&out, '{');
    json_key(&out, wire_provider(f));
    buf_char(&out, '[');
    for (size_t i = 0; i < d->n_blocks; i++) {
        if (d->blocks[i].kind != BLOCK_GONE) {
            own += add_part(&out, d, f, &d->blocks[i]);
        }
    }
    buf_addz(&out, "]}");
    struct str text = own > 0 ? arena_str(d->arena, buf_str(&out)) : (struct str){NULL, 0};
    buf_free(&out);
    return text;
}

/* ---- what is sent ---- */

/* A list under way. */
struct list {
    const struct message *m;
    struct part *parts;
    size_t n;
    size_t text; /* bytes of content that are in it */
    size_t calls;
};

static void take_text(struct list *l, size_t n)
{
    struct str text = str_slice(l->m->content, l->text, l->text + n);
    l->text += text.n;
    if (text.n > 0) {
        l->parts[l->n++] = (struct part){.kind = PART_TEXT, .text = text};
    }
}

static void take_call(struct list *l)
{
    if (l->calls < l->m->n_calls) {
        l->parts[l->n++] = (struct part){.kind = PART_CALL, .call = &l->m->calls[l->calls++]};
    }
}

/* Whether the content goes on with the text that a part holds; moves behind it. */
static bool covers_text(struct list *l, struct str text)
{
    struct str next = str_slice(l->m->content, l->text, l->text + text.n);
    bool same = str_eq(next, text);
    l->text += same ? text.n : 0;
    return same;
}

/* The same for the texts of a list. */
static bool covers_texts(struct list *l, const struct val *content)
{
    size_t from = l->text;
    for (size_t i = 0; val_is(content, VAL_ARRAY) && i < content->count; i++) {
        if (!covers_text(l, val_text(val_get(val_item(content, i), "text")))) {
            l->text = from;
            return false;
        }
    }
    return true;
}

/* Whether the part is of this message still: a text or call that it holds is the next one. */
static bool covers(struct list *l, const struct val *own)
{
    struct str type = val_text(val_get(own, "type"));
    if (str_is(type, "text")) {
        return covers_text(l, val_text(val_get(own, "text")));
    }
    if (str_is(type, "message")) {
        return covers_texts(l, val_get(own, "content"));
    }
    if (str_is(type, "tool_use")) {
        bool same = l->calls < l->m->n_calls &&
                    str_eq(l->m->calls[l->calls].id, val_text(val_get(own, "id")));
        l->calls += same;
        return same;
    }
    return true;
}

size_t parts_of(const struct message *m, enum wire_format f, struct arena *arena, struct part **out)
{
    struct val *v = NULL;
    const struct val *own = NULL;
    if (m->parts.n > 0 && json_parse(arena, NULL, m->parts, &v, NULL) == 0) {
        own = val_get(v, wire_provider(f));
    }
    size_t n = val_is(own, VAL_ARRAY) ? own->count : 0;
    struct list l = {.m = m, .parts = arena_array(arena, n + m->n_calls + 1, sizeof *l.parts)};
    for (size_t i = 0; i < n; i++) {
        const struct val *part = val_item(own, i);
        int64_t bytes = 0;
        if (val_is(part, VAL_OBJECT) && covers(&l, part)) {
            l.parts[l.n++] = (struct part){.kind = PART_OWN, .text = part->raw, .own = part};
        } else if (val_int(part, &bytes) && bytes > 0) {
            take_text(&l, (size_t)bytes);
        } else if (val_is(part, VAL_NULL)) {
            take_call(&l);
        }
    }
    take_text(&l, m->content.n);
    while (l.calls < m->n_calls) {
        take_call(&l);
    }
    *out = l.parts;
    return l.n;
}
