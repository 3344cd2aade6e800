#include "kernel/base/yaml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "kernel/base/base64.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml_int.h"

enum { NAMES_FIRST = 32, FEW_MEMBERS = 16, SHOWN_CHARS = 40, HEAD_BYTES = 1024 };

/* A set of names with a number each: open addressing, at most half full. */
struct slot {
    struct str name;
    size_t value; /* 0 = free */
};

struct names {
    struct slot *slots;
    size_t cap;
    size_t n;
};

static struct slot *names_probe(struct slot *slots, size_t cap, struct str name)
{
    size_t at = (size_t)hash64(0, name) & (cap - 1);
    while (slots[at].value != 0 && !str_eq(slots[at].name, name)) {
        at = (at + 1) & (cap - 1);
    }
    return &slots[at];
}

/* The slot of `name`. When it is free the caller fills it by names_fill. */
static struct slot *names_slot(struct names *t, struct str name)
{
    if (t->n * 2 >= t->cap) {
        struct names bigger = {.cap = t->cap == 0 ? NAMES_FIRST : t->cap * 2, .n = t->n};
        bigger.slots = mem_zero(bigger.cap * sizeof *bigger.slots);
        for (size_t i = 0; i < t->cap; i++) {
            if (t->slots[i].value != 0) {
                *names_probe(bigger.slots, bigger.cap, t->slots[i].name) = t->slots[i];
            }
        }
        free(t->slots);
        *t = bigger;
    }
    return names_probe(t->slots, t->cap, name);
}

static void names_fill(struct names *t, struct slot *slot, struct str name, size_t value)
{
    t->n += slot->value == 0;
    *slot = (struct slot){name, value};
}

/* What an alias stands for. `serial` tells a later anchor of the same name from this one. */
struct anchor {
    struct val value;
    size_t nodes;    /* its values, aliases in it expanded */
    unsigned height; /* its nesting: 0 for a scalar */
    enum { ANCHOR_OPEN, ANCHOR_CLOSED } state;
};

/* A list or map that is being read. */
struct frame {
    enum { IN_LIST, AT_KEY, AT_VALUE, AT_MERGE } state; /* what comes next */
    struct val value;                                   /* its kind and place */
    size_t base;     /* where its entries begin on the stack of entries */
    size_t nodes;    /* read before it */
    unsigned height; /* of its highest item */
    size_t anchor;   /* index + 1 in the list of anchors; 0 = none */
};

struct entry {
    struct member m; /* of a list only the value */
    bool merge;      /* the value of << */
};

/* Invariants: depth <= YAML_DEPTH_MAX, also with aliases expanded; nodes <= YAML_NODES_MAX;
 * entries[frames[i].base ..] belong to frame i; at AT_VALUE and AT_MERGE the last entry waits for
 * its value. */
struct load {
    struct arena *arena; /* of the document, or of the item that is being read to be handed out */
    struct arena *document;
    const char *file;
    enum yaml_rules rules;
    struct err *e;
    const struct val_items *items; /* NULL = everything belongs into the tree */
    size_t handed;                 /* how many of them were */
    bool handing;                  /* frame 1 is their list */
    bool stays;                    /* the item has an anchor or an alias in it */
    struct err wrong;              /* of a JSON text: in the first item that is; code 0 = none */
    struct frame *frames;
    size_t depth, cap_frames;
    struct entry *entries;
    size_t n_entries, cap_entries;
    struct anchor *anchors;
    size_t n_anchors, cap_anchors;
    struct names anchor_names; /* index + 1 in anchors */
    size_t nodes;
    struct val root;
    enum { NO_DOCUMENT, IN_DOCUMENT, AFTER_DOCUMENT, AFTER_STREAM } state;
};

#define FAIL(l, line_, column_, ...)                                                               \
    err_at((l)->e, ERR_INPUT, (l)->file, (line_), (column_), __VA_ARGS__)

static uint32_t line_of(yaml_mark_t m)
{
    return (uint32_t)m.line + 1;
}

static uint32_t column_of(yaml_mark_t m)
{
    return (uint32_t)m.column + 1;
}

static int too_deep(struct load *l, const struct val *v)
{
    return err_at(l->e, ERR_LIMIT, l->file, v->line, v->column,
                  "nested deeper than %d levels (aliases expanded); make it flatter",
                  YAML_DEPTH_MAX);
}

static int count_nodes(struct load *l, const struct val *v, size_t more)
{
    if (more > YAML_NODES_MAX - l->nodes) {
        return err_at(l->e, ERR_LIMIT, l->file, v->line, v->column,
                      "more than %d values (aliases expanded); split the file", YAML_NODES_MAX);
    }
    l->nodes += more;
    return 0;
}

/* Doubles a list that is full. */
static void *grown(void *list, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) {
        return list;
    }
    *cap = *cap == 0 ? 32 : *cap * 2;
    return mem_grow(list, *cap * size);
}

static struct entry *push(struct load *l)
{
    l->entries = grown(l->entries, l->n_entries, &l->cap_entries, sizeof *l->entries);
    struct entry *entry = &l->entries[l->n_entries++];
    *entry = (struct entry){.merge = false};
    return entry;
}

/* Opens an anchor, so that an alias inside it is seen. Returns its index + 1; 0 for no name. */
static size_t anchor_open(struct load *l, const yaml_char_t *name)
{
    if (name == NULL) {
        return 0;
    }
    l->stays = true;
    l->anchors = grown(l->anchors, l->n_anchors, &l->cap_anchors, sizeof *l->anchors);
    l->anchors[l->n_anchors++] = (struct anchor){.state = ANCHOR_OPEN};
    struct str s = str_of((const char *)name);
    struct slot *slot = names_slot(&l->anchor_names, s);
    names_fill(&l->anchor_names, slot, slot->value == 0 ? arena_str(l->arena, s) : slot->name,
               l->n_anchors);
    return l->n_anchors;
}

static void anchor_close(struct load *l, size_t anchor, const struct val *v, size_t nodes,
                         unsigned height)
{
    if (anchor > 0) {
        l->anchors[anchor - 1] = (struct anchor){*v, nodes, height, ANCHOR_CLOSED};
    }
}

/* ---- a list whose items are handed out ---- */

/* Whether the list that begins here is theirs. */
static bool is_handed(const struct load *l, enum val_kind kind, const yaml_char_t *anchor)
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
    l->arena = arena_new();
}

static void hand_out(struct load *l, const struct val *v)
{
    const struct val *item = v;
    if (l->stays) {
        struct val *copy = arena_alloc(l->arena, sizeof *copy);
        *copy = *v;
        item = copy;
    }
    l->items->item(l->items->ctx, l->handed++, item, l->stays);
    if (l->stays) {
        arena_join(l->document, l->arena);
    } else {
        arena_free(l->arena);
    }
    l->stays = false;
    l->arena = arena_new();
}

static void end_handing(struct load *l)
{
    l->handing = false;
    arena_free(l->arena);
    l->arena = l->document;
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

/* Tags. */

static const char tag_prefix[] = "tag:yaml.org,2002:";

static int bad_tag(struct load *l, const struct val *v, const char *tag)
{
    bool standard = strncmp(tag, tag_prefix, sizeof tag_prefix - 1) == 0;
    struct str name = str_of(standard ? tag + sizeof tag_prefix - 1 : tag);
    return FAIL(l, v->line, v->column,
                "the tag %s%.*s is not known here; expected !!str, !!int, !!float, !!bool, "
                "!!null, !!binary, !!map or !!seq, or no tag at all",
                standard ? "!!" : "", STR_FMT(text_preview(l->arena, name, SHOWN_CHARS)));
}

static int bad_value(struct load *l, const struct val *v, struct str text, const char *tag,
                     const char *expected)
{
    struct str shown = text_preview(l->arena, text, SHOWN_CHARS);
    return FAIL(l, v->line, v->column, "%s expected after %s, got \"%.*s\"", expected, tag,
                STR_FMT(shown));
}

static void set_string(struct load *l, struct val *v, struct str text)
{
    v->kind = VAL_STRING;
    v->text = arena_str(l->arena, text);
}

static int set_binary(struct load *l, struct val *v, struct str text)
{
    struct buf bytes = {.n = 0};
    bool good = base64_decode(text, &bytes);
    if (good) {
        set_string(l, v, buf_str(&bytes));
        v->binary = true;
    }
    buf_free(&bytes);
    return good ? 0 : bad_value(l, v, text, "!!binary", "base64 text");
}

static int set_resolved(struct load *l, struct val *v, enum yaml_plain plain, struct str text,
                        struct str number)
{
    switch (plain) {
    case PLAIN_STRING: set_string(l, v, text); break;
    case PLAIN_NULL: v->kind = VAL_NULL; break;
    case PLAIN_TRUE:
    case PLAIN_FALSE:
        v->kind = VAL_BOOL;
        v->boolean = plain == PLAIN_TRUE;
        break;
    case PLAIN_INT:
    case PLAIN_FLOAT:
        v->kind = VAL_NUMBER;
        v->text = arena_str(l->arena, number);
        break;
    case PLAIN_NOT_FINITE:
        return FAIL(l, v->line, v->column,
                    "%.*s is no number that JSON can hold; write a finite number, or put it in "
                    "quotes to make it text",
                    STR_FMT(text));
    case PLAIN_TOO_LONG:
        return err_at(l->e, ERR_LIMIT, l->file, v->line, v->column,
                      "a number of %zu characters that is not decimal; expected at most %d; put "
                      "it in quotes to make it text",
                      text.n, YAML_RADIX_CHARS_MAX);
    }
    return 0;
}

/* A scalar with an explicit tag. */
static int set_tagged(struct load *l, struct val *v, const char *tag, struct str text,
                      struct str number, enum yaml_plain plain)
{
    static const char *const as_text[] = {"str",   "python/unicode", "python/str", "timestamp",
                                          "value", "merge",          NULL};
    if (strncmp(tag, tag_prefix, sizeof tag_prefix - 1) != 0) {
        return bad_tag(l, v, tag);
    }
    const char *name = tag + sizeof tag_prefix - 1;
    for (size_t i = 0; as_text[i] != NULL; i++) {
        if (strcmp(name, as_text[i]) == 0) {
            set_string(l, v, text);
            return 0;
        }
    }
    if (strcmp(name, "binary") == 0 || strcmp(name, "python/bytes") == 0) {
        return set_binary(l, v, text);
    }
    bool is_int = strcmp(name, "int") == 0;
    if (is_int || strcmp(name, "float") == 0) {
        bool fits = plain == PLAIN_INT || plain == PLAIN_TOO_LONG ||
                    (!is_int && (plain == PLAIN_FLOAT || plain == PLAIN_NOT_FINITE));
        return fits ? set_resolved(l, v, plain, text, number)
                    : bad_value(l, v, text, is_int ? "!!int" : "!!float",
                                is_int ? "a whole number" : "a number");
    }
    if (strcmp(name, "bool") == 0) {
        bool fits = plain == PLAIN_TRUE || plain == PLAIN_FALSE;
        return fits ? set_resolved(l, v, plain, text, number)
                    : bad_value(l, v, text, "!!bool", "true or false");
    }
    if (strcmp(name, "null") == 0) {
        return plain == PLAIN_NULL ? set_resolved(l, v, plain, text, number)
                                   : bad_value(l, v, text, "!!null", "null");
    }
    return bad_tag(l, v, tag);
}

/* A scalar without a tag. */
static int set_untagged(struct load *l, struct val *v, struct str text, bool plain)
{
    if (!plain) {
        set_string(l, v, text);
        return 0;
    }
    struct buf number = {.n = 0};
    enum yaml_plain meant = yaml_resolve(l->rules, text, &number);
    int rc = set_resolved(l, v, meant, text, buf_str(&number));
    buf_free(&number);
    return rc;
}

static int set_scalar(struct load *l, const yaml_event_t *ev, struct val *v)
{
    struct str text = {(const char *)ev->data.scalar.value, ev->data.scalar.length};
    const char *tag = (const char *)ev->data.scalar.tag;
    bool resolves = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (tag != NULL && strcmp(tag, "!") == 0) {
        tag = NULL; /* YAML 1.2: it is text; PyYAML: it is as if plain */
        resolves = l->rules == YAML_PYYAML;
    }
    if (tag == NULL) {
        return set_untagged(l, v, text, resolves);
    }
    struct buf number = {.n = 0};
    enum yaml_plain plain = yaml_resolve(l->rules, text, &number);
    int rc = set_tagged(l, v, tag, text, buf_str(&number), plain);
    buf_free(&number);
    return rc;
}

int yaml_scalar(struct load *l, struct str text, bool plain, uint32_t line, uint32_t column)
{
    struct val v = {.kind = VAL_STRING, .line = line, .column = column};
    if (at_key(l)) {
        place_key(l, arena_str(l->arena, text), &v, plain && str_is(text, "<<"));
        return 0;
    }
    int rc = set_untagged(l, &v, text, plain);
    if (rc == 0) {
        rc = count_nodes(l, &v, 1);
    }
    if (rc == 0) {
        place(l, &v, 0);
    }
    return rc;
}

static int on_scalar(struct load *l, const yaml_event_t *ev)
{
    struct val v = {.line = line_of(ev->start_mark), .column = column_of(ev->start_mark)};
    struct str text = {(const char *)ev->data.scalar.value, ev->data.scalar.length};
    bool plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && ev->data.scalar.tag == NULL;
    if (l->depth == 0 && plain && text.n == 0 && ev->data.scalar.anchor == NULL) {
        return FAIL(l, v.line, v.column, "the document is empty; expected a map or a list");
    }
    size_t anchor = anchor_open(l, ev->data.scalar.anchor);
    if (at_key(l)) {
        v.kind = VAL_STRING;
        v.text = arena_str(l->arena, text);
        anchor_close(l, anchor, &v, 1, 0);
        place_key(l, v.text, &v, plain && str_is(text, "<<"));
        return 0;
    }
    int rc = set_scalar(l, ev, &v);
    if (rc == 0) {
        rc = count_nodes(l, &v, 1);
    }
    if (rc == 0) {
        anchor_close(l, anchor, &v, 1, 0);
        place(l, &v, 0);
    }
    return rc;
}

/* The children are shared with the anchor, so an alias costs one value whatever it stands for. */
static int on_alias(struct load *l, const yaml_event_t *ev)
{
    struct val v = {.line = line_of(ev->start_mark), .column = column_of(ev->start_mark)};
    struct str name = str_of((const char *)ev->data.alias.anchor);
    struct slot *slot = names_slot(&l->anchor_names, name);
    if (slot->value == 0) {
        return FAIL(l, v.line, v.column,
                    "no anchor &%.*s stands before this alias; text that begins with * needs "
                    "quotes",
                    STR_FMT(text_preview(l->arena, name, SHOWN_CHARS)));
    }
    l->stays = true;
    const struct anchor *anchor = &l->anchors[slot->value - 1];
    if (anchor->state == ANCHOR_OPEN) {
        return FAIL(l, v.line, v.column, "the alias *%.*s stands inside its own anchor",
                    STR_FMT(text_preview(l->arena, name, SHOWN_CHARS)));
    }
    if (l->depth + anchor->height > YAML_DEPTH_MAX) {
        return too_deep(l, &v);
    }
    int rc = count_nodes(l, &v, anchor->nodes);
    if (rc != 0) {
        return rc;
    }
    uint32_t line = v.line, column = v.column;
    v = anchor->value;
    v.line = line;
    v.column = column;
    if (!at_key(l)) {
        place(l, &v, anchor->height);
        return 0;
    }
    struct str key;
    if (!key_text(&v, &key)) {
        return FAIL(l, line, column, "%s cannot be a key of a map; expected text",
                    val_kind_name(v.kind));
    }
    place_key(l, key, &v, false);
    return 0;
}

/* PyYAML's tags of Python's own types: the list or map behind one is taken as it stands, and
 * nothing is ever run. */
static bool is_python(const struct load *l, const char *tag)
{
    static const char python[] = "tag:yaml.org,2002:python/";
    return l->rules == YAML_PYYAML && strncmp(tag, python, sizeof python - 1) == 0;
}

/* Begins a list or map. anchor: its name, NULL = none. */
static int open_value(struct load *l, const struct val *v, const yaml_char_t *anchor)
{
    size_t nodes = l->nodes;
    if (l->depth == YAML_DEPTH_MAX) {
        return too_deep(l, v);
    }
    int rc = count_nodes(l, v, 1);
    if (rc == 0) {
        size_t opened = anchor_open(l, anchor);
        if (is_handed(l, v->kind, anchor)) {
            begin_handing(l);
        }
        l->frames = grown(l->frames, l->depth, &l->cap_frames, sizeof *l->frames);
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

static int on_open(struct load *l, const yaml_event_t *ev, enum val_kind kind)
{
    struct val v = {
        .kind = kind, .line = line_of(ev->start_mark), .column = column_of(ev->start_mark)};
    bool map = kind == VAL_OBJECT;
    const yaml_char_t *tag = map ? ev->data.mapping_start.tag : ev->data.sequence_start.tag;
    const yaml_char_t *name = map ? ev->data.mapping_start.anchor : ev->data.sequence_start.anchor;
    if (at_key(l)) {
        return FAIL(l, v.line, v.column,
                    "%s cannot be a key of a map; expected text (text that begins with { or [ "
                    "needs quotes)",
                    val_kind_name(kind));
    }
    if (tag != NULL && strcmp((const char *)tag, "!") != 0 &&
        strcmp((const char *)tag, map ? YAML_MAP_TAG : YAML_SEQ_TAG) != 0 &&
        !is_python(l, (const char *)tag)) {
        return bad_tag(l, &v, (const char *)tag);
    }
    return open_value(l, &v, name);
}

static void close_list(struct load *l, struct frame *f)
{
    size_t n = l->n_entries - f->base;
    f->value.count = n;
    f->value.items = n == 0 ? NULL : arena_array(l->arena, n, sizeof(struct val));
    for (size_t i = 0; i < n; i++) {
        f->value.items[i] = l->entries[f->base + i].m.value;
    }
}

/* The first member whose key an earlier one has, or NULL. */
static const struct member *duplicate(const struct val *map)
{
    const struct member *m = map->members;
    struct names seen = {.n = 0};
    const struct member *found = NULL;
    for (size_t i = 0; i < map->count && found == NULL; i++) {
        if (map->count <= FEW_MEMBERS) {
            for (size_t j = 0; j < i && found == NULL; j++) {
                found = str_eq(m[i].key, m[j].key) ? &m[i] : NULL;
            }
        } else {
            struct slot *slot = names_slot(&seen, m[i].key);
            found = slot->value != 0 ? &m[i] : NULL;
            names_fill(&seen, slot, m[i].key, i + 1);
        }
    }
    free(seen.slots);
    return found;
}

static int refuse_duplicates(const char *file, const struct val *map, struct arena *arena,
                             struct err *e)
{
    const struct member *m = duplicate(map);
    if (m == NULL) {
        return 0;
    }
    return err_at(e, ERR_INPUT, file, m->line, m->column,
                  "the key \"%.*s\" stands twice in this map; remove one",
                  STR_FMT(text_preview(arena, m->key, SHOWN_CHARS)));
}

static int bad_merge(struct load *l, const struct val *v)
{
    return FAIL(l, v->line, v->column,
                "<< takes a map or a list of maps to merge, got %s (a key named << needs quotes)",
                val_kind_name(v->kind));
}

/* How many members the << entries of a map bring at most. */
static int merge_room(struct load *l, const struct frame *f, size_t *room)
{
    *room = 0;
    for (size_t i = f->base; i < l->n_entries; i++) {
        const struct val *v = &l->entries[i].m.value;
        if (!l->entries[i].merge) {
            continue;
        }
        if (v->kind == VAL_OBJECT) {
            *room += v->count;
            continue;
        }
        if (v->kind != VAL_ARRAY) {
            return bad_merge(l, v);
        }
        for (size_t j = 0; j < v->count; j++) {
            if (v->items[j].kind != VAL_OBJECT) {
                return bad_merge(l, &v->items[j]);
            }
            *room += v->items[j].count;
        }
    }
    return 0;
}

/* Puts the members of `map` that are not there yet before *front. */
static void merge_map(struct names *seen, const struct val *map, struct member **front)
{
    for (size_t i = map->count; i > 0; i--) {
        const struct member *m = &map->members[i - 1];
        struct slot *slot = names_slot(seen, m->key);
        if (slot->value == 0) {
            names_fill(seen, slot, m->key, 1);
            *--*front = *m;
        }
    }
}

/* The members of a map with << in it: those merged, then its own. Its own win, then the earlier
 * map of a list, then (PyYAML) the later <<. */
static void merge_all(struct load *l, struct frame *f, size_t own, size_t room)
{
    struct member *first = arena_array(l->arena, own + room, sizeof *first);
    struct member *end = first + room;
    struct names seen = {.n = 0};
    for (size_t i = f->base; i < l->n_entries; i++) {
        const struct entry *entry = &l->entries[i];
        if (!entry->merge) {
            *end++ = entry->m;
            names_fill(&seen, names_slot(&seen, entry->m.key), entry->m.key, 1);
        }
    }
    struct member *front = first + room;
    for (size_t i = l->n_entries; i > f->base; i--) {
        const struct val *v = &l->entries[i - 1].m.value;
        if (!l->entries[i - 1].merge) {
            continue;
        }
        if (v->kind == VAL_OBJECT) {
            merge_map(&seen, v, &front);
        } else {
            for (size_t j = 0; j < v->count; j++) {
                merge_map(&seen, &v->items[j], &front);
            }
        }
    }
    f->value.members = front;
    f->value.count = (size_t)(end - front);
    free(seen.slots);
}

static int close_map(struct load *l, struct frame *f)
{
    size_t n = l->n_entries - f->base, merges = 0, room = 0;
    for (size_t i = f->base; i < l->n_entries; i++) {
        merges += l->entries[i].merge;
    }
    if (merges > 1 && l->rules == YAML_CORE) {
        return FAIL(l, f->value.line, f->value.column,
                    "<< stands twice in this map; write one << with a list of maps");
    }
    int rc = merges == 0 ? 0 : merge_room(l, f, &room);
    if (rc != 0) {
        return rc;
    }
    struct member *own = n == 0 ? NULL : arena_array(l->arena, n - merges, sizeof *own);
    size_t at = 0;
    for (size_t i = f->base; i < l->n_entries; i++) {
        if (!l->entries[i].merge) {
            own[at++] = l->entries[i].m;
        }
    }
    f->value.members = own;
    f->value.count = n - merges;
    if (l->rules == YAML_CORE) {
        rc = refuse_duplicates(l->file, &f->value, l->arena, l->e);
    }
    if (rc == 0 && room > 0) {
        merge_all(l, f, n - merges, room);
    }
    return rc;
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
    anchor_close(l, f->anchor, &f->value, l->nodes - f->nodes, f->height + 1);
    place(l, &f->value, f->height + 1);
    return 0;
}

static int on_event(struct load *l, const yaml_event_t *ev)
{
    switch (ev->type) {
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT: return 0;
    case YAML_STREAM_END_EVENT:
        if (l->state == NO_DOCUMENT) {
            return FAIL(l, 1, 1, "the file is empty; expected a YAML or JSON document");
        }
        l->state = AFTER_STREAM;
        return 0;
    case YAML_DOCUMENT_START_EVENT:
        if (l->state != NO_DOCUMENT) {
            return FAIL(l, line_of(ev->start_mark), column_of(ev->start_mark),
                        "a second document begins here; expected one document in the file");
        }
        l->state = IN_DOCUMENT;
        return 0;
    case YAML_DOCUMENT_END_EVENT: l->state = AFTER_DOCUMENT; return 0;
    case YAML_ALIAS_EVENT: return on_alias(l, ev);
    case YAML_SCALAR_EVENT: return on_scalar(l, ev);
    case YAML_SEQUENCE_START_EVENT: return on_open(l, ev, VAL_ARRAY);
    case YAML_MAPPING_START_EVENT: return on_open(l, ev, VAL_OBJECT);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: return yaml_close(l);
    }
    return 0;
}

/* What to try, for the slips that people make most. */
static const char *hint(const char *problem)
{
    static const struct {
        const char *part;
        const char *hint;
    } hints[] = {
        {"mapping values are not allowed",
         "; text that holds \": \" needs quotes, and keys of one map stand below each other"},
        {"tab character", "; indent with spaces, not with tabs"},
        {"cannot start any token",
         "; indent with spaces, not with tabs, and quote text that begins with @ ` %"},
        {"alphabetic or numeric", "; text that begins with * or & needs quotes"},
        {"expected key", "; check the indentation, and that quotes are closed"},
        {"expected ':'", "; check the indentation, and that each key has its colon"},
        {"'-' indicator", "; check the indentation of this list"},
        {"',' or", "; check that the bracket is closed, and quote text that begins with { or ["},
        {"unknown escape", "; in double quotes write \\\\ for a backslash"},
        {"incompatible YAML", "; remove the %YAML line"},
        {"document start", "; check that the text is one map or list"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (strstr(problem, hints[i].part) != NULL) {
            return hints[i].hint;
        }
    }
    return "";
}

/* The line of the text with this number, from 1. */
static struct str line_at(struct str text, uint32_t line)
{
    size_t at = 0;
    for (uint32_t n = 1; n < line && at < text.n; n++) {
        size_t end = str_find(str_slice(text, at, text.n), STR("\n"));
        at = end == SIZE_MAX ? text.n : at + end + 1;
    }
    struct str rest = str_slice(text, at, text.n);
    return str_slice(rest, 0, str_find(rest, STR("\n")));
}

/* Blanks at the beginning of a line, whatever characters they are. */
static struct str indentation(struct str line)
{
    static const char *const blanks[] = {" ", "\t", "\xc2\xa0", "\xe3\x80\x80"};
    size_t at = 0;
    for (size_t i = 0; i < sizeof blanks / sizeof blanks[0];) {
        bool here = str_starts(str_slice(line, at, line.n), blanks[i]);
        at += here ? strlen(blanks[i]) : 0;
        i = here ? 0 : i + 1;
    }
    return str_slice(line, 0, at);
}

/* What editors, chats and merges put into a line; NULL = nothing such. */
static const char *oddity(struct str line)
{
    struct str indent = indentation(line);
    if (str_starts(line, "<<<<<<< ") || str_is(line, "=======") || str_starts(line, ">>>>>>> ")) {
        return "a mark that a merge left; decide for one side";
    }
    if (str_starts(line, "```")) {
        return "a fence of Markdown; take it out";
    }
    if (str_find(indent, STR("\xc2\xa0")) != SIZE_MAX) {
        return "a no-break space (U+00A0); indent with plain spaces";
    }
    if (str_find(indent, STR("\xe3\x80\x80")) != SIZE_MAX) {
        return "a wide space (U+3000); indent with plain spaces";
    }
    if (str_find(line, STR(": \xe2\x80\x9c")) != SIZE_MAX) {
        return "curly quotes (U+201C), which are letters here; write \"";
    }
    if (str_find(line, STR("\xef\xbc\x9a")) != SIZE_MAX && str_find(line, STR(":")) == SIZE_MAX) {
        return "a full-width colon (U+FF1A); write : and a space";
    }
    return NULL;
}

/* Appends what is odd where the problem showed, in the line above, or where its surroundings began;
 * else what to try. */
static void add_hint(struct buf *out, const yaml_parser_t *p, struct str text, const char *problem)
{
    uint32_t line = line_of(p->problem_mark);
    uint32_t began = p->context == NULL ? line : line_of(p->context_mark);
    const uint32_t lines[] = {line, line > 1 ? line - 1 : 1, began};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *odd = oddity(line_at(text, lines[i]));
        if (odd != NULL) {
            buf_fmt(out, "; line %u holds %s", lines[i], odd);
            return;
        }
    }
    buf_addz(out, hint(problem));
}

static int syntax_error(struct load *l, const yaml_parser_t *p, struct str text)
{
    const char *problem = p->problem != NULL ? p->problem : "unknown problem";
    if (p->error == YAML_READER_ERROR) {
        uint32_t line = 0, column = 0;
        text_place(text, p->problem_offset, &line, &column);
        return FAIL(
            l, line, column,
            "the character U+%04X cannot stand in YAML; write it in double quotes as \\u%04x",
            (unsigned)p->problem_value, (unsigned)p->problem_value);
    }
    if (p->error == YAML_MEMORY_ERROR) {
        mem_exhausted();
    }
    uint32_t line = line_of(p->problem_mark), column = column_of(p->problem_mark);
    struct buf why = {0};
    buf_fmt(&why, "not valid YAML: %s", problem);
    if (p->context != NULL) {
        buf_fmt(&why, " %s that began at line %u", p->context, line_of(p->context_mark));
    }
    add_hint(&why, p, text, problem);
    int rc = FAIL(l, line, column, "%.*s", STR_FMT(buf_str(&why)));
    buf_free(&why);
    return rc;
}

static int run(struct load *l, yaml_parser_t *p, struct str text)
{
    while (l->state != AFTER_STREAM) {
        yaml_event_t ev;
        if (!yaml_parser_parse(p, &ev)) {
            return syntax_error(l, p, text);
        }
        int rc = on_event(l, &ev);
        yaml_event_delete(&ev);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static struct load *load_new(struct arena *arena, const char *file, enum yaml_rules rules,
                             const struct val_items *items)
{
    struct load *l = mem_zero(sizeof *l);
    l->arena = arena;
    l->document = arena;
    l->file = file;
    l->rules = rules;
    l->items = items;
    return l;
}

/* Gives the document where rc is 0, and frees l. Returns rc. */
static int load_end(struct load *l, int rc, struct val **out)
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
    free(l->anchors);
    free(l->anchor_names.slots);
    free(l);
    return rc;
}

static void parser_new(yaml_parser_t *p)
{
    if (!yaml_parser_initialize(p)) {
        mem_exhausted();
    }
    yaml_parser_set_encoding(p, YAML_UTF8_ENCODING);
}

static int read_any(struct load *l, struct str text)
{
    static const unsigned char none[1];
    yaml_parser_t p;
    parser_new(&p);
    yaml_parser_set_input_string(&p, text.n == 0 ? none : (const unsigned char *)text.p, text.n);
    int rc = run(l, &p, text);
    yaml_parser_delete(&p);
    return rc;
}

/* What a text that was not simple left, so that it can be read from its start. */
static void start_anew(struct load *l)
{
    if (l->handing) {
        end_handing(l);
    }
    l->depth = 0;
    l->n_entries = 0;
    l->nodes = 0;
}

static int parse_yaml(struct arena *arena, const char *file, struct str text, enum yaml_rules rules,
                      const struct val_items *items, struct val **out, struct err *e)
{
    struct load *l = load_new(arena, file, rules, items);
    int rc = 0;
    if (rules != YAML_CORE || !yaml_read_simple(l, text)) {
        start_anew(l);
        l->e = e; /* mistakes are told by who reads everything */
        rc = read_any(l, text);
    }
    return load_end(l, rc, out);
}

/* ---- a text that comes piece by piece ---- */

struct stream {
    const struct yaml_source *from;
    char head[HEAD_BYTES]; /* what was looked at before */
    struct str rest;       /* of it */
};

/* Looks whether the text is YAML for sure, and takes a byte order mark off. */
static bool begin_stream(struct stream *s)
{
    size_t n = 0;
    for (size_t got = 1; got > 0 && n < sizeof s->head; n += got) {
        if (!s->from->read(s->from->ctx, s->head + n, sizeof s->head - n, &got)) {
            return false;
        }
    }
    s->rest = (struct str){s->head, n};
    if (str_starts(s->rest, "\xef\xbb\xbf")) {
        s->rest = str_slice(s->rest, 3, n);
    }
    struct str body = str_trim(s->rest);
    return body.n > 0 && body.p[0] != '{' && body.p[0] != '[';
}

static bool next_piece(void *ctx, char *out, size_t size, size_t *got)
{
    struct stream *s = ctx;
    if (s->rest.n == 0) {
        return s->from->read(s->from->ctx, out, size, got);
    }
    *got = s->rest.n < size ? s->rest.n : size;
    memcpy(out, s->rest.p, *got);
    s->rest = str_slice(s->rest, *got, s->rest.n);
    return true;
}

static int next_of_any(void *ctx, unsigned char *out, size_t size, size_t *got)
{
    return next_piece(ctx, (char *)out, size, got) ? 1 : 0;
}

static int stream_any(struct load *l, struct stream *s)
{
    yaml_parser_t p;
    parser_new(&p);
    yaml_parser_set_input(&p, next_of_any, s);
    int rc = run(l, &p, (struct str){NULL, 0});
    yaml_parser_delete(&p);
    return rc;
}

int yaml_stream_items(struct arena *arena, const char *file, const struct yaml_source *from,
                      const struct val_items *items, struct val **out)
{
    struct stream s = {.from = from};
    if (!begin_stream(&s)) {
        return ERR_INPUT;
    }
    struct load *l = load_new(arena, file, YAML_CORE, items);
    int rc = 0;
    if (!yaml_stream_simple(l, next_piece, &s)) {
        start_anew(l);
        rc = from->again(from->ctx) && begin_stream(&s) ? stream_any(l, &s) : ERR_INPUT;
    }
    return load_end(l, rc, out);
}

/* JSON texts meet the same limits and rules. Recursion ends at YAML_DEPTH_MAX. */
static int check_json(struct load *l, const struct val *v)
{
    int rc = count_nodes(l, v, 1);
    if (rc != 0 || (v->kind != VAL_ARRAY && v->kind != VAL_OBJECT)) {
        return rc;
    }
    if (l->depth == YAML_DEPTH_MAX) {
        return too_deep(l, v);
    }
    if (v->kind == VAL_OBJECT && l->rules == YAML_CORE) {
        rc = refuse_duplicates(l->file, v, l->arena, l->e);
    }
    if (v->kind == VAL_ARRAY && v->items == NULL && v->count > 0) { /* they were handed out */
        if (l->wrong.code != 0 && l->e != NULL) {
            *l->e = l->wrong;
        }
        return l->wrong.code;
    }
    l->depth++;
    for (size_t i = 0; i < v->count && rc == 0; i++) {
        rc = check_json(l, v->kind == VAL_ARRAY ? &v->items[i] : &v->members[i].value);
    }
    l->depth--;
    return rc;
}

/* Whether a text that is neither valid JSON nor YAML was meant as JSON: a quote or another opening
 * comes first, or the file says so. */
static bool meant_as_json(const char *file, struct str text)
{
    struct str rest = str_trim(str_slice(text, 1, text.n));
    return str_ends(str_of(file), ".json") ||
           (rest.n > 0 && strchr("\"{[", rest.p[0]) != NULL && rest.p[0] != '\0');
}

static int check_encoding(const char *file, struct str text, struct err *e)
{
    uint32_t line = 0, column = 0;
    if (str_starts(text, "\xff\xfe") || str_starts(text, "\xfe\xff")) {
        return err_at(e, ERR_INPUT, file, 1, 1, "the file is UTF-16; save it as UTF-8");
    }
    const char *nul = text.n == 0 ? NULL : memchr(text.p, '\0', text.n);
    size_t bad = utf8_invalid_at(text);
    if (nul != NULL && (size_t)(nul - text.p) < bad) {
        text_place(text, (size_t)(nul - text.p), &line, &column);
        return err_at(e, ERR_INPUT, file, line, column,
                      "a zero byte; expected text (a binary file, or UTF-16: save it as UTF-8)");
    }
    if (bad != SIZE_MAX) {
        text_place(text, bad, &line, &column);
        return err_at(e, ERR_INPUT, file, line, column,
                      "byte 0x%02x is not UTF-8; save the file as UTF-8",
                      (unsigned)(unsigned char)text.p[bad]);
    }
    return 0;
}

/* A mistake in an item waits until the text is known to be JSON, and is told at its place. */
static void check_item(void *ctx, size_t i, const struct val *v, bool stays)
{
    struct load *l = ctx;
    l->e = &l->wrong;
    l->depth = 2;
    if (l->wrong.code == 0) {
        (void)check_json(l, v);
    }
    l->items->item(l->items->ctx, i, v, stays);
}

/* Returns ERR_LIMIT or ERR_INPUT with why it is no JSON in `why`; where it is, *rc is what the
 * rules say of it. */
static int parse_json(struct load *l, struct str text, struct val **out, struct err *why, int *rc)
{
    const struct val_items checked = {l->items == NULL ? NULL : l->items->key, check_item, l};
    struct err *e = l->e;
    int json =
        json_parse_items(l->arena, l->file, text, l->items == NULL ? NULL : &checked, out, why);
    if (json == 0) {
        l->e = e;
        l->depth = 0;
        *rc = check_json(l, *out);
    }
    return json;
}

static int parse(struct arena *arena, const char *file, struct str text, enum yaml_rules rules,
                 const struct val_items *items, struct val **out, struct err *e)
{
    if (text.n > YAML_BYTES_MAX) {
        return err_at(e, ERR_LIMIT, file, 0, 0, "%zu bytes; expected at most %d", text.n,
                      YAML_BYTES_MAX);
    }
    int rc = check_encoding(file, text, e);
    if (rc != 0) {
        return rc;
    }
    if (str_starts(text, "\xef\xbb\xbf")) {
        text = str_slice(text, 3, text.n);
    }
    struct str body = str_trim(text);
    if (!str_starts(body, "{") && !str_starts(body, "[")) {
        return parse_yaml(arena, file, text, rules, items, out, e);
    }
    struct load l = {.arena = arena, .file = file, .rules = rules, .items = items, .e = e};
    struct err json_error;
    int json = parse_json(&l, text, out, &json_error, &rc);
    if (json == 0) {
        return rc;
    }
    rc = json == ERR_LIMIT ? json : parse_yaml(arena, file, text, rules, items, out, e);
    if (json == ERR_LIMIT || (rc == ERR_INPUT && meant_as_json(file, body))) {
        if (e != NULL) {
            *e = json_error;
        }
    }
    return rc;
}

int yaml_parse(struct arena *arena, const char *file, struct str text, enum yaml_rules rules,
               struct val **out, struct err *e)
{
    return parse(arena, file, text, rules, NULL, out, e);
}

int yaml_parse_items(struct arena *arena, const char *file, struct str text,
                     const struct val_items *items, struct val **out, struct err *e)
{
    return parse(arena, file, text, YAML_CORE, items, out, e);
}
