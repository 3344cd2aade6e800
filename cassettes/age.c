/* How old a recording is, for people. */
#include "cassettes/cassette.h"
#include "kernel/base/date.h"

enum { MS_PER_MINUTE = 60000, HOUR = 60, DAY = 24 * HOUR };

/* "40 days"; below two days "30 hours", below two hours "90 minutes". */
static void add_age(struct buf *out, int64_t ms)
{
    int64_t minutes = ms / MS_PER_MINUTE;
    int64_t unit = minutes >= 2 * DAY ? DAY : minutes >= 2 * HOUR ? HOUR : 1;
    int64_t n = minutes / unit;
    buf_fmt(out, "%lld %s%s", (long long)n,
            unit == DAY    ? "day"
            : unit == HOUR ? "hour"
                           : "minute",
            n == 1 ? "" : "s");
}

bool cassette_is_young(const struct cassette *c, int64_t now_ms, int64_t max_ms, struct buf *text)
{
    int64_t started_ms;
    if (c->started_at.n == 0 || !date_parse(c->started_at, &started_ms)) {
        buf_addz(text, "does not say when it was recorded, so its age is unknown");
        return false;
    }
    if (now_ms - started_ms <= max_ms) {
        return true;
    }
    buf_addz(text, "was recorded ");
    add_age(text, now_ms - started_ms);
    buf_addz(text, " ago, and --max-age allows ");
    add_age(text, max_ms);
    return false;
}
