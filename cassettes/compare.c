/* Compares two cassettes: what each asks, and what it is answered. */
#include "cassettes/cassette_int.h"
#include "cassettes/edit.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

enum { SHOWN_MAX = 5, TEXT_CHARS = 200 };

/* A comparison under way. Interactions of both are named by number, from 1; 0 = there is none. */
struct side {
    const struct cassette *c;
    uint32_t *partner; /* of each interaction: its number in the other, 0 = none yet */
};

struct versus {
    struct side a;
    struct side b;
    struct arena *arena;
    struct buf *out;
    bool json;
    size_t told;       /* pairs or single ones that differ */
    struct buf change; /* what is said of the pair at hand */
    size_t changes;
};

/* ---- pairing ---- */

static struct key key_of(const struct interaction *it, bool whole)
{
    return whole ? cassette_key_of_request(it->method, it->uri, it->request_body, it->request_json)
                 : cassette_key_of_place(it->method, it->uri);
}

/* Pairs those that have no partner yet and the same request (whole), else the same place, in their
 * order. */
static void pair(struct versus *v, bool whole)
{
    const struct cassette *a = v->a.c;
    const struct cassette *b = v->b.c;
    struct index *x = cassette_index_new(v->arena, (uint32_t)b->n);
    for (uint32_t i = 0; i < b->n; i++) {
        if (v->b.partner[i] == 0) {
            cassette_index_add(x, key_of(&b->items[i], whole), i);
        }
    }
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t k =
            v->a.partner[i] != 0 ? INDEX_NONE : cassette_index_take(x, key_of(&a->items[i], whole));
        if (k != INDEX_NONE) {
            v->a.partner[i] = k + 1;
            v->b.partner[k] = i + 1;
        }
    }
}

/* ---- telling ---- */

/* One change: where, and both values as they are shown. */
static void tell(void *ctx, struct str path, struct str a, struct str b)
{
    struct versus *v = ctx;
    struct buf plain[2] = {{0}, {0}};
    cassette_redact_text(a, &plain[0]);
    cassette_redact_text(b, &plain[1]);
    a = buf_str(&plain[0]);
    b = buf_str(&plain[1]);
    if (v->json) {
        json_next(&v->change);
        buf_char(&v->change, '{');
        json_put_text(&v->change, "path", path);
        json_put_text(&v->change, "a", a);
        json_put_text(&v->change, "b", b);
        buf_char(&v->change, '}');
    } else {
        buf_addz(&v->change, "  ");
        buf_add(&v->change, path);
        buf_addz(&v->change, ": ");
        buf_add(&v->change, a);
        buf_addz(&v->change, " → ");
        buf_add(&v->change, b);
        buf_char(&v->change, '\n');
    }
    v->changes++;
    buf_free(&plain[0]);
    buf_free(&plain[1]);
}

static void tell_text(struct versus *v, const char *what, struct str a, struct str b)
{
    if (str_eq(a, b)) {
        return;
    }
    struct str shown[2];
    struct str texts[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        struct buf quoted = {0};
        json_add_string(&quoted, utf8_prefix(texts[i], TEXT_CHARS));
        shown[i] = arena_str(v->arena, buf_str(&quoted));
        buf_free(&quoted);
    }
    if (str_eq(shown[0], shown[1])) { /* they part further on */
        cassette_differences(a, b, 1, tell, v);
        return;
    }
    tell(v, str_of(what), shown[0], shown[1]);
}

static void tell_number(struct versus *v, const char *what, int64_t a, int64_t b)
{
    if (a != b) {
        tell(v, str_of(what), arena_printf(v->arena, "%lld", (long long)a),
             arena_printf(v->arena, "%lld", (long long)b));
    }
}

/* ---- a pair ---- */

static void compare_requests(struct versus *v, const struct interaction *a,
                             const struct interaction *b)
{
    struct buf left = {0};
    struct buf right = {0};
    struct buf urls[2] = {{0}, {0}};
    cassette_redact_url(a->uri, &urls[0]);
    cassette_redact_url(b->uri, &urls[1]);
    tell_text(v, "method", a->method, b->method);
    if (!str_eq(cassette_request_path(a->uri), cassette_request_path(b->uri))) {
        tell_text(v, "uri", buf_str(&urls[0]), buf_str(&urls[1]));
    }
    cassette_meaning(a->uri, a->request_body, a->request_json, &left);
    cassette_meaning(b->uri, b->request_body, b->request_json, &right);
    if (!str_eq(buf_str(&left), buf_str(&right))) {
        size_t n = cassette_differences(buf_str(&left), buf_str(&right), SHOWN_MAX, tell, v);
        if (n > SHOWN_MAX && !v->json) {
            buf_fmt(&v->change, "  and %zu more\n", n - SHOWN_MAX);
        }
    }
    buf_free(&left);
    buf_free(&right);
    buf_free(&urls[0]);
    buf_free(&urls[1]);
}

static void compare_usage(struct versus *v, const struct usage *a, const struct usage *b)
{
    tell_number(v, "usage.input", a->input, b->input);
    tell_number(v, "usage.cached", a->cached, b->cached);
    tell_number(v, "usage.cache_write", a->cache_write, b->cache_write);
    tell_number(v, "usage.output", a->output, b->output);
    tell_number(v, "usage.reasoning", a->reasoning, b->reasoning);
}

/* Calls by their place; their ids differ from run to run. */
static void compare_calls(struct versus *v, const struct reply *a, const struct reply *b)
{
    size_t n = a->n_calls > b->n_calls ? a->n_calls : b->n_calls;
    for (size_t i = 0; i < n; i++) {
        struct str says[2] = {STR("nothing"), STR("nothing")};
        const struct reply *replies[] = {a, b};
        for (size_t k = 0; k < 2; k++) {
            if (i < replies[k]->n_calls) {
                const struct tool_call *call = &replies[k]->calls[i];
                struct str arguments = text_preview(v->arena, call->arguments, TEXT_CHARS);
                says[k] =
                    arena_printf(v->arena, "%.*s(%.*s)", STR_FMT(call->name), STR_FMT(arguments));
            }
        }
        bool same = i < a->n_calls && i < b->n_calls &&
                    str_eq(a->calls[i].name, b->calls[i].name) &&
                    str_eq(a->calls[i].arguments, b->calls[i].arguments);
        if (!same) {
            tell(v, arena_printf(v->arena, "calls[%zu]", i), says[0], says[1]);
        }
    }
}

static void compare_answers(struct versus *v, const struct interaction *a,
                            const struct interaction *b)
{
    struct reading x = cassette_reading_of(a, v->arena);
    struct reading y = cassette_reading_of(b, v->arena);
    tell_number(v, "status", a->status, b->status);
    tell_text(v, "ended", str_of(http_end_name(a->ended)), str_of(http_end_name(b->ended)));
    bool replies = x.decoder != NULL && y.decoder != NULL && x.result.ok && y.result.ok;
    if (replies) {
        const struct reply *p = &x.result.reply;
        const struct reply *q = &y.result.reply;
        tell_text(v, "text", p->content, q->content);
        tell_text(v, "reasoning", p->reasoning, q->reasoning);
        tell_text(v, "stop", str_of(stop_name(p->stop)), str_of(stop_name(q->stop)));
        compare_calls(v, p, q);
        compare_usage(v, &p->usage, &q->usage);
    } else if (!str_eq(a->body, b->body)) {
        struct buf left = {0};
        struct buf right = {0};
        cassette_meaning(STR(""), a->body, NULL, &left);
        cassette_meaning(STR(""), b->body, NULL, &right);
        cassette_differences(buf_str(&left), buf_str(&right), SHOWN_MAX, tell, v);
        buf_free(&left);
        buf_free(&right);
    }
    cassette_reading_free(&x);
    cassette_reading_free(&y);
}

/* ---- what is told of one ---- */

static void add_finding(struct versus *v, const char *what, const struct interaction *a,
                        const struct interaction *b)
{
    const struct interaction *it = a != NULL ? a : b;
    struct buf url = {0};
    cassette_redact_url(it->uri, &url);
    struct str shown = text_preview(v->arena, buf_str(&url), TEXT_CHARS);
    if (v->json) {
        buf_char(v->out, '{');
        json_put_text(v->out, "change", str_of(what));
        json_put_known(v->out, "a", a == NULL ? -1 : (int64_t)a->n);
        json_put_known(v->out, "b", b == NULL ? -1 : (int64_t)b->n);
        json_put_text(v->out, "method", it->method);
        json_put_text(v->out, "uri", buf_str(&url));
        json_key(v->out, "differences");
        buf_char(v->out, '[');
        buf_add(v->out, buf_str(&v->change));
        buf_addz(v->out, "]}\n");
    } else {
        buf_fmt(v->out, "interaction %u", it->n);
        if (a != NULL && b != NULL && a->n != b->n) {
            buf_fmt(v->out, " and %u", b->n);
        }
        buf_fmt(v->out, ": %s: %.*s %.*s\n", what, STR_FMT(it->method), STR_FMT(shown));
        buf_add(v->out, buf_str(&v->change));
    }
    buf_free(&url);
    v->told++;
}

static void compare_pair(struct versus *v, const struct interaction *a, const struct interaction *b,
                         bool answers)
{
    v->changes = 0;
    buf_clear(&v->change);
    if (answers) {
        compare_answers(v, a, b);
    } else {
        compare_requests(v, a, b);
    }
    if (v->changes > 0) {
        add_finding(v, answers ? "changed answer" : "changed request", a, b);
    }
    buf_clear(&v->change);
}

size_t cassette_compare(const struct cassette *a, const struct cassette *b, bool json,
                        struct buf *out)
{
    struct versus v = {.a = {a, NULL}, .b = {b, NULL}, .out = out, .json = json};
    v.arena = arena_new();
    v.a.partner = arena_array(v.arena, a->n, sizeof *v.a.partner);
    v.b.partner = arena_array(v.arena, b->n, sizeof *v.b.partner);
    pair(&v, true);
    pair(&v, false);
    for (size_t i = 0; i < a->n; i++) {
        if (v.a.partner[i] == 0) {
            add_finding(&v, "removed", &a->items[i], NULL);
            continue;
        }
        const struct interaction *other = &b->items[v.a.partner[i] - 1];
        compare_pair(&v, &a->items[i], other, false);
        compare_pair(&v, &a->items[i], other, true);
    }
    for (size_t i = 0; i < b->n; i++) {
        if (v.b.partner[i] == 0) {
            add_finding(&v, "added", NULL, &b->items[i]);
        }
    }
    buf_free(&v.change);
    arena_free(v.arena);
    return v.told;
}
