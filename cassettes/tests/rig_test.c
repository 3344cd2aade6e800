#include "cassettes/tests/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cassette *rig_load(const char *text)
{
    struct cassette *c = NULL;
    struct err e;
    char line[2048];
    if (cassette_parse("t.yaml", str_of(text), &c, NULL, &e) != 0) {
        printf("\n%s\n", err_text(&e, line, sizeof line));
        CU_FAIL("a good cassette was refused");
        return NULL;
    }
    return c;
}

const char *rig_example(void)
{
    static char text[16384];
    FILE *f = fopen(SOURCE_DIR "/../shared/examples/margin.cassette.yaml", "rb");
    if (f == NULL) {
        return NULL;
    }
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

void rig_begin(struct rig *r)
{
    *r = (struct rig){0};
    r->loop = loop_new();
    r->sched = sched_virtual(r->loop);
}

void rig_end(struct rig *r)
{
    sched_free(r->sched);
    loop_free(r->loop);
    buf_free(&r->heard);
}

void rig_play(struct playing *t, const char *text, struct player_options o)
{
    rig_begin(&t->rig);
    t->c = rig_load(text);
    CU_ASSERT_FATAL(t->c != NULL);
    o.cassette = t->c;
    o.sched = t->rig.sched;
    t->p = player_new(&o);
    t->http = player_transport(t->p);
    t->tools = player_toolbox(t->p);
}

void rig_stop(struct playing *t)
{
    player_free(t->p);
    cassette_free(t->c);
    rig_end(&t->rig);
}

static void note_time(struct rig *r)
{
    buf_fmt(&r->heard, "@%llu ", (unsigned long long)sched_now(r->sched));
}

static void on_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                    size_t n)
{
    struct rig *r = ctx;
    (void)reason;
    (void)headers;
    buf_fmt(&r->heard, "%d[%zu]", status, n);
    note_time(r);
}

static void on_body(void *ctx, struct str piece)
{
    struct rig *r = ctx;
    buf_char(&r->heard, '+');
    buf_add(&r->heard, piece);
    note_time(r);
}

static void on_end(void *ctx, enum http_end end, struct str detail)
{
    struct rig *r = ctx;
    buf_fmt(&r->heard, ".%s", http_end_name(end));
    if (detail.n > 0) {
        buf_char(&r->heard, '(');
        buf_add(&r->heard, detail);
        buf_char(&r->heard, ')');
    }
    note_time(r);
}

static void on_result(void *ctx, const struct tool_output *o, bool miss)
{
    struct rig *r = ctx;
    if (o->ok) {
        buf_addz(&r->heard, "ok(");
        buf_add(&r->heard, o->content);
    } else if (miss) {
        buf_addz(&r->heard, "miss(");
        buf_add(&r->heard, o->message);
    } else {
        buf_fmt(&r->heard, "failed(%.*s %.*s", STR_FMT(o->code), STR_FMT(o->message));
        buf_fmt(&r->heard, "%s%.*s%s", o->hint.n > 0 ? " " : "", STR_FMT(o->hint),
                o->retryable ? " retryable" : "");
    }
    buf_char(&r->heard, ')');
    note_time(r);
}

struct http_sink rig_sink(struct rig *r)
{
    return (struct http_sink){r, on_head, on_body, on_end};
}

struct tool_sink rig_tool_sink(struct rig *r)
{
    return (struct tool_sink){r, on_result};
}

struct http_call *rig_ask(struct rig *r, struct transport *t, const char *url, const char *body)
{
    struct http_header type = {STR("Content-Type"), STR("application/json")};
    struct http_request rq = {STR("POST"), str_of(url), &type, 1, str_of(body)};
    return t->ops->start(t, &rq, rig_sink(r));
}

struct tool_run *rig_call(struct rig *r, struct toolbox *t, const char *name, const char *arguments,
                          uint32_t order)
{
    struct tool_request rq = {STR("c1"), str_of(name), str_of(arguments), order, 1, STR("r1")};
    return t->ops->start(t, &rq, rig_tool_sink(r));
}

void rig_heard(const char *file, int line, struct rig *r, const char *want)
{
    if (r->heard.n > 0 && r->heard.p[r->heard.n - 1] == ' ') {
        r->heard.n--;
    }
    buf_char(&r->heard, '\0');
    testing_text(file, line, r->heard.p, want);
    buf_clear(&r->heard);
}

const char *rig_without_ids(struct buf *b)
{
    struct buf plain = {0};
    cassette_forget_ids(buf_str(b), &plain);
    buf_clear(b);
    buf_add(b, buf_str(&plain));
    buf_char(b, '\0');
    buf_free(&plain);
    b->n--;
    return b->p;
}

void rig_holds(const char *file, int line, struct str text, const char *part)
{
    bool holds = str_find(text, str_of(part)) != SIZE_MAX;
    if (!holds) {
        printf("\n%s:%d:\n  got  %.*s\n  want in it %s\n", file, line, STR_FMT(text), part);
    }
    CU_assertImplementation(holds, (unsigned)line, "CHECK_HOLDS", file, "", CU_FALSE);
}
