/* Tells the conversations of a program apart. A request belongs to the one whose last request and
 * reply its messages go on from; that is told by what is in it, never by when it came, so that
 * requests made side by side are the same conversations every time. */
#include <stdlib.h>
#include <string.h>

#include "evals/agent_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"

enum { HEAD_BYTES = 4096 };

/* A request as it is looked at. */
struct asked {
    const struct val *body;
    struct message *messages; /* without system messages */
    size_t n;
    uint64_t *prefixes; /* a hash of the first 0 … n of them */
    struct str system;
    uint64_t system_hash;
    struct str previous; /* the id of the reply that it goes on from; n 0 = it holds its history */
};

void traffic_init(struct traffic *t, struct arena *arena, struct str prompt)
{
    *t = (struct traffic){.arena = arena, .prompt = prompt};
    t->last = &t->first;
}

/* ---- reading a request ---- */

static uint64_t hash_message(uint64_t seed, const struct message *m)
{
    uint64_t h = hash64(seed + (uint64_t)m->role, m->content);
    h = hash64(h, m->call_id);
    for (size_t i = 0; i < m->n_calls; i++) {
        h = hash64(hash64(h, m->calls[i].id), m->calls[i].name);
        h = hash64(h, m->calls[i].arguments);
    }
    return h;
}

static struct asked read_request(enum wire_format f, struct str body, struct arena *scratch)
{
    struct asked a = {.system = {NULL, 0}};
    struct val *json = NULL;
    if (json_parse(scratch, NULL, body, &json, NULL) == 0) {
        a.body = json;
    }
    struct message *all = NULL;
    size_t n = wire_request_messages(f, a.body, scratch, &all);
    a.messages = arena_array(scratch, n, sizeof *a.messages);
    a.prefixes = arena_array(scratch, n + 1, sizeof *a.prefixes);
    for (size_t i = 0; i < n; i++) {
        if (all[i].role == ROLE_SYSTEM) {
            a.system = a.system.p == NULL ? all[i].content : a.system;
            a.system_hash = hash_message(a.system_hash, &all[i]);
        } else {
            a.prefixes[a.n + 1] = hash_message(a.prefixes[a.n], &all[i]);
            a.messages[a.n++] = all[i];
        }
    }
    a.previous = f == WIRE_RESPONSES ? val_text(val_get(a.body, "previous_response_id")) : STR("");
    return a;
}

/* ---- whose it is ---- */

/* How a message fits as what the program sent back of a reply; < 0 = it is another reply. */
static int fit_of_reply(const struct message *m, const struct reply *r)
{
    if (m->role != ROLE_ASSISTANT) {
        return 0;
    }
    if (m->n_calls == 0 && r->n_calls == 0) {
        return str_eq(str_trim(m->content), str_trim(r->content)) ? 4 : 0;
    }
    bool same = m->n_calls == r->n_calls;
    for (size_t i = 0; same && i < r->n_calls; i++) {
        same = str_eq(m->calls[i].id, r->calls[i].id);
    }
    return same ? 4 : -1;
}

/* Whether it is the conversation's last request, which failed, once more. */
static bool is_again(const struct conversation *c, const struct asked *a)
{
    return c->last->state == TURN_FAILED && a->n == c->n_messages &&
           a->prefixes[a->n] == c->prefix && a->system_hash == c->asked &&
           str_eq(a->previous, c->last->previous);
}

/* How well a request goes on from a conversation; < 0 = it does not. */
static int fit_of(const struct conversation *c, const struct asked *a)
{
    const struct turn *last = c->last;
    int same_system = a->system_hash == c->asked;
    if (last->state == TURN_OPEN) {
        return -1;
    }
    if (is_again(c, a)) {
        return 9;
    }
    if (a->previous.n > 0) {
        return str_eq(a->previous, last->id) ? 8 : -1;
    }
    if (a->n <= c->n_messages || a->prefixes[c->n_messages] != c->prefix) {
        return -1;
    }
    int fit =
        last->state == TURN_ANSWERED ? fit_of_reply(&a->messages[c->n_messages], &last->reply) : 0;
    return fit < 0 ? -1 : fit + same_system;
}

/* The longest one that fits best; NULL = it is a new one. */
static struct conversation *find(const struct traffic *t, const struct asked *a)
{
    struct conversation *best = NULL;
    int most = -1;
    for (struct conversation *c = t->first; c != NULL; c = c->next) {
        int fit = fit_of(c, a);
        if (fit > most || (fit == most && fit >= 0 && c->n_messages > best->n_messages)) {
            best = c;
            most = fit;
        }
    }
    return best;
}

/* ---- keeping it ---- */

static struct str keep(struct traffic *t, struct str s)
{
    t->bytes += s.n;
    return s.p == NULL ? s : arena_str(t->arena, s);
}

static struct conversation *open_conversation(struct traffic *t, const struct asked *a)
{
    struct conversation *c = arena_alloc(t->arena, sizeof *c);
    c->system = keep(t, a->system);
    for (size_t i = 0; i < a->n && t->prompt.n > 0; i++) {
        struct str text = a->messages[i].content;
        if (a->messages[i].role == ROLE_USER && c->prompted < 2) {
            c->prompted = str_eq(str_trim(text), str_trim(t->prompt))
                              ? 2
                              : c->prompted == 1 || str_find(text, t->prompt) != SIZE_MAX;
        }
    }
    *t->last = c;
    t->last = &c->next;
    t->n_conversations++;
    return c;
}

/* What the user and the tools say in messages [from, n). */
static void keep_heard(struct traffic *t, struct turn *turn, const struct asked *a, size_t from)
{
    turn->heard = arena_array(t->arena, a->n - from, sizeof *turn->heard);
    for (size_t i = from; i < a->n; i++) {
        const struct message *m = &a->messages[i];
        if (m->role == ROLE_USER || m->role == ROLE_TOOL) {
            turn->heard[turn->n_heard++] = (struct message){
                .role = m->role, .content = keep(t, m->content), .call_id = keep(t, m->call_id)};
        }
    }
}

static struct turn *add_turn(struct traffic *t, struct conversation *c, const struct asked *a,
                             enum wire_format f)
{
    size_t from = c->first == NULL || a->previous.n > 0 ? 0 : c->n_messages;
    struct turn *turn = arena_alloc(t->arena, sizeof *turn);
    turn->of = c;
    turn->format = f;
    turn->model = keep(t, val_text(val_get(a->body, "model")));
    turn->previous = keep(t, a->previous);
    turn->n_tools = wire_offered_tools(f, a->body, t->arena, &turn->tools);
    for (size_t i = 0; i < turn->n_tools; i++) {
        turn->tools[i] = keep(t, turn->tools[i]);
    }
    keep_heard(t, turn, a, from);
    *(c->last == NULL ? &c->first : &c->last->next) = turn;
    c->last = turn;
    c->n_messages = a->n;
    c->prefix = a->prefixes[a->n];
    c->asked = a->system_hash;
    return turn;
}

struct turn *traffic_request(struct traffic *t, enum wire_format f, struct str body, int64_t at_ms)
{
    if (t->requests >= TRAFFIC_REQUESTS_MAX || t->bytes > TRAFFIC_BYTES_MAX) {
        return NULL;
    }
    t->requests++;
    struct arena *scratch = arena_new();
    struct asked a = read_request(f, body, scratch);
    struct conversation *c = find(t, &a);
    bool again = c != NULL && is_again(c, &a);
    c = c != NULL ? c : open_conversation(t, &a);
    struct turn *turn = again ? c->last : add_turn(t, c, &a, f);
    turn->state = TURN_OPEN;
    turn->attempts++;
    turn->at_ms = at_ms;
    arena_free(scratch);
    return turn;
}

/* ---- answers ---- */

void traffic_head(struct turn *turn, int status, const struct http_header *headers, size_t n)
{
    wire_decoder_free(turn->decoder);
    turn->decoder = wire_decoder_new(turn->format, status, headers, n);
}

void traffic_body(struct traffic *t, struct turn *turn, struct str piece)
{
    if (turn->decoder == NULL) {
        return;
    }
    t->bytes += piece.n;
    if (turn->format == WIRE_RESPONSES && turn->head.n < HEAD_BYTES) {
        buf_add(&turn->head, str_slice(piece, 0, HEAD_BYTES - turn->head.n));
    }
    wire_decoder_feed(turn->decoder, piece);
}

/* The id of a response: in its first event, or among its first members. */
static struct str response_id(struct str head)
{
    size_t at = str_find(head, STR("\"resp_"));
    struct str rest = at == SIZE_MAX ? STR("") : str_slice(head, at + 1, head.n);
    return str_slice(rest, 0, str_find(rest, STR("\"")));
}

static void keep_reply(struct traffic *t, struct turn *turn, const struct reply *r)
{
    turn->state = TURN_ANSWERED;
    turn->reply = *r;
    turn->reply.content = keep(t, r->content);
    turn->reply.reasoning = keep(t, r->reasoning);
    turn->reply.parts = keep(t, r->parts);
    turn->reply.stop_raw = keep(t, r->stop_raw);
    turn->reply.calls = arena_array(t->arena, r->n_calls, sizeof *r->calls);
    turn->children = arena_array(t->arena, r->n_calls, sizeof(struct conversation *));
    for (size_t i = 0; i < r->n_calls; i++) {
        turn->reply.calls[i] = (struct tool_call){
            keep(t, r->calls[i].id), keep(t, r->calls[i].name), keep(t, r->calls[i].arguments)};
    }
    t->n_calls += r->n_calls;
}

static void keep_failure(struct traffic *t, struct turn *turn, enum fail_class class,
                         struct str message)
{
    turn->state = TURN_FAILED;
    turn->failure =
        (struct failure){.class = class, .retry_after_ms = -1, .message = keep(t, message)};
}

/* A program may hang up when it has read what it wants. */
static void decode(struct traffic *t, struct turn *turn, enum http_end end, struct str detail)
{
    struct wire_result result;
    wire_decoder_end(turn->decoder, end == HTTP_STOPPED ? HTTP_CLEAN : end, detail, &result);
    if (result.ok) {
        keep_reply(t, turn, &result.reply);
    } else if (end == HTTP_STOPPED) {
        keep_failure(t, turn, FAIL_TIMEOUT, STR("the program hung up before the answer had ended"));
    } else {
        turn->state = TURN_FAILED;
        turn->failure = result.failure;
        turn->failure.message = keep(t, result.failure.message);
    }
    wire_decoder_free(turn->decoder);
    turn->decoder = NULL;
}

void traffic_end(struct traffic *t, struct turn *turn, enum http_end end, struct str detail,
                 int64_t at_ms)
{
    turn->ended_ms = at_ms;
    if (end == HTTP_MISMATCH) {
        t->mismatch = t->mismatch.n > 0 ? t->mismatch : keep(t, detail);
        keep_failure(t, turn, FAIL_SCRIPT, detail);
    } else if (end == HTTP_MISS) {
        keep_failure(t, turn, FAIL_MISS, detail);
    } else {
        if (turn->decoder == NULL) { /* no head came */
            turn->decoder = wire_decoder_new(turn->format, 0, NULL, 0);
        }
        decode(t, turn, end, detail);
    }
    turn->id = keep(t, response_id(buf_str(&turn->head)));
    buf_free(&turn->head);
    wire_decoder_free(turn->decoder);
    turn->decoder = NULL;
}

const struct failure *traffic_unanswered(const struct traffic *t)
{
    for (const struct conversation *c = t->first; c != NULL; c = c->next) {
        if (c->last->state == TURN_FAILED) {
            return &c->last->failure;
        }
    }
    return NULL;
}
