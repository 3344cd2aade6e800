#include "kernel/base/json.h"

#include "kernel/base/hash.h"

void json_next(struct buf *out)
{
    char last = out->n == 0 ? '{' : out->p[out->n - 1];
    if (last != '{' && last != '[') { /* no JSON value ends in either */
        buf_char(out, ',');
    }
}

void json_key(struct buf *out, const char *key)
{
    json_next(out);
    buf_char(out, '"');
    buf_addz(out, key);
    buf_addz(out, "\":");
}

void json_put_text(struct buf *out, const char *key, struct str s)
{
    json_key(out, key);
    json_add_string(out, s);
}

void json_put_text_or_null(struct buf *out, const char *key, struct str s)
{
    json_key(out, key);
    if (s.p == NULL) {
        buf_addz(out, "null");
    } else {
        json_add_string(out, s);
    }
}

void json_put_texts(struct buf *out, const char *key, const struct str *list, size_t n)
{
    json_key(out, key);
    buf_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        json_next(out);
        json_add_string(out, list[i]);
    }
    buf_char(out, ']');
}

void json_put_int(struct buf *out, const char *key, int64_t v)
{
    json_key(out, key);
    buf_int(out, v);
}

void json_put_known(struct buf *out, const char *key, int64_t v)
{
    json_key(out, key);
    if (v < 0) {
        buf_addz(out, "null");
    } else {
        buf_int(out, v);
    }
}

void json_put_bool(struct buf *out, const char *key, bool v)
{
    json_key(out, key);
    buf_addz(out, v ? "true" : "false");
}

void json_put_hash(struct buf *out, const char *key, uint64_t hash)
{
    char text[HASH_HEX];
    json_put_text(out, key, str_of(hash_hex(hash, text)));
}
