#include "kernel/base/yaml.h"

#include <string.h>

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml_int.h"

enum { HEAD_BYTES = 1024 };

/* ---- YAML: simple, or read by libyaml ---- */

static int parse_yaml(struct arena *arena, const char *file, struct str text, enum yaml_rules rules,
                      const struct val_items *items, struct val **out, struct err *e)
{
    struct load *l = yaml_load_new(arena, file, rules, items);
    int rc = 0;
    if (rules != YAML_CORE || !yaml_read_simple(l, text)) {
        yaml_load_anew(l, e); /* mistakes are told by who reads everything */
        rc = yaml_read_any(l, file, text, e);
    }
    return yaml_load_end(l, rc, out);
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

int yaml_stream_items(struct arena *arena, const char *file, const struct yaml_source *from,
                      const struct val_items *items, struct val **out)
{
    struct stream s = {.from = from};
    if (!begin_stream(&s)) {
        return ERR_INPUT;
    }
    struct load *l = yaml_load_new(arena, file, YAML_CORE, items);
    int rc = 0;
    if (!yaml_stream_simple(l, next_piece, &s)) {
        yaml_load_anew(l, NULL);
        rc = from->again(from->ctx) && begin_stream(&s) ? yaml_stream_any(l, next_piece, &s)
                                                        : ERR_INPUT;
    }
    return yaml_load_end(l, rc, out);
}

/* ---- JSON ---- */

/* A JSON text, which is held to the same limits and rules. */
struct checked {
    struct doc d;
    enum yaml_rules rules;
    const struct val_items *items; /* NULL = none are handed out */
    struct err *e;
    struct err wrong; /* in the first item that is; code 0 = none */
    size_t depth;
    size_t nodes;
};

/* Recursion ends at YAML_DEPTH_MAX. */
static int check_json(struct checked *c, const struct val *v)
{
    int rc = yaml_count(&c->nodes, 1, c->d.file, v, c->e);
    if (rc != 0 || (v->kind != VAL_ARRAY && v->kind != VAL_OBJECT)) {
        return rc;
    }
    if (c->depth == YAML_DEPTH_MAX) {
        return yaml_too_deep(c->d.file, v, c->e);
    }
    if (v->kind == VAL_OBJECT && c->rules == YAML_CORE) {
        rc = yaml_refuse_duplicates(c->d, v, c->e);
    }
    if (v->kind == VAL_ARRAY && v->items == NULL && v->count > 0) { /* they were handed out */
        if (c->wrong.code != 0 && c->e != NULL) {
            *c->e = c->wrong;
        }
        return c->wrong.code;
    }
    c->depth++;
    for (size_t i = 0; i < v->count && rc == 0; i++) {
        rc = check_json(c, v->kind == VAL_ARRAY ? &v->items[i] : &v->members[i].value);
    }
    c->depth--;
    return rc;
}

/* A mistake in an item waits until the text is known to be JSON, and is told at its place. */
static void check_item(void *ctx, size_t i, const struct val *v, bool stays)
{
    struct checked *c = ctx;
    c->e = &c->wrong;
    c->depth = 2;
    if (c->wrong.code == 0) {
        (void)check_json(c, v);
    }
    c->items->item(c->items->ctx, i, v, stays);
}

/* Returns ERR_LIMIT or ERR_INPUT with why it is no JSON in `why`; where it is, *rc is what the
 * rules say of it. */
static int parse_json(struct checked *c, struct str text, struct val **out, struct err *why,
                      int *rc)
{
    const struct val_items checked = {c->items == NULL ? NULL : c->items->key, check_item, c};
    struct err *e = c->e;
    int json =
        json_parse_items(c->d.arena, c->d.file, text, c->items == NULL ? NULL : &checked, out, why);
    if (json == 0) {
        c->e = e;
        c->depth = 0;
        *rc = check_json(c, *out);
    }
    return json;
}

/* Whether a text that is neither valid JSON nor YAML was meant as JSON: a quote or another opening
 * comes first, or the file says so. */
static bool meant_as_json(const char *file, struct str text)
{
    struct str rest = str_trim(str_slice(text, 1, text.n));
    return str_ends(str_of(file), ".json") ||
           (rest.n > 0 && strchr("\"{[", rest.p[0]) != NULL && rest.p[0] != '\0');
}

/* ---- a text, whatever it is ---- */

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
    struct checked c = {.d = {arena, file}, .rules = rules, .items = items, .e = e};
    struct err json_error;
    int json = parse_json(&c, text, out, &json_error, &rc);
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
