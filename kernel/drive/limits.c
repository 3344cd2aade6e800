/* Requests and tokens count in a window that slides: a start counts for 60 s. The number of calls
 * at once follows TCP's additive increase, multiplicative decrease. A provider's limit is a bucket
 * that fills evenly up to its reset. */
#include "kernel/drive/limits.h"

#include <assert.h>
#include <stdlib.h>

#include "kernel/base/arena.h"

enum { WINDOW_MS = 60000, HOLD_MS_MAX = 60000 };

struct start {
    uint64_t at;
    int64_t tokens;
};

/* What a provider has said of one of its limits; starts since then count against it. */
struct bucket {
    int64_t left;  /* -1 = unknown */
    int64_t limit; /* -1 = unknown */
    uint64_t from;
    uint64_t full_at;
    uint64_t asked; /* when it was last told, or a call began although it was short */
};

struct limits {
    struct limits_options o;
    struct start *starts; /* a ring of those in the window, oldest first */
    size_t cap;
    size_t first;
    size_t n;
    uint64_t first_number; /* of the oldest one */
    int64_t window_tokens; /* their sum */
    int64_t in_flight;
    int64_t most;   /* calls at once now, 1 to o.in_flight */
    int64_t credit; /* good ends since `most` last changed */
    uint64_t cuts;  /* how often it was cut */
    uint64_t pause; /* nothing starts before */
    struct bucket requests;
    struct bucket tokens;
};

struct limits *limits_new(const struct limits_options *o)
{
    struct limits *l = mem_zero(sizeof *l);
    assert(o->rpm >= 0 && o->tpm >= 0 && o->in_flight >= 1);
    l->o = *o;
    l->most = o->in_flight;
    l->requests = (struct bucket){.left = -1};
    l->tokens = l->requests;
    return l;
}

void limits_free(struct limits *l)
{
    if (l != NULL) {
        free(l->starts);
        free(l);
    }
}

int64_t limits_in_flight_max(const struct limits *l)
{
    return l->most;
}

/* ---- the window ---- */

static struct start *start_at(struct limits *l, size_t i)
{
    return &l->starts[(l->first + i) % l->cap];
}

static void window_slide(struct limits *l, uint64_t now)
{
    while (l->n > 0 && start_at(l, 0)->at + WINDOW_MS <= now) {
        l->window_tokens -= start_at(l, 0)->tokens;
        l->first = (l->first + 1) % l->cap;
        l->first_number++;
        l->n--;
    }
}

static void window_add(struct limits *l, int64_t tokens, uint64_t now)
{
    if (l->n == l->cap) {
        size_t cap = l->cap == 0 ? 16 : l->cap * 2;
        struct start *starts = mem_alloc(cap * sizeof *starts);
        for (size_t i = 0; i < l->n; i++) {
            starts[i] = *start_at(l, i);
        }
        free(l->starts);
        l->starts = starts;
        l->cap = cap;
        l->first = 0;
    }
    l->n++;
    *start_at(l, l->n - 1) = (struct start){now, tokens};
    l->window_tokens += tokens;
}

static uint64_t requests_when(struct limits *l, uint64_t now)
{
    if (l->o.rpm == 0 || l->n < (size_t)l->o.rpm) {
        return now;
    }
    return start_at(l, l->n - (size_t)l->o.rpm)->at + WINDOW_MS;
}

static uint64_t tokens_when(struct limits *l, int64_t tokens, uint64_t now)
{
    if (l->o.tpm == 0) {
        return now;
    }
    int64_t over = l->window_tokens + (tokens < l->o.tpm ? tokens : l->o.tpm) - l->o.tpm;
    uint64_t when = now;
    for (size_t i = 0; over > 0 && i < l->n; i++) {
        over -= start_at(l, i)->tokens;
        when = start_at(l, i)->at + WINDOW_MS;
    }
    return when;
}

/* ---- the provider's buckets ---- */

/* A bucket holds back for a while only: then one call asks the provider again. */
static uint64_t bucket_when(const struct bucket *b, int64_t need, uint64_t now)
{
    need = b->limit > 0 && need > b->limit ? b->limit : need;
    if (b->left < 0 || b->left >= need || now >= b->full_at) {
        return now;
    }
    uint64_t wait = b->full_at - b->from;
    if (b->limit > b->left) { /* a part of it is there before */
        wait = (wait * (uint64_t)(need - b->left) - 1) / (uint64_t)(b->limit - b->left) + 1;
    }
    uint64_t when = b->from + wait;
    when = when < b->asked + HOLD_MS_MAX ? when : b->asked + HOLD_MS_MAX;
    return when > now ? when : now;
}

static void bucket_take(struct bucket *b, int64_t tokens, uint64_t now)
{
    if (b->left >= 0) {
        b->asked = b->left < tokens ? now : b->asked;
        b->left = b->left > tokens ? b->left - tokens : 0;
    }
}

/* A bucket of which nobody says when it fills holds nothing back. */
static void bucket_set(struct bucket *b, const struct wire_quota *q, uint64_t now)
{
    if (q->left >= 0 && q->reset_ms >= 0) {
        *b = (struct bucket){q->left, q->limit, now, now + (uint64_t)q->reset_ms, now};
    }
}

/* ---- decisions ---- */

static void later(uint64_t when, enum limits_why why, uint64_t *at, enum limits_why *reason)
{
    if (when > *at) {
        *at = when;
        *reason = why;
    }
}

uint64_t limits_when(struct limits *l, int64_t tokens, uint64_t now, enum limits_why *why)
{
    uint64_t at = now;
    *why = LIMITS_NOTHING;
    window_slide(l, now);
    if (l->in_flight >= l->most) {
        *why = LIMITS_IN_FLIGHT;
        return UINT64_MAX;
    }
    later(bucket_when(&l->requests, 1, now), LIMITS_REQUESTS, &at, why);
    later(bucket_when(&l->tokens, tokens, now), LIMITS_TOKENS, &at, why);
    later(l->pause, LIMITS_PAUSE, &at, why);
    later(requests_when(l, now), LIMITS_RPM, &at, why);
    later(tokens_when(l, tokens, now), LIMITS_TPM, &at, why);
    return at;
}

struct limits_ticket limits_start(struct limits *l, int64_t tokens, uint64_t now)
{
    if (l->o.rpm > 0 || l->o.tpm > 0) {
        window_add(l, tokens, now);
    }
    bucket_take(&l->requests, 1, now);
    bucket_take(&l->tokens, tokens, now);
    l->in_flight++;
    return (struct limits_ticket){l->n == 0 ? 0 : l->first_number + l->n - 1, l->cuts};
}

static bool cut(struct limits *l, struct limits_ticket t)
{
    if (t.cut != l->cuts) {
        return false; /* it began before the last cut, which was for it too */
    }
    int64_t before = l->most;
    int64_t base = l->in_flight < l->most ? l->in_flight : l->most;
    l->most = base > 1 ? base / 2 : 1;
    l->cuts++;
    l->credit = 0;
    return l->most < before;
}

bool limits_answer(struct limits *l, struct limits_ticket t, int status,
                   const struct wire_quotas *q, uint64_t now)
{
    bool overloaded = status == 429 || status == 503 || status == 529;
    bucket_set(&l->requests, &q->requests, now);
    bucket_set(&l->tokens, &q->tokens, now);
    if (!overloaded) {
        return false;
    }
    if (q->retry_after_ms > 0) {
        int64_t wait = q->retry_after_ms < HOLD_MS_MAX ? q->retry_after_ms : HOLD_MS_MAX;
        uint64_t until = now + (uint64_t)wait;
        l->pause = until > l->pause ? until : l->pause;
    }
    return cut(l, t);
}

void limits_used(struct limits *l, struct limits_ticket t, int64_t tokens)
{
    if (tokens < 0 || t.number < l->first_number || t.number - l->first_number >= l->n) {
        return;
    }
    struct start *s = start_at(l, (size_t)(t.number - l->first_number));
    l->window_tokens += tokens - s->tokens;
    s->tokens = tokens;
}

void limits_over(struct limits *l, enum limits_end how)
{
    assert(l->in_flight > 0);
    l->in_flight--;
    switch (how) {
    case LIMITS_OTHER: return;
    case LIMITS_GOOD: break;
    }
    if (l->most < l->o.in_flight && ++l->credit >= l->most) {
        l->most++;
        l->credit = 0;
    }
}
