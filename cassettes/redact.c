/* Finds and hides credentials. Shapes: the prefixes that providers document for their keys;
 * RFC 6750 (Bearer); RFC 7468 (PEM). */
#include "cassettes/cassette_int.h"

#include <string.h>

enum tail { TAIL_ALNUM = 1, TAIL_DASH = 2, TAIL_LOW = 4, TAIL_TOKEN = 8, TAIL_UPPER = 16 };

/* prefix, then at least `min` characters of `tail`; or at least `min_digit` when a digit is among
 * them. */
struct shape {
    const char *prefix;
    size_t min;
    size_t min_digit;
    unsigned tail;
    bool keep; /* the prefix is no secret */
    const char *what;
};

static const struct shape shapes[] = {
    {"sk-", 20, 12, TAIL_ALNUM | TAIL_DASH | TAIL_LOW, false, "an API key (sk-…)"},
    {"sk_live_", 16, 16, TAIL_ALNUM, false, "an API key (sk_live_…)"},
    {"gsk_", 30, 30, TAIL_ALNUM, false, "an API key (gsk_…)"},
    {"AKIA", 16, 16, TAIL_UPPER, false, "an AWS access key id"},
    {"ASIA", 16, 16, TAIL_UPPER, false, "an AWS access key id"},
    {"AIza", 30, 30, TAIL_ALNUM | TAIL_DASH | TAIL_LOW, false, "a Google API key"},
    {"ghp_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"gho_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"ghu_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"ghs_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"ghr_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"github_pat_", 20, 20, TAIL_ALNUM | TAIL_LOW, false, "a GitHub token"},
    {"glpat-", 16, 16, TAIL_ALNUM | TAIL_DASH | TAIL_LOW, false, "a GitLab token"},
    {"hf_", 20, 20, TAIL_ALNUM, false, "a Hugging Face token"},
    {"xoxa-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxb-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxe-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxo-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxp-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxr-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxs-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"Bearer ", 20, 12, TAIL_ALNUM | TAIL_DASH | TAIL_LOW | TAIL_TOKEN, true, "a bearer token"},
    {"bearer ", 20, 12, TAIL_ALNUM | TAIL_DASH | TAIL_LOW | TAIL_TOKEN, true, "a bearer token"},
};

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
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_alnum(char c)
{
    return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z');
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool in_tail(char c, unsigned tail)
{
    return ((tail & TAIL_ALNUM) != 0 && is_alnum(c)) || ((tail & TAIL_DASH) != 0 && c == '-') ||
           ((tail & TAIL_LOW) != 0 && c == '_') ||
           ((tail & TAIL_TOKEN) != 0 && c != '\0' && strchr(".~+/=", c) != NULL) ||
           ((tail & TAIL_UPPER) != 0 && (is_upper(c) || is_digit(c)));
}

/* Whether a word may begin at `at`: the character before it is not part of a word. In JSON text
 * that character may be the end of an escape ("\n", "\u003d"), which is no word. */
static bool word_begins(struct str text, size_t at)
{
    if (at == 0) {
        return true;
    }
    const char *p = text.p + at;
    if (!is_alnum(p[-1]) && p[-1] != '_' && p[-1] != '-') {
        return true;
    }
    if (at >= 2 && p[-2] == '\\' && strchr("nrtbf", p[-1]) != NULL) {
        return true;
    }
    return at >= 6 && p[-6] == '\\' && p[-5] == 'u' && is_hex(p[-4]) && is_hex(p[-3]) &&
           is_hex(p[-2]) && is_hex(p[-1]);
}

static bool shape_fits(const struct shape *s, struct str text, size_t at, size_t *n)
{
    struct str rest = str_slice(text, at, text.n);
    if (!str_starts(rest, s->prefix) || !word_begins(text, at)) {
        return false;
    }
    size_t prefix = strlen(s->prefix);
    bool digit = false;
    size_t end = prefix;
    while (end < rest.n && in_tail(rest.p[end], s->tail)) {
        digit = digit || is_digit(rest.p[end]);
        end++;
    }
    *n = end;
    return end - prefix >= (digit ? s->min_digit : s->min);
}

/* A private key in PEM: up to its END line, or as far as it could be one. It never leaves the JSON
 * string it stands in. */
static bool pem_fits(struct str text, size_t at, size_t *n)
{
    struct str rest = str_slice(text, at, text.n);
    if (!str_starts(rest, "-----BEGIN ")) {
        return false;
    }
    const struct str mark = STR("PRIVATE KEY-----");
    size_t head = str_find(str_slice(rest, 0, 64), mark);
    if (head == SIZE_MAX) {
        return false;
    }
    size_t end = head + mark.n;
    while (end < rest.n) {
        char c = rest.p[end];
        bool escape =
            c == '\\' && end + 1 < rest.n && (rest.p[end + 1] == 'n' || rest.p[end + 1] == 'r');
        if (!escape && !is_alnum(c) && (c == '\0' || strchr("+/= \r\n\t:,-", c) == NULL)) {
            break;
        }
        end += escape ? 2 : 1;
        if (c == '-' && end >= mark.n + head + mark.n &&
            str_ends(str_slice(rest, 0, end), "PRIVATE KEY-----")) {
            break;
        }
    }
    while (strchr(" \r\n\t", rest.p[end - 1]) != NULL) { /* ends the line of a cut one */
        end--;
    }
    *n = end;
    return true;
}

bool cassette_find_credential(struct str text, size_t from, size_t *at, size_t *n,
                              const char **what)
{
    for (size_t i = from; i < text.n; i++) {
        char c = text.p[i];
        if (c == '\0' || strchr("sgAhxBb-", c) == NULL) {
            continue;
        }
        if (c == '-' && pem_fits(text, i, n)) {
            *at = i;
            *what = "a private key";
            return true;
        }
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            if (c == shapes[k].prefix[0] && shape_fits(&shapes[k], text, i, n)) {
                size_t kept = shapes[k].keep ? strlen(shapes[k].prefix) : 0;
                *at = i + kept;
                *n -= kept;
                *what = shapes[k].what;
                return true;
            }
        }
    }
    return false;
}

/* Appends the text with what stands for each part instead; whether there is any. */
static bool put_redacted(struct str text, const struct buf *parts, struct buf *out)
{
    size_t n;
    size_t done = 0;
    const struct redacted *list = cassette_parts(parts, &n);
    for (size_t i = 0; i < n; i++) {
        buf_add(out, str_slice(text, done, list[i].at));
        buf_add(out, str_slice(STR(REDACTED_TEXT), 0, list[i].with));
        done = list[i].at + list[i].n;
    }
    buf_add(out, str_slice(text, done, text.n));
    return n > 0;
}

bool cassette_redact_text(struct str text, struct buf *out)
{
    struct buf parts = {0};
    cassette_find_in_text(text, &parts);
    bool any = put_redacted(text, &parts, out);
    buf_free(&parts);
    return any;
}

bool cassette_redact_json(struct str json, struct buf *out)
{
    struct buf parts = {0};
    cassette_find_in_json(json, &parts);
    bool any = put_redacted(json, &parts, out);
    buf_free(&parts);
    return any;
}

static void find_exact(struct str text, struct str secret, struct buf *parts)
{
    size_t from = 0;
    size_t at = secret.n == 0 ? SIZE_MAX : str_find(text, secret);
    while (at != SIZE_MAX) {
        struct redacted part = {from + at, secret.n, sizeof REDACTED_TEXT - 1, "a key"};
        buf_add(parts, (struct str){(const char *)&part, sizeof part});
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
    return put_redacted(it->body, parts, out);
}

bool cassette_redact_detail(struct str detail, struct str secret, struct buf *out)
{
    struct buf parts = {0};
    cassette_find_in_text(detail, &parts);
    find_exact(detail, secret, &parts);
    cassette_sort_parts(&parts);
    bool any = put_redacted(detail, &parts, out);
    buf_free(&parts);
    return any;
}

static bool is_secret_parameter(struct str name)
{
    for (size_t i = 0; i < sizeof secret_parameters / sizeof secret_parameters[0]; i++) {
        if (str_is_nocase(name, secret_parameters[i])) {
            return true;
        }
    }
    return false;
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
