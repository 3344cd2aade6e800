/* Replays a cassette. A request takes the first recording of its key that was not taken yet; what
 * it then says comes at the recorded milliseconds, by the scheduler alone. */
#include "cassettes/cassette_int.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"

#include <stdlib.h>

enum { CANDIDATES_MAX = 256, PREVIEW_CHARS = 120, REPORT_BYTES_MAX = 1 << 20, TOOLS_SHOWN = 10 };

enum speech {
    WAITING,  /* for its timer, or for ever */
    SPEAKING, /* inside a sink call */
    STOPPED   /* stopped inside a sink call: gone when that returns */
};

/* One answer being given: of a recording, or of a miss (it NULL). */
struct http_call {
    struct player *player;
    struct http_call *next;
    struct http_call **link; /* what points here */
    const struct interaction *it;
    struct http_sink sink;
    struct timer *timer;
    enum speech state;
    bool head_done;
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

struct player_transport {
    struct transport base;
    struct player *player;
};

struct player_toolbox {
    struct toolbox base;
    struct player *player;
};

struct player {
    struct arena *arena;
    struct player_options o;
    struct index *answers; /* by what decides the answer */
    struct index *places;  /* by path and method, for messages */
    bool *used;
    uint32_t *requests; /* to the place of an interaction, at the place's first one */
    struct player_transport transport;
    struct player_toolbox toolbox;
    struct http_call *calls;
    struct tool_run *runs;
    size_t misses;
    size_t drifts;
    struct buf miss_text;
    struct buf drift_text;
    struct buf unused_text;
};

/* ---- what is asked ---- */

/* A request as the player looks it up. */
struct asked {
    struct str method;
    struct str uri;
    struct str body;
    const struct val *json;
};

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

static struct key answer_key(const struct player *p, const struct asked *a, bool tool)
{
    return p->o.match == CASSETTE_ORDER && !tool
               ? cassette_key_of_place(a->method, a->uri)
               : cassette_key_of_request(a->method, a->uri, a->body, a->json);
}

static struct asked recorded_of(const struct interaction *it)
{
    return (struct asked){it->method, it->uri, it->request_body, it->request_json};
}

static struct difference differences(const struct interaction *it, struct str sent)
{
    struct buf recorded = {0};
    cassette_meaning(it->uri, it->request_body, it->request_json, &recorded);
    struct difference d = cassette_difference(buf_str(&recorded), sent);
    buf_free(&recorded);
    return d;
}

/* ---- misses and drift, for people ---- */

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
    if (str_is(a->method, "CALL")) {
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

/* The recording at the same place that differs in the fewest parts, the unused before the used;
 * *best gets the difference. INDEX_NONE when there is none. */
static uint32_t nearest(const struct player *p, struct key place, struct str sent,
                        struct difference *best)
{
    uint32_t found = INDEX_NONE;
    unsigned seen = 0;
    for (uint32_t i = cassette_index_first(p->places, place);
         i != INDEX_NONE && seen < CANDIDATES_MAX; i = cassette_index_after(p->places, i), seen++) {
        struct difference d = differences(&p->o.cassette->items[i], sent);
        bool better = found == INDEX_NONE || d.count < best->count ||
                      (d.count == best->count && p->used[found] && !p->used[i]);
        struct difference other = better ? *best : d;
        if (better) {
            *best = d;
            found = i;
        }
        cassette_difference_free(&other);
    }
    return found;
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

/* Whether every recording of the place was served; *n is how many there are. */
static bool is_used_up(const struct player *p, uint32_t first, size_t *n)
{
    *n = 0;
    for (uint32_t i = first; i != INDEX_NONE; i = cassette_index_after(p->places, i)) {
        if (!p->used[i]) {
            return false;
        }
        ++*n;
    }
    return true;
}

static void add_nearest(struct buf *out, const struct player *p, const struct asked *a)
{
    struct buf sent = {0};
    struct difference d = {0};
    size_t n;
    struct key place = cassette_key_of_place(a->method, a->uri);
    uint32_t first = cassette_index_first(p->places, place);
    if (first == INDEX_NONE) {
        buf_addz(out, "the cassette holds nothing for this path");
        return;
    }
    if (!p->o.cassette->items[first].tool && is_used_up(p, first, &n)) {
        buf_fmt(out, "the recording holds %zu request%s to ", n, n == 1 ? "" : "s");
        buf_add(out, cassette_request_path(a->uri));
        buf_fmt(out, "; this is request %u", p->requests[first]);
        return;
    }
    cassette_meaning(a->uri, a->body, a->json, &sent);
    uint32_t i = nearest(p, place, buf_str(&sent), &d);
    if (d.count == 0) {
        buf_fmt(out, "interaction %u matched but was used already", p->o.cassette->items[i].n);
    } else {
        buf_fmt(out, "nearest is interaction %u%s: ", p->o.cassette->items[i].n,
                p->used[i] ? " (used already)" : "");
        add_difference(out, &p->o.cassette->items[i], a, &d);
    }
    cassette_difference_free(&d);
    buf_free(&sent);
}

/* Texts for people end without a newline: the next finding brings it. */
static void next_finding(struct buf *out)
{
    if (out->n > 0) {
        buf_char(out, '\n');
    }
}

/* Notes a miss; `detail` gets the one line that the session hears. */
static void note_miss(struct player *p, const struct asked *a, struct str what, struct buf *detail)
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
    if (p->o.mend.n > 0) {
        buf_addz(&p->miss_text, "\n  to record it anew: ");
        buf_add(&p->miss_text, p->o.mend);
    }
    buf_free(&near);
}

static void note_drift(struct player *p, const struct interaction *it, const struct asked *a)
{
    struct buf sent = {0};
    cassette_meaning(a->uri, a->body, a->json, &sent);
    struct difference d = differences(it, buf_str(&sent));
    if (d.count > 0) {
        p->drifts++;
        next_finding(&p->drift_text);
        buf_fmt(&p->drift_text, "interaction %u: ", it->n);
        add_difference(&p->drift_text, it, a, &d);
    }
    cassette_difference_free(&d);
    buf_free(&sent);
}

/* ---- HTTP ---- */

static void free_call(struct http_call *call)
{
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
    if (call->chunk < it->n_chunks) {
        return it->chunks[call->chunk].at_ms;
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
    while (call->state == SPEAKING && call->chunk < it->n_chunks &&
           it->chunks[call->chunk].at_ms <= call->at_ms) {
        say_body(call, (size_t)it->chunks[call->chunk++].bytes);
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

static struct http_call *start_call(struct transport *t, const struct http_request *rq,
                                    struct http_sink sink)
{
    struct player *p = ((struct player_transport *)t)->player;
    struct arena *arena = arena_new();
    struct asked a = asked_of(arena, rq->method, rq->url, rq->body);
    struct http_call *call = mem_zero(sizeof *call);
    call->player = p;
    call->sink = sink;
    call->next = p->calls;
    call->link = &p->calls;
    if (p->calls != NULL) {
        p->calls->link = &call->next;
    }
    p->calls = call;
    uint32_t first = cassette_index_first(p->places, cassette_key_of_place(rq->method, rq->url));
    uint32_t i = cassette_index_take(p->answers, answer_key(p, &a, false));
    if (first != INDEX_NONE) {
        p->requests[first]++;
    }
    if (i == INDEX_NONE) {
        struct buf what = {0};
        buf_fmt(&what, "%.*s ", STR_FMT(rq->method));
        buf_add(&what, cassette_request_path(rq->url));
        note_miss(p, &a, buf_str(&what), &call->detail);
        buf_free(&what);
    } else {
        p->used[i] = true;
        call->it = &p->o.cassette->items[i];
        if (p->o.match == CASSETTE_ORDER) {
            note_drift(p, call->it, &a);
        }
    }
    int64_t next = next_at(call);
    if (next >= 0) {
        speak_at(call, next);
    }
    arena_free(arena);
    return call;
}

static void stop_call(struct transport *t, struct http_call *call)
{
    (void)t;
    unlink_call(call);
    if (call->state == SPEAKING) {
        call->state = STOPPED;
        return;
    }
    sched_cancel(call->player->o.sched, call->timer);
    free_call(call);
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
    if (o->fallback != NULL && o->runs_without != NULL && o->runs_without(o->ctx, rq->name)) {
        run->inner = o->fallback->ops->start(o->fallback, rq, (struct tool_sink){run, pass_on});
        return;
    }
    struct arena *arena = arena_new();
    struct str what = arena_printf(arena, "a call of the tool %.*s", STR_FMT(rq->name));
    note_miss(t->player, a, what, &run->detail);
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
    struct str uri = arena_printf(arena, "tool:%.*s", STR_FMT(rq->name));
    struct asked a = asked_of(arena, STR("CALL"), uri, rq->arguments);
    uint32_t i = cassette_index_take(p->answers, answer_key(p, &a, true));
    if (i == INDEX_NONE) {
        answer_without_recording(t, rq, run, &a);
    } else {
        p->used[i] = true;
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

static const struct transport_ops transport_ops = {start_call, stop_call, free_transport};
static const struct toolbox_ops toolbox_ops = {start_run, stop_run, free_toolbox};

struct player *player_new(const struct player_options *o)
{
    struct arena *arena = arena_new();
    const struct cassette *c = o->cassette;
    struct player *p = arena_alloc(arena, sizeof *p);
    p->arena = arena;
    p->o = *o;
    p->answers = cassette_index_new(arena, (uint32_t)c->n);
    p->places = cassette_index_new(arena, (uint32_t)c->n);
    p->used = arena_array(arena, c->n, sizeof *p->used);
    p->requests = arena_array(arena, c->n, sizeof *p->requests);
    p->miss_text.max = REPORT_BYTES_MAX;
    p->drift_text.max = REPORT_BYTES_MAX;
    p->unused_text.max = REPORT_BYTES_MAX;
    p->transport = (struct player_transport){{&transport_ops}, p};
    p->toolbox = (struct player_toolbox){{&toolbox_ops}, p};
    for (uint32_t i = 0; i < c->n; i++) {
        struct asked a = recorded_of(&c->items[i]);
        cassette_index_add(p->answers, answer_key(p, &a, c->items[i].tool), i);
        cassette_index_add(p->places, cassette_key_of_place(a.method, a.uri), i);
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

/* Marks the next recording of the key as given. */
static void skip(struct player *p, struct key key)
{
    uint32_t i = cassette_index_take(p->answers, key);
    if (i != INDEX_NONE) {
        p->used[i] = true;
    }
}

void player_skip_requests(struct player *p, size_t n)
{
    for (size_t i = 0; i < p->o.cassette->n && n > 0; i++) {
        const struct interaction *it = &p->o.cassette->items[i];
        struct asked a = recorded_of(it);
        if (it->tool) {
            continue;
        }
        n--;
        skip(p, answer_key(p, &a, false));
        uint32_t first =
            cassette_index_first(p->places, cassette_key_of_place(it->method, it->uri));
        p->requests[first]++;
    }
}

void player_skip_call(struct player *p, struct str name, struct str arguments)
{
    struct arena *arena = arena_new();
    struct str uri = arena_printf(arena, "tool:%.*s", STR_FMT(name));
    struct asked a = asked_of(arena, STR("CALL"), uri, arguments);
    skip(p, answer_key(p, &a, true));
    arena_free(arena);
}

int64_t player_next_at(const struct player *p)
{
    for (size_t i = 0; i < p->o.cassette->n; i++) {
        if (!p->used[i] && !p->o.cassette->items[i].tool) {
            return p->o.cassette->items[i].at_ms;
        }
    }
    return -1;
}

static size_t list_unused(struct player *p)
{
    size_t n = 0;
    buf_clear(&p->unused_text);
    for (size_t i = 0; i < p->o.cassette->n; i++) {
        const struct interaction *it = &p->o.cassette->items[i];
        if (p->used[i]) {
            continue;
        }
        n++;
        struct asked a = recorded_of(it);
        next_finding(&p->unused_text);
        buf_fmt(&p->unused_text, "interaction %u was not used: ", it->n);
        add_asked(&p->unused_text, &a);
    }
    return n;
}

struct player_report player_report(struct player *p)
{
    struct player_report r = {p->misses, p->drifts, list_unused(p), {0}, {0}, {0}};
    r.miss_text = buf_str(&p->miss_text);
    r.drift_text = buf_str(&p->drift_text);
    r.unused_text = buf_str(&p->unused_text);
    return r;
}
