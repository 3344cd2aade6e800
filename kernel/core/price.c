/* What tokens cost; and prices in the event log, for what a run costs is decided by its own log,
 * not by today's list. */
#include "kernel/core/kernel_int.h"

#include "kernel/base/json.h"

/* Adds tokens × price ÷ 10^6 to a whole and a millionth part. */
static void add_cost(int64_t *whole, int64_t *millionths, int64_t tokens, int64_t price)
{
    int64_t rest = tokens % 1000000;
    int64_t small = rest * (price % 1000000); /* below 10^12 */
    *whole += tokens / 1000000 * price + rest * (price / 1000000) + small / 1000000;
    *millionths += small % 1000000;
}

/* A part of a whole count: 0 when it is unknown, never more than the whole. */
static int64_t part_of(int64_t part, int64_t whole)
{
    return part < 0 ? 0 : part > whole ? whole : part;
}

int64_t usage_cost_nano(const struct usage *u, const struct price *p)
{
    const int64_t tokens_max = 1000000000, price_max = PRICE_NANO_MAX;
    while (p != NULL && p->beyond != NULL && u->input > p->above) {
        p = p->beyond;
    }
    if (p == NULL || u->input < 0 || u->output < 0 || u->input > tokens_max ||
        u->output > tokens_max || p->input > price_max || p->output > price_max ||
        p->cached > price_max || p->cache_write > price_max || p->reasoning > price_max) {
        return -1;
    }
    int64_t cached = part_of(u->cached, u->input);
    int64_t written = part_of(u->cache_write, u->input - cached);
    int64_t thought = part_of(u->reasoning, u->output);
    int64_t whole = 0, millionths = 0;
    add_cost(&whole, &millionths, u->input - cached - written, p->input);
    add_cost(&whole, &millionths, cached, p->cached < 0 ? p->input : p->cached);
    add_cost(&whole, &millionths, written, p->cache_write < 0 ? p->input : p->cache_write);
    add_cost(&whole, &millionths, u->output - thought, p->output);
    add_cost(&whole, &millionths, thought, p->reasoning < 0 ? p->output : p->reasoning);
    return whole + (millionths + 500000) / 1000000;
}

bool price_equal(const struct price *a, const struct price *b)
{
    while (a != NULL && b != NULL && a != b) {
        if (a->input != b->input || a->cached != b->cached || a->cache_write != b->cache_write ||
            a->output != b->output || a->reasoning != b->reasoning ||
            (a->beyond != NULL && b->beyond != NULL && a->above != b->above)) {
            return false;
        }
        a = a->beyond;
        b = b->beyond;
    }
    return a == b;
}

/* ---- in the log ---- */

void nano_add(struct buf *out, int64_t nano)
{
    char digits[16];
    size_t n = 0;
    buf_int(out, nano / 1000000000);
    for (int64_t rest = nano % 1000000000, unit = 100000000; rest > 0; unit /= 10) {
        digits[n++] = (char)('0' + rest / unit);
        rest %= unit;
    }
    if (n > 0) {
        buf_char(out, '.');
        buf_add(out, (struct str){digits, n});
    }
}

/* A part that is billed as its whole has no member. */
static void put_amount(struct buf *b, const char *name, int64_t nano)
{
    if (nano >= 0) {
        json_key(b, name);
        nano_add(b, nano);
    }
}

static void put_amounts(struct buf *b, const struct price *p)
{
    put_amount(b, "input", p->input);
    put_amount(b, "cached", p->cached);
    put_amount(b, "cache_write", p->cache_write);
    put_amount(b, "output", p->output);
    put_amount(b, "reasoning", p->reasoning);
}

void price_add(struct buf *out, const struct price *p)
{
    if (p == NULL) {
        buf_addz(out, "null");
        return;
    }
    buf_char(out, '{');
    put_amounts(out, p);
    if (p->beyond != NULL) {
        json_key(out, "above");
        buf_char(out, '[');
        for (; p->beyond != NULL; p = p->beyond) {
            json_next(out);
            buf_char(out, '{');
            json_put_int(out, "tokens", p->above);
            put_amounts(out, p->beyond);
            buf_char(out, '}');
        }
        buf_char(out, ']');
    }
    buf_char(out, '}');
}

/* -1 where the member is absent; false when it is no amount. */
static bool read_amount(const struct val *v, const char *name, int64_t *out)
{
    const struct val *m = val_get(v, name);
    *out = -1;
    return m == NULL || (val_is(m, VAL_NUMBER) && num_scaled(m->text, 9, out) && *out >= 0 &&
                         *out <= PRICE_NANO_MAX);
}

static bool read_amounts(const struct val *v, struct price *p)
{
    return read_amount(v, "input", &p->input) && read_amount(v, "cached", &p->cached) &&
           read_amount(v, "cache_write", &p->cache_write) && read_amount(v, "output", &p->output) &&
           read_amount(v, "reasoning", &p->reasoning) && p->input >= 0 && p->output >= 0;
}

bool price_read(struct arena *arena, const struct val *v, const struct price **out)
{
    *out = NULL;
    if (v == NULL || val_is(v, VAL_NULL)) {
        return true;
    }
    const struct val *above = val_get(v, "above");
    size_t n = val_is(above, VAL_ARRAY) ? above->count : 0;
    if (n >= PRICE_TIERS_MAX) {
        return false;
    }
    struct price *tiers = arena_array(arena, n + 1, sizeof *tiers);
    bool good = read_amounts(v, &tiers[0]);
    for (size_t i = 0; good && i < n; i++) {
        const struct val *tier = val_item(above, i);
        good = val_int(val_get(tier, "tokens"), &tiers[i].above) && tiers[i].above >= 1 &&
               (i == 0 || tiers[i].above > tiers[i - 1].above) && read_amounts(tier, &tiers[i + 1]);
        tiers[i].beyond = &tiers[i + 1];
    }
    *out = tiers;
    return good;
}
