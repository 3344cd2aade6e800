#include "kernel/wire/quota.h"

#include <stdio.h>

#include "kernel/wire/date_int.h"
#include "kernel/wire/wire_int.h"

enum { HEADER_NAME_MAX = 64, RESET_MS_MAX = 7 * 24 * 3600 * 1000 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A whole number in plain digits; -1 for anything else. */
static int64_t count_of(struct str text)
{
    int64_t v = 0;
    text = str_trim(text);
    for (size_t i = 0; i < text.n; i++) {
        if (!is_digit(text.p[i]) || text.n > 15) {
            return -1;
        }
        v = v * 10 + (text.p[i] - '0');
    }
    return text.n == 0 ? -1 : v;
}

/* Milliseconds of one of these; 0 = no unit at all. */
static int64_t unit_ms(struct str unit)
{
    return str_is(unit, "h")                  ? 3600000
           : str_is(unit, "m")                ? 60000
           : str_is(unit, "s") || unit.n == 0 ? 1000
           : str_is(unit, "ms")               ? 1
                                              : 0;
}

/* The end of the characters from `at` on that are (or are not) a number's. */
static size_t run_from(struct str text, size_t at, bool number)
{
    while (at < text.n && (is_digit(text.p[at]) || text.p[at] == '.') == number) {
        at++;
    }
    return at;
}

/* "6m0s", "1h2m3.5s", "20ms" or seconds alone, as milliseconds; -1 for anything else. */
static int64_t duration_of(struct str text)
{
    int64_t total = 0;
    text = str_trim(text);
    for (size_t at = 0; at < text.n;) {
        size_t end = run_from(text, at, true);
        size_t next = run_from(text, end, false);
        struct str number = str_slice(text, at, end);
        int64_t unit = unit_ms(str_slice(text, end, next));
        int64_t milli = 0;
        if (number.n == 0 || number.n > 12 || !is_digit(number.p[0]) ||
            !is_digit(number.p[number.n - 1]) || unit == 0 || !num_scaled(number, 3, &milli) ||
            milli > INT64_C(1000) * RESET_MS_MAX) {
            return -1;
        }
        total += (milli * unit + 999) / 1000;
        total = total > RESET_MS_MAX ? RESET_MS_MAX : total;
        at = next;
    }
    return text.n == 0 ? -1 : total;
}

static struct str header(const struct http_header *headers, size_t n, const char *format,
                         const char *part)
{
    char name[HEADER_NAME_MAX];
    snprintf(name, sizeof name, "%s%s", format, part);
    return http_header_get(headers, n, name);
}

/* x-ratelimit-limit-requests and the like. */
static struct wire_quota openai_quota(const struct http_header *headers, size_t n, const char *what)
{
    return (struct wire_quota){.limit = count_of(header(headers, n, "x-ratelimit-limit-", what)),
                               .left = count_of(header(headers, n, "x-ratelimit-remaining-", what)),
                               .reset_ms =
                                   duration_of(header(headers, n, "x-ratelimit-reset-", what))};
}

/* anthropic-ratelimit-requests-limit and the like. */
static struct wire_quota anthropic_quota(const struct http_header *headers, size_t n,
                                         const char *prefix)
{
    int64_t until = error_rfc3339_s(header(headers, n, prefix, "reset"));
    int64_t sent = error_http_date_s(http_header_get(headers, n, "date"));
    int64_t s = until < 0 || sent < 0 ? -1 : until > sent ? until - sent : 0;
    return (struct wire_quota){.limit = count_of(header(headers, n, prefix, "limit")),
                               .left = count_of(header(headers, n, prefix, "remaining")),
                               .reset_ms = s < 0                     ? -1
                                           : s > RESET_MS_MAX / 1000 ? RESET_MS_MAX
                                                                     : s * 1000};
}

static struct wire_quota quota(const struct http_header *headers, size_t n, const char *what,
                               const char *prefix)
{
    struct wire_quota q = openai_quota(headers, n, what);
    return q.left >= 0 ? q : anthropic_quota(headers, n, prefix);
}

struct wire_quotas wire_quotas_read(const struct http_header *headers, size_t n)
{
    return (struct wire_quotas){
        .retry_after_ms = error_retry_after_ms(headers, n),
        .requests = quota(headers, n, "requests", "anthropic-ratelimit-requests-"),
        .tokens = quota(headers, n, "tokens", "anthropic-ratelimit-tokens-")};
}
