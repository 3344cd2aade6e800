/* Hides credentials: what stands in the place of one, in texts, JSON, answers and URLs. */
#include "cassettes/cassette_int.h"
#include "kernel/base/ascii.h"
#include "kernel/base/hash.h"

#include <string.h>

/* Appends what stands instead of the part. */
static void add_redacted(struct buf *out, const struct redacted *part)
{
    switch (part->hidden) {
    case REDACTED_REST: break;
    case REDACTED_NUMBERED: buf_fmt(out, "%s-%08x", REDACTED_TEXT, (unsigned)part->id); break;
    case REDACTED_QUOTED: buf_fmt(out, "\"%s-%08x\"", REDACTED_TEXT, (unsigned)part->id); break;
    case REDACTED_OWN: buf_addz(out, REDACTED_TEXT); break;
    }
}

size_t cassette_redacted_bytes(const struct redacted *part)
{
    switch (part->hidden) {
    case REDACTED_REST: return 0;
    case REDACTED_NUMBERED: return sizeof REDACTED_TEXT "-01234567" - 1;
    case REDACTED_QUOTED: return sizeof "\"" REDACTED_TEXT "-01234567\"" - 1;
    case REDACTED_OWN: return sizeof REDACTED_TEXT - 1;
    }
    return 0;
}

uint32_t cassette_secret_id(struct str secret)
{
    return (uint32_t)hash64(0, secret);
}

bool cassette_put_redacted(struct str text, const struct buf *parts, struct buf *out)
{
    size_t n;
    size_t done = 0;
    const struct redacted *list = cassette_parts(parts, &n);
    for (size_t i = 0; i < n; i++) {
        buf_add(out, str_slice(text, done, list[i].at));
        add_redacted(out, &list[i]);
        done = list[i].at + list[i].n;
    }
    buf_add(out, str_slice(text, done, text.n));
    return n > 0;
}

void cassette_forget_ids(struct str text, struct buf *out)
{
    const struct str mark = STR(REDACTED_TEXT);
    for (size_t at = str_find(text, mark); at != SIZE_MAX; at = str_find(text, mark)) {
        size_t end = at + mark.n;
        buf_add(out, str_slice(text, 0, end));
        size_t digits = 0;
        while (digits < 8 && end + 1 + digits < text.n &&
               ascii_hex(text.p[end + 1 + digits]) >= 0) {
            digits++;
        }
        if (end < text.n && text.p[end] == '-' && digits > 0) {
            end += 1 + digits;
        }
        text = str_slice(text, end, text.n);
    }
    buf_add(out, text);
}

bool cassette_redact_text(struct str text, struct buf *out)
{
    struct buf parts = {0};
    cassette_find_in_text(text, &parts);
    bool any = cassette_put_redacted(text, &parts, out);
    buf_free(&parts);
    return any;
}

bool cassette_redact_json(struct str json, struct buf *out)
{
    struct buf parts = {0};
    cassette_find_in_json(json, &parts);
    bool any = cassette_put_redacted(json, &parts, out);
    buf_free(&parts);
    return any;
}

static void find_exact(struct str text, struct str secret, struct buf *parts)
{
    size_t from = 0;
    size_t at = secret.n == 0 ? SIZE_MAX : str_find(text, secret);
    while (at != SIZE_MAX) {
        struct redacted part = {from + at, secret.n, REDACTED_OWN, 0, "a key"};
        cassette_add_part(parts, &part);
        from = part.at + part.n;
        at = str_find(str_slice(text, from, text.n), secret);
    }
}

bool cassette_redact_answer(const struct interaction *it, struct str secret, struct buf *out,
                            struct buf *parts)
{
    cassette_find_in_answer(it, parts);
    find_exact(it->body, secret, parts);
    cassette_sort_parts(parts);
    return cassette_put_redacted(it->body, parts, out);
}

bool cassette_redact_detail(struct str detail, struct str secret, struct buf *out)
{
    struct buf parts = {0};
    cassette_find_in_text(detail, &parts);
    find_exact(detail, secret, &parts);
    cassette_sort_parts(&parts);
    bool any = cassette_put_redacted(detail, &parts, out);
    buf_free(&parts);
    return any;
}

/* Query parameters whose value is a secret, in lower case. */
static const char *const secret_parameters[] = {
    "key",
    "api_key",
    "api-key",
    "apikey",
    "token",
    "access_token",
    "id_token",
    "refresh_token",
    "client_secret",
    "secret",
    "password",
    "sig",
    "signature",
    "subscription-key",
    "x-api-key",
    "x-amz-signature",
    "x-amz-security-token",
    "x-amz-credential",
    "x-goog-signature",
    "x-goog-credential",
    NULL,
};

static bool is_secret_parameter(struct str name)
{
    return str_is_one_of_nocase(name, secret_parameters);
}

static size_t find_any(struct str s, size_t from, const char *set)
{
    for (size_t i = from; i < s.n; i++) {
        if (s.p[i] != '\0' && strchr(set, s.p[i]) != NULL) {
            return i;
        }
    }
    return s.n;
}

/* scheme://user:password@host → scheme://REDACTED@host. Returns where the rest begins. */
static size_t redact_userinfo(struct str url, struct buf *out, bool *changed)
{
    size_t scheme = str_find(url, STR("://"));
    if (scheme == SIZE_MAX) {
        return 0;
    }
    size_t host = scheme + 3;
    size_t end = find_any(url, host, "/?#");
    for (size_t at = end; at-- > host;) {
        if (url.p[at] == '@') {
            buf_add(out, str_slice(url, 0, host));
            buf_addz(out, REDACTED_TEXT);
            *changed = *changed || !str_is(str_slice(url, host, at), REDACTED_TEXT);
            return at;
        }
    }
    return 0;
}

bool cassette_redact_url(struct str url, struct buf *out)
{
    bool changed = false;
    struct buf plain = {0};
    size_t at = redact_userinfo(url, &plain, &changed);
    size_t query = find_any(url, at, "?");
    buf_add(&plain, str_slice(url, at, query));
    at = query;
    while (at < url.n) {
        size_t name = at + 1; /* behind ? or & or # */
        size_t end = find_any(url, name, "&#");
        size_t equal = find_any(str_slice(url, 0, end), name, "=");
        struct str value = str_slice(url, equal + 1, end);
        bool secret =
            equal < end && value.n > 0 && is_secret_parameter(str_slice(url, name, equal));
        buf_add(&plain, str_slice(url, at, secret ? equal + 1 : end));
        if (secret) {
            buf_addz(&plain, REDACTED_TEXT);
            changed = changed || !str_is(value, REDACTED_TEXT);
        }
        at = end;
    }
    changed = cassette_redact_text(buf_str(&plain), out) || changed;
    buf_free(&plain);
    return changed;
}
