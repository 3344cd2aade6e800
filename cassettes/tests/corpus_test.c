/* Every recorded request of the corpus, asked of a player: as it was sent it gets its own answer,
 * byte for byte; with one value changed it is a miss that names the value. */
#include "cassettes/tests/rig.h"
#include "kernel/base/json.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define MARK "changed here: "

/* What became of the interactions of one kind. */
struct tally {
    size_t interactions;
    size_t replayed; /* with the recorded status, body and end */
    size_t changed;  /* had a value that could be changed */
    size_t named;    /* and the miss named it */
};

enum { KINDS = 4 }; /* the formats, and other addresses */
static struct tally tallies[KINDS];

/* An answer as a client gets it. */
struct got {
    int status;
    struct buf body;
    struct buf detail;
    enum http_end end;
    bool ended;
};

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n)
{
    struct got *g = ctx;
    (void)reason;
    (void)headers;
    (void)n;
    g->status = status;
}

static void on_body(void *ctx, struct str piece)
{
    struct got *g = ctx;
    buf_add(&g->body, piece);
}

static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct got *g = ctx;
    g->end = end;
    g->ended = true;
    buf_add(&g->detail, detail);
}

static void ask(struct rig *r, struct player *p, const struct interaction *it, struct str body,
                struct got *g)
{
    struct transport *t = player_transport(p);
    struct http_request rq = {.method = it->method, .url = it->uri, .body = body};
    struct http_sink sink = {.ctx = g, .head = on_head, .body = on_body, .end = on_end};
    *g = (struct got){0};
    t->ops->start(t, &rq, sink);
    loop_run(r->loop);
    CU_ASSERT_TRUE(g->ended);
}

static void got_free(struct got *g)
{
    buf_free(&g->body);
    buf_free(&g->detail);
}

static struct player *play(struct rig *r, const struct cassette *c)
{
    struct player_options o = {.cassette = c, .sched = r->sched};
    return player_new(&o);
}

/* The last text that a person or a tool wrote: the longest way down to a changed value. */
static const struct val *last_text(const struct val *v, bool wanted)
{
    const struct val *found = NULL;
    if (v->kind == VAL_STRING) {
        return wanted && v->text.n > 0 ? v : NULL;
    }
    for (size_t i = 0; v->kind == VAL_ARRAY && i < v->count; i++) {
        const struct val *inside = last_text(&v->items[i], wanted);
        found = inside != NULL ? inside : found;
    }
    for (size_t i = 0; v->kind == VAL_OBJECT && i < v->count; i++) {
        const struct member *m = &v->members[i];
        bool text = str_is(m->key, "content") || str_is(m->key, "text") ||
                    str_is(m->key, "input") || str_is(m->key, "output");
        const struct val *inside =
            last_text(&m->value, text || (wanted && m->value.kind != VAL_STRING));
        found = inside != NULL ? inside : found;
    }
    return found;
}

/* The body with the mark before that text; false when it has none. */
static bool change(const struct interaction *it, struct buf *out)
{
    struct arena *arena = arena_new();
    struct val *root = NULL;
    const struct val *text = NULL;
    if (json_parse(arena, NULL, it->request_body, &root, NULL) == 0) {
        text = last_text(root, false);
    }
    if (text != NULL) {
        size_t at = (size_t)(text->raw.p - it->request_body.p) + 1;
        buf_add(out, str_slice(it->request_body, 0, at));
        buf_addz(out, MARK);
        buf_add(out, str_slice(it->request_body, at, it->request_body.n));
    }
    arena_free(arena);
    return text != NULL;
}

static struct tally *tally_of(const struct interaction *it)
{
    enum wire_format format;
    return &tallies[wire_of_url(it->uri, &format) ? (size_t)format : KINDS - 1];
}

/* All requests in their order, as a session would send them. */
static void replay_as_sent(const char *path, const struct cassette *c)
{
    struct rig r;
    rig_begin(&r);
    struct player *p = play(&r, c);
    for (size_t i = 0; i < c->n; i++) {
        const struct interaction *it = &c->items[i];
        struct tally *t = tally_of(it);
        struct got g;
        ask(&r, p, it, it->request_body, &g);
        bool same =
            g.status == it->status && str_eq(buf_str(&g.body), it->body) && g.end == it->ended;
        t->interactions++;
        t->replayed += same;
        if (!same) {
            printf("\n%s, interaction %zu: %d, %zu bytes: %.*s\n", path, i + 1, g.status, g.body.n,
                   STR_FMT(buf_str(&g.detail)));
        }
        got_free(&g);
    }
    CU_ASSERT_EQUAL(player_report(p).misses, 0);
    CU_ASSERT_EQUAL(player_report(p).unused, 0);
    player_free(p);
    rig_end(&r);
}

static void replay_changed(const char *path, const struct cassette *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct interaction *it = &c->items[i];
        struct tally *t = tally_of(it);
        struct buf body = {0};
        struct got g;
        struct rig r;
        rig_begin(&r);
        struct player *p = play(&r, c);
        if (change(it, &body)) {
            ask(&r, p, it, buf_str(&body), &g);
            bool named = g.end == HTTP_MISS && str_find(buf_str(&g.detail), STR(MARK)) != SIZE_MAX;
            t->changed++;
            t->named += named;
            if (!named) {
                printf("\n%s, interaction %zu changed: %s: %.*s\n", path, i + 1,
                       http_end_name(g.end), STR_FMT(buf_str(&g.detail)));
            }
            got_free(&g);
        }
        player_free(p);
        rig_end(&r);
        buf_free(&body);
    }
}

static void replay_folder(const char *folder)
{
    DIR *d = opendir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(d);
    for (const struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d)) {
        char path[1024];
        struct cassette *c = NULL;
        if (!str_ends(str_of(entry->d_name), ".yaml") &&
            !str_ends(str_of(entry->d_name), ".json")) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        CU_ASSERT_EQUAL_FATAL(cassette_load(path, &c, NULL, NULL), 0);
        replay_as_sent(path, c);
        replay_changed(path, c);
        cassette_free(c);
    }
    closedir(d);
}

static void every_recorded_request_finds_its_own_answer(void)
{
    static const char *const names[KINDS] = {"openai", "responses", "anthropic", "other"};
    const char *folder = testing_corpus("cassettes");
    const char *vanilla = testing_corpus("cassettes/vanilla");
    if (folder == NULL || vanilla == NULL) {
        testing_skip("no corpus");
        return;
    }
    memset(tallies, 0, sizeof tallies);
    replay_folder(folder);
    replay_folder(vanilla);
    printf("\n    %-10s %12s %8s %8s %8s\n", "format", "interactions", "replayed", "changed",
           "named");
    for (size_t i = 0; i < KINDS; i++) {
        const struct tally *t = &tallies[i];
        printf("    %-10s %12zu %8zu %8zu %8zu\n", names[i], t->interactions, t->replayed,
               t->changed, t->named);
        CU_ASSERT_EQUAL(t->replayed, t->interactions);
        CU_ASSERT_EQUAL(t->named, t->changed);
    }
}

TESTS(corpus, {"every_recorded_request_of_the_corpus_finds_its_own_answer_and_a_changed_one_misses",
               every_recorded_request_finds_its_own_answer})
