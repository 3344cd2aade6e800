/* What a replay says of requests that find no recording, or one that differs. */
#include "cassettes/player_int.h"
#include "kernel/base/text.h"

enum { PREVIEW_CHARS = 120, TOOLS_SHOWN = 10, UNUSED_SHOWN = 5, UNUSED_LOOKS_MAX = 1000 };

static struct difference differences(const struct player *p, const struct interaction *it,
                                     const struct asked *a)
{
    struct buf recorded = {0};
    struct buf sent = {0};
    cassette_meaning_by(p->rules, it->uri, it->request_body, it->request_json, &recorded);
    cassette_meaning_by(p->rules, a->uri, a->body, a->json, &sent);
    struct difference d = cassette_difference(buf_str(&recorded), buf_str(&sent));
    buf_free(&recorded);
    buf_free(&sent);
    return d;
}

static void add_arguments(struct buf *out, struct str body)
{
    struct arena *arena = arena_new();
    struct buf plain = {0};
    cassette_redact_text(body, &plain);
    buf_char(out, ' ');
    buf_add(out, text_preview(arena, buf_str(&plain), PREVIEW_CHARS));
    buf_free(&plain);
    arena_free(arena);
}

static void add_asked(struct buf *out, const struct asked *a)
{
    struct buf url = {0};
    cassette_redact_url(a->uri, &url);
    buf_add(out, a->method);
    buf_char(out, ' ');
    buf_add(out, buf_str(&url));
    buf_free(&url);
    if (str_is(a->method, "CALL") || str_is(a->method, "ASK")) {
        add_arguments(out, a->body);
        return;
    }
    struct str model = val_text(val_get(a->json, "model"));
    const struct val *messages = val_get(a->json, "messages");
    if (messages == NULL) {
        messages = val_get(a->json, "input");
    }
    if (model.n > 0) {
        buf_fmt(out, " (model %.*s", STR_FMT(utf8_prefix(model, PREVIEW_CHARS)));
        if (val_is(messages, VAL_ARRAY)) {
            buf_fmt(out, ", %zu message%s", messages->count, messages->count == 1 ? "" : "s");
        }
        buf_char(out, ')');
    }
}

/* Tools that were offered when it was recorded and are not now. Told with "; " behind. */
static void add_lost_tools(struct buf *out, const struct interaction *it, const struct asked *a)
{
    struct arena *arena = arena_new();
    enum wire_format format;
    struct str *had = NULL;
    struct str *has = NULL;
    struct buf names = {0};
    size_t lost = 0;
    size_t n = 0;
    size_t n_has = 0;
    if (!it->tool && wire_of_url(it->uri, &format)) {
        n = wire_offered_tools(format, it->request_json, arena, &had);
        n_has = wire_offered_tools(format, a->json, arena, &has);
    }
    for (size_t i = 0; i < n && lost <= TOOLS_SHOWN; i++) {
        bool kept = false;
        for (size_t k = 0; k < n_has && !kept; k++) {
            kept = str_eq(had[i], has[k]);
        }
        if (!kept && lost++ < TOOLS_SHOWN) {
            buf_addz(&names, lost == 1 ? "" : ", ");
            buf_add(&names, text_preview(arena, had[i], PREVIEW_CHARS));
        }
    }
    if (lost > 0) {
        buf_fmt(out, "the recording offers tool%s ", lost == 1 ? "" : "s");
        buf_add(out, buf_str(&names));
        buf_addz(out, lost > TOOLS_SHOWN ? ", …" : "");
        buf_addz(out, ", which this run does not (give them with --tools, or in the golden set); ");
    }
    buf_free(&names);
    arena_free(arena);
}

/* Where messages came or went, all behind them differ: their number says more. */
static void add_message_counts(struct buf *out, const struct interaction *it, const struct asked *a)
{
    static const char *const keys[][2] = {{"messages", "message"}, {"input", "input item"}};
    for (size_t i = 0; i < 2; i++) {
        const struct val *recorded = val_get(it->request_json, keys[i][0]);
        const struct val *sent = val_get(a->json, keys[i][0]);
        if (val_is(recorded, VAL_ARRAY) && val_is(sent, VAL_ARRAY) &&
            recorded->count != sent->count) {
            buf_fmt(out, "the request has %zu %s%s, the recording %zu; ", sent->count, keys[i][1],
                    sent->count == 1 ? "" : "s", recorded->count);
        }
    }
}

/* How a request differs from a recording, on one line. */
static void add_difference(struct buf *out, const struct interaction *it, const struct asked *a,
                           const struct difference *d)
{
    add_lost_tools(out, it, a);
    add_message_counts(out, it, a);
    buf_add(out, buf_str(&d->where));
    if (d->count > 1) {
        buf_fmt(out, ", and %zu%s more", d->count - 1, d->count == DIFFERENCES_MAX ? " or" : "");
    }
}

static void add_nearest(struct buf *out, struct player *p, const struct asked *a)
{
    const struct interaction *items = p->o.cassette->items;
    struct key place = cassette_key_of_place(a->method, a->uri);
    uint32_t first = cassette_index_first(p->places, place);
    if (first == INDEX_NONE) {
        buf_addz(out, "the cassette holds nothing for this path");
        return;
    }
    if (!items[first].tool && player_unused_from(p, first) == INDEX_NONE) {
        uint32_t n = p->recorded[first];
        buf_fmt(out, "the recording holds %u request%s to ", n, n == 1 ? "" : "s");
        buf_add(out, cassette_request_path(a->uri));
        buf_fmt(out, "; this is request %u", p->requests[first]);
        return;
    }
    uint32_t i = cassette_index_first(
        p->answers, cassette_key_by(p->rules, a->method, a->uri, a->body, a->json));
    if (i != INDEX_NONE) {
        buf_fmt(out, "interaction %u matched but was used already", items[i].n);
        return;
    }
    i = player_nearest(p, place, a, true);
    struct difference d = differences(p, &items[i], a);
    buf_fmt(out, "nearest is interaction %u%s: ", items[i].n, p->used[i] ? " (used already)" : "");
    if (d.count == 0) { /* what is left of a key */
        buf_addz(out, "the query of its URL differs");
    } else {
        add_difference(out, &items[i], a, &d);
    }
    cassette_difference_free(&d);
}

/* What the session took of the recording, and the first of what it did not. */
static void add_used(struct buf *out, const struct player *p)
{
    const struct cassette *c = p->o.cassette;
    size_t shown = 0;
    if (p->n_used == c->n) {
        return;
    }
    buf_fmt(out, "\n  %zu of %zu" PLAYER_USED, p->n_used, c->n);
    for (size_t i = p->first_unused, looks = 0; i < c->n && looks < UNUSED_LOOKS_MAX;
         i++, looks++) {
        if (!p->used[i] && shown++ < UNUSED_SHOWN) {
            const struct interaction *it = &c->items[i];
            buf_fmt(out, "%s %u (", shown == 1 ? "" : ",", it->n);
            buf_add(out, it->tool ? it->uri : cassette_request_path(it->uri));
            buf_char(out, ')');
        }
    }
    buf_addz(out, c->n - p->n_used > UNUSED_SHOWN ? ", …" : "");
}

/* Texts for people end without a newline: the next finding brings it. */
static void next_finding(struct buf *out)
{
    if (out->n > 0) {
        buf_char(out, '\n');
    }
}

void player_note_miss(struct player *p, const struct asked *a, struct str what, struct buf *detail)
{
    struct buf near = {0};
    add_nearest(&near, p, a);
    buf_add(detail, what);
    buf_addz(detail, " is not in the cassette; ");
    buf_add(detail, buf_str(&near));
    p->misses++;
    next_finding(&p->miss_text);
    add_asked(&p->miss_text, a);
    buf_fmt(&p->miss_text, ": not in %s\n  ", p->o.cassette->path);
    buf_add(&p->miss_text, buf_str(&near));
    add_used(&p->miss_text, p);
    if (p->o.mend.n > 0) {
        buf_addz(&p->miss_text, "\n  " PLAYER_MEND);
        buf_add(&p->miss_text, p->o.mend);
    }
    buf_free(&near);
}

void player_note_drift(struct player *p, const struct interaction *it, const struct asked *a)
{
    struct difference d = differences(p, it, a);
    if (d.count > 0) {
        p->drifts++;
        next_finding(&p->drift_text);
        buf_fmt(&p->drift_text, "interaction %u: ", it->n);
        add_difference(&p->drift_text, it, a, &d);
    }
    cassette_difference_free(&d);
}

size_t player_list_unused(struct player *p)
{
    size_t n = 0;
    buf_clear(&p->unused_text);
    for (size_t i = 0; i < p->o.cassette->n; i++) {
        const struct interaction *it = &p->o.cassette->items[i];
        if (p->used[i]) {
            continue;
        }
        n++;
        struct asked a = player_recorded(it);
        next_finding(&p->unused_text);
        buf_fmt(&p->unused_text, "interaction %u was not used: ", it->n);
        add_asked(&p->unused_text, &a);
    }
    return n;
}

/* The lines of `text` below a heading. */
static void add_lines(struct buf *out, struct str text)
{
    for (text = str_trim(text); text.n > 0;) {
        buf_addz(out, "\n  ");
        buf_add(out, str_cut(&text, '\n'));
    }
}

bool player_report_text(const struct player_report *r, bool strict, struct buf *out)
{
    const char *error = strict ? ", and --strict makes that an error" : "";
    buf_add(out, str_trim(r->miss_text));
    if (r->drifts > 0) {
        buf_fmt(out, "%s%zu request%s differed from the recording%s:", out->n > 0 ? "\n" : "",
                r->drifts, r->drifts == 1 ? "" : "s", error);
        add_lines(out, r->drift_text);
    }
    bool unused = r->unused > 0 && strict && r->misses == 0;
    if (unused) {
        buf_fmt(out, "%s%zu recorded interaction%s not used%s:", out->n > 0 ? "\n" : "", r->unused,
                r->unused == 1 ? " was" : "s were", error);
        add_lines(out, r->unused_text);
    }
    return r->misses > 0 || unused || (r->drifts > 0 && strict);
}
