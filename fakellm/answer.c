#include "fakellm/fake_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/base/rng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    CREATED_S =
        1796061600, /* 2026-11-30T18:00:00Z: a fixed time, so that answers are reproducible */
    RANDOM_TEXT_BYTES = 16, /* of `chunk: random`: text in an event, bytes in a piece */
    RANDOM_PIECE_BYTES = 64,
};

struct fake_session {
    const struct fake_script *script;
    struct arena *arena; /* of the last answer */
    uint64_t seed;
    int64_t requests;
    int64_t calls_sent;
    size_t step; /* the next one, where the script has steps */
    int64_t *used;
    struct buf leftover;
};

struct fake_session *fake_session_new(const struct fake_script *s)
{
    struct fake_session *f = mem_zero(sizeof *f);
    f->script = s;
    f->seed = s->seed;
    f->arena = arena_new();
    f->used = mem_zero(s->n * sizeof *f->used);
    return f;
}

void fake_session_free(struct fake_session *f)
{
    if (f == NULL) {
        return;
    }
    arena_free(f->arena);
    buf_free(&f->leftover);
    free(f->used);
    free(f);
}

const struct fake_script *fake_script_of(const struct fake_session *f)
{
    return f->script;
}

/* The turn goes in as little-endian bytes, so that every machine makes the same choices. */
static uint64_t turn_seed(uint64_t seed, uint64_t turn)
{
    char bytes[8];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(turn >> (8 * i) & 0xff);
    }
    return hash64(seed, (struct str){bytes, sizeof bytes});
}

void fake_session_trial(struct fake_session *f, int64_t trial)
{
    /* far from the seed of any turn */
    f->seed = trial > 1 ? turn_seed(~f->script->seed, (uint64_t)trial) : f->script->seed;
}

/* What the step says to this request, or where it says nothing an empty reply. Draws from rng only
 * where there is a choice. */
static const struct fake_reply *choose(const struct fake_step *step, struct rng *rng)
{
    static const struct fake_reply none = {.text_null = true};
    if (step->n_replies < 2) {
        return step->n_replies == 1 ? step->replies : &none;
    }
    return &step->replies[rng_below(rng, step->n_replies)];
}

void fake_session_skip(struct fake_session *f, size_t requests)
{
    const struct fake_script *s = f->script;
    for (size_t i = 0; i < requests; i++) {
        f->requests++;
        if (s->rules || f->step >= s->n) {
            continue;
        }
        const struct fake_step *step = &s->steps[f->step];
        struct rng rng = rng_seeded(turn_seed(f->seed, (uint64_t)f->requests));
        f->calls_sent += (int64_t)choose(step, &rng)->n_calls;
        f->used[f->step]++;
        f->step += f->used[f->step] >= step->times ? 1 : 0;
    }
}

/* ---- reading the request ---- */

/* A whole error as the answer; body is freed. */
static void set_error(struct arena *arena, int status, struct buf body, struct fake_answer *out)
{
    out->status = status;
    out->content_type = STR("application/json");
    out->body = arena_str(arena, buf_str(&body));
    buf_free(&body);
    size_t *end = arena_alloc(arena, sizeof *end);
    *end = out->body.n;
    out->ends = end;
    out->at_ms = arena_alloc(arena, sizeof *out->at_ms);
    out->n_pieces = 1;
}

static void set_mismatch(struct arena *arena, enum wire_format format, struct buf *message,
                         struct fake_answer *out)
{
    struct buf body = {0};
    out->mismatch = true;
    out->message = arena_str(arena, buf_str(message));
    buf_free(message);
    wire_encode_error(format, 400, out->message, &body);
    set_error(arena, 400, body, out);
    out->end = HTTP_MISMATCH;
}

/* Such a request takes no step. */
static void set_refusal(struct arena *arena, enum wire_format format, const struct wire_refusal *r,
                        struct fake_answer *out)
{
    struct buf body = {0};
    out->refused = true;
    out->message =
        arena_printf(arena, "the provider would refuse this request: %.*s", STR_FMT(r->message));
    wire_encode_refusal(format, r, &body);
    set_error(arena, r->status, body, out);
}

/* The newest user text, the newest tool result after it, and the system text. */
static void read_messages(const struct message *messages, size_t n, struct fake_request *rq)
{
    for (size_t i = n; i-- > 0;) {
        const struct message *m = &messages[i];
        if (m->role == ROLE_TOOL && rq->last_tool == NULL && rq->last_user == NULL) {
            rq->last_tool = &m->content;
        } else if (m->role == ROLE_USER && rq->last_user == NULL) {
            rq->last_user = &m->content;
        } else if (m->role == ROLE_SYSTEM) {
            rq->system = &m->content;
        }
    }
}

/* Parses the body into *root; false with *out when the provider would not take it. */
static bool read_body(struct arena *arena, const struct fake_script *s, enum wire_format format,
                      struct str body, struct val **root, struct wire_refusal *out)
{
    struct err e = {0};
    if (json_parse(arena, NULL, body, root, &e) != 0) {
        *out = wire_refuse_json(format, &e, arena);
        return false;
    }
    return s->lenient || wire_check_request(format, *root, s->thinks, arena, out);
}

static void read_request(struct arena *arena, const struct val *root, struct fake_request *rq)
{
    struct message *messages = NULL;
    struct str *tools = NULL;
    size_t n = wire_request_messages(rq->format, root, arena, &messages);
    read_messages(messages, n, rq);
    rq->n_tools = wire_offered_tools(rq->format, root, arena, &tools);
    rq->tools = tools;
    const struct val *model = val_get(root, "model");
    rq->model = val_is(model, VAL_STRING) ? &model->text : NULL;
    const struct val *stream = val_get(root, "stream");
    const struct val *usage = val_path(root, "stream_options", "include_usage", NULL);
    rq->stream = val_is(stream, VAL_BOOL) && stream->boolean;
    rq->include_usage = val_is(usage, VAL_BOOL) && usage->boolean;
}

/* ---- choosing the step ---- */

static const struct fake_step *pick_step(struct fake_session *f, const struct fake_request *rq,
                                         struct buf *why)
{
    const struct fake_script *s = f->script;
    if (f->step >= s->n) {
        buf_fmt(why, "request %lld is one too many: the script ends after step %zu%s",
                (long long)f->requests, s->n,
                s->n > 0 && s->steps[s->n - 1].has_fault
                    ? ", a fault; a call that fails is made again, which takes a step too"
                    : "");
        return NULL;
    }
    const struct fake_step *step = &s->steps[f->step];
    struct buf reason = {0};
    bool fits = fake_when_test(&step->when, rq, &reason);
    if (fits) {
        f->used[f->step]++;
        f->step += f->used[f->step] >= step->times ? 1 : 0;
    } else {
        buf_fmt(why,
                "request %lld is not what step %zu (line %u) expects: ", (long long)f->requests,
                f->step + 1, step->line);
        buf_add(why, buf_str(&reason));
    }
    buf_free(&reason);
    return fits ? step : NULL;
}

static const struct fake_step *pick_rule(struct fake_session *f, const struct fake_request *rq,
                                         struct buf *why)
{
    const struct fake_script *s = f->script;
    buf_fmt(why, "request %lld fits no rule of the script", (long long)f->requests);
    for (size_t i = 0; i < s->n; i++) {
        struct buf reason = {0};
        bool spent = f->used[i] >= s->steps[i].times;
        if (!spent && fake_when_test(&s->steps[i].when, rq, &reason)) {
            f->used[i]++;
            return &s->steps[i];
        }
        buf_fmt(why, "; rule %zu (line %u): ", i + 1, s->steps[i].line);
        buf_add(why, spent ? STR("was used as often as it may") : buf_str(&reason));
        buf_free(&reason);
    }
    return NULL;
}

/* ---- building the answer ---- */

/* What a fault without a reply of its own spoils: a text long enough that it can be cut where the
 * script says. */
static void usual_text(const struct fake_step *step, struct buf *out)
{
    size_t least = 200 + (size_t)(step->fault.after_bytes > 0 ? step->fault.after_bytes : 0);
    while (out->n < least) {
        buf_addz(out, out->n == 0 ? "" : " ");
        buf_addz(out, "This reply is spoiled on purpose.");
    }
}

static const char *id_prefix(enum wire_format format)
{
    switch (format) {
    case WIRE_CHAT: return "chatcmpl-";
    case WIRE_RESPONSES: return "resp_";
    case WIRE_MESSAGES: return "msg_";
    }
    return "";
}

static void encode(struct fake_session *f, const struct fake_step *step, const struct fake_reply *r,
                   const struct fake_request *rq, struct arena *arena, struct rng *rng,
                   struct fake_draft *draft)
{
    struct buf usual = {0};
    struct reply reply = {
        .content_null = r->text_null,
        .content = r->text,
        .reasoning = r->reasoning,
        .n_calls = r->n_calls,
        .stop = r->stop,
        .usage = r->usage,
    };
    if (step->n_replies == 0) {
        usual_text(step, &usual);
        reply.content = buf_str(&usual);
        reply.content_null = false;
        reply.stop = STOP_END_TURN;
        reply.usage = USAGE_UNKNOWN;
    }
    reply.calls = arena_array(arena, r->n_calls, sizeof *reply.calls);
    for (size_t i = 0; i < r->n_calls; i++) {
        reply.calls[i] = r->calls[i];
        f->calls_sent++;
        if (reply.calls[i].id.p == NULL) {
            reply.calls[i].id = arena_printf(arena, "call_%lld", (long long)f->calls_sent);
        }
    }
    struct wire_reply_options o = {
        .model = f->script->model,
        .id = arena_printf(arena, "%s%lld", id_prefix(rq->format), (long long)f->requests),
        .created_s = CREATED_S,
        .stream = rq->stream,
        .include_usage = rq->include_usage,
        .piece_bytes = r->chunking == CHUNK_RANDOM ? 1 + rng_below(rng, RANDOM_TEXT_BYTES)
                                                   : (size_t)r->piece_bytes,
    };
    struct err e = {0};
    int rc = wire_encode_reply(rq->format, &reply, &o, &draft->body, &draft->ends, &e);
    assert(rc == 0); /* a script is smaller than a buffer */
    buf_free(&usual);
}

/* The pieces of the body: its events in a stream, else one; `random` cuts anywhere. */
static void cut_pieces(const struct fake_reply *r, const struct fake_request *rq, struct rng *rng,
                       struct fake_draft *draft)
{
    bool random = r->chunking == CHUNK_RANDOM;
    if (rq->stream && !random) {
        return;
    }
    buf_clear(&draft->ends);
    for (size_t at = 0; at < draft->body.n;) {
        size_t left = draft->body.n - at;
        size_t n = random ? 1 + rng_below(rng, RANDOM_PIECE_BYTES) : left;
        at += n < left ? n : left;
        buf_add(&draft->ends, (struct str){(const char *)&at, sizeof at});
    }
}

static void set_pieces(const struct fake_step *step, const struct fake_reply *r,
                       const struct fake_draft *draft, struct arena *arena, struct fake_answer *out)
{
    size_t n = draft->ends.n / sizeof(size_t);
    size_t *ends = arena_array(arena, n, sizeof *ends);
    int64_t *at_ms = arena_array(arena, n, sizeof *at_ms);
    int64_t first = r->ttft_ms;
    int64_t each = r->chunk_ms;
    if (step->has_fault) {
        first += fake_fault_delay_ms(&step->fault);
        each = step->fault.kind == FAULT_DRIP ? step->fault.chunk_ms : each;
    }
    if (n > 0) {
        memcpy(ends, draft->ends.p, n * sizeof *ends);
    }
    for (size_t i = 0; i < n; i++) {
        at_ms[i] = first + (int64_t)i * each;
    }
    out->first_ms = first;
    out->body = arena_str(arena, buf_str(&draft->body));
    out->ends = ends;
    out->at_ms = at_ms;
    out->n_pieces = n;
}

void fake_answer_in(struct fake_session *f, struct arena *arena, struct str url, struct str body,
                    struct fake_answer *out)
{
    struct fake_request rq = {.turn = ++f->requests};
    struct buf why = {0};
    *out = (struct fake_answer){.status = 200, .retry_after_ms = -1, .end = HTTP_CLEAN};
    const struct fake_step *step = NULL;
    struct wire_refusal refusal;
    struct val *root;
    if (!wire_of_url(url, &rq.format)) {
        buf_addz(&why, "the address is no model endpoint: expected …/chat/completions, "
                       "…/responses or …/v1/messages");
    } else if (!read_body(arena, f->script, rq.format, body, &root, &refusal)) {
        set_refusal(arena, rq.format, &refusal, out);
        return;
    } else {
        read_request(arena, root, &rq);
        step = f->script->rules ? pick_rule(f, &rq, &why) : pick_step(f, &rq, &why);
    }
    if (step == NULL) {
        set_mismatch(arena, rq.format, &why, out);
        return;
    }
    uint64_t seed = turn_seed(f->seed, (uint64_t)rq.turn);
    struct rng rng = rng_seeded(seed);
    struct fake_draft draft = {0};
    out->content_type = rq.stream ? STR("text/event-stream") : STR("application/json");
    const struct fake_reply *reply = choose(step, &rng);
    encode(f, step, reply, &rq, arena, &rng, &draft);
    cut_pieces(reply, &rq, &rng, &draft);
    if (step->has_fault) {
        fake_fault_apply(&step->fault, &rq, seed, &draft, out);
    }
    set_pieces(step, reply, &draft, arena, out);
    buf_free(&draft.body);
    buf_free(&draft.ends);
    buf_free(&why);
}

void fake_answer(struct fake_session *f, struct str url, struct str body, struct fake_answer *out)
{
    arena_free(f->arena);
    f->arena = arena_new();
    fake_answer_in(f, f->arena, url, body, out);
}

size_t fake_headers(const struct fake_answer *a, struct arena *arena, struct http_header *out)
{
    size_t n = 0;
    out[n++] = (struct http_header){STR("Content-Type"), a->content_type};
    if (a->retry_after_ms >= 0) {
        long long seconds = (long long)((a->retry_after_ms + 999) / 1000);
        out[n++] = (struct http_header){STR("Retry-After"), arena_printf(arena, "%lld", seconds)};
    }
    if (a->retry_after_ms >= 0 && a->retry_after_ms % 1000 != 0) {
        out[n++] = (struct http_header){STR("Retry-After-Ms"),
                                        arena_printf(arena, "%lld", (long long)a->retry_after_ms)};
    }
    return n;
}

struct str fake_leftover(struct fake_session *f)
{
    const struct fake_script *s = f->script;
    buf_clear(&f->leftover);
    for (size_t i = f->step; !s->rules && i < s->n; i++) {
        const struct fake_step *step = &s->steps[i];
        if (step->times == FAKE_FOREVER && f->used[i] > 0) {
            continue;
        }
        if (f->leftover.n > 0) {
            buf_addz(&f->leftover, ", ");
        } else {
            buf_fmt(&f->leftover, "the script%s%s was not played to its end: step ",
                    s->file == NULL ? "" : " ", s->file == NULL ? "" : s->file);
        }
        buf_fmt(&f->leftover, "%zu (line %u)", i + 1, step->line);
        if (f->used[i] > 0) {
            buf_fmt(&f->leftover, " was asked for %lld of %lld times", (long long)f->used[i],
                    (long long)step->times);
        }
    }
    if (f->leftover.n > 0) {
        buf_addz(&f->leftover, " left over");
    }
    return buf_str(&f->leftover);
}
