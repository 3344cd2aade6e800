#include "cassettes/cassette.h"
#include "kernel/drive/files.h"

enum { MS_PER_HOUR = 3600000 };

/* "40 days" or, below two days, "30 hours". */
static void add_age(struct buf *out, int64_t ms)
{
    int64_t hours = ms / MS_PER_HOUR;
    buf_fmt(out, "%lld %s", (long long)(hours < 48 ? hours : hours / 24),
            hours < 48 ? "hours" : "days");
}

bool cassette_is_young(const struct cassette *c, int64_t now_ms, int64_t max_ms, struct buf *text)
{
    int64_t started_ms;
    if (c->started_at.n == 0 || !time_parse(c->started_at, &started_ms)) {
        buf_fmt(text, "%s: does not say when it was recorded, so its age is unknown", c->path);
        return false;
    }
    if (now_ms - started_ms <= max_ms) {
        return true;
    }
    buf_fmt(text, "%s: was recorded ", c->path);
    add_age(text, now_ms - started_ms);
    buf_addz(text, " ago, and --max-age allows ");
    add_age(text, max_ms);
    return false;
}
