/* Any bytes as a cassette: what loads is shown as JSON lines and checked, loads again from what we
 * write of it, and answers every request it holds when it is played. */
#include <assert.h>

#include "cassettes/cassette_int.h"
#include "cassettes/edit.h"
#include "cassettes/player.h"
#include "kernel/base/json.h"
#include "kernel/drive/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json_lines(const struct cassette *c)
{
    struct buf out = {0};
    size_t lines = 0;
    cassette_show(c, true, &out);
    for (struct str rest = buf_str(&out); rest.n > 0; lines++) {
        struct arena *arena = arena_new();
        struct val *v;
        size_t end = str_find(rest, STR("\n"));
        int rc = json_parse(arena, NULL, str_slice(rest, 0, end), &v, NULL);
        assert(rc == 0 && end != SIZE_MAX);
        rest = str_slice(rest, end + 1, rest.n);
        arena_free(arena);
    }
    assert(lines == c->n);
    buf_clear(&out);
    cassette_show(c, false, &out);
    buf_free(&out);
}

static void on_finding(void *ctx, const struct finding *f)
{
    (void)ctx;
    assert(f->code != NULL && f->message.n > 0);
}

/* A key that the answer may quote is not written either. */
static bool carries_key(const struct interaction *it)
{
    static const char *const names[] = {"authorization", "x-api-key", "api-key"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (http_header_get(it->request_headers, it->n_request_headers, names[i]).n > 0) {
            return true;
        }
    }
    return false;
}

static bool is_json(struct str text)
{
    struct arena *arena = arena_new();
    struct val *v;
    bool good = json_parse(arena, NULL, text, &v, NULL) == 0;
    arena_free(arena);
    return good;
}

static size_t events_in(struct str body)
{
    size_t n = 0;
    while (body.n > 0) {
        size_t end = str_find(body, STR("\n"));
        struct str line = str_slice(body, 0, end);
        n += is_json(str_starts(line, "data:") ? str_slice(line, 5, line.n) : line);
        body = end == SIZE_MAX ? (struct str){NULL, 0} : str_slice(body, end + 1, body.n);
    }
    return n;
}

/* What is hidden is hidden at once: nothing is left that a second look would find. */
static bool still_says_a_key(const struct interaction *it)
{
    struct buf out = {0};
    struct buf parts = {0};
    bool any = cassette_redact_answer(it, (struct str){NULL, 0}, &out, &parts);
    buf_free(&out);
    buf_free(&parts);
    return any;
}

/* What can be rewritten is good in itself, and differs from the old in nothing but that. */
static void check_rewritten(struct cassette *c)
{
    static const struct str paths[] = {{"messages[*].content", 19}, {"*.*", 3}, {"a['b'][0]", 9}};
    const struct hiding hiding = {.paths = paths, .n_paths = 3};
    const struct pruning pruning = {.duplicates = true, .failed = true};
    struct buf out = {0};
    struct buf told = {0};
    size_t n;
    struct err e;
    assert(cassette_compare(c, c, false, &out) == 0 && out.n == 0);
    if (cassette_prune(c, &pruning, &out, &told, &n, &e) == 0) {
        assert(n <= c->n);
    }
    buf_clear(&out);
    if (cassette_hide(c, &hiding, &n, &e) == 0) {
        struct cassette *hidden;
        cassette_write(c, &out);
        int rc = cassette_parse("hidden.yaml", buf_str(&out), &hidden, NULL, &e);
        assert(rc == 0 && (hidden->n == c->n || c->ours));
        cassette_compare(c, hidden, true, &told);
        cassette_free(hidden);
    }
    buf_free(&out);
    buf_free(&told);
}

static void check_imported(struct str text)
{
    struct cassette *c;
    struct buf left_out = {0};
    struct err e;
    if (cassette_import_text("fuzz.har", text, &c, &left_out, &e) == 0) {
        if (c->n > 0) {
            struct buf out = {0};
            struct cassette *again;
            cassette_write(c, &out);
            int rc = cassette_parse("imported.yaml", buf_str(&out), &again, NULL, &e);
            assert(rc == 0 && again->n == c->n && !again->torn);
            cassette_free(again);
            buf_free(&out);
        }
        cassette_free(c);
    }
    buf_free(&left_out);
}

static void check_written(const struct cassette *c)
{
    struct buf text = {0};
    struct cassette *again;
    struct err e;
    cassette_add_head(
        &text, &(struct cassette_head){
                   .run = STR("abc"), .seed = 7, .started_at = STR("2026-11-29T18:00:00.000Z")});
    for (size_t i = 0; i < c->n; i++) {
        cassette_add_interaction(&text, &c->items[i]);
    }
    int rc = cassette_parse("written.yaml", buf_str(&text), &again, NULL, &e);
    assert(rc == 0);
    assert(again->n == c->n && !again->torn);
    for (size_t i = 0; i < c->n; i++) {
        struct buf want = {0};
        struct buf parts = {0};
        cassette_redact_answer(&c->items[i], (struct str){NULL, 0}, &want, &parts);
        assert(!is_json(c->items[i].body) || is_json(buf_str(&want)));
        assert(events_in(c->items[i].body) <= events_in(buf_str(&want)));
        assert(again->items[i].status == c->items[i].status);
        assert(carries_key(&c->items[i]) || str_eq(again->items[i].body, buf_str(&want)));
        assert(!still_says_a_key(&again->items[i]));
        buf_free(&want);
        buf_free(&parts);
    }
    cassette_free(again);
    buf_free(&text);
}

/* ---- playing ---- */

enum { PLAYED_MAX = 40 };

/* What comes in answer to one request: at most one head, before any body; one end. */
struct heard {
    unsigned heads;
    unsigned ends;
};

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n_headers)
{
    struct heard *h = ctx;
    (void)reason;
    (void)headers;
    (void)n_headers;
    assert(status != 0 && h->heads++ == 0 && h->ends == 0);
}

static void on_body(void *ctx, struct str piece)
{
    const struct heard *h = ctx;
    assert(h->ends == 0 && piece.n > 0);
}

static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct heard *h = ctx;
    (void)detail;
    assert(end != HTTP_STOPPED && h->ends++ == 0);
}

static void on_result(void *ctx, const struct tool_output *output, bool miss)
{
    struct heard *h = ctx;
    assert(h->ends++ == 0 && (output->ok || output->code.n > 0));
    (void)miss;
}

static void check_played(const struct cassette *c, enum cassette_match match)
{
    struct heard heard[PLAYED_MAX] = {{0, 0}};
    struct loop *loop = loop_new();
    struct sched *sched = sched_virtual(loop);
    struct player *p =
        player_new(&(struct player_options){.cassette = c, .match = match, .sched = sched});
    struct transport *http = player_transport(p);
    struct toolbox *tools = player_toolbox(p);
    for (size_t i = 0; i < c->n && i < PLAYED_MAX; i++) {
        const struct interaction *it = &c->items[i];
        if (it->tool) {
            struct tool_request rq = {.call_id = it->call_id,
                                      .name = str_slice(it->uri, 5, it->uri.n),
                                      .arguments = it->request_body,
                                      .order = (uint32_t)i,
                                      .attempt = 1};
            tools->ops->start(tools, &rq, (struct tool_sink){&heard[i], on_result});
        } else {
            struct http_request rq = {it->method, it->uri, NULL, 0, it->request_body};
            struct http_sink sink = {&heard[i], on_head, on_body, on_end};
            http->ops->start(http, &rq, sink);
        }
        loop_run(loop);
        assert(heard[i].ends == 1 || it->ended == HTTP_STOPPED || !c->ours);
    }
    struct player_report r = player_report(p);
    assert(!c->ours || (r.misses == 0 && r.drifts == 0));
    assert(!c->ours || c->n > PLAYED_MAX || r.unused == 0);
    player_free(p);
    sched_free(sched);
    loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cassette *c;
    struct buf warning = {0};
    struct err e = {.code = 0};
    if (cassette_parse("fuzz.yaml", (struct str){(const char *)data, size}, &c, &warning, &e) ==
        0) {
        check_json_lines(c);
        cassette_check(c, on_finding, NULL);
        check_played(c, CASSETTE_BODY);
        check_played(c, CASSETTE_ORDER);
        if (c->n > 0) {
            check_written(c);
        }
        check_rewritten(c);
        cassette_free(c);
    } else {
        assert(e.message[0] != '\0');
    }
    check_imported((struct str){(const char *)data, size});
    buf_free(&warning);
    return 0;
}
