#include "fakellm/fake_int.h"

#include <stdlib.h>

enum {
    HANG_MS = 60000 /* when a client's idle limit would give up, as TRANSPORT_LIMITS_DEFAULT */
};

/* What a call delivers next. */
enum stage { STAGE_HEAD, STAGE_BODY, STAGE_END };

struct http_call {
    struct fake_transport *owner;
    struct http_call *next;
    struct http_call **link; /* what points here */
    struct arena *arena;     /* holds the answer and this call */
    struct http_sink sink;
    struct fake_answer answer;
    uint64_t began_ms;
    enum stage stage;
    size_t piece;
    struct timer *timer;
};

struct fake_transport {
    struct transport base;
    struct fake_session *session;
    struct sched *sched;
    struct http_call *calls;
};

static void unlink_call(struct http_call *c)
{
    *c->link = c->next;
    if (c->next != NULL) {
        c->next->link = c->link;
    }
}

static void fire(void *arg);

static void post_at(struct http_call *c, int64_t since_began_ms)
{
    uint64_t now = sched_now(c->owner->sched);
    uint64_t due = c->began_ms + (uint64_t)since_began_ms;
    c->timer = sched_post(c->owner->sched, due > now ? due - now : 0, 0, fire, c);
}

static void post_next(struct http_call *c)
{
    const struct fake_answer *a = &c->answer;
    if (c->piece < a->n_pieces) {
        c->stage = STAGE_BODY;
        post_at(c, a->at_ms[c->piece]);
        return;
    }
    int64_t last = a->n_pieces > 0 ? a->at_ms[a->n_pieces - 1] : a->first_ms;
    c->stage = STAGE_END;
    post_at(c, a->end == HTTP_TIMEOUT ? last + HANG_MS : last);
}

static void send_head(struct http_call *c)
{
    struct http_header headers[FAKE_HEADERS_MAX];
    size_t n = fake_headers(&c->answer, c->arena, headers);
    struct http_sink sink = c->sink;
    int status = c->answer.status;
    post_next(c);
    sink.head(sink.ctx, status, (struct str){0}, headers, n);
}

static void send_piece(struct http_call *c)
{
    const struct fake_answer *a = &c->answer;
    size_t from = c->piece == 0 ? 0 : a->ends[c->piece - 1];
    struct str piece = str_slice(a->body, from, a->ends[c->piece]);
    struct http_sink sink = c->sink;
    c->piece++;
    post_next(c);
    sink.body(sink.ctx, piece);
}

static struct str end_detail(const struct fake_answer *a)
{
    if (a->mismatch || a->refused) {
        return a->message;
    }
    switch (a->end) {
    case HTTP_RESET: return STR("the connection was reset, as the script says");
    case HTTP_TIMEOUT: return STR("nothing came for 60 s, as the script says");
    case HTTP_CLEAN:
    case HTTP_REFUSED:
    case HTTP_STOPPED:
    case HTTP_MISS:
    case HTTP_MISMATCH: break;
    }
    return (struct str){0};
}

/* The call is out of reach before its sink hears of the end: the sink may free the transport. */
static void send_end(struct http_call *c)
{
    unlink_call(c);
    c->sink.end(c->sink.ctx, c->answer.end, end_detail(&c->answer));
    arena_free(c->arena);
}

/* The sink may stop the call, so the next thing is posted before it is called, and nothing of the
 * call is touched after. */
static void fire(void *arg)
{
    struct http_call *c = arg;
    c->timer = NULL;
    switch (c->stage) {
    case STAGE_HEAD: send_head(c); break;
    case STAGE_BODY: send_piece(c); break;
    case STAGE_END: send_end(c); break;
    }
}

static struct http_call *transport_start(struct transport *t, const struct http_request *rq,
                                         struct http_sink sink)
{
    struct fake_transport *f = (struct fake_transport *)t;
    struct arena *arena = arena_new();
    struct http_call *c = arena_alloc(arena, sizeof *c);
    c->owner = f;
    c->arena = arena;
    c->sink = sink;
    c->began_ms = sched_now(f->sched);
    c->next = f->calls;
    c->link = &f->calls;
    if (c->next != NULL) {
        c->next->link = &c->next;
    }
    f->calls = c;
    fake_answer_in(f->session, arena, rq->url, rq->body, &c->answer);
    if (c->answer.mismatch) {
        c->stage = STAGE_END;
        post_at(c, 0);
    } else if (c->answer.status == 0) {
        post_next(c);
    } else {
        c->stage = STAGE_HEAD;
        post_at(c, c->answer.first_ms);
    }
    return c;
}

static void transport_stop(struct transport *t, struct http_call *c)
{
    struct fake_transport *f = (struct fake_transport *)t;
    sched_cancel(f->sched, c->timer);
    unlink_call(c);
    arena_free(c->arena);
}

static void transport_free(struct transport *t)
{
    struct fake_transport *f = (struct fake_transport *)t;
    while (f->calls != NULL) {
        transport_stop(t, f->calls);
    }
    free(f);
}

struct transport *transport_fake(struct fake_session *f, struct sched *s)
{
    static const struct transport_ops ops = {transport_start, transport_stop, transport_free, NULL};
    struct fake_transport *t = mem_zero(sizeof *t);
    t->base.ops = &ops;
    t->session = f;
    t->sched = s;
    return &t->base;
}
