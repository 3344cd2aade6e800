/* Hides what a user names: headers, and values at JSON paths. */
#include "cassettes/cassette_int.h"
#include "cassettes/edit.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"

#include <stdlib.h>

enum { SECRETS_MAX = 10000 };

struct hider {
    struct json_path *paths;
    size_t n_paths;
    bool *found;       /* of each path; NULL = not asked */
    uint64_t *secrets; /* hashes of those that were seen, in their order */
    size_t n_secrets;
    size_t hidden;
    struct buf parts;
    struct str text; /* that the values at hand stand in */
};

/* ---- values ---- */

/* Which secret this is, from 1. */
static uint32_t number_of(struct hider *h, struct str secret)
{
    uint64_t hash = hash64(0, secret);
    for (size_t i = 0; i < h->n_secrets; i++) {
        if (h->secrets[i] == hash) {
            return (uint32_t)i + 1;
        }
    }
    if (h->n_secrets < SECRETS_MAX) {
        h->secrets[h->n_secrets] = hash;
    }
    return (uint32_t)++h->n_secrets;
}

static void hide_value(struct hider *h, const struct val *v)
{
    size_t at = (size_t)(v->raw.p - h->text.p);
    struct redacted part = {at, v->raw.n, REDACTED_QUOTED, 0, "a value"};
    switch (v->kind) {
    case VAL_STRING:
        if (v->text.n == 0 || str_starts(v->text, REDACTED_TEXT)) {
            return;
        }
        part = (struct redacted){at + 1, v->raw.n - 2, REDACTED_NUMBERED, 0, "a value"};
        break;
    case VAL_NUMBER: break;
    case VAL_ARRAY:
        for (size_t i = 0; i < v->count; i++) {
            hide_value(h, &v->items[i]);
        }
        return;
    case VAL_OBJECT:
        for (size_t i = 0; i < v->count; i++) {
            hide_value(h, &v->members[i].value);
        }
        return;
    case VAL_NULL:
    case VAL_BOOL: return;
    }
    if (h->n_secrets <= SECRETS_MAX) {
        part.id = number_of(h, v->text);
        cassette_add_part(&h->parts, &part);
        h->hidden++;
    }
}

static void follow(struct hider *h, const struct json_path *path, size_t step, const struct val *v)
{
    if (step == path->n) {
        if (h->found != NULL) {
            h->found[path - h->paths] = true;
        }
        hide_value(h, v);
        return;
    }
    const struct step *s = &path->steps[step];
    for (size_t i = 0; v->kind == VAL_OBJECT && i < v->count; i++) {
        if (cassette_step_to_key(s, v->members[i].key)) {
            follow(h, path, step + 1, &v->members[i].value);
        }
    }
    for (size_t i = 0; v->kind == VAL_ARRAY && i < v->count; i++) {
        if (cassette_step_to_item(s, i)) {
            follow(h, path, step + 1, &v->items[i]);
        }
    }
}

/* ---- bodies ---- */

static bool find_in_json(struct hider *h, struct str json)
{
    struct arena *arena = arena_new();
    struct val *v = NULL;
    bool good = json_parse(arena, NULL, json, &v, NULL) == 0;
    for (size_t i = 0; good && i < h->n_paths; i++) {
        follow(h, &h->paths[i], 0, v);
    }
    arena_free(arena);
    return good;
}

/* In a JSON text, or in each event of a stream. */
static void find(struct hider *h, struct str body)
{
    h->text = body;
    if (find_in_json(h, body)) {
        return;
    }
    for (size_t at = 0; at < body.n;) {
        size_t newline = str_find(str_slice(body, at, body.n), STR("\n"));
        size_t end = newline == SIZE_MAX ? body.n : at + newline + 1;
        struct str json = cassette_json_of_line(str_slice(body, at, end));
        if (str_starts(json, "{")) {
            (void)find_in_json(h, json);
        }
        at = end;
    }
}

/* The body without what the paths name, in arena; the body itself when there is none of it. */
static struct str without(struct hider *h, struct str body, struct arena *arena)
{
    struct buf out = {0};
    buf_clear(&h->parts);
    find(h, body);
    cassette_sort_parts(&h->parts);
    if (cassette_put_redacted(body, &h->parts, &out)) {
        body = arena_str(arena, buf_str(&out));
    }
    buf_free(&out);
    return body;
}

static void hide_in_headers(struct hider *h, const struct hiding *what, struct http_header *headers,
                            size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < what->n_headers; k++) {
            if (str_cmp_nocase(headers[i].name, what->headers[k]) == 0 &&
                !str_is(headers[i].value, REDACTED_TEXT)) {
                headers[i].value = STR(REDACTED_TEXT);
                h->hidden++;
            }
        }
    }
}

static void hide_in(struct hider *h, const struct hiding *what, struct interaction *it,
                    struct arena *arena)
{
    hide_in_headers(h, what, it->request_headers, it->n_request_headers);
    hide_in_headers(h, what, it->headers, it->n_headers);
    if (h->n_paths == 0) {
        return;
    }
    it->request_body = without(h, it->request_body, arena);
    if (h->parts.n > 0) {
        struct val *json = NULL;
        bool good = json_parse(arena, NULL, it->request_body, &json, NULL) == 0;
        it->request_json = good ? json : NULL;
    }
    it->body = without(h, it->body, arena);
    cassette_move_chunks(it->chunks, it->n_chunks, &h->parts, it->chunks);
}

static int read_paths(struct hider *h, const struct hiding *what, struct arena *arena,
                      struct err *e)
{
    int rc = 0;
    h->paths = arena_array(arena, what->n_paths, sizeof *h->paths);
    for (; h->n_paths < what->n_paths && rc == 0; h->n_paths++) {
        rc = cassette_path_read(arena, what->paths[h->n_paths], &h->paths[h->n_paths], e);
        if (rc == 0 && h->paths[h->n_paths].n == 0) {
            rc = err_set(e, ERR_INPUT, "the path %.*s hides everything; name a part",
                         STR_FMT(what->paths[h->n_paths]));
        }
    }
    return rc;
}

int cassette_hide(struct cassette *c, const struct hiding *what, size_t *hidden, struct err *e)
{
    struct hider h = {.found = what->found};
    int rc = read_paths(&h, what, c->arena, e);
    if (rc != 0) {
        return rc;
    }
    h.secrets = mem_alloc(SECRETS_MAX * sizeof *h.secrets);
    for (size_t i = 0; i < c->n; i++) {
        hide_in(&h, what, &c->items[i], c->arena);
    }
    *hidden = h.hidden;
    if (h.n_secrets > SECRETS_MAX) {
        rc = err_at(e, ERR_LIMIT, c->path, 0, 0,
                    "more than %d different values to hide; name a narrower path", SECRETS_MAX);
    }
    free(h.secrets);
    buf_free(&h.parts);
    return rc;
}
