/* Reads cassettes: our own strictly, other programs' (vcrpy and its serializers) in every variant
 * they are found in. */
#include "cassettes/load_int.h"
#include "kernel/base/date.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdlib.h>
#include <string.h>

/* No session lasts longer. */
#define TIME_MAX_MS (INT64_C(366) * 24 * 3600 * 1000)

enum { SHOWN_CHARS = 40 };

static const char *const request_keys[] = {"method", "uri", "headers", "body", NULL};
static const char *const response_keys[] = {"status", "headers", "body", "assay", NULL};
static const char *const item_keys[] = {"request", "response", NULL};
static const char *const top_keys[] = {"version", "assay", "interactions", NULL};
static const char *const header_keys[] = {"format",      "encoder", "run",       "seed",
                                          "started_at",  "ignore",  "normalise", "after_requests",
                                          "after_calls", NULL};
static const char *const timing_keys[] = {"at_ms",  "took_ms", "ended", "detail",
                                          "chunks", "call_id", NULL};

int load_keys(struct loader *l, const struct val *v, const char *what, const char *const *keys)
{
    if (l->c->ours) {
        return doc_keys(l->d, v, what, keys, l->e);
    }
    if (!val_is(v, VAL_OBJECT)) {
        return doc_fail(l->d, v, l->e, "expected %s as a map, got %s", what,
                        v == NULL ? "nothing" : val_kind_name(v->kind));
    }
    return 0;
}

static int read_request(struct loader *l, const struct val *v, struct interaction *it)
{
    int rc = load_keys(l, v, "a request", request_keys);
    if (rc == 0) {
        rc = load_method(l, v, &it->method);
    }
    if (rc == 0) {
        rc = load_address(l, v, &it->uri);
    }
    if (rc == 0) {
        rc = load_headers(l, v, &it->request_headers, &it->n_request_headers);
    }
    if (rc == 0) {
        rc = load_body(l, v, &it->request_body, &it->request_json);
    }
    if (rc == 0 && it->request_json == NULL && it->request_body.n > 0) {
        struct val *json = NULL;
        if (json_parse(l->d.arena, NULL, it->request_body, &json, NULL) == 0) {
            it->request_json = json;
        }
    }
    return rc;
}

static int read_chunks(struct loader *l, const struct val *timing, struct interaction *it)
{
    const struct val *list = NULL;
    int rc = doc_list(l->d, timing, "chunks", DOC_OPTIONAL, &list, l->e);
    if (rc != 0 || list == NULL) {
        return rc;
    }
    it->chunks = arena_array(l->d.arena, list->count, sizeof *it->chunks);
    it->n_chunks = list->count;
    int64_t last = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct val *pair = &list->items[i];
        struct cassette_chunk *chunk = &it->chunks[i];
        if (pair->kind != VAL_ARRAY || pair->count != 2 ||
            !val_int(&pair->items[0], &chunk->at_ms) || !val_int(&pair->items[1], &chunk->bytes) ||
            chunk->at_ms < last || chunk->at_ms > TIME_MAX_MS || chunk->bytes < 0 ||
            chunk->bytes > CASSETTE_BYTES_MAX) {
            return doc_fail(l->d, pair, l->e,
                            "expected a chunk as [milliseconds, bytes], not before the one ahead "
                            "of it, at most %lld ms and %d bytes",
                            (long long)TIME_MAX_MS, CASSETTE_BYTES_MAX);
        }
        last = chunk->at_ms;
    }
    return 0;
}

static int read_timing(struct loader *l, const struct val *response, struct interaction *it)
{
    const struct val *v = NULL;
    int rc = doc_map(l->d, response, "assay", DOC_OPTIONAL, &v, l->e);
    if (rc != 0 || v == NULL) {
        return rc;
    }
    struct str ended = STR("clean");
    rc = load_keys(l, v, "an interaction's `assay`", timing_keys);
    if (rc == 0) {
        rc = doc_int(l->d, v, "at_ms", DOC_OPTIONAL, 0, TIME_MAX_MS, &it->at_ms, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "took_ms", DOC_OPTIONAL, 0, TIME_MAX_MS, &it->took_ms, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "call_id", DOC_OPTIONAL, &it->call_id, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "detail", DOC_OPTIONAL, &it->detail, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "ended", DOC_OPTIONAL, &ended, l->e);
    }
    if (rc == 0 && (!http_end_of_name(ended, &it->ended) || it->ended == HTTP_MISS)) {
        return doc_fail(
            l->d, val_get(v, "ended"), l->e,
            "expected clean, reset, timeout, refused, stopped or mismatch, got \"%.*s\"",
            STR_FMT(text_preview(l->d.arena, ended, SHOWN_CHARS)));
    }
    return rc == 0 ? read_chunks(l, v, it) : rc;
}

/* A damaged body is told at its place. */
static int undo_coding(struct loader *l, const struct val *response, struct interaction *it)
{
    struct err why;
    int rc = cassette_undo_coding(it, l->d.arena, &why);
    if (rc != 0) {
        doc_fail(l->d, val_get(response, "body"), l->e, "%s", why.message);
        if (l->e != NULL) {
            l->e->code = rc;
        }
    }
    return rc;
}

static int read_response(struct loader *l, const struct val *v, struct interaction *it)
{
    const struct val *value = NULL;
    int rc = load_keys(l, v, "a response", response_keys);
    if (rc == 0) {
        rc = load_status(l, v, it);
    }
    if (rc == 0) {
        rc = load_headers(l, v, &it->headers, &it->n_headers);
    }
    if (rc == 0) {
        rc = load_body(l, v, &it->body, &value);
    }
    if (rc == 0) {
        rc = undo_coding(l, v, it);
    }
    return rc == 0 && l->c->ours ? read_timing(l, v, it) : rc;
}

static int read_item(struct loader *l, const struct val *v, struct interaction *it)
{
    const struct val *request = NULL;
    const struct val *response = NULL;
    it->line = v->line;
    it->at_ms = -1;
    int rc = load_keys(l, v, "an interaction", item_keys);
    if (rc == 0) {
        rc = doc_map(l->d, v, "request", DOC_REQUIRED, &request, l->e);
    }
    if (rc == 0) {
        rc = doc_map(l->d, v, "response", DOC_REQUIRED, &response, l->e);
    }
    if (rc == 0) {
        rc = read_request(l, request, it);
    }
    if (rc == 0) {
        rc = read_response(l, response, it);
    }
    it->decision = str_is(it->method, "ASK") && str_starts(it->uri, "approval:");
    it->tool = it->decision || (str_is(it->method, "CALL") && str_starts(it->uri, "tool:"));
    if (rc == 0 && it->decision && !str_is(it->body, "allow") && !str_is(it->body, "deny") &&
        !str_is(it->body, "always")) {
        return doc_fail(l->d, val_get(response, "body"), l->e,
                        "a decision is allow, deny or always, got \"%.*s\"",
                        STR_FMT(text_preview(l->d.arena, it->body, SHOWN_CHARS)));
    }
    return rc;
}

static int read_place(struct loader *l, const struct val *v)
{
    struct cassette_place *place = &l->c->place;
    int rc = doc_int(l->d, v, "after_requests", DOC_OPTIONAL, 0, INT32_MAX, &place->requests, l->e);
    return rc != 0
               ? rc
               : doc_int(l->d, v, "after_calls", DOC_OPTIONAL, 0, INT32_MAX, &place->calls, l->e);
}

/* A list of rules of the header. */
static int read_rules(struct loader *l, const struct val *header, const char *key,
                      enum cassette_rule_kind kind)
{
    struct str *texts = NULL;
    size_t n = 0;
    struct err why;
    int rc = doc_strings(l->d, header, key, "a rule", &texts, &n, l->e);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (l->c->rules == NULL) {
            l->c->rules = cassette_rules_new();
        }
        if (cassette_rules_add(l->c->rules, kind, texts[i], &why) != 0) {
            rc = doc_fail(l->d, val_item(val_get(header, key), i), l->e, "%s", why.message);
        }
    }
    return rc;
}

static int read_assay_header(struct loader *l, const struct val *root)
{
    const struct val *v = NULL;
    int64_t seed = 0;
    int64_t format = 0;
    int rc = doc_version(l->d, root, l->e);
    if (rc == 0) {
        rc = doc_map(l->d, root, "assay", DOC_REQUIRED, &v, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "format", DOC_REQUIRED, 1, INT32_MAX, &format, l->e);
    }
    if (rc == 0 && format != CASSETTE_FORMAT) {
        return doc_fail(l->d, val_get(v, "format"), l->e,
                        "format %lld is newer than this assay reads (%d): update assay",
                        (long long)format, CASSETTE_FORMAT);
    }
    if (rc == 0) {
        rc = doc_keys(l->d, v, "the `assay` header", header_keys, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "encoder", DOC_REQUIRED, 1, INT32_MAX, &l->c->encoder, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "run", DOC_OPTIONAL, &l->c->run, l->e);
    }
    if (rc == 0) {
        rc = doc_int(l->d, v, "seed", DOC_OPTIONAL, 0, INT64_MAX, &seed, l->e);
    }
    if (rc == 0) {
        rc = doc_str(l->d, v, "started_at", DOC_OPTIONAL, &l->c->started_at, l->e);
    }
    if (rc == 0) {
        rc = read_place(l, v);
    }
    if (rc == 0) {
        rc = read_rules(l, v, "ignore", RULE_IGNORE);
    }
    if (rc == 0) {
        rc = read_rules(l, v, "normalise", RULE_NORMALISE);
    }
    int64_t started_ms;
    const struct str started = l->c->started_at;
    if (rc == 0 && started.p != NULL && !date_parse(started, &started_ms)) {
        return doc_fail(l->d, val_get(v, "started_at"), l->e,
                        "expected a time such as 2026-11-29T18:00:00.000Z, got \"%.*s\"",
                        STR_FMT(text_preview(l->d.arena, started, SHOWN_CHARS)));
    }
    l->c->seed = (uint64_t)seed;
    return rc;
}

/* Whether the text has a line at the left edge that begins with `word` before any of the
 * interactions. */
static bool has_top_key(struct str text, const char *word)
{
    while (text.n > 0 && !str_starts(text, "interactions:")) {
        if (str_starts(text, word)) {
            return true;
        }
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end == NULL ? text.n : (size_t)(end - text.p) + 1;
        text = str_slice(text, n, text.n);
    }
    return false;
}

/* What vcrpy wrote before its version 1: the interactions alone. */
static bool is_old_list(const struct val *root)
{
    return val_is(root, VAL_ARRAY) && root->count > 0 &&
           val_get(&root->items[0], "request") != NULL;
}

/* cut: the line in which a last interaction begins that could not be read; 0 = there is none. */
static int read_root(struct loader *l, const struct val *root, uint32_t cut, struct buf *warning)
{
    struct cassette *c = l->c;
    const struct val *list = NULL;
    const char *key = "interactions";
    struct val wrapped;
    struct member only;
    if (!c->ours && is_old_list(root)) {
        only = (struct member){STR("interactions"), root->line, root->column, *root};
        wrapped = (struct val){.kind = VAL_OBJECT, .line = 1, .count = 1, .members = &only};
        root = &wrapped;
    }
    if (!c->ours && val_get(root, key) == NULL && val_get(root, "http_interactions") != NULL) {
        key = "http_interactions";
    }
    if (val_path(root, "log", "entries", NULL) != NULL) {
        return doc_fail(l->d, root, l->e,
                        "is a HAR, no cassette; to make one of it: assay cassette import %s -o "
                        "OUT.yaml",
                        c->path);
    }
    if (!val_is(root, VAL_OBJECT) || (!c->ours && val_get(root, key) == NULL)) {
        return doc_fail(l->d, root, l->e,
                        "expected a cassette: a map with `version: 1` and `interactions`");
    }
    int rc = load_keys(l, root, "a cassette", top_keys);
    if (rc == 0 && c->ours) {
        rc = read_assay_header(l, root);
    } else if (rc == 0 && val_get(root, "version") != NULL) {
        rc = doc_version(l->d, root, l->e);
    }
    if (rc == 0) {
        rc = doc_list(l->d, root, key, DOC_OPTIONAL, &list, l->e);
    }
    if (rc != 0 || list == NULL) {
        if (rc == 0 && cut > 0) {
            load_warn_torn(c, 1, cut, "", warning);
        }
        return rc;
    }
    c->n = list->count;
    if (cut > 0) {
        load_warn_torn(c, c->n + 1, cut, "", warning);
    } else if (c->ours && load_is_unfinished(root, list)) {
        load_warn_torn(c, c->n, list->items[c->n - 1].line,
                       "; if it is whole, add `assay: {}` to its response", warning);
        c->n--;
    }
    c->items = arena_array(l->d.arena, c->n, sizeof *c->items);
    for (size_t i = 0; i < c->n && rc == 0; i++) {
        c->items[i].n = (uint32_t)(i + 1);
        rc = read_item(l, &list->items[i], &c->items[i]);
    }
    return rc;
}

static int parse_yaml(struct cassette *c, struct str text, struct val **root, uint32_t *cut,
                      struct err *e)
{
    c->ours = has_top_key(text, "assay:");
    int rc = yaml_parse(c->arena, c->path, text, c->ours ? YAML_CORE : YAML_PYYAML, root, e);
    if (rc == ERR_INPUT && c->ours && load_torn(c, text, root, cut)) {
        return 0;
    }
    *cut = 0;
    if (rc == 0 && !c->ours && val_get(*root, "assay") != NULL) {
        c->ours = true;
        rc = yaml_parse(c->arena, c->path, text, YAML_CORE, root, e);
    }
    return rc;
}

int cassette_parse(const char *path, struct str text, struct cassette **out, struct buf *warning,
                   struct err *e)
{
    struct cassette *c = mem_zero(sizeof *c);
    c->arena = arena_new();
    c->path = arena_cstr(c->arena, str_of(path));
    struct val *root = NULL;
    uint32_t cut = 0;
    c->source = arena_str(c->arena, text);
    c->whole = c->source.n;
    int rc = parse_yaml(c, c->source, &root, &cut, e);
    if (rc == 0) {
        struct loader l = {{c->arena, c->path}, c, e};
        rc = read_root(&l, root, cut, warning);
    }
    if (rc != 0) {
        cassette_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

int cassette_load(const char *path, struct cassette **out, struct buf *warning, struct err *e)
{
    struct arena *arena = arena_new();
    struct str text;
    int rc = file_read(arena, path, CASSETTE_BYTES_MAX, &text, e);
    if (rc == 0) {
        rc = cassette_parse(path, text, out, warning, e);
    }
    arena_free(arena);
    return rc;
}

void cassette_free(struct cassette *c)
{
    if (c != NULL) {
        cassette_rules_free(c->rules);
        arena_free(c->arena);
        free(c);
    }
}
