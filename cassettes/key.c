#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"

#include <string.h>
#include <xxhash.h>

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

struct str cassette_request_path(struct str uri)
{
    enum wire_format format;
    return wire_of_url(uri, &format) ? str_of(wire_path(format)) : cassette_url_path(uri);
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

void cassette_meaning(struct str uri, struct str body, const struct val *json, struct buf *out)
{
    struct buf plain = {0};
    if (json == NULL) {
        cassette_redact_text(body, &plain);
        cassette_forget_ids(buf_str(&plain), out);
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

struct key cassette_key_by(const struct rules *rules, struct str method, struct str uri,
                           struct str body, const struct val *json)
{
    struct buf b = {0};
    add_place(&b, method, uri);
    cassette_meaning_by(rules, uri, body, json, &b);
    struct key key = hashed(&b);
    buf_free(&b);
    return key;
}

struct key cassette_key_as_sent(struct str method, struct str uri, const struct val *json)
{
    struct buf b = {0};
    add_place(&b, method, uri);
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
