/* What went wrong at a provider: the class of an error, its message, and when to come again.
 * Sources: error pages of the OpenAI and Anthropic API references; RFC 9110 10.2.3 (Retry-After).
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/base/text.h"
#include "kernel/wire/date_int.h"
#include "kernel/wire/wire_int.h"

enum { RETRY_AFTER_MS_MAX = 7 * 24 * 3600 * 1000 };

struct error_word {
    const char *word;
    enum fail_class class;
};

/* Words in an error's `code` or `type`. */
static const struct error_word error_words[] = {
    {"overloaded_error", FAIL_OVERLOADED},
    {"overloaded", FAIL_OVERLOADED},
    {"engine_overloaded_error", FAIL_OVERLOADED},
    {"service_unavailable", FAIL_OVERLOADED},
    {"insufficient_quota", FAIL_REQUEST},
    {"billing_hard_limit_reached", FAIL_REQUEST},
    {"billing_not_active", FAIL_REQUEST},
    {"billing_error", FAIL_REQUEST},
    {"exceeded_current_quota_error", FAIL_REQUEST},
    {"rate_limit_error", FAIL_RATE_LIMIT},
    {"rate_limit_exceeded", FAIL_RATE_LIMIT},
    {"rate_limited", FAIL_RATE_LIMIT},
    {"authentication_error", FAIL_AUTH},
    {"permission_error", FAIL_AUTH},
    {"invalid_api_key", FAIL_AUTH},
    {"context_length_exceeded", FAIL_REQUEST},
    {"invalid_prompt", FAIL_REQUEST},
    {"invalid_request_error", FAIL_REQUEST},
    {"not_found_error", FAIL_REQUEST},
    {"request_too_large", FAIL_REQUEST},
    {"BadRequestError", FAIL_REQUEST},
};

static bool class_of_word(struct str word, enum fail_class *out)
{
    for (size_t i = 0; i < sizeof error_words / sizeof error_words[0]; i++) {
        if (str_is(word, error_words[i].word)) {
            *out = error_words[i].class;
            return true;
        }
    }
    return false;
}

static enum fail_class class_of_status(int status)
{
    switch (status) {
    case 401:
    case 403: return FAIL_AUTH;
    case 408:
    case 409: return FAIL_SERVER;
    case 429: return FAIL_RATE_LIMIT;
    case 503:
    case 529: return FAIL_OVERLOADED;
    default: return status >= 500 ? FAIL_SERVER : FAIL_REQUEST;
    }
}

/* The object that holds `message`, `type` and `code`: `error` where it is one, else v itself. */
static const struct val *error_object(const struct val *v)
{
    if (val_is(v, VAL_ARRAY)) {
        v = val_item(v, 0);
    }
    const struct val *inner = val_get(v, "error");
    return val_is(inner, VAL_OBJECT) ? inner : v;
}

static struct str error_message(const struct val *v)
{
    const struct val *error = error_object(v);
    const struct val *found[] = {
        val_get(error, "message"),
        val_get(val_is(v, VAL_ARRAY) ? val_item(v, 0) : v, "error"),
        val_get(error, "detail"),
        val_get(val_item(val_get(error, "detail"), 0), "msg"),
        val_get(val_item(val_path(error, "message", "detail", NULL), 0), "msg"),
    };
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        if (val_text(found[i]).n > 0) {
            return val_text(found[i]);
        }
    }
    return STR("");
}

/* A status that the error carries itself, as some gateways do; 0 = none. */
static int own_status(const struct val *error)
{
    const struct val *code = val_get(error, "code");
    int64_t n = 0;
    if (!val_int(code, &n)) {
        struct str text = val_text(code);
        for (size_t i = 0; i < text.n && text.n == 3; i++) {
            n = text.p[i] >= '0' && text.p[i] <= '9' ? n * 10 + (text.p[i] - '0') : -1000;
        }
    }
    return n >= 400 && n <= 599 ? (int)n : 0;
}

static enum fail_class class_of(int status, const struct val *v)
{
    const struct val *error = error_object(v);
    enum fail_class word = FAIL_SERVER;
    bool known = class_of_word(val_text(val_get(error, "code")), &word) ||
                 class_of_word(val_text(val_get(error, "type")), &word);
    if (status >= 400) {
        bool finer = known && (word == FAIL_OVERLOADED || (status == 429 && word == FAIL_REQUEST));
        return finer ? word : class_of_status(status);
    }
    if (known) {
        return word;
    }
    int own = own_status(error);
    return own == 0 ? FAIL_SERVER : class_of_status(own);
}

bool error_is(const struct val *v)
{
    const struct val *error = val_get(v, "error");
    return val_is(error, VAL_OBJECT) || val_text(error).n > 0 ||
           str_is(val_text(val_get(v, "type")), "error") ||
           str_is(val_text(val_get(v, "object")), "error");
}

void error_fail(struct draft *d, int status, const struct val *v, struct str body)
{
    enum fail_class class = status >= 300 && status < 400 ? FAIL_REQUEST : class_of(status, v);
    struct str message = error_message(v);
    if (message.n > 0) {
        draft_fail(d, class, status, message);
        return;
    }
    struct str preview = text_preview(d->arena, str_trim(body), WIRE_PREVIEW_CHARS);
    draft_fail(d, class, status,
               preview.n > 0 ? preview
               : v != NULL   ? STR("an error without a message")
                             : STR("no body"));
}

/* A number of units ("2", "1.5") as milliseconds; -1 for anything else. */
static int64_t duration_ms(struct str text, int scale)
{
    text = str_trim(text);
    size_t points = 0;
    for (size_t i = 0; i < text.n; i++) {
        bool digit = text.p[i] >= '0' && text.p[i] <= '9';
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
    return ms > RETRY_AFTER_MS_MAX ? RETRY_AFTER_MS_MAX : ms;
}

/* A number of `width` digits at text[at], or -1. */
static int64_t digits_at(struct str text, size_t at, size_t width)
{
    int64_t v = 0;
    for (size_t i = at; i < at + width; i++) {
        if (i >= text.n || text.p[i] < '0' || text.p[i] > '9') {
            return -1;
        }
        v = v * 10 + (text.p[i] - '0');
    }
    return v;
}

static int64_t month_at(struct str text, size_t at)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int64_t m = 0; m < 12; m++) {
        if (str_eq(str_slice(text, at, at + 3), (struct str){names + 3 * m, 3})) {
            return m + 1;
        }
    }
    return -1;
}

/* Days from 1970-01-01 to a day of the Gregorian calendar, year 1 or later. */
static int64_t days_to(int64_t year, int64_t month, int64_t day)
{
    static const int16_t before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    int64_t y = year - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + before[month - 1] + (leap && month > 2) + day - 1 -
           719162;
}

/* Seconds since 1970 of "Sun, 06 Nov 1994 08:49:37 GMT", the one form that servers may send (RFC
 * 9110, 5.6.7); -1 for anything else. */
int64_t error_http_date_s(struct str text)
{
    text = str_trim(text);
    int64_t day = digits_at(text, 5, 2), month = month_at(text, 8), year = digits_at(text, 12, 4);
    int64_t h = digits_at(text, 17, 2), m = digits_at(text, 20, 2), s = digits_at(text, 23, 2);
    if (text.n != 29 || !str_ends(text, " GMT") || day < 1 || day > 31 || month < 1 ||
        year < 1970 || h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 60) {
        return -1;
    }
    return days_to(year, month, day) * 86400 + h * 3600 + m * 60 + s;
}

/* The seconds that "Z", "+02:00" or "-02:30" at the end of a time stands for; INT64_MIN for
 * anything else. */
static int64_t offset_s(struct str text)
{
    if (str_is(text, "Z") || str_is(text, "z")) {
        return 0;
    }
    int64_t h = digits_at(text, 1, 2), m = digits_at(text, 4, 2);
    if (text.n != 6 || (text.p[0] != '+' && text.p[0] != '-') || text.p[3] != ':' || h < 0 ||
        h > 23 || m < 0 || m > 59) {
        return INT64_MIN;
    }
    return (text.p[0] == '-' ? -1 : 1) * (h * 3600 + m * 60);
}

int64_t error_rfc3339_s(struct str text)
{
    text = str_trim(text);
    int64_t year = digits_at(text, 0, 4), month = digits_at(text, 5, 2),
            day = digits_at(text, 8, 2);
    int64_t h = digits_at(text, 11, 2), m = digits_at(text, 14, 2), s = digits_at(text, 17, 2);
    size_t end = 19;
    if (end < text.n && text.p[end] == '.') {
        for (end++; end < text.n && digits_at(text, end, 1) >= 0; end++) {
        }
    }
    int64_t offset = offset_s(str_slice(text, end, text.n));
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || h < 0 || h > 23 || m < 0 ||
        m > 59 || s < 0 || s > 60 || text.p[4] != '-' || text.p[7] != '-' ||
        (text.p[10] != 'T' && text.p[10] != 't') || text.p[13] != ':' || text.p[16] != ':' ||
        offset == INT64_MIN) {
        return -1;
    }
    return days_to(year, month, day) * 86400 + h * 3600 + m * 60 + s - offset;
}

/* A Retry-After that is a date counts from the answer's own Date, so that no clock is asked. */
static int64_t date_wait_ms(const struct http_header *headers, size_t n)
{
    int64_t until = error_http_date_s(http_header_get(headers, n, "retry-after"));
    int64_t sent = error_http_date_s(http_header_get(headers, n, "date"));
    if (until < 0 || sent < 0) {
        return -1;
    }
    int64_t ms = until > sent ? (until - sent) * 1000 : 0;
    return ms > RETRY_AFTER_MS_MAX ? RETRY_AFTER_MS_MAX : ms;
}

int64_t error_retry_after_ms(const struct http_header *headers, size_t n)
{
    int64_t ms = duration_ms(http_header_get(headers, n, "retry-after-ms"), 0);
    if (ms < 0) {
        ms = duration_ms(http_header_get(headers, n, "retry-after"), 3);
    }
    return ms >= 0 ? ms : date_wait_ms(headers, n);
}
