/* What a document's parts, told one by one, become: values with their anchors, aliases, merge keys
 * and tags, within the limits. Who reads them, yaml_simple.c or libyaml, is all the same here. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/base/base64.h"
#include "kernel/base/hash.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml_int.h"

enum { NAMES_FIRST = 32, FEW_MEMBERS = 16, SHOWN_CHARS = 40 };

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

/* What an alias stands for. */
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
    struct frame *frames;
    size_t depth, cap_frames;
    struct entry *entries;
    size_t n_entries, cap_entries;
    struct anchor *anchors;
    size_t n_anchors, cap_anchors;
    struct names anchor_names; /* index + 1 in anchors */
    size_t nodes;
    struct val root;
};

#define FAIL(l, line_, column_, ...)                                                               \
    err_at((l)->e, ERR_INPUT, (l)->file, (line_), (column_), __VA_ARGS__)

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
    return yaml_too_deep(l->file, v, l->e);
}

static int count_nodes(struct load *l, const struct val *v, size_t more)
{
    return yaml_count(&l->nodes, more, l->file, v, l->e);
}

/* ---- entries and anchors ---- */

static struct entry *push(struct load *l)
{
    l->entries = mem_room(l->entries, l->n_entries, &l->cap_entries, sizeof *l->entries);
    struct entry *entry = &l->entries[l->n_entries++];
    *entry = (struct entry){.merge = false};
    return entry;
}

/* Opens an anchor, so that an alias inside it is seen. Returns its index + 1; 0 for no name. */
static size_t anchor_open(struct load *l, const char *name)
{
    if (name == NULL) {
        return 0;
    }
    l->stays = true;
    l->anchors = mem_room(l->anchors, l->n_anchors, &l->cap_anchors, sizeof *l->anchors);
    l->anchors[l->n_anchors++] = (struct anchor){.state = ANCHOR_OPEN};
    struct str s = str_of(name);
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

/* ---- scalars and their tags ---- */

/* The name of one of YAML's own tags, without what stands before it in all of them; NULL = another
 * tag. */
static const char *standard_name(const char *tag)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    return strncmp(tag, prefix, sizeof prefix - 1) == 0 ? tag + sizeof prefix - 1 : NULL;
}

static int bad_tag(struct load *l, const struct val *v, const char *tag)
{
    const char *standard = standard_name(tag);
    struct str name = str_of(standard != NULL ? standard : tag);
    return FAIL(l, v->line, v->column,
                "the tag %s%.*s is not known here; expected !!str, !!int, !!float, !!bool, "
                "!!null, !!binary, !!map or !!seq, or no tag at all",
                standard != NULL ? "!!" : "", STR_FMT(text_preview(l->arena, name, SHOWN_CHARS)));
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
    const char *name = standard_name(tag);
    if (name == NULL) {
        return bad_tag(l, v, tag);
    }
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

static int set_scalar(struct load *l, const struct yaml_part *part, struct val *v)
{
    const char *tag = part->tag;
    bool resolves = part->plain;
    if (tag != NULL && strcmp(tag, "!") == 0) {
        tag = NULL; /* YAML 1.2: it is text; PyYAML: it is as if plain */
        resolves = l->rules == YAML_PYYAML;
    }
    if (tag == NULL) {
        return set_untagged(l, v, part->text, resolves);
    }
    struct buf number = {.n = 0};
    enum yaml_plain plain = yaml_resolve(l->rules, part->text, &number);
    int rc = set_tagged(l, v, tag, part->text, buf_str(&number), plain);
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

int yaml_on_scalar(struct load *l, const struct yaml_part *part)
{
    struct val v = {.line = part->line, .column = part->column};
    bool plain = part->plain && part->tag == NULL;
    if (l->depth == 0 && plain && part->text.n == 0 && part->anchor == NULL) {
        return FAIL(l, v.line, v.column, "the document is empty; expected a map or a list");
    }
    size_t anchor = anchor_open(l, part->anchor);
    if (at_key(l)) {
        v.kind = VAL_STRING;
        v.text = arena_str(l->arena, part->text);
        anchor_close(l, anchor, &v, 1, 0);
        place_key(l, v.text, &v, plain && str_is(part->text, "<<"));
        return 0;
    }
    int rc = set_scalar(l, part, &v);
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
int yaml_on_alias(struct load *l, const struct yaml_part *part)
{
    struct val v = {.line = part->line, .column = part->column};
    struct str name = part->text;
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
    v = anchor->value;
    v.line = part->line;
    v.column = part->column;
    if (!at_key(l)) {
        place(l, &v, anchor->height);
        return 0;
    }
    struct str key;
    if (!key_text(&v, &key)) {
        return FAIL(l, v.line, v.column, "%s cannot be a key of a map; expected text",
                    val_kind_name(v.kind));
    }
    place_key(l, key, &v, false);
    return 0;
}

/* ---- lists and maps ---- */

/* PyYAML's tags of Python's own types: the list or map behind one is taken as it stands, and
 * nothing is ever run. */
static bool is_python(const struct load *l, const char *tag)
{
    const char *name = standard_name(tag);
    return l->rules == YAML_PYYAML && name != NULL && str_starts(str_of(name), "python/");
}

/* Whether the tag may stand before a list or map. */
static bool may_open(const struct load *l, enum val_kind kind, const char *tag)
{
    const char *name = standard_name(tag);
    return strcmp(tag, "!") == 0 || is_python(l, tag) ||
           (name != NULL && strcmp(name, kind == VAL_OBJECT ? "map" : "seq") == 0);
}

/* Begins a list or map. anchor: its name, NULL = none. */
static int open_value(struct load *l, const struct val *v, const char *anchor)
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
        return FAIL(l, v.line, v.column,
                    "%s cannot be a key of a map; expected text (text that begins with { or [ "
                    "needs quotes)",
                    val_kind_name(kind));
    }
    if (part->tag != NULL && !may_open(l, kind, part->tag)) {
        return bad_tag(l, &v, part->tag);
    }
    return open_value(l, &v, part->anchor);
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

int yaml_refuse_duplicates(const char *file, const struct val *map, struct arena *arena,
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
        rc = yaml_refuse_duplicates(l->file, &f->value, l->arena, l->e);
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

/* ---- from the first part to the document ---- */

struct load *yaml_load_new(struct arena *arena, const char *file, enum yaml_rules rules,
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
    free(l->anchors);
    free(l->anchor_names.slots);
    free(l);
    return rc;
}
