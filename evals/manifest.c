/* What a run directory says of how its run was made: enough to repeat it, and nothing that differs
 * between two replays. */
#include "evals/rundir_int.h"
#include "kernel/base/ascii.h"
#include "kernel/base/date.h"
#include "kernel/base/hash.h"
#include "kernel/base/text.h"
#include "kernel/drive/machine.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_LISTED = 1000, FILE_BYTES_MAX = 256 << 20, SHOWN_CHARS = 60, KEY_BYTES_MAX = 200 };

static const char *source_name(enum eval_source s)
{
    switch (s) {
    case EVAL_FAKE: return "fake";
    case EVAL_REPLAY: return "replay";
    case EVAL_LIVE: return "live";
    case EVAL_RECORD: return "record";
    }
    return "live";
}

static bool add_text(cJSON *object, const char *key, const char *text)
{
    return text == NULL ? cJSON_AddNullToObject(object, key) != NULL
                        : cJSON_AddStringToObject(object, key, text) != NULL;
}

/* n < 0: null */
static bool add_count(cJSON *object, const char *key, int64_t n)
{
    return n < 0 ? cJSON_AddNullToObject(object, key) != NULL
                 : cJSON_AddNumberToObject(object, key, (double)n) != NULL;
}

static bool add_hash(cJSON *object, const char *key, uint64_t hash)
{
    char text[HASH_HEX];
    return add_text(object, key, hash_hex(hash, text));
}

static bool add_set(cJSON *sets, const struct golden_set *set)
{
    struct arena *scratch = arena_new();
    cJSON *item = cJSON_CreateObject();
    bool made = add_text(item, "name", arena_cstr(scratch, set->name)) &&
                add_text(item, "path", set->path) && add_hash(item, "xxh3", set->hash) &&
                add_count(item, "tasks", (int64_t)set->n_tasks) && cJSON_AddItemToArray(sets, item);
    if (!made) {
        cJSON_Delete(item);
    }
    arena_free(scratch);
    return made;
}

/* ---- files besides the sets ---- */

struct file_list {
    const char **at;
    size_t n, room;
};

static void list_file(void *ctx, const char *path)
{
    struct file_list *l = ctx;
    l->at = mem_room(l->at, l->n, &l->room, sizeof *l->at);
    l->at[l->n++] = path;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_files(struct file_list *l)
{
    size_t n = 0;
    if (l->n > 0) {
        qsort(l->at, l->n, sizeof *l->at, by_path);
    }
    for (size_t i = 0; i < l->n; i++) {
        if (n == 0 || strcmp(l->at[n - 1], l->at[i]) != 0) {
            l->at[n++] = l->at[i];
        }
    }
    l->n = n;
}

/* Frees the list. Each file with its hash, by path; of very many only their number and a hash of
 * all. */
static int add_files(cJSON *root, const char *key, struct file_list *l, bool *good, struct err *e)
{
    cJSON *list = cJSON_AddArrayToObject(root, key);
    uint64_t all = 0;
    int rc = 0;
    *good = *good && list != NULL;
    sort_files(l);
    for (size_t i = 0; rc == 0 && *good && i < l->n; i++) {
        struct arena *scratch = arena_new();
        struct str text = {0};
        rc = file_read(scratch, l->at[i], FILE_BYTES_MAX, &text, e);
        all = hash64(all, text);
        cJSON *item = rc != 0 || l->n > FILES_LISTED ? NULL : cJSON_CreateObject();
        if (item != NULL) {
            *good = add_text(item, "path", l->at[i]) && add_hash(item, "xxh3", hash64(0, text)) &&
                    cJSON_AddItemToArray(list, item);
        }
        arena_free(scratch);
    }
    if (rc == 0 && *good && l->n > FILES_LISTED) {
        cJSON *item = cJSON_CreateObject();
        *good = add_count(item, "files", (int64_t)l->n) && add_hash(item, "xxh3", all) &&
                cJSON_AddItemToArray(list, item);
    }
    free(l->at);
    return rc;
}

static int add_inputs(cJSON *root, const struct eval_options *o, const struct plan *plan,
                      bool *good, struct err *e)
{
    struct file_list tools = {0}, scripts = {0};
    for (size_t i = 0; i < plan->n_sets; i++) {
        golden_tool_files(plan->sets[i], list_file, &tools);
    }
    for (size_t i = 0; i < plan->n_scripts; i++) {
        list_file(&scripts, plan->scripts[i]);
    }
    int rc = add_files(root, "tools", &tools, good, e);
    int also = add_files(root, "scripts", &scripts, good, rc == 0 ? e : NULL);
    *good = *good && add_hash(root, "prices", prices_hash(o->prices));
    return rc != 0 ? rc : also;
}

/* ---- how it was run ---- */

/* Those that are named: scripts and recordings may name others. */
static bool add_models(cJSON *root, const struct plan *plan)
{
    cJSON *list = cJSON_AddArrayToObject(root, "models");
    bool good = list != NULL;
    for (size_t i = 0; good && i < plan->n_models; i++) {
        const struct plan_model *m = &plan->models[i];
        struct arena *scratch = arena_new();
        cJSON *item = m->name.n == 0 ? NULL : cJSON_CreateObject();
        if (item != NULL) {
            good = add_text(item, "model", arena_cstr(scratch, m->name)) &&
                   add_text(item, "provider",
                            m->provider.n == 0 ? NULL : arena_cstr(scratch, m->provider));
            cJSON_AddItemToArray(list, item);
        }
        arena_free(scratch);
    }
    return good;
}

/* Each as on the command line. */
static bool add_rules(cJSON *root, const struct eval_options *o)
{
    cJSON *list = cJSON_AddArrayToObject(root, "rules");
    bool good = list != NULL;
    for (size_t i = 0; good && i < cassette_rules_count(o->how.rules); i++) {
        enum cassette_rule_kind kind;
        struct arena *scratch = arena_new();
        struct str text = cassette_rules_text(o->how.rules, i, &kind);
        cJSON *item = cJSON_CreateObject();
        good = add_text(item, kind == RULE_IGNORE ? "ignore" : "normalise",
                        arena_cstr(scratch, text)) &&
               cJSON_AddItemToArray(list, item);
        arena_free(scratch);
    }
    return good;
}

static bool add_rechunk(cJSON *root, const struct rechunk *r)
{
    char text[64];
    int n = snprintf(text, sizeof text, r->random ? "random,%" PRIu64 : "%" PRIu64,
                     r->random ? r->seed : (uint64_t)r->bytes);
    return n > 0 && add_text(root, "rechunk", r->random || r->bytes > 0 ? text : NULL);
}

/* How the run's requests were answered. */
static bool add_source(cJSON *root, const struct eval_options *o, const struct plan *plan)
{
    return add_text(root, "source", source_name(o->source)) &&
           add_text(root, "cassettes", o->cassettes) &&
           (o->script == NULL || add_text(root, "script", o->script)) &&
           add_text(root, "match", cassette_match_name(o->how.match)) &&
           cJSON_AddBoolToObject(root, "strict", o->how.strict) != NULL && add_rules(root, o) &&
           add_count(root, "speed", o->how.speed) &&
           add_count(root, "max_age_ms", o->how.max_age_ms > 0 ? o->how.max_age_ms : -1) &&
           add_rechunk(root, &o->how.rechunk) && add_text(root, "provider", o->provider) &&
           add_text(root, "agent", o->agent) && add_models(root, plan) &&
           add_text(root, "judge", o->judge) &&
           cJSON_AddBoolToObject(root, "stream", o->stream) != NULL &&
           add_text(root, "temperature", o->temperature) &&
           add_count(root, "max_tokens", o->max_tokens > 0 ? o->max_tokens : -1);
}

/* Null where there is none. */
static bool add_filters(cJSON *root, const struct eval_options *o)
{
    if (o->n_filters == 0) {
        return add_text(root, "filter", NULL);
    }
    cJSON *list = cJSON_CreateStringArray(o->filters, (int)o->n_filters);
    return list != NULL && cJSON_AddItemToObject(root, "filter", list);
}

enum { SHARD_DIGITS_MAX = 9 };

static bool part_parse(struct str text, int64_t *out)
{
    bool plain = text.n > 0 && text.n <= SHARD_DIGITS_MAX && text.p[0] != '0';
    *out = 0;
    for (size_t i = 0; plain && i < text.n; i++) {
        plain = ascii_digit(text.p[i]);
        *out = *out * 10 + (text.p[i] - '0');
    }
    return plain;
}

bool eval_shard_parse(struct str text, int64_t *shard, int64_t *shards)
{
    struct str of = text;
    return part_parse(str_cut(&of, '/'), shard) && part_parse(of, shards) && *shard <= *shards;
}

static bool add_shard(cJSON *root, const struct eval_options *o)
{
    char text[48];
    if (o->shards == 0) {
        return true;
    }
    int n = snprintf(text, sizeof text, "%" PRId64 "/%" PRId64, o->shard, o->shards);
    return n > 0 && add_text(root, "shard", text);
}

/* Which trials there were, and when. */
static bool add_trials(cJSON *root, const struct eval_options *o, const struct plan *plan)
{
    bool live = eval_is_live(o->source);
    struct arena *scratch = arena_new();
    const char *seed = live && o->seed != 0 ? arena_printf(scratch, "%" PRIu64, o->seed).p : NULL;
    const char *started = live ? date_text(scratch, clock_unix_ms()).p : NULL;
    bool good = add_filters(root, o) && add_text(root, "task", o->task) &&
                add_count(root, "trials", (int64_t)plan->n) && add_shard(root, o) &&
                add_text(root, "seed", seed) && add_text(root, "started", started);
    arena_free(scratch);
    return good;
}

/* ---- the whole of it ---- */

static int fill(const struct eval_options *o, const struct plan *plan, cJSON *root, bool *good,
                struct err *e)
{
    int rc = 0;
    *good = add_count(root, "version", 1) && add_text(root, "assay", o->version);
    cJSON *sets = cJSON_AddArrayToObject(root, "sets");
    for (size_t i = 0; *good && i < plan->n_sets; i++) {
        *good = add_set(sets, plan->sets[i]);
    }
    rc = add_inputs(root, o, plan, good, e);
    *good = *good && sets != NULL && add_source(root, o, plan) && add_trials(root, o, plan);
    return rc;
}

static int make(const struct eval_options *o, const struct plan *plan, cJSON **out, struct err *e)
{
    bool good = false;
    *out = cJSON_CreateObject();
    int rc = fill(o, plan, *out, &good, e);
    if (rc == 0 && !good) {
        rc = err_set(e, ERR_LIMIT, "not enough memory for the manifest");
    }
    if (rc != 0) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    return rc;
}

static int print(const cJSON *root, const char *path, struct err *e)
{
    char *printed = cJSON_Print(root);
    if (printed == NULL) {
        return err_set(e, ERR_LIMIT, "%s: not enough memory to write it", path);
    }
    struct buf text = {0};
    buf_addz(&text, printed);
    buf_char(&text, '\n');
    int rc = file_replace(path, buf_str(&text), e);
    buf_free(&text);
    cJSON_free(printed);
    return rc;
}

int manifest_write(const struct eval_options *o, const struct plan *plan, const char *path,
                   struct err *e)
{
    cJSON *root = NULL;
    int rc = make(o, plan, &root, e);
    rc = rc != 0 ? rc : print(root, path, e);
    cJSON_Delete(root);
    return rc;
}

int manifest_judged(const char *path, struct str text, struct golden_set *const *sets, size_t n,
                    struct err *e)
{
    cJSON *root = cJSON_ParseWithLength(text.p, text.n);
    cJSON *list = cJSON_CreateArray();
    bool good = root != NULL && list != NULL;
    for (size_t i = 0; good && i < n; i++) {
        good = add_set(list, sets[i]);
    }
    bool placed = good && cJSON_ReplaceItemInObjectCaseSensitive(root, "sets", list);
    if (!placed) {
        cJSON_Delete(list);
    }
    int rc = print(placed ? root : NULL, path, e);
    cJSON_Delete(root);
    return rc;
}

int manifest_joined(const char *path, struct str text, int64_t trials, struct err *e)
{
    cJSON *root = cJSON_ParseWithLength(text.p, text.n);
    cJSON_DeleteItemFromObjectCaseSensitive(root, "shard");
    cJSON *count = cJSON_CreateNumber((double)trials);
    bool set = cJSON_ReplaceItemInObjectCaseSensitive(root, "trials", count);
    int rc = print(set ? root : NULL, path, e);
    cJSON_Delete(root);
    return rc;
}

/* ---- compared ---- */

/* A manifest without what differs between the shards of one run. */
static cJSON *common_part(struct str text)
{
    cJSON *root = cJSON_ParseWithLength(text.p, text.n);
    cJSON_DeleteItemFromObjectCaseSensitive(root, "shard");
    cJSON_DeleteItemFromObjectCaseSensitive(root, "trials");
    cJSON_DeleteItemFromObjectCaseSensitive(root, "started");
    return root;
}

bool manifest_same_run(struct str a, struct str b)
{
    cJSON *x = common_part(a), *y = common_part(b);
    bool same = x != NULL && y != NULL && cJSON_Compare(x, y, 1);
    cJSON_Delete(x);
    cJSON_Delete(y);
    return same;
}

/* The first place where two manifests differ. */
struct difference {
    char key[KEY_BYTES_MAX];
    const cJSON *there, *here; /* NULL = nothing */
};

/* Fills *out and returns true where they differ. key: n bytes of the place so far. */
static bool differ(const cJSON *there, const cJSON *here, size_t n, struct difference *out)
{
    const cJSON *child = NULL;
    bool within = here != NULL && there != NULL &&
                  ((cJSON_IsObject(here) && cJSON_IsObject(there)) ||
                   (cJSON_IsArray(here) && cJSON_IsArray(there) &&
                    cJSON_GetArraySize(here) == cJSON_GetArraySize(there)));
    if (!within) {
        out->there = there;
        out->here = here;
        return here == NULL || there == NULL || !cJSON_Compare(there, here, 1);
    }
    int index = 0;
    cJSON_ArrayForEach(child, here)
    {
        const cJSON *other = child->string == NULL
                                 ? cJSON_GetArrayItem(there, index)
                                 : cJSON_GetObjectItemCaseSensitive(there, child->string);
        int more = child->string == NULL
                       ? snprintf(out->key + n, sizeof out->key - n, "[%d]", index)
                       : snprintf(out->key + n, sizeof out->key - n, "%s%s", n > 0 ? "." : "",
                                  child->string);
        size_t at = n + (more < 0 ? 0 : (size_t)more);
        bool passed_over = n == 0 && strcmp(out->key, "started") == 0;
        if (!passed_over &&
            differ(other, child, at < sizeof out->key ? at : sizeof out->key - 1, out)) {
            return true;
        }
        index++;
    }
    out->key[n] = '\0';
    return false;
}

static void add_value(struct buf *out, const cJSON *v)
{
    char *text = v == NULL ? NULL : cJSON_PrintUnformatted(v);
    struct arena *scratch = arena_new();
    buf_add(out, text == NULL ? STR("missing") : text_preview(scratch, str_of(text), SHOWN_CHARS));
    arena_free(scratch);
    cJSON_free(text);
}

static int tell_difference(const struct difference *d, const char *path, struct err *e)
{
    struct str key = str_of(d->key);
    bool set = str_starts(key, "sets");
    bool changed = str_ends(key, ".xxh3") || str_ends(key, ".tasks");
    struct buf text = {0};
    buf_addz(&text, set && !changed ? "it is the run directory of another set: "
                    : changed       ? "what the run is made from has changed since it began: "
                                    : "the run was begun with other options: ");
    buf_fmt(&text, "\"%s\" is ", d->key);
    add_value(&text, d->there);
    buf_addz(&text, " there and ");
    add_value(&text, d->here);
    buf_addz(&text, " here; --resume goes on with what was begun, another run wants another --out");
    int rc = err_at(e, ERR_INPUT, path, 0, 0, "%.*s", STR_FMT(buf_str(&text)));
    buf_free(&text);
    return rc;
}

int manifest_check(const struct eval_options *o, const struct plan *plan, const char *path,
                   struct err *e)
{
    struct arena *scratch = arena_new();
    struct str text = {0};
    struct difference d = {.there = NULL};
    cJSON *here = NULL, *there = NULL;
    int rc = file_read(scratch, path, MANIFEST_BYTES_MAX, &text, e);
    if (rc == 0 && (there = cJSON_ParseWithLength(text.p, text.n)) == NULL) {
        rc = err_at(e, ERR_INPUT, path, 0, 0,
                    "is no JSON: expected the manifest of a run, as assay eval writes it");
    }
    rc = rc != 0 ? rc : make(o, plan, &here, e);
    if (rc == 0 && differ(there, here, 0, &d)) {
        rc = tell_difference(&d, path, e);
    }
    cJSON_Delete(here);
    cJSON_Delete(there);
    arena_free(scratch);
    return rc;
}
