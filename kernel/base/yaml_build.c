/* What a document's parts, told one by one, become: values with their anchors, aliases, merge keys
 * and tags, within the limits. Who reads them, yaml_simple.c or libyaml, is all the same here. */
#include <assert.h>
#include <stdlib.h>

#include "kernel/base/hash.h"
#include "kernel/base/table.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml_int.h"

enum { SHOWN_CHARS = 40 };

/* What an alias stands for. */
struct anchor {
    struct str name;
    struct val value;
    size_t nodes;    /* its values, aliases in it expanded */
    unsigned height; /* its nesting: 0 for a scalar */
    enum { ANCHOR_OPEN, ANCHOR_CLOSED } state;
};

/* A list or map that is being read. */
struct frame {
    enum { IN_LIST, AT_KEY, AT_VALUE, AT_MERGE } state; /* what comes next */
    struct val value;                                   /* its kind and place */
    size_t base;           /* where its entries begin on the stack of entries */
    size_t nodes;          /* read before it */
    unsigned height;       /* of its highest item */
    struct anchor *anchor; /* NULL = none */
};

struct entry {
    struct member m; /* of a list only the value */
    bool merge;      /* the value of << */
};

/* Invariants: depth <= YAML_DEPTH_MAX, also with aliases expanded; nodes <= YAML_NODES_MAX;
 * entries[frames[i].base ..] belong to frame i; at AT_VALUE and AT_MERGE the last entry waits for
 * its value. */
struct load {
    struct doc d; /* its arena: of the document, or of the item that is read to be handed out */
    struct arena *document;
    enum yaml_rules rules;
    struct err *e;
    const struct val_items *items; /* NULL = everything belongs into the tree */
    size_t handed;                 /* how many of them were */
    bool handing;                  /* frame 1 is their list */
    bool stays;                    /* the item has an anchor or an alias in it */
    struct frame *frames;
    size_t depth, cap_frames;
    struct entry *entries;
    size_t n_entries, cap_entries;
    struct table anchors; /* by name; the latest of each */
    size_t nodes;
    struct val root;
};

/* ---- limits ---- */

int yaml_too_deep(const char *file, const struct val *v, struct err *e)
{
    return err_at(e, ERR_LIMIT, file, v->line, v->column,
                  "nested deeper than %d levels (aliases expanded); make it flatter",
                  YAML_DEPTH_MAX);
}

int yaml_count(size_t *nodes, size_t more, const char *file, const struct val *v, struct err *e)
{
    if (more > YAML_NODES_MAX - *nodes) {
        return err_at(e, ERR_LIMIT, file, v->line, v->column,
                      "more than %d values (aliases expanded); split the file", YAML_NODES_MAX);
    }
    *nodes += more;
    return 0;
}

static int too_deep(const struct load *l, const struct val *v)
{
    return yaml_too_deep(l->d.file, v, l->e);
}

static int count_nodes(struct load *l, const struct val *v, size_t more)
{
    return yaml_count(&l->nodes, more, l->d.file, v, l->e);
}

/* ---- entries and anchors ---- */

static struct entry *push(struct load *l)
{
    l->entries = mem_room(l->entries, l->n_entries, &l->cap_entries, sizeof *l->entries);
    struct entry *entry = &l->entries[l->n_entries++];
    *entry = (struct entry){.merge = false};
    return entry;
}

static bool has_name(const void *name, const void *anchor)
{
    return str_eq(*(const struct str *)name, ((const struct anchor *)anchor)->name);
}

static struct table_slot *anchor_slot(struct load *l, struct str name)
{
    return table_find(&l->anchors, hash64(0, name), &name, has_name);
}

/* Opens an anchor, so that an alias inside it is seen. NULL for no name. */
static struct anchor *anchor_open(struct load *l, const char *name)
{
    if (name == NULL) {
        return NULL;
    }
    l->stays = true;
    struct anchor *anchor = arena_alloc(l->d.arena, sizeof *anchor);
    anchor->name = arena_str(l->d.arena, str_of(name));
    struct table_slot *slot = anchor_slot(l, anchor->name);
    if (slot->piece == NULL) {
        table_put(&l->anchors, slot, hash64(0, anchor->name), anchor);
    } else {
        slot->piece = anchor;
    }
    return anchor;
}

static void anchor_close(struct anchor *anchor, const struct val *v, size_t nodes, unsigned height)
{
    if (anchor != NULL) {
        *anchor = (struct anchor){anchor->name, *v, nodes, height, ANCHOR_CLOSED};
    }
}

/* ---- a list whose items are handed out ---- */

/* Whether the list that begins here is theirs. */
static bool is_handed(const struct load *l, enum val_kind kind, const char *anchor)
{
    return l->items != NULL && kind == VAL_ARRAY && anchor == NULL && l->depth == 1 &&
           l->frames[0].state == AT_VALUE &&
           str_is(l->entries[l->n_entries - 1].m.key, l->items->key);
}

static void begin_handing(struct load *l)
{
    l->handing = true;
    l->stays = false;
    l->handed = 0;
    l->d.arena = arena_new();
}

static void hand_out(struct load *l, const struct val *v)
{
    const struct val *item = v;
    if (l->stays) {
        struct val *copy = arena_alloc(l->d.arena, sizeof *copy);
        *copy = *v;
        item = copy;
    }
    l->items->item(l->items->ctx, l->handed++, item, l->stays);
    if (l->stays) {
        arena_join(l->document, l->d.arena);
    } else {
        arena_free(l->d.arena);
    }
    l->stays = false;
    l->d.arena = arena_new();
}

static void end_handing(struct load *l)
{
    l->handing = false;
    arena_free(l->d.arena);
    l->d.arena = l->document;
}

/* Gives a finished value to what it belongs to. */
static void place(struct load *l, const struct val *v, unsigned height)
{
    if (l->depth == 0) {
        l->root = *v;
        return;
    }
    if (l->handing && l->depth == 2) {
        hand_out(l, v);
        return;
    }
    struct frame *f = &l->frames[l->depth - 1];
    if (f->height < height) {
        f->height = height;
    }
    switch (f->state) {
    case IN_LIST: push(l)->m.value = *v; break;
    case AT_VALUE:
    case AT_MERGE:
        l->entries[l->n_entries - 1].m.value = *v;
        f->state = AT_KEY;
        break;
    case AT_KEY: assert(!"a key is no value"); break;
    }
}

/* The text of a value that stands as a key. */
static bool key_text(const struct val *v, struct str *out)
{
    switch (v->kind) {
    case VAL_NULL: *out = STR("null"); return true;
    case VAL_BOOL: *out = v->boolean ? STR("true") : STR("false"); return true;
    case VAL_NUMBER:
    case VAL_STRING: *out = v->text; return true;
    case VAL_ARRAY:
    case VAL_OBJECT: break;
    }
    return false;
}

static void place_key(struct load *l, struct str key, const struct val *where, bool merge)
{
    struct entry *entry = push(l);
    entry->m = (struct member){.key = key, .line = where->line, .column = where->column};
    entry->merge = merge;
    l->frames[l->depth - 1].state = merge ? AT_MERGE : AT_VALUE;
}

static bool at_key(const struct load *l)
{
    return l->depth > 0 && l->frames[l->depth - 1].state == AT_KEY;
}

/* ---- scalars ---- */

int yaml_scalar(struct load *l, struct str text, bool plain, uint32_t line, uint32_t column)
{
    struct val v = {.kind = VAL_STRING, .line = line, .column = column};
    if (at_key(l)) {
        place_key(l, arena_str(l->d.arena, text), &v, plain && str_is(text, "<<"));
        return 0;
    }
    int rc = yaml_set_untagged(l->d, l->rules, text, plain, &v, l->e);
    if (rc == 0) {
        rc = count_nodes(l, &v, 1);
    }
    if (rc == 0) {
        place(l, &v, 0);
    }
    return rc;
}

int yaml_on_scalar(struct load *l, const struct yaml_part *part)
{
    struct val v = {.line = part->line, .column = part->column};
    bool plain = part->plain && part->tag == NULL;
    if (l->depth == 0 && plain && part->text.n == 0 && part->anchor == NULL) {
        return doc_fail(l->d, &v, l->e, "the document is empty; expected a map or a list");
    }
    struct anchor *anchor = anchor_open(l, part->anchor);
    if (at_key(l)) {
        v.kind = VAL_STRING;
        v.text = arena_str(l->d.arena, part->text);
        anchor_close(anchor, &v, 1, 0);
        place_key(l, v.text, &v, plain && str_is(part->text, "<<"));
        return 0;
    }
    int rc = yaml_set_scalar(l->d, l->rules, part, &v, l->e);
    if (rc == 0) {
        rc = count_nodes(l, &v, 1);
    }
    if (rc == 0) {
        anchor_close(anchor, &v, 1, 0);
        place(l, &v, 0);
    }
    return rc;
}

/* The children are shared with the anchor, so an alias costs one value whatever it stands for. */
int yaml_on_alias(struct load *l, const struct yaml_part *part)
{
    struct val v = {.line = part->line, .column = part->column};
    struct str name = part->text;
    const struct anchor *anchor = anchor_slot(l, name)->piece;
    if (anchor == NULL) {
        return doc_fail(l->d, &v, l->e,
                        "no anchor &%.*s stands before this alias; text that begins with * needs "
                        "quotes",
                        STR_FMT(text_preview(l->d.arena, name, SHOWN_CHARS)));
    }
    l->stays = true;
    if (anchor->state == ANCHOR_OPEN) {
        return doc_fail(l->d, &v, l->e, "the alias *%.*s stands inside its own anchor",
                        STR_FMT(text_preview(l->d.arena, name, SHOWN_CHARS)));
    }
    if (l->depth + anchor->height > YAML_DEPTH_MAX) {
        return too_deep(l, &v);
    }
    int rc = count_nodes(l, &v, anchor->nodes);
    if (rc != 0) {
        return rc;
    }
    v = anchor->value;
    v.line = part->line;
    v.column = part->column;
    if (!at_key(l)) {
        place(l, &v, anchor->height);
        return 0;
    }
    struct str key;
    if (!key_text(&v, &key)) {
        return doc_fail(l->d, &v, l->e, "%s cannot be a key of a map; expected text",
                        val_kind_name(v.kind));
    }
    place_key(l, key, &v, false);
    return 0;
}

/* ---- lists and maps ---- */

/* Begins a list or map. anchor: its name, NULL = none. */
static int open_value(struct load *l, const struct val *v, const char *anchor)
{
    size_t nodes = l->nodes;
    if (l->depth == YAML_DEPTH_MAX) {
        return too_deep(l, v);
    }
    int rc = count_nodes(l, v, 1);
    if (rc == 0) {
        struct anchor *opened = anchor_open(l, anchor);
        if (is_handed(l, v->kind, anchor)) {
            begin_handing(l);
        }
        l->frames = mem_room(l->frames, l->depth, &l->cap_frames, sizeof *l->frames);
        l->frames[l->depth++] = (struct frame){.state = v->kind == VAL_OBJECT ? AT_KEY : IN_LIST,
                                               .value = *v,
                                               .base = l->n_entries,
                                               .nodes = nodes,
                                               .anchor = opened};
    }
    return rc;
}

int yaml_open(struct load *l, enum val_kind kind, uint32_t line, uint32_t column)
{
    const struct val v = {.kind = kind, .line = line, .column = column};
    return open_value(l, &v, NULL);
}

int yaml_on_open(struct load *l, enum val_kind kind, const struct yaml_part *part)
{
    const struct val v = {.kind = kind, .line = part->line, .column = part->column};
    if (at_key(l)) {
        return doc_fail(l->d, &v, l->e,
                        "%s cannot be a key of a map; expected text (text that begins with { or [ "
                        "needs quotes)",
                        val_kind_name(kind));
    }
    if (part->tag != NULL && !yaml_tag_opens(l->rules, kind, part->tag)) {
        return yaml_bad_tag(l->d, &v, part->tag, l->e);
    }
    return open_value(l, &v, part->anchor);
}

static void close_list(struct load *l, struct frame *f)
{
    size_t n = l->n_entries - f->base;
    f->value.count = n;
    f->value.items = n == 0 ? NULL : arena_array(l->d.arena, n, sizeof(struct val));
    for (size_t i = 0; i < n; i++) {
        f->value.items[i] = l->entries[f->base + i].m.value;
    }
}

static int close_map(struct load *l, struct frame *f)
{
    size_t n = l->n_entries - f->base, n_merges = 0;
    for (size_t i = f->base; i < l->n_entries; i++) {
        n_merges += l->entries[i].merge;
    }
    if (n_merges > 1 && l->rules == YAML_CORE) {
        return doc_fail(l->d, &f->value, l->e,
                        "<< stands twice in this map; write one << with a list of maps");
    }
    struct member *own = n == 0 ? NULL : arena_array(l->d.arena, n - n_merges, sizeof *own);
    const struct val **merges =
        n_merges == 0 ? NULL : arena_array(l->d.arena, n_merges, sizeof *merges);
    size_t at = 0, at_merge = 0;
    for (size_t i = f->base; i < l->n_entries; i++) {
        if (l->entries[i].merge) {
            merges[at_merge++] = &l->entries[i].m.value;
        } else {
            own[at++] = l->entries[i].m;
        }
    }
    f->value.members = own;
    f->value.count = n - n_merges;
    int rc = n_merges == 0 ? 0 : yaml_merge(l->d, &f->value, merges, n_merges, l->e);
    return rc == 0 && l->rules == YAML_CORE ? yaml_refuse_duplicates(l->d, &f->value, l->e) : rc;
}

int yaml_close(struct load *l)
{
    assert(l->depth > 0);
    struct frame *f = &l->frames[l->depth - 1];
    if (l->handing && l->depth == 2) {
        f->value.count = l->handed;
        end_handing(l);
    } else if (f->value.kind == VAL_ARRAY) {
        close_list(l, f);
    } else {
        int rc = close_map(l, f);
        if (rc != 0) {
            return rc;
        }
    }
    l->n_entries = f->base;
    l->depth--;
    anchor_close(f->anchor, &f->value, l->nodes - f->nodes, f->height + 1);
    place(l, &f->value, f->height + 1);
    return 0;
}

/* ---- from the first part to the document ---- */

struct load *yaml_load_new(struct arena *arena, const char *file, enum yaml_rules rules,
                           const struct val_items *items)
{
    struct load *l = mem_zero(sizeof *l);
    l->d = (struct doc){arena, file};
    l->document = arena;
    l->rules = rules;
    l->items = items;
    return l;
}

void yaml_load_anew(struct load *l, struct err *e)
{
    l->e = e;
    if (l->handing) {
        end_handing(l);
    }
    l->depth = 0;
    l->n_entries = 0;
    l->nodes = 0;
}

int yaml_load_end(struct load *l, int rc, struct val **out)
{
    if (l->handing) {
        end_handing(l);
    }
    if (rc == 0) {
        *out = arena_alloc(l->document, sizeof **out);
        **out = l->root;
    }
    free(l->frames);
    free(l->entries);
    table_free(&l->anchors);
    free(l);
    return rc;
}
