#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"

#include <string.h>
#include <xxhash.h>

enum { BOUNDARY_MAX = 72 }; /* with the hyphens before it */

struct str cassette_url_path(struct str uri)
{
    size_t scheme = str_find(uri, STR("://"));
    size_t from = 0;
    if (scheme != SIZE_MAX) {
        const char *slash = memchr(uri.p + scheme + 3, '/', uri.n - scheme - 3);
        from = slash == NULL ? uri.n : (size_t)(slash - uri.p);
    }
    size_t end = from;
    while (end < uri.n && uri.p[end] != '?' && uri.p[end] != '#') {
        end++;
    }
    return str_slice(uri, from, end);
}

/* A path behind its first segment that names a version (v1, v1beta), where there is one: what
 * stands before it is the gateway's. */
static struct str behind_version(struct str path)
{
    size_t version = wire_version_at(path);
    if (version == SIZE_MAX) {
        return path;
    }
    struct str rest = str_slice(path, version + 1, path.n);
    rest = str_slice(rest, str_find(rest, STR("/")), rest.n);
    return rest.n > 1 ? rest : path;
}

struct str cassette_request_path(struct str uri)
{
    enum wire_format format;
    return wire_of_url(uri, &format) ? str_of(wire_path(format))
                                     : behind_version(cassette_url_path(uri));
}

/* The body as canonical JSON, what equals its absence left out. */
static void add_canonical(struct str uri, const struct val *json, struct buf *out)
{
    struct arena *arena = arena_new();
    enum wire_format format;
    if (json->kind == VAL_OBJECT && wire_of_url(uri, &format)) {
        json = wire_without_defaults(format, json, arena);
    }
    json_add_canonical(out, json);
    arena_free(arena);
}

/* What divides the parts of a form, which its client drew by lot (RFC 2046 5.1.1); n 0 = the body
 * is no form. */
static struct str form_boundary(struct str body)
{
    struct str line = str_slice(body, 0, str_find(body, STR("\r\n")));
    struct str rest = body;
    while (str_ends(rest, "\r\n")) {
        rest.n -= 2;
    }
    bool form = str_starts(line, "--") && line.n > 2 && line.n <= BOUNDARY_MAX &&
                rest.n >= line.n + 2 && str_ends(rest, "--") &&
                str_eq(str_slice(rest, rest.n - line.n - 2, rest.n - 2), line);
    return form ? line : STR("");
}

static void add_without(struct str body, struct str boundary, struct buf *out)
{
    while (boundary.n > 0) {
        size_t at = str_find(body, boundary);
        buf_add(out, str_slice(body, 0, at));
        if (at == SIZE_MAX) {
            return;
        }
        buf_addz(out, "--");
        body = str_slice(body, at + boundary.n, body.n);
    }
    buf_add(out, body);
}

void cassette_meaning(struct str uri, struct str body, const struct val *json, struct buf *out)
{
    struct buf plain = {0};
    if (json == NULL) {
        struct buf form = {0};
        add_without(body, form_boundary(body), &form);
        cassette_redact_text(buf_str(&form), &plain);
        cassette_forget_ids(buf_str(&plain), out);
        buf_free(&form);
        buf_free(&plain);
        return;
    }
    struct buf canonical = {0};
    add_canonical(uri, json, &canonical);
    cassette_redact_json(buf_str(&canonical), &plain);
    cassette_forget_ids(buf_str(&plain), out);
    buf_free(&plain);
    buf_free(&canonical);
}

void cassette_meaning_by(const struct rules *rules, struct str uri, struct str body,
                         const struct val *json, struct buf *out)
{
    if (cassette_rules_count(rules) == 0) {
        cassette_meaning(uri, body, json, out);
        return;
    }
    struct buf whole = {0};
    cassette_meaning(uri, body, json, &whole);
    if (!cassette_rules_apply(rules, uri, buf_str(&whole), json != NULL, out)) {
        buf_add(out, buf_str(&whole));
    }
    buf_free(&whole);
}

static struct key hashed(const struct buf *b)
{
    XXH128_hash_t h = XXH3_128bits(b->p, b->n);
    return (struct key){h.low64, h.high64};
}

static void add_place(struct buf *b, struct str method, struct str uri)
{
    buf_add(b, cassette_request_path(uri));
    buf_char(b, '\0');
    buf_add(b, method);
    buf_char(b, '\0');
}

/* The query of a URL that is none of a model's formats: there it says what is asked for.
 * Credentials redacted as in a file. */
static void add_query(struct buf *b, struct str uri)
{
    enum wire_format format;
    size_t at = str_find(uri, STR("?"));
    if (at == SIZE_MAX || wire_of_url(uri, &format)) {
        return;
    }
    struct buf plain = {0};
    cassette_redact_url(str_slice(uri, 0, str_find(uri, STR("#"))), &plain);
    struct str query = str_slice(buf_str(&plain), str_find(buf_str(&plain), STR("?")), plain.n);
    cassette_forget_ids(query, b);
    buf_char(b, '\0');
    buf_free(&plain);
}

struct key cassette_key_by(const struct rules *rules, struct str method, struct str uri,
                           struct str body, const struct val *json)
{
    struct buf b = {0};
    add_place(&b, method, uri);
    add_query(&b, uri);
    cassette_meaning_by(rules, uri, body, json, &b);
    struct key key = hashed(&b);
    buf_free(&b);
    return key;
}

struct key cassette_key_as_sent(struct str method, struct str uri, const struct val *json)
{
    struct buf b = {0};
    add_place(&b, method, uri);
    add_query(&b, uri);
    add_canonical(uri, json, &b);
    struct key key = hashed(&b);
    buf_free(&b);
    return key;
}

struct key cassette_key_of_request(struct str method, struct str uri, struct str body,
                                   const struct val *json)
{
    return cassette_key_by(NULL, method, uri, body, json);
}

struct key cassette_key_of_place(struct str method, struct str uri)
{
    struct buf b = {0};
    add_place(&b, method, uri);
    struct key key = hashed(&b);
    buf_free(&b);
    return key;
}
