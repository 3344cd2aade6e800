#include "kernel/base/date.h"
#include "kernel/base/ascii.h"

enum { MS_PER_DAY = 86400000, DAYS_TO_1970 = 719528, DAYS_IN_400_YEARS = 146097 };

static const int64_t TEXT_MIN_MS = -(int64_t)DAYS_TO_1970 * MS_PER_DAY;
static const int64_t TEXT_MAX_MS = 253402300799999;

struct moment {
    int year; /* from 0 */
    int month;
    int day;
    int hour;
    int minute;
    int second; /* 60 = a leap second */
};

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Days from 1 January of year 0 to 1 January of `year` (≥ 0). */
static int64_t days_before_year(int64_t year)
{
    if (year == 0) {
        return 0;
    }
    int64_t last = year - 1;
    return year * 365 + last / 4 - last / 100 + last / 400 + 1; /* + 1: year 0 is a leap year */
}

/* Unix milliseconds of the moment's beginning; false where the calendar has no such moment. */
static bool moment_ms(const struct moment *m, int64_t *unix_ms)
{
    if (m->month < 1 || m->month > 12 || m->day < 1 || m->day > days_in_month(m->year, m->month) ||
        m->hour > 23 || m->minute > 59 || m->second > 60) {
        return false;
    }
    int64_t days = days_before_year(m->year) - DAYS_TO_1970 + m->day - 1;
    for (int month = 1; month < m->month; month++) {
        days += days_in_month(m->year, month);
    }
    *unix_ms = days * MS_PER_DAY + m->hour * 3600000 + m->minute * 60000 + m->second * 1000;
    return true;
}

struct str date_text(struct arena *arena, int64_t unix_ms)
{
    int64_t ms = unix_ms;
    if (ms < TEXT_MIN_MS) {
        ms = TEXT_MIN_MS;
    } else if (ms > TEXT_MAX_MS) {
        ms = TEXT_MAX_MS;
    }
    ms -= TEXT_MIN_MS;
    int64_t day = ms / MS_PER_DAY;
    int in_day = (int)(ms % MS_PER_DAY);
    int64_t year = day * 400 / DAYS_IN_400_YEARS; /* right, or off by one */
    if (days_before_year(year) > day) {
        year--;
    } else if (days_before_year(year + 1) <= day) {
        year++;
    }
    int left = (int)(day - days_before_year(year));
    int month = 1;
    while (left >= days_in_month(year, month)) {
        left -= days_in_month(year, month++);
    }
    return arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)year, month, left + 1,
                        in_day / 3600000, in_day / 60000 % 60, in_day / 1000 % 60, in_day % 1000);
}

/* ---- reading ---- */

/* Whether text looks like `form`, whose zeros stand for any digit. */
static bool has_form(struct str text, const char *form)
{
    if (text.n != strlen(form)) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (form[i] == '0' ? !ascii_digit(text.p[i]) : text.p[i] != form[i]) {
            return false;
        }
    }
    return true;
}

/* The number that n digits at text[at] spell. */
static int number_at(struct str text, size_t at, size_t n)
{
    int value = 0;
    for (size_t i = at; i < at + n; i++) {
        value = value * 10 + (text.p[i] - '0');
    }
    return value;
}

/* Of a text that begins as "2026-11-29T18:00:00". */
static struct moment moment_of(struct str text)
{
    return (struct moment){.year = number_at(text, 0, 4),
                           .month = number_at(text, 5, 2),
                           .day = number_at(text, 8, 2),
                           .hour = number_at(text, 11, 2),
                           .minute = number_at(text, 14, 2),
                           .second = number_at(text, 17, 2)};
}

bool date_parse(struct str text, int64_t *unix_ms)
{
    int64_t ms;
    if (!has_form(text, "0000-00-00T00:00:00.000Z")) {
        return false;
    }
    struct moment m = moment_of(text);
    if (m.second > 59 || !moment_ms(&m, &ms)) {
        return false;
    }
    *unix_ms = ms + number_at(text, 20, 3);
    return true;
}

/* Takes a fraction such as .123456 off the front of *text, and gives its milliseconds. */
static int take_fraction(struct str *text)
{
    int ms = 0, unit = 100;
    if (!str_starts(*text, ".")) {
        return 0;
    }
    size_t n = 1;
    for (; n < text->n && ascii_digit(text->p[n]); n++) {
        ms += unit * (text->p[n] - '0');
        unit /= 10;
    }
    *text = str_slice(*text, n, text->n);
    return ms;
}

/* The milliseconds that Z, +01:00, -0530 or nothing at the end of a time stands for; false for
 * anything else. */
static bool offset_ms(struct str text, int *out)
{
    *out = 0;
    if (text.n == 0 || str_is_nocase(text, "Z")) {
        return true;
    }
    bool colon = has_form(str_slice(text, 1, text.n), "00:00");
    if ((text.p[0] != '+' && text.p[0] != '-') ||
        (!colon && !has_form(str_slice(text, 1, text.n), "0000"))) {
        return false;
    }
    int hours = number_at(text, 1, 2), minutes = number_at(text, colon ? 4 : 3, 2);
    *out = (text.p[0] == '-' ? -60000 : 60000) * (hours * 60 + minutes);
    return hours <= 23 && minutes <= 59;
}

bool date_parse_iso(struct str text, int64_t *unix_ms)
{
    int64_t ms;
    int offset;
    text = str_trim(text);
    struct str local = str_slice(text, 0, 19), rest = str_slice(text, 19, text.n);
    if (!has_form(local, "0000-00-00T00:00:00") && !has_form(local, "0000-00-00t00:00:00")) {
        return false;
    }
    struct moment m = moment_of(local);
    int fraction = take_fraction(&rest);
    if (!moment_ms(&m, &ms) || !offset_ms(rest, &offset)) {
        return false;
    }
    *unix_ms = ms + fraction - offset;
    return true;
}

/* 1 to 12 for "Jan" to "Dec", 0 for anything else. */
static int month_of(struct str name)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++) {
        if (str_eq(name, (struct str){names + 3 * i, 3})) {
            return i + 1;
        }
    }
    return 0;
}

bool date_parse_http(struct str text, int64_t *unix_ms)
{
    text = str_trim(text);
    if (!has_form(str_slice(text, 3, 8), ", 00 ") ||
        !has_form(str_slice(text, 11, text.n), " 0000 00:00:00 GMT")) {
        return false;
    }
    struct moment m = {.year = number_at(text, 12, 4),
                       .month = month_of(str_slice(text, 8, 11)),
                       .day = number_at(text, 5, 2),
                       .hour = number_at(text, 17, 2),
                       .minute = number_at(text, 20, 2),
                       .second = number_at(text, 23, 2)};
    return moment_ms(&m, unix_ms);
}
