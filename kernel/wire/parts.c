/* The parts of an assistant message in the order in which the provider sent them, and wants to see
 * them again: what is kept of a reply for that, and what an encoder makes of it. */
#include "kernel/base/json.h"
#include "kernel/wire/wire_int.h"

/* Appends a number or null, or the part as it came. */
static void add_part(struct buf *out, const struct block *b)
{
    if (b->part.n > 0) {
        json_next(out);
        buf_add(out, b->part);
    } else if (b->kind == BLOCK_TEXT && b->text.n > 0) {
        json_next(out);
        buf_int(out, (int64_t)b->text.n);
    } else if (b->kind == BLOCK_CALL) {
        json_next(out);
        buf_addz(out, "null");
    }
}

struct str parts_kept(const struct draft *d, enum wire_format f)
{
    size_t own = 0;
    struct buf out = {0};
    buf_char(&out, '{');
    json_key(&out, wire_provider(f));
    buf_char(&out, '[');
    for (size_t i = 0; i < d->n_blocks; i++) {
        if (d->blocks[i].kind != BLOCK_GONE) {
            own += d->blocks[i].part.n > 0;
            add_part(&out, &d->blocks[i]);
        }
    }
    buf_addz(&out, "]}");
    struct str text = own > 0 ? arena_str(d->arena, buf_str(&out)) : (struct str){NULL, 0};
    buf_free(&out);
    return text;
}

/* A list under way. */
struct list {
    struct part *parts;
    size_t n;
    size_t text; /* bytes of content that are in it */
    size_t calls;
};

static void take_text(struct list *l, const struct message *m, size_t n)
{
    struct str text = str_slice(m->content, l->text, l->text + n);
    l->text += text.n;
    if (str_trim(text).n > 0) { /* providers refuse a text that is only white space */
        l->parts[l->n++] = (struct part){.kind = PART_TEXT, .text = text};
    }
}

static void take_call(struct list *l, const struct message *m)
{
    if (l->calls < m->n_calls) {
        l->parts[l->n++] = (struct part){.kind = PART_CALL, .call = &m->calls[l->calls++]};
    }
}

size_t parts_of(const struct message *m, enum wire_format f, struct arena *arena, struct part **out)
{
    struct val *v = NULL;
    const struct val *own = NULL;
    if (m->parts.n > 0 && json_parse(arena, NULL, m->parts, &v, NULL) == 0) {
        own = val_get(v, wire_provider(f));
    }
    size_t n = val_is(own, VAL_ARRAY) ? own->count : 0;
    struct list l = {.parts = arena_array(arena, n + m->n_calls + 1, sizeof *l.parts)};
    for (size_t i = 0; i < n; i++) {
        const struct val *part = val_item(own, i);
        int64_t bytes = 0;
        if (val_is(part, VAL_OBJECT)) {
            l.parts[l.n++] = (struct part){.kind = PART_OWN, .text = part->raw, .own = part};
        } else if (val_int(part, &bytes) && bytes > 0) {
            take_text(&l, m, (size_t)bytes);
        } else if (val_is(part, VAL_NULL)) {
            take_call(&l, m);
        }
    }
    take_text(&l, m, m->content.n);
    while (l.calls < m->n_calls) {
        take_call(&l, m);
    }
    *out = l.parts;
    return l.n;
}
