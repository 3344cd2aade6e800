/* Replays a cassette. A request takes the first recording of its key that was not taken yet; what
 * it then says comes at the recorded milliseconds, by the scheduler alone. */
#include "cassettes/player_int.h"
#include "kernel/base/json.h"
#include "kernel/base/rng.h"

#include <stdlib.h>

enum { REPORT_BYTES_MAX = 1 << 20 };

enum speech {
    WAITING,  /* for its timer, or for ever */
    SPEAKING, /* inside a sink call */
    STOPPED   /* stopped inside a sink call: gone when that returns */
};

/* One answer being given: of a recording, or where that is NULL of somebody else or of a miss. */
struct http_call {
    struct player *player;
    struct http_call *next;
    struct http_call **link; /* what points here */
    const struct interaction *it;
    struct http_call *live; /* who answers instead */
    struct http_sink sink;
    struct timer *timer;
    enum speech state;
    bool head_done;
    struct cassette_chunk *chunks; /* owned where `it` has others */
    size_t n_chunks;
    int64_t at_ms; /* of the step that is due, since the start */
    size_t chunk;
    size_t sent; /* bytes of the body */
    struct buf detail;
};

struct tool_run {
    struct player *player;
    struct tool_run *next;
    struct tool_run **link;
    const struct interaction *it;
    struct tool_sink sink;
    struct timer *timer;
    struct tool_run *inner; /* the fallback's, when it answers */
    struct buf detail;
};

/* ---- what is asked ---- */

static struct asked asked_of(struct arena *arena, struct str method, struct str uri,
                             struct str body)
{
    struct asked a = {method, uri, body, NULL};
    struct val *json = NULL;
    if (json_parse(arena, NULL, body, &json, NULL) == 0) {
        a.json = json;
    }
    return a;
}

static struct asked asked_call(struct arena *arena, struct str tool, struct str arguments)
{
    return asked_of(arena, STR("CALL"), arena_printf(arena, "tool:%.*s", STR_FMT(tool)), arguments);
}

static struct asked asked_decision(struct arena *arena, struct str tool, struct str arguments)
{
    return asked_of(arena, STR("ASK"), arena_printf(arena, "approval:%.*s", STR_FMT(tool)),
                    arguments);
}

static struct key answer_key(const struct player *p, const struct asked *a, bool tool)
{
    return p->o.match == CASSETTE_ORDER && !tool
               ? cassette_key_of_place(a->method, a->uri)
               : cassette_key_by(p->rules, a->method, a->uri, a->body, a->json);
}

/* The key to take an answer by. Most requests hold nothing to hide: those are found without looking
 * for it. */
static struct key take_key(const struct player *p, const struct asked *a, bool tool)
{
    if (p->o.match != CASSETTE_ORDER && a->json != NULL && cassette_rules_count(p->rules) == 0) {
        struct key key = cassette_key_as_sent(a->method, a->uri, a->json);
        if (cassette_index_first(p->answers, key) != INDEX_NONE) {
            return key;
        }
    }
    return answer_key(p, a, tool);
}

/* The next recording for a request, which counts as used then, or INDEX_NONE. */
static uint32_t take(struct player *p, const struct asked *a, bool tool)
{
    uint32_t i;
    struct key key = take_key(p, a, tool);
    do {
        i = cassette_index_take(p->answers, key);
    } while (i != INDEX_NONE && p->used[i]);
    if (i == INDEX_NONE && p->o.match == CASSETTE_RELAXED && !tool) {
        i = player_nearest(p, cassette_key_of_place(a->method, a->uri), a, false);
    }
    if (i != INDEX_NONE) {
        player_use(p, i);
    }
    return i;
}

/* ---- HTTP ---- */

static void free_call(struct http_call *call)
{
    if (call->it != NULL && call->chunks != call->it->chunks) {
        free(call->chunks);
    }
    buf_free(&call->detail);
    free(call);
}

static void unlink_call(struct http_call *call)
{
    *call->link = call->next;
    if (call->next != NULL) {
        call->next->link = call->link;
    }
}

static void speak(void *arg);

static void speak_at(struct http_call *call, int64_t at_ms)
{
    int64_t delay = at_ms > call->at_ms ? at_ms - call->at_ms : 0;
    call->at_ms += delay;
    call->timer = sched_post(call->player->o.sched, (uint64_t)delay, 0, speak, call);
}

/* When the next thing is said, or -1 = never. */
static int64_t next_at(const struct http_call *call)
{
    const struct interaction *it = call->it;
    if (it == NULL) {
        return 0;
    }
    if (call->chunk < call->n_chunks) {
        return call->chunks[call->chunk].at_ms;
    }
    return it->ended == HTTP_STOPPED ? -1 : it->took_ms;
}

static void say_body(struct http_call *call, size_t n)
{
    struct str piece = str_slice(call->it->body, call->sent, call->sent + n);
    call->sent += piece.n;
    if (piece.n > 0 && call->state == SPEAKING) {
        call->sink.body(call->sink.ctx, piece);
    }
}

/* Everything that is due at call->at_ms, without the end. */
static void say_due(struct http_call *call)
{
    const struct interaction *it = call->it;
    if (!call->head_done && it->status != 0) {
        call->head_done = true;
        call->sink.head(call->sink.ctx, it->status, it->reason, it->headers, it->n_headers);
    }
    while (call->state == SPEAKING && call->chunk < call->n_chunks &&
           call->chunks[call->chunk].at_ms <= call->at_ms) {
        say_body(call, (size_t)call->chunks[call->chunk++].bytes);
    }
}

static void finish_call(struct http_call *call)
{
    enum http_end end = call->it == NULL ? HTTP_MISS : call->it->ended;
    struct str detail = call->it == NULL ? buf_str(&call->detail) : call->it->detail;
    unlink_call(call);
    call->sink.end(call->sink.ctx, end, detail);
    free_call(call);
}

static void speak(void *arg)
{
    struct http_call *call = arg;
    call->timer = NULL;
    call->state = SPEAKING;
    if (call->it != NULL) {
        say_due(call);
    }
    int64_t next = call->state == SPEAKING ? next_at(call) : -1;
    bool last = next >= 0 && next <= call->at_ms;
    if (last && call->it != NULL) {
        say_body(call, call->it->body.n);
    }
    if (call->state == STOPPED) {
        free_call(call);
        return;
    }
    if (last) {
        finish_call(call);
        return;
    }
    call->state = WAITING;
    if (next >= 0) {
        speak_at(call, next);
    }
}

/* ---- bodies in other pieces ---- */

static size_t next_piece(const struct rechunk *how, struct rng *rng)
{
    return how->random ? 1 + (size_t)rng_below(rng, how->bytes) : how->bytes;
}

/* When the byte before `end` came. */
static int64_t came_at(const struct interaction *it, size_t end, size_t *chunk, size_t *covered)
{
    while (*chunk < it->n_chunks && *covered + (size_t)it->chunks[*chunk].bytes < end) {
        *covered += (size_t)it->chunks[*chunk].bytes;
        ++*chunk;
    }
    return *chunk < it->n_chunks ? it->chunks[*chunk].at_ms : it->took_ms;
}

/* A call that is stopped before its body has ended leaves what is behind its last piece unsaid, as
 * it was. */
static void cut_anew(struct http_call *call, const struct rechunk *how)
{
    const struct interaction *it = call->it;
    size_t room = it->body.n / (how->random ? 1 : how->bytes) + 1;
    size_t chunk = 0, covered = 0;
    struct rng rng = rng_seeded(how->seed + it->n);
    call->chunks = mem_alloc(room * sizeof *call->chunks);
    call->n_chunks = 0;
    for (size_t at = 0; at < it->body.n;) {
        size_t n = next_piece(how, &rng);
        n = n < it->body.n - at ? n : it->body.n - at;
        at += n;
        int64_t came = came_at(it, at, &chunk, &covered);
        if (it->ended == HTTP_STOPPED && chunk == it->n_chunks) {
            break;
        }
        call->chunks[call->n_chunks++] = (struct cassette_chunk){came, (int64_t)n};
    }
}

/* ---- requests ---- */

static void add_call(struct player *p, struct http_call *call)
{
    call->player = p;
    call->next = p->calls;
    call->link = &p->calls;
    if (p->calls != NULL) {
        p->calls->link = &call->next;
    }
    p->calls = call;
}

static void pass_head(void *ctx, int status, struct str reason, const struct http_header *headers,
                      size_t n_headers)
{
    struct http_call *call = ctx;
    call->sink.head(call->sink.ctx, status, reason, headers, n_headers);
}

static void pass_body(void *ctx, struct str piece)
{
    struct http_call *call = ctx;
    call->sink.body(call->sink.ctx, piece);
}

static void pass_end(void *ctx, enum http_end end, struct str detail)
{
    struct http_call *call = ctx;
    struct http_sink sink = call->sink;
    unlink_call(call);
    free_call(call);
    sink.end(sink.ctx, end, detail);
}

static void answer_live(struct http_call *call, const struct http_request *rq)
{
    struct player *p = call->player;
    struct transport *live = p->o.live;
    p->live++;
    sched_make_real(p->o.sched);
    call->live =
        live->ops->start(live, rq, (struct http_sink){call, pass_head, pass_body, pass_end});
}

static void answer_recorded(struct http_call *call, const struct interaction *it,
                            const struct asked *a)
{
    struct player *p = call->player;
    call->it = it;
    call->chunks = it->chunks;
    call->n_chunks = it->n_chunks;
    if (p->o.rechunk.bytes > 0 && it->body.n > 0) {
        cut_anew(call, &p->o.rechunk);
    }
    if (p->o.match != CASSETTE_BODY) {
        player_note_drift(p, it, a);
    }
}

static void answer_miss(struct http_call *call, const struct http_request *rq,
                        const struct asked *a)
{
    struct buf what = {0};
    buf_fmt(&what, "%.*s ", STR_FMT(rq->method));
    buf_add(&what, cassette_request_path(rq->url));
    player_note_miss(call->player, a, buf_str(&what), &call->detail);
    buf_free(&what);
}

static struct http_call *start_call(struct transport *t, const struct http_request *rq,
                                    struct http_sink sink)
{
    struct player *p = ((struct player_transport *)t)->player;
    struct arena *arena = arena_new();
    struct asked a = asked_of(arena, rq->method, rq->url, rq->body);
    struct http_call *call = mem_zero(sizeof *call);
    call->sink = sink;
    add_call(p, call);
    uint32_t first = cassette_index_first(p->places, cassette_key_of_place(rq->method, rq->url));
    uint32_t i = take(p, &a, false);
    if (first != INDEX_NONE) {
        p->requests[first]++;
    }
    p->last = i != INDEX_NONE ? &p->o.cassette->items[i] : NULL;
    if (i != INDEX_NONE) {
        answer_recorded(call, &p->o.cassette->items[i], &a);
    } else if (p->o.live != NULL) {
        answer_live(call, rq);
    } else {
        answer_miss(call, rq, &a);
    }
    int64_t next = call->live != NULL ? -1 : next_at(call);
    if (next >= 0) {
        speak_at(call, next);
    }
    arena_free(arena);
    return call;
}

static void stop_call(struct transport *t, struct http_call *call)
{
    struct transport *live = ((struct player_transport *)t)->player->o.live;
    unlink_call(call);
    if (call->live != NULL) {
        live->ops->stop(live, call->live);
    }
    if (call->state == SPEAKING) {
        call->state = STOPPED;
        return;
    }
    sched_cancel(call->player->o.sched, call->timer);
    free_call(call);
}

/* What is recorded is there in full. */
static void pause_call(struct transport *t, struct http_call *call, bool paused)
{
    if (call->live != NULL) {
        http_pause(((struct player_transport *)t)->player->o.live, call->live, paused);
    }
}

/* The player owns it. */
static void free_transport(struct transport *t)
{
    (void)t;
}

/* ---- tools ---- */

static void drop_run(struct tool_run *run)
{
    *run->link = run->next;
    if (run->next != NULL) {
        run->next->link = run->link;
    }
    buf_free(&run->detail);
    free(run);
}

/* A recorded failure: code in the status line, the rest as JSON in the body. */
static void read_failure(struct arena *arena, const struct interaction *it, struct tool_output *o)
{
    struct val *v = NULL;
    o->code = it->reason;
    o->message = it->body;
    if (json_parse(arena, NULL, it->body, &v, NULL) == 0 &&
        val_is(val_get(v, "message"), VAL_STRING)) {
        struct str code = val_text(val_get(v, "code"));
        const struct val *retryable = val_get(v, "retryable");
        o->code = code.n > 0 ? code : o->code;
        o->message = val_text(val_get(v, "message"));
        o->hint = val_text(val_get(v, "hint"));
        o->retryable = val_is(retryable, VAL_BOOL) && retryable->boolean;
    }
    if (o->code.n == 0) {
        o->code = STR("TOOL_ERROR");
    }
}

static void answer_run(void *arg)
{
    struct tool_run *run = arg;
    struct tool_sink sink = run->sink;
    struct arena *arena = arena_new();
    struct tool_output o = {0};
    bool miss = run->it == NULL;
    if (miss) {
        o.code = STR("TOOL_ERROR");
        o.message = arena_str(arena, buf_str(&run->detail));
    } else if (run->it->status == 200) {
        o.ok = true;
        o.content = run->it->body;
    } else {
        read_failure(arena, run->it, &o);
    }
    drop_run(run);
    sink.end(sink.ctx, &o, miss);
    arena_free(arena);
}

static void pass_on(void *ctx, const struct tool_output *output, bool miss)
{
    struct tool_run *run = ctx;
    struct tool_sink sink = run->sink;
    drop_run(run);
    sink.end(sink.ctx, output, miss);
}

static void answer_without_recording(struct player_toolbox *t, const struct tool_request *rq,
                                     struct tool_run *run, const struct asked *a)
{
    const struct player_options *o = &t->player->o;
    bool runs = o->runs_without != NULL && o->runs_without(o->ctx, rq->name);
    if (o->live != NULL) {
        t->player->live++;
        sched_make_real(o->sched);
    }
    if (o->fallback != NULL && (runs || o->live != NULL)) {
        run->inner = o->fallback->ops->start(o->fallback, rq, (struct tool_sink){run, pass_on});
        return;
    }
    struct arena *arena = arena_new();
    struct str what = arena_printf(arena, "a call of the tool %.*s", STR_FMT(rq->name));
    player_note_miss(t->player, a, what, &run->detail);
    arena_free(arena);
    run->timer = sched_post(t->player->o.sched, 0, rq->order, answer_run, run);
}

static struct tool_run *start_run(struct toolbox *base, const struct tool_request *rq,
                                  struct tool_sink sink)
{
    struct player_toolbox *t = (struct player_toolbox *)base;
    struct player *p = t->player;
    struct tool_run *run = mem_zero(sizeof *run);
    run->player = p;
    run->sink = sink;
    run->next = p->runs;
    run->link = &p->runs;
    if (p->runs != NULL) {
        p->runs->link = &run->next;
    }
    p->runs = run;
    struct arena *arena = arena_new();
    struct asked a = asked_call(arena, rq->name, rq->arguments);
    uint32_t i = take(p, &a, true);
    if (i == INDEX_NONE) {
        answer_without_recording(t, rq, run, &a);
    } else {
        run->it = &p->o.cassette->items[i];
        if (run->it->ended != HTTP_STOPPED) {
            run->timer =
                sched_post(p->o.sched, (uint64_t)run->it->took_ms, rq->order, answer_run, run);
        }
    }
    arena_free(arena);
    return run;
}

static void stop_run(struct toolbox *base, struct tool_run *run)
{
    struct toolbox *fallback = ((struct player_toolbox *)base)->player->o.fallback;
    if (run->inner != NULL) {
        fallback->ops->stop(fallback, run->inner);
    }
    sched_cancel(run->player->o.sched, run->timer);
    drop_run(run);
}

/* The player owns it. */
static void free_toolbox(struct toolbox *t)
{
    (void)t;
}

/* ---- the player ---- */

static const struct transport_ops transport_ops = {start_call, stop_call, free_transport,
                                                   pause_call};
static const struct toolbox_ops toolbox_ops = {start_run, stop_run, free_toolbox};

const char *cassette_match_name(enum cassette_match match)
{
    switch (match) {
    case CASSETTE_BODY: return "body";
    case CASSETTE_ORDER: return "order";
    case CASSETTE_RELAXED: return "relaxed";
    }
    return "body";
}

struct player *player_new(const struct player_options *o)
{
    struct arena *arena = arena_new();
    const struct cassette *c = o->cassette;
    struct player *p = arena_alloc(arena, sizeof *p);
    p->arena = arena;
    p->o = *o;
    p->answers = cassette_index_new(arena, (uint32_t)c->n);
    p->places = cassette_index_new(arena, (uint32_t)c->n);
    p->rules = o->rules != NULL ? o->rules : c->rules;
    p->used = arena_array(arena, c->n, sizeof *p->used);
    p->jump = arena_array(arena, c->n, sizeof *p->jump);
    p->recorded = arena_array(arena, c->n, sizeof *p->recorded);
    p->requests = arena_array(arena, c->n, sizeof *p->requests);
    p->signatures = arena_array(arena, c->n, sizeof *p->signatures);
    p->miss_text.max = REPORT_BYTES_MAX;
    p->drift_text.max = REPORT_BYTES_MAX;
    p->unused_text.max = REPORT_BYTES_MAX;
    p->transport = (struct player_transport){{&transport_ops}, p};
    p->toolbox = (struct player_toolbox){{&toolbox_ops}, p};
    for (uint32_t i = 0; i < c->n; i++) {
        struct asked a = player_recorded(&c->items[i]);
        struct key place = cassette_key_of_place(a.method, a.uri);
        cassette_index_add(p->answers, answer_key(p, &a, c->items[i].tool), i);
        cassette_index_add(p->places, place, i);
        p->recorded[cassette_index_first(p->places, place)]++;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        p->jump[i] = cassette_index_after(p->places, i);
    }
    return p;
}

void player_free(struct player *p)
{
    if (p == NULL) {
        return;
    }
    while (p->calls != NULL) {
        stop_call(&p->transport.base, p->calls);
    }
    while (p->runs != NULL) {
        stop_run(&p->toolbox.base, p->runs);
    }
    buf_free(&p->miss_text);
    buf_free(&p->drift_text);
    buf_free(&p->unused_text);
    arena_free(p->arena);
}

struct transport *player_transport(struct player *p)
{
    return &p->transport.base;
}

struct toolbox *player_toolbox(struct player *p)
{
    return &p->toolbox.base;
}

void player_skip_requests(struct player *p, size_t n)
{
    for (size_t i = 0; i < p->o.cassette->n && n > 0; i++) {
        const struct interaction *it = &p->o.cassette->items[i];
        struct asked a = player_recorded(it);
        if (it->tool) {
            continue;
        }
        n--;
        take(p, &a, false);
        uint32_t first =
            cassette_index_first(p->places, cassette_key_of_place(it->method, it->uri));
        p->requests[first]++;
    }
}

void player_skip_call(struct player *p, struct str name, struct str arguments)
{
    struct arena *arena = arena_new();
    struct asked a = asked_call(arena, name, arguments);
    take(p, &a, true);
    arena_free(arena);
}

void player_skip_decision(struct player *p, struct str name, struct str arguments)
{
    struct arena *arena = arena_new();
    struct asked a = asked_decision(arena, name, arguments);
    take(p, &a, true);
    arena_free(arena);
}

bool player_decides(const struct player *p)
{
    for (size_t i = 0; i < p->o.cassette->n; i++) {
        if (p->o.cassette->items[i].decision) {
            return true;
        }
    }
    return false;
}

bool player_decision(struct player *p, struct str name, struct str arguments, struct str *word,
                     int64_t *took_ms)
{
    struct arena *arena = arena_new();
    struct asked a = asked_decision(arena, name, arguments);
    uint32_t i = take(p, &a, true);
    if (i != INDEX_NONE) {
        *word = p->o.cassette->items[i].body;
        *took_ms = p->o.cassette->items[i].took_ms;
    } else if (p->o.live == NULL) {
        struct buf detail = {0};
        struct str what = arena_printf(arena, "a decision about %.*s", STR_FMT(name));
        player_note_miss(p, &a, what, &detail);
        buf_free(&detail);
    }
    arena_free(arena);
    return i != INDEX_NONE;
}

int64_t player_next_at(const struct player *p)
{
    for (size_t i = p->first_unused; i < p->o.cassette->n; i++) {
        if (!p->used[i] && !p->o.cassette->items[i].tool) {
            return p->o.cassette->items[i].at_ms;
        }
    }
    return -1;
}

const struct interaction *player_last(const struct player *p)
{
    return p->last;
}

struct player_report player_report(struct player *p)
{
    struct player_report r = {p->misses, p->drifts, player_list_unused(p), p->live, {0}, {0}, {0}};
    r.miss_text = buf_str(&p->miss_text);
    r.drift_text = buf_str(&p->drift_text);
    r.unused_text = buf_str(&p->unused_text);
    return r;
}
