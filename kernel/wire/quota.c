#include "kernel/wire/quota.h"

#include <stdio.h>

#include "kernel/base/ascii.h"
#include "kernel/base/date.h"
#include "kernel/wire/wire_int.h"

enum { HEADER_NAME_MAX = 64, WAIT_MS_MAX = 7 * 24 * 3600 * 1000 };

/* A whole number in plain digits; -1 for anything else. */
static int64_t count_of(struct str text)
{
    int64_t v = 0;
    text = str_trim(text);
    for (size_t i = 0; i < text.n; i++) {
        if (!ascii_digit(text.p[i]) || text.n > 15) {
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
    while (at < text.n && (ascii_digit(text.p[at]) || text.p[at] == '.') == number) {
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
        if (number.n == 0 || number.n > 12 || !ascii_digit(number.p[0]) ||
            !ascii_digit(number.p[number.n - 1]) || unit == 0 || !num_scaled(number, 3, &milli) ||
            milli > INT64_C(1000) * WAIT_MS_MAX) {
            return -1;
        }
        total += (milli * unit + 999) / 1000;
        total = total > WAIT_MS_MAX ? WAIT_MS_MAX : total;
        at = next;
    }
    return text.n == 0 ? -1 : total;
}

/* A number of units ("2", "1.5") as milliseconds; -1 for anything else. */
static int64_t number_ms(struct str text, int scale)
{
    text = str_trim(text);
    size_t points = 0;
    for (size_t i = 0; i < text.n; i++) {
        bool digit = ascii_digit(text.p[i]);
        bool point = text.p[i] == '.' && i > 0 && i + 1 < text.n;
        points += point;
        if ((!digit && !point) || points > 1) {
            return -1;
        }
    }
    int64_t ms = -1;
    if (text.n == 0 || text.n > 18 || !num_scaled(text, scale, &ms)) {
        return -1;
    }
    return ms > WAIT_MS_MAX ? WAIT_MS_MAX : ms;
}

/* How long it is from the answer's own Date, so that no clock is asked, to a time of day; -1 where
 * one of them is missing. */
static int64_t wait_until(struct str time, bool (*parse)(struct str text, int64_t *unix_ms),
                          const struct http_header *headers, size_t n)
{
    int64_t until_ms, sent_ms;
    if (!parse(time, &until_ms) ||
        !date_parse_http(http_header_get(headers, n, "date"), &sent_ms)) {
        return -1;
    }
    int64_t ms = until_ms > sent_ms ? until_ms - sent_ms : 0;
    return ms > WAIT_MS_MAX ? WAIT_MS_MAX : ms;
}

int64_t quota_retry_after_ms(const struct http_header *headers, size_t n)
{
    struct str text = http_header_get(headers, n, "retry-after");
    int64_t ms = number_ms(http_header_get(headers, n, "retry-after-ms"), 0);
    ms = ms >= 0 ? ms : number_ms(text, 3);
    return ms >= 0 ? ms : wait_until(text, date_parse_http, headers, n);
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
    return (struct wire_quota){
        .limit = count_of(header(headers, n, prefix, "limit")),
        .left = count_of(header(headers, n, prefix, "remaining")),
        .reset_ms = wait_until(header(headers, n, prefix, "reset"), date_parse_iso, headers, n)};
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
        .retry_after_ms = quota_retry_after_ms(headers, n),
        .requests = quota(headers, n, "requests", "anthropic-ratelimit-requests-"),
        .tokens = quota(headers, n, "tokens", "anthropic-ratelimit-tokens-")};
}
