/* The keys of a map: none stands twice, and << brings those of other maps. */
#include <string.h>

#include "kernel/base/hash.h"
#include "kernel/base/table.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml_int.h"

enum { FEW_MEMBERS = 16, SHOWN_CHARS = 40 };

static bool has_key(const void *key, const void *member)
{
    return str_eq(*(const struct str *)key, ((const struct member *)member)->key);
}

/* Adds a member to those that were seen; false where one of them has its key. */
static bool see(struct table *seen, struct member *m)
{
    uint64_t hash = hash64(0, m->key);
    struct table_slot *slot = table_find(seen, hash, &m->key, has_key);
    if (slot->piece != NULL) {
        return false;
    }
    table_put(seen, slot, hash, m);
    return true;
}

/* The first member whose key an earlier one has, or NULL. */
static const struct member *duplicate(const struct val *map)
{
    struct member *m = map->members;
    struct table seen = {0};
    const struct member *found = NULL;
    for (size_t i = 0; i < map->count && found == NULL; i++) {
        if (map->count > FEW_MEMBERS) {
            found = see(&seen, &m[i]) ? NULL : &m[i];
            continue;
        }
        for (size_t j = 0; j < i && found == NULL; j++) {
            found = str_eq(m[i].key, m[j].key) ? &m[i] : NULL;
        }
    }
    table_free(&seen);
    return found;
}

int yaml_refuse_duplicates(struct doc d, const struct val *map, struct err *e)
{
    const struct member *m = duplicate(map);
    if (m == NULL) {
        return 0;
    }
    return err_at(e, ERR_INPUT, d.file, m->line, m->column,
                  "the key \"%.*s\" stands twice in this map; remove one",
                  STR_FMT(text_preview(d.arena, m->key, SHOWN_CHARS)));
}

static int bad_merge(struct doc d, const struct val *v, struct err *e)
{
    return doc_fail(
        d, v, e, "<< takes a map or a list of maps to merge, got %s (a key named << needs quotes)",
        val_kind_name(v->kind));
}

/* Adds to *room how many members the value of a << brings at most. */
static int count_merged(struct doc d, const struct val *v, size_t *room, struct err *e)
{
    if (v->kind == VAL_OBJECT) {
        *room += v->count;
        return 0;
    }
    if (v->kind != VAL_ARRAY) {
        return bad_merge(d, v, e);
    }
    for (size_t i = 0; i < v->count; i++) {
        if (v->items[i].kind != VAL_OBJECT) {
            return bad_merge(d, &v->items[i], e);
        }
        *room += v->items[i].count;
    }
    return 0;
}

/* Puts the members of `map` that are not there yet before *front. */
static void merge_map(struct table *seen, const struct val *map, struct member **front)
{
    for (size_t i = map->count; i > 0; i--) {
        if (see(seen, &map->members[i - 1])) {
            *--*front = map->members[i - 1];
        }
    }
}

int yaml_merge(struct doc d, struct val *map, const struct val *const *merges, size_t n,
               struct err *e)
{
    size_t room = 0;
    for (size_t i = 0; i < n; i++) {
        int rc = count_merged(d, merges[i], &room, e);
        if (rc != 0) {
            return rc;
        }
    }
    struct member *own =
        (struct member *)arena_array(d.arena, room + map->count, sizeof *own) + room;
    struct member *front = own;
    struct table seen = {0};
    for (size_t i = 0; i < map->count; i++) {
        own[i] = map->members[i];
        (void)see(&seen, &own[i]);
    }
    for (size_t i = n; i > 0; i--) {
        const struct val *v = merges[i - 1];
        if (v->kind == VAL_OBJECT) {
            merge_map(&seen, v, &front);
        }
        for (size_t j = 0; v->kind == VAL_ARRAY && j < v->count; j++) {
            merge_map(&seen, &v->items[j], &front);
        }
    }
    map->members = front;
    map->count += (size_t)(own - front);
    table_free(&seen);
    return 0;
}
