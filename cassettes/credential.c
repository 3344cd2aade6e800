/* Finds credentials. Shapes: the prefixes that providers document for their keys; RFC 6750
 * (Bearer); RFC 7468 (PEM). */
#include "cassettes/cassette_int.h"
#include "kernel/base/ascii.h"

#include <string.h>

enum tail {
    TAIL_ALNUM = 1,
    TAIL_DASH = 2,
    TAIL_LOW = 4,
    TAIL_TOKEN = 8,
    TAIL_UPPER = 16,
    TAIL_BASE64 = 32
};

enum { WORD = TAIL_ALNUM | TAIL_DASH | TAIL_LOW };

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

/* A prefix that begins another stands behind it. */
static const struct shape shapes[] = {
    {"sk-ant-", 20, 12, WORD, false, "an Anthropic API key (sk-ant-…)"},
    {"sk-proj-", 20, 12, WORD, false, "an OpenAI API key (sk-proj-…)"},
    {"sk-", 20, 12, WORD, false, "an API key (sk-…)"},
    {"sk_live_", 16, 16, TAIL_ALNUM, false, "a Stripe API key (sk_live_…)"},
    {"rk_live_", 16, 16, TAIL_ALNUM, false, "a Stripe API key (rk_live_…)"},
    {"whsec_", 24, 24, TAIL_ALNUM, false, "a Stripe webhook secret"},
    {"gsk_", 30, 30, TAIL_ALNUM, false, "a Groq API key (gsk_…)"},
    {"xai-", 40, 40, TAIL_ALNUM, false, "an xAI API key (xai-…)"},
    {"pplx-", 40, 40, TAIL_ALNUM, false, "a Perplexity API key (pplx-…)"},
    {"nvapi-", 40, 40, WORD, false, "an NVIDIA API key (nvapi-…)"},
    {"r8_", 37, 37, TAIL_ALNUM, false, "a Replicate API token (r8_…)"},
    {"AKIA", 16, 16, TAIL_UPPER, false, "an AWS access key id"},
    {"ASIA", 16, 16, TAIL_UPPER, false, "an AWS access key id"},
    {"AIza", 30, 30, WORD, false, "a Google API key"},
    {"GOCSPX-", 24, 24, WORD, false, "a Google client secret"},
    {"ya29.", 30, 30, WORD, false, "a Google access token"},
    {"ghp_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"gho_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"ghu_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"ghs_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"ghr_", 20, 20, TAIL_ALNUM, false, "a GitHub token"},
    {"github_pat_", 20, 20, TAIL_ALNUM | TAIL_LOW, false, "a GitHub token"},
    {"glpat-", 16, 16, WORD, false, "a GitLab token"},
    {"hf_", 20, 20, TAIL_ALNUM, false, "a Hugging Face token"},
    {"npm_", 36, 36, TAIL_ALNUM, false, "an npm token"},
    {"xapp-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxa-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxb-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxe-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxo-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxp-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxr-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"xoxs-", 10, 10, TAIL_ALNUM | TAIL_DASH, false, "a Slack token"},
    {"Bearer ", 20, 12, WORD | TAIL_TOKEN, true, "a bearer token"},
    {"bearer ", 20, 12, WORD | TAIL_TOKEN, true, "a bearer token"},
};

/* What any of the above, a token (eyJ) or a private key (-) begins with. */
static const bool begins_shape[256] = {
    ['s'] = true, ['r'] = true, ['w'] = true, ['g'] = true, ['x'] = true,
    ['p'] = true, ['n'] = true, ['A'] = true, ['G'] = true, ['y'] = true,
    ['h'] = true, ['B'] = true, ['b'] = true, ['e'] = true, ['-'] = true};

/* A secret that only its name tells: letters of the name's end, of either case and without dashes;
 * at least so many characters in a row. */
static const struct named {
    const char *name;
    size_t min;
    const char *what;
} named_secrets[] = {
    {"secretaccesskey", 40, "an AWS secret access key"},
    {"apikey", 20, "an API key, by its name"},
};

static bool in_tail(char c, unsigned tail)
{
    return ((tail & TAIL_ALNUM) != 0 && ascii_alnum(c)) || ((tail & TAIL_DASH) != 0 && c == '-') ||
           ((tail & TAIL_LOW) != 0 && c == '_') ||
           ((tail & TAIL_TOKEN) != 0 && c != '\0' && strchr(".~+/=", c) != NULL) ||
           ((tail & TAIL_UPPER) != 0 && (ascii_upper(c) || ascii_digit(c))) ||
           ((tail & TAIL_BASE64) != 0 && (c == '+' || c == '/'));
}

/* Whether what ends at `at` is base64, in which any letters may stand: a long run behind a sign
 * that words do not have. */
static bool in_base64(struct str text, size_t at)
{
    enum { RUN = 40 };
    size_t n = 0;
    if (at == 0 || (text.p[at - 1] != '+' && text.p[at - 1] != '/')) {
        return false;
    }
    while (n < RUN && n < at && in_tail(text.p[at - 1 - n], TAIL_ALNUM | TAIL_BASE64)) {
        n++;
    }
    return n == RUN;
}

/* Whether a word may begin at `at`: the character before it is not part of a word. In JSON text
 * that character may be the end of an escape ("\n", "\u003d"), which is no word. */
static bool word_begins(struct str text, size_t at)
{
    if (at == 0) {
        return true;
    }
    const char *p = text.p + at;
    if (!ascii_alnum(p[-1]) && p[-1] != '_' && p[-1] != '-') {
        return true;
    }
    if (at >= 2 && p[-2] == '\\' && strchr("nrtbf", p[-1]) != NULL) {
        return true;
    }
    return at >= 6 && p[-6] == '\\' && p[-5] == 'u' && ascii_hex(p[-4]) >= 0 &&
           ascii_hex(p[-3]) >= 0 && ascii_hex(p[-2]) >= 0 && ascii_hex(p[-1]) >= 0;
}

/* How many characters of `tail` stand at `at`; whether a digit is among them. */
static size_t run_of(struct str text, size_t at, unsigned tail, bool *digit)
{
    size_t end = at;
    *digit = false;
    while (end < text.n && in_tail(text.p[end], tail)) {
        *digit = *digit || ascii_digit(text.p[end]);
        end++;
    }
    return end - at;
}

/* The word begins at `at`. */
static bool shape_fits(const struct shape *s, struct str text, size_t at, size_t *n)
{
    struct str rest = str_slice(text, at, text.n);
    if (!str_starts(rest, s->prefix)) {
        return false;
    }
    size_t prefix = strlen(s->prefix);
    bool digit;
    size_t tail = run_of(rest, prefix, s->tail, &digit);
    *n = prefix + tail;
    return tail >= (digit ? s->min_digit : s->min) &&
           !str_starts(str_slice(rest, prefix, rest.n), REDACTED_TEXT);
}

/* A JSON web token (RFC 7519): three parts in base64url, the first two of JSON objects. */
static bool token_fits(struct str text, size_t at, size_t *n)
{
    enum { PART_MIN = 8 };
    size_t end = at;
    for (int part = 0; part < 3; part++) {
        bool digit;
        size_t run = run_of(text, end, WORD, &digit);
        bool object = str_starts(str_slice(text, end, text.n), "eyJ");
        if (run < PART_MIN || (part < 2 && !object)) {
            return false;
        }
        end += run;
        if (part < 2 && (end == text.n || text.p[end++] != '.')) {
            return false;
        }
    }
    *n = end - at;
    return true;
}

/* Whether the name that ends at `end` ends with these letters. */
static bool name_ends(struct str text, size_t end, const char *name)
{
    size_t left = strlen(name);
    while (end > 0 && left > 0) {
        char c = text.p[--end];
        if (ascii_lower(c) == name[left - 1]) {
            left--;
        } else if ((c != '-' && c != '_') || name[left] == '\0') {
            return false;
        }
    }
    return left == 0;
}

/* The kind of secret that what stands before a value says it is: `api_key="`. NULL: none. */
static const struct named *named_by(struct str before)
{
    size_t end = before.n;
    while (end > 0 && strchr(" \"'\\", before.p[end - 1]) != NULL) {
        end--;
    }
    if (end == 0 || (before.p[end - 1] != '=' && before.p[end - 1] != ':')) {
        return NULL;
    }
    end--;
    while (end > 0 && strchr(" \"'\\", before.p[end - 1]) != NULL) {
        end--;
    }
    for (size_t i = 0; i < sizeof named_secrets / sizeof named_secrets[0]; i++) {
        if (name_ends(before, end, named_secrets[i].name)) {
            return &named_secrets[i];
        }
    }
    return NULL;
}

const char *cassette_named_credential(struct str before, struct str value, size_t *n)
{
    const struct named *named = named_by(before);
    bool digit;
    if (named == NULL) {
        return NULL;
    }
    *n = run_of(value, 0, WORD | TAIL_BASE64, &digit);
    while (*n > 0 && *n < value.n && value.p[*n] == '=') {
        ++*n;
    }
    return digit && *n >= named->min && !str_starts(value, REDACTED_TEXT) ? named->what : NULL;
}

/* The same for the value behind the sign at `at`, unless it has a shape of its own. */
static const char *named_at(struct str text, size_t at, size_t *from, size_t *n)
{
    if (at == 0 || memchr("yY\"' \\", text.p[at - 1], 6) == NULL) {
        return NULL;
    }
    size_t value = at + 1;
    while (value < text.n && value - at < 5 && memchr(" \"'\\", text.p[value], 4) != NULL) {
        value++;
    }
    *from = value;
    return cassette_named_credential(str_slice(text, 0, value), str_slice(text, value, text.n), n);
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
        if (!escape && !ascii_alnum(c) && (c == '\0' || strchr("+/= \r\n\t:,-", c) == NULL)) {
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

/* The credential that begins at `at` by its shape. */
static const char *shape_at(struct str text, size_t at, size_t *from, size_t *n)
{
    char c = text.p[at];
    *from = at;
    if (c == '-') {
        return pem_fits(text, at, n) ? "a private key" : NULL;
    }
    if (!word_begins(text, at) || in_base64(text, at)) {
        return NULL;
    }
    if (c == 'e') {
        return token_fits(text, at, n) ? "a JSON web token" : NULL;
    }
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        if (c == shapes[k].prefix[0] && shape_fits(&shapes[k], text, at, n)) {
            size_t kept = shapes[k].keep ? strlen(shapes[k].prefix) : 0;
            *from += kept;
            *n -= kept;
            return shapes[k].what;
        }
    }
    return NULL;
}

bool cassette_find_credential(struct str text, size_t from, size_t *at, size_t *n,
                              const char **what)
{
    for (size_t i = from; i < text.n; i++) {
        const char *found = NULL;
        if (begins_shape[(unsigned char)text.p[i]]) {
            found = shape_at(text, i, at, n);
        } else if (text.p[i] == '=' || text.p[i] == ':') {
            size_t value_at;
            size_t value_n;
            found = named_at(text, i, at, n);
            if (found != NULL && *at < text.n && shape_at(text, *at, &value_at, &value_n) != NULL) {
                found = NULL;
            }
        }
        if (found != NULL) {
            *what = found;
            return true;
        }
    }
    return false;
}

static bool has_prefix_at(struct str text, size_t at)
{
    struct str rest = str_slice(text, at, text.n);
    bool fits = str_starts(rest, "eyJ") || str_starts(rest, "-----BEGIN ");
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0] && !fits; i++) {
        fits = shapes[i].prefix[0] == rest.p[0] && str_starts(rest, shapes[i].prefix);
    }
    return fits;
}

/* Pairs of characters, a bit each. */
struct pairs {
    uint64_t bits[256 * 256 / 64];
};

static unsigned pair_of(const char *p)
{
    return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

static void add_pair(struct pairs *pairs, const char *p)
{
    unsigned pair = pair_of(p);
    pairs->bits[pair / 64] |= UINT64_C(1) << pair % 64;
}

/* What the shapes begin with, what a named secret's name ends with, an escape. */
static void list_pairs(struct pairs *pairs)
{
    static const char *const others[] = {"ey",  "--", "\\u", "y:",  "Y:", "\":", "':", " :",
                                         "\\:", "y=", "Y=",  "\"=", "'=", " =",  "\\="};
    memset(pairs, 0, sizeof *pairs);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        add_pair(pairs, shapes[i].prefix);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        add_pair(pairs, others[i]);
    }
}

/* An escape of an ASCII character, in which a part of a shape may hide. */
static bool is_ascii_escape(struct str text, size_t at)
{
    struct str rest = str_slice(text, at, text.n);
    return str_starts(rest, "\\u00") && rest.n > 4 && rest.p[4] < '8';
}

bool cassette_may_hold_credential(struct str text)
{
    struct pairs pairs;
    list_pairs(&pairs);
    for (size_t i = 0; i + 1 < text.n; i++) {
        unsigned pair = pair_of(text.p + i);
        char next = text.p[i + 1];
        if ((pairs.bits[pair / 64] >> pair % 64 & 1) == 0) {
            continue;
        }
        if (next == ':' || next == '=' ? named_by(str_slice(text, 0, i + 2)) != NULL
                                       : has_prefix_at(text, i) || is_ascii_escape(text, i)) {
            return true;
        }
    }
    return false;
}
