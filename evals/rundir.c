#include "evals/rows_int.h"
#include "evals/run_int.h"

#include "kernel/base/hash.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NUMBERS_MAX = 10000, NAME_BYTES_MAX = 100, SET_BYTES_MAX = 256 << 20 };

/* ---- which folder ---- */

/* The sets' names joined; the loader sees to it that they are fit for a folder. */
static const char *run_name(const struct plan *plan, struct arena *arena)
{
    struct buf name = {.max = NAME_BYTES_MAX};
    for (size_t i = 0; i < plan->n_sets; i++) {
        buf_addz(&name, i > 0 ? "+" : "");
        buf_add(&name, plan->sets[i]->name);
    }
    const char *made = arena_cstr(arena, buf_str(&name));
    buf_free(&name);
    return made;
}

/* Makes the first of runs/NAME, runs/NAME-2, … that is free. mkdir decides, so that two programs
 * never share one. */
static int make_numbered(const struct plan *plan, struct arena *arena, const char **dir,
                         struct err *e)
{
    const char *base = path_join(arena, "runs", run_name(plan, arena));
    int rc = dir_make("runs", e);
    for (int i = 1; rc == 0 && i <= NUMBERS_MAX; i++) {
        *dir = i == 1 ? base : arena_printf(arena, "%s-%d", base, i).p;
        if (mkdir(*dir, 0777) == 0) {
            return 0;
        }
        if (errno != EEXIST) {
            return dir_make(*dir, e); /* says why not */
        }
    }
    return rc != 0 ? rc
                   : err_set(e, ERR_EXISTS, "%s-%d exists already: name another folder with --out",
                             base, NUMBERS_MAX);
}

static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    if (d == NULL) {
        return false;
    }
    const struct dirent *entry;
    bool empty = true;
    while (empty && (entry = readdir(d)) != NULL) {
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    }
    closedir(d);
    return empty;
}

static int make_named(const char *path, struct err *e)
{
    if (path_is_dir(path) && !is_empty(path)) {
        return err_set(e, ERR_EXISTS,
                       "%s: the run directory is not empty, and a run never overwrites another; "
                       "name a new one with --out",
                       path);
    }
    return dir_make(path, e);
}

/* ---- the manifest ---- */

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

/* A hash of the set's file, or one of the hashes of all files where it includes others. */
static int hash_set(const struct golden_set *set, uint64_t *out, struct err *e)
{
    int rc = 0;
    *out = 0;
    for (size_t i = 0; rc == 0 && i < set->n_files; i++) {
        struct arena *scratch = arena_new();
        struct str text = {0};
        rc = file_read(scratch, set->files[i], SET_BYTES_MAX, &text, e);
        *out = hash64(*out, text);
        arena_free(scratch);
    }
    return rc;
}

static int add_set(cJSON *sets, const struct golden_set *set, bool *good, struct err *e)
{
    struct arena *scratch = arena_new();
    uint64_t hash = 0;
    int rc = hash_set(set, &hash, e);
    if (rc == 0) {
        cJSON *item = cJSON_CreateObject();
        bool made = add_text(item, "name", arena_cstr(scratch, set->name)) &&
                    add_text(item, "path", set->path) &&
                    add_text(item, "xxh3", arena_printf(scratch, "%016" PRIx64, hash).p) &&
                    add_count(item, "tasks", (int64_t)set->n_tasks) &&
                    cJSON_AddItemToArray(sets, item);
        if (!made) {
            cJSON_Delete(item);
        }
        *good = *good && made;
    }
    arena_free(scratch);
    return rc;
}

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

/* How the run's requests were answered. */
static bool add_source(cJSON *root, const struct eval_options *o, const struct plan *plan)
{
    return add_text(root, "source", source_name(o->source)) &&
           add_text(root, "cassettes", o->cassettes) &&
           (o->script == NULL || add_text(root, "script", o->script)) &&
           add_text(root, "match", cassette_match_name(o->how.match)) &&
           cJSON_AddBoolToObject(root, "strict", o->how.strict) != NULL &&
           add_text(root, "agent", o->agent) && add_models(root, plan) &&
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
    bool live = o->source == EVAL_LIVE || o->source == EVAL_RECORD;
    struct arena *scratch = arena_new();
    const char *seed = live && o->seed != 0 ? arena_printf(scratch, "%" PRIu64, o->seed).p : NULL;
    const char *started = live ? time_text(scratch, clock_unix_ms()).p : NULL;
    bool good = add_filters(root, o) && add_text(root, "task", o->task) &&
                add_count(root, "trials", (int64_t)plan->n) && add_shard(root, o) &&
                add_text(root, "seed", seed) && add_text(root, "started", started);
    arena_free(scratch);
    return good;
}

/* What decides the run. Nothing that differs between two replays of the same set. */
static int manifest(const struct eval_options *o, const struct plan *plan, cJSON *root, bool *good,
                    struct err *e)
{
    int rc = 0;
    *good = add_count(root, "version", 1);
    cJSON *sets = cJSON_AddArrayToObject(root, "sets");
    for (size_t i = 0; rc == 0 && i < plan->n_sets; i++) {
        rc = add_set(sets, plan->sets[i], good, e);
    }
    *good = *good && sets != NULL && add_source(root, o, plan) && add_trials(root, o, plan);
    return rc;
}

static int print_manifest(const cJSON *root, const char *path, struct err *e)
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

static int write_manifest(const struct eval_options *o, const struct plan *plan, const char *path,
                          struct err *e)
{
    bool good = false;
    cJSON *root = cJSON_CreateObject();
    int rc = manifest(o, plan, root, &good, e);
    rc = rc != 0 ? rc : print_manifest(good ? root : NULL, path, e);
    cJSON_Delete(root);
    return rc;
}

int rundir_judged(const char *path, struct str text, struct golden_set *const *sets, size_t n,
                  struct err *e)
{
    cJSON *root = cJSON_ParseWithLength(text.p, text.n);
    cJSON *list = cJSON_CreateArray();
    bool good = root != NULL && list != NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = add_set(list, sets[i], &good, e);
    }
    bool placed = rc == 0 && good && cJSON_ReplaceItemInObjectCaseSensitive(root, "sets", list);
    if (!placed) {
        cJSON_Delete(list);
    }
    rc = rc != 0 ? rc : print_manifest(placed ? root : NULL, path, e);
    cJSON_Delete(root);
    return rc;
}

int rundir_make(const struct eval_options *o, const struct plan *plan, struct arena *arena,
                const char **dir, struct err *e)
{
    int rc = 0;
    if (o->out == NULL) {
        rc = make_numbered(plan, arena, dir, e);
    } else {
        *dir = arena_cstr(arena, str_of(o->out));
        rc = make_named(*dir, e);
    }
    if (rc == 0) {
        rc = dir_make(path_join(arena, *dir, "traces"), e);
    }
    return rc != 0 ? rc : write_manifest(o, plan, path_join(arena, *dir, "manifest.json"), e);
}

int rundir_new(const char *dir, struct arena *arena, struct err *e)
{
    int rc = make_named(dir, e);
    return rc != 0 ? rc : dir_make(path_join(arena, dir, "traces"), e);
}

/* Copies the lines; each row then names the byte where its line stands in the copy. */
static int copy_lines(struct eval_report *r, struct file_writer *to, struct err *e)
{
    uint64_t at = 0;
    for (size_t i = 0; i < r->n; i++) {
        struct eval_row *row = &r->rows[i];
        struct str line;
        int rc = eval_line(r, row, &line, e);
        rc = rc != 0 ? rc : file_writer_add(to, (struct str){line.p, line.n + 1}, e);
        if (rc != 0) {
            return rc;
        }
        row->at = at;
        at += (uint64_t)row->bytes + 1;
    }
    return 0;
}

int rundir_results(struct eval_report *r, struct err *e)
{
    const char *path = path_join(r->arena, r->out, "results.jsonl");
    struct file_writer *to = NULL;
    struct lines *lines = NULL;
    int rc = file_writer_open(path, &to, e);
    if (rc != 0) {
        return rc;
    }
    rc = copy_lines(r, to, e);
    int closed = file_writer_close(to, rc == 0, rc == 0 ? e : NULL);
    rc = rc != 0 ? rc : closed;
    rc = rc != 0 ? rc : lines_open(path, &lines, e);
    if (rc == 0) {
        report_read_from(r, lines);
    }
    return rc;
}
