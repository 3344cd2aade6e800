/* State into text and back. Taken between batches only: then no call is open, which is most of what
 * a kernel knows for a moment. What can be told from the rest (sizes, hashes, tables' slots) is
 * made anew. Text that comes from a file may say anything: it is checked so far that the kernel's
 * own assumptions hold, and a kernel is changed only when all of it was right. */
#include "kernel/core/snapshot.h"

#include <string.h>

#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/core/kernel_int.h"

enum {
    SCHEMA = 1,
    CHECK_BYTES = 29, /* of what check_add appends */
    CALLS_MAX = 4096, /* in one message: checking their ids is quadratic */
    SEEN_PARTS = 3
};

/* What is counted, so that one more never overflows. */
#define NUMBER_MAX INT64_C(4000000000000000000)
#define ANY        INT64_MIN

/* The whole numbers of the state, 64 bits each; `least` ANY: all 64 bits mean something. */
static const struct field {
    const char *name;
    size_t at;
    int64_t least;
} fields[] = {
    {"now", offsetof(struct kernel, now), 0},
    {"rng", offsetof(struct kernel, rng.state), ANY},
    {"step", offsetof(struct kernel, step), 0},
    {"attempt", offsetof(struct kernel, attempt), 0},
    {"attempt_at", offsetof(struct kernel, attempt_at), 0},
    {"pauses", offsetof(struct kernel, pauses), 0},
    {"pauses_same", offsetof(struct kernel, pauses_same), 0},
    {"last_text", offsetof(struct kernel, last_text), ANY},
    {"calls_made", offsetof(struct kernel, calls_made), 0},
    {"nothing_new", offsetof(struct kernel, nothing_new), 0},
    {"size_left", offsetof(struct kernel, size_left), 0},
    {"streak", offsetof(struct kernel, streak), 0},
    {"tokens", offsetof(struct kernel, tokens), 0},
    {"cost_nano", offsetof(struct kernel, cost_nano), -1},
    {"input", offsetof(struct kernel, usage.input), -1},
    {"cached", offsetof(struct kernel, usage.cached), -1},
    {"cache_write", offsetof(struct kernel, usage.cache_write), -1},
    {"output", offsetof(struct kernel, usage.output), -1},
    {"reasoning", offsetof(struct kernel, usage.reasoning), -1},
    {"base_steps", offsetof(struct kernel, base.steps), 0},
    {"base_tokens", offsetof(struct kernel, base.tokens), 0},
    {"base_calls", offsetof(struct kernel, base.calls), 0},
    {"base_cost_nano", offsetof(struct kernel, base.cost_nano), 0},
    {"base_ms", offsetof(struct kernel, base.ms), 0},
    {"sign_1", offsetof(struct kernel, step_sign[0]), ANY},
    {"sign_2", offsetof(struct kernel, step_sign[1]), ANY},
    {"sign_3", offsetof(struct kernel, step_sign[2]), ANY},
    {"sign_4", offsetof(struct kernel, step_sign[3]), ANY},
    {"sign_5", offsetof(struct kernel, step_sign[4]), ANY},
    {"sign_6", offsetof(struct kernel, step_sign[5]), ANY},
};

enum { N_FIELDS = sizeof fields / sizeof fields[0] };
_Static_assert(ALTERNATION_STEPS == 6, "a field for each sign");

/* The states that a snapshot can be taken in; the others pass by themselves. */
static const struct {
    const char *name;
    enum state state;
} quiet[] = {{"idle", STATE_IDLE}, {"model", STATE_MODEL}, {"done", STATE_DONE}};

enum { N_QUIET = sizeof quiet / sizeof quiet[0] };

static const enum role roles[] = {ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL};

enum { N_ROLES = sizeof roles / sizeof roles[0] };

/* One number for all that the loop reads of its tools: with others the log might not have come to
 * this. */
static uint64_t hash_tools(const struct kernel_config *c)
{
    uint64_t hash = c->n_tools;
    for (size_t i = 0; i < c->n_tools; i++) {
        const struct tool_spec *t = &c->tools[i];
        const int64_t marks[] = {t->tier,     t->serial,     t->idempotent, t->polling,
                                 t->terminal, t->timeout_ms, t->max_output};
        hash = hash64(hash, t->name);
        hash = hash64(hash, t->description);
        hash = hash64(hash, t->parameters);
        for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++) {
            hash = hash64(hash ^ (uint64_t)marks[m], STR("mark"));
        }
    }
    return hash;
}

/* ---- writing ---- */

static void open_member(struct buf *out, const char *key, char bracket)
{
    json_key(out, key);
    buf_char(out, bracket);
}

static void put_message(struct buf *out, const struct message *m)
{
    json_next(out);
    buf_char(out, '{');
    json_put_text(out, "role", str_of(role_name(m->role)));
    json_put_text(out, "content", m->content);
    if (m->content_null) {
        json_put_bool(out, "null", true);
    }
    if (m->reasoning.p != NULL) {
        json_put_text(out, "reasoning", m->reasoning);
    }
    if (m->parts.p != NULL) {
        json_put_text(out, "parts", m->parts);
    }
    if (m->call_id.p != NULL) {
        json_put_text(out, "call_id", m->call_id);
    }
    if (m->notice) {
        json_put_bool(out, "notice", true);
    }
    if (m->n_calls > 0) {
        tool_calls_put(out, m->calls, m->n_calls);
    }
    buf_char(out, '}');
}

/* Each as [key, count, result], in the order in which the table holds them. */
static void put_seen(struct buf *out, const struct kernel *k)
{
    int64_t i = 0, last = -1;
    open_member(out, "seen", '[');
    for (size_t slot = 0; slot < k->seen.n_slots; slot++) {
        for (const struct link *l = k->seen.slots[slot]; l != NULL; l = l->next, i++) {
            const struct seen *s = (const struct seen *)l;
            last = s == k->last_seen ? i : last;
            json_next(out);
            buf_char(out, '[');
            json_add_string(out, s->key);
            buf_char(out, ',');
            buf_int(out, s->count);
            buf_char(out, ',');
            if (s->result.p == NULL) {
                buf_addz(out, "null");
            } else {
                json_add_string(out, s->result);
            }
            buf_char(out, ']');
        }
    }
    buf_char(out, ']');
    json_put_int(out, "last_seen", last);
}

static void put_told(struct buf *out, const struct kernel *k)
{
    open_member(out, "told", '[');
    for (size_t slot = 0; slot < k->told.n_slots; slot++) {
        for (const struct link *l = k->told.slots[slot]; l != NULL; l = l->next) {
            json_next(out);
            buf_int(out, (int64_t)l->hash);
        }
    }
    buf_char(out, ']');
}

static void put_config(struct buf *out, const struct kernel *k)
{
    const struct kernel_config *c = &k->config;
    open_member(out, "run", '{');
    json_put_text(out, "model", c->model);
    json_put_text(out, "provider", c->provider);
    log_config(out, c);
    buf_char(out, '}');
    json_put_int(out, "tools_hash", (int64_t)hash_tools(c));
    open_member(out, "always", '[');
    for (size_t i = 0; i < c->n_tools; i++) {
        if (k->always[i]) {
            json_next(out);
            json_add_string(out, c->tools[i].name);
        }
    }
    buf_char(out, ']');
}

/* Of an ended run; the rest of its result stands among the numbers. */
static void put_result(struct buf *out, const struct run_result *r)
{
    open_member(out, "result", '{');
    json_put_text(out, "status", str_of(run_status_name(r->status)));
    json_put_text(out, "failed", str_of(fail_name(r->failed)));
    json_put_text(out, "reason", r->reason);
    json_put_text_or_null(out, "answer", r->answer);
    buf_char(out, '}');
}

static void put_numbers(struct buf *out, const struct kernel *k)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        int64_t v;
        memcpy(&v, (const char *)k + fields[i].at, sizeof v);
        json_put_int(out, fields[i].name, v);
    }
    json_put_int(out, "order", k->order);
}

/* The last member: what all bytes before it come to. */
static void check_add(struct buf *out, struct str before)
{
    char hex[HASH_HEX];
    buf_fmt(out, ",\"check\":\"%s\"}\n", hash_hex(hash64(0, before), hex));
}

/* The name of the state, NULL where no snapshot can be taken. */
static const char *quiet_name(const struct kernel *k)
{
    if (k->n_calls > 0 || k->log_taken < k->log.n) {
        return NULL;
    }
    for (size_t i = 0; i < N_QUIET; i++) {
        if (quiet[i].state == k->state) {
            return quiet[i].name;
        }
    }
    return NULL;
}

bool kernel_snapshot_due(const struct kernel *k, const struct snapshot_mark *last)
{
    return k->seq - last->lines >= SNAPSHOT_LINES && k->logged - last->bytes >= last->size &&
           quiet_name(k) != NULL;
}

bool kernel_snapshot(const struct kernel *k, struct buf *out, struct snapshot_mark *mark)
{
    const char *state = quiet_name(k);
    struct buf b = {.max = SNAPSHOT_BYTES_MAX};
    if (state == NULL) {
        return false;
    }
    buf_addz(&b, SNAPSHOT_BEGINNING);
    buf_int(&b, SCHEMA);
    json_put_int(&b, "lines", k->seq);
    json_put_int(&b, "bytes", (int64_t)k->logged);
    json_put_hash(&b, "sum", log_sum(k));
    json_put_text(&b, "state", str_of(state));
    put_numbers(&b, k);
    put_config(&b, k);
    if (k->state == STATE_DONE) {
        put_result(&b, &k->result);
    }
    put_seen(&b, k);
    put_told(&b, k);
    open_member(&b, "history", '[');
    for (size_t i = 0; i < k->n_history; i++) {
        put_message(&b, &k->history[i]);
    }
    buf_char(&b, ']');
    check_add(&b, buf_str(&b));
    bool whole = !b.truncated;
    if (whole) {
        buf_add(out, buf_str(&b));
        if (mark != NULL) {
            *mark = (struct snapshot_mark){k->seq, k->logged, b.n};
        }
    }
    buf_free(&b);
    return whole;
}

/* ---- reading ---- */

/* A string member in the kernel's memory; p NULL where there is none. */
static struct str text_in(struct kernel *k, const struct val *v, const char *key)
{
    const struct val *s = val_get(v, key);
    return val_is(s, VAL_STRING) ? arena_str(k->arena, s->text) : (struct str){NULL, 0};
}

static bool flag_in(const struct val *v, const char *key)
{
    const struct val *b = val_get(v, key);
    return val_is(b, VAL_BOOL) && b->boolean;
}

static size_t count_in(const struct val *list)
{
    return val_is(list, VAL_ARRAY) ? list->count : 0;
}

/* Whether the text is as it was written, by its last member. */
static bool is_whole(struct str text)
{
    struct buf want = {0};
    if (text.n < CHECK_BYTES || !str_starts(text, SNAPSHOT_BEGINNING)) {
        return false;
    }
    struct str before = str_slice(text, 0, text.n - CHECK_BYTES);
    check_add(&want, before);
    bool same = str_eq(buf_str(&want), str_slice(text, before.n, text.n));
    buf_free(&want);
    return same;
}

/* Whether it stands for the first lines of this log, at most lines_max of them. */
static bool is_of_log(const struct val *v, struct str log, size_t lines_max, int64_t *lines,
                      struct str *prefix)
{
    int64_t schema = 0, bytes = 0;
    char sum[HASH_HEX];
    if (!val_int(val_get(v, "snapshot"), &schema) || schema != SCHEMA ||
        !val_int(val_get(v, "lines"), lines) || *lines < 1 || (uint64_t)*lines > lines_max ||
        !val_int(val_get(v, "bytes"), &bytes) || bytes < 1 || (uint64_t)bytes > log.n ||
        log.p[bytes - 1] != '\n') {
        return false;
    }
    *prefix = str_slice(log, 0, (size_t)bytes);
    return str_is(val_text(val_get(v, "sum")), hash_hex(hash64(0, *prefix), sum));
}

static bool read_state(struct kernel *k, const struct val *v)
{
    for (size_t i = 0; i < N_QUIET; i++) {
        if (str_is(val_text(val_get(v, "state")), quiet[i].name)) {
            k->state = quiet[i].state;
            return true;
        }
    }
    return false;
}

static bool read_numbers(struct kernel *k, const struct val *v)
{
    int64_t order = -1;
    for (size_t i = 0; i < N_FIELDS; i++) {
        const struct field *f = &fields[i];
        int64_t n;
        if (!val_int(val_get(v, f->name), &n) ||
            (f->least != ANY && (n < f->least || n > NUMBER_MAX))) {
            return false;
        }
        memcpy((char *)k + f->at, &n, sizeof n);
    }
    if (!val_int(val_get(v, "order"), &order) || order < 0 || order > UINT32_MAX) {
        return false;
    }
    k->order = (uint32_t)order;
    return true;
}

/* What the log's first line says stays; the rest is as resume lines left it. */
static bool read_config(struct kernel *k, const struct val *v, const struct tool_spec *specs,
                        size_t n_specs)
{
    const struct val *run = val_get(v, "run"), *always = val_get(v, "always");
    struct kernel_config c = kernel_config_default();
    int64_t hash = 0;
    c.run = k->config.run;
    c.seed = k->config.seed;
    c.started_at = k->config.started_at;
    c.system = k->config.system;
    c.model = text_in(k, run, "model");
    c.provider = text_in(k, run, "provider");
    if (c.model.p == NULL || c.provider.p == NULL ||
        config_read(k->arena, run, specs, n_specs, &c) != 0 ||
        !val_int(val_get(v, "tools_hash"), &hash) || (uint64_t)hash != hash_tools(&c)) {
        return false;
    }
    k->config = c;
    k->always = arena_array(k->arena, c.n_tools, sizeof *k->always);
    for (size_t i = 0; i < count_in(always); i++) {
        const struct tool_spec *t = tool_find(c.tools, c.n_tools, val_text(val_item(always, i)));
        if (t == NULL) {
            return false;
        }
        k->always[t - c.tools] = true;
    }
    k->size = k->tools_size = k->size_left = 0;
    size_tools(k);
    return true;
}

static bool read_result(struct kernel *k, const struct val *v)
{
    const struct val *result = val_get(v, "result");
    struct run_result *r = &k->result;
    *r = (struct run_result){.answer = {NULL, 0}};
    if (k->state != STATE_DONE) {
        return true;
    }
    if (!run_status_of_name(val_text(val_get(result, "status")), &r->status) ||
        !fail_of_name(val_text(val_get(result, "failed")), &r->failed)) {
        return false;
    }
    r->steps = k->step;
    r->calls_made = k->calls_made;
    r->usage = k->usage;
    r->cost_nano = k->cost_nano;
    r->currency = k->config.currency;
    r->ended_ms = k->now;
    r->reason = text_in(k, result, "reason");
    r->answer = text_in(k, result, "answer");
    return r->reason.p != NULL;
}

/* The tables are read from behind, so that each chain comes out in its order. */

static bool read_seen(struct kernel *k, const struct val *v)
{
    const struct val *list = val_get(v, "seen");
    int64_t last = -1;
    size_t n = count_in(list);
    k->seen = (struct links){.slots = NULL};
    k->last_seen = NULL;
    links_reserve(k, &k->seen, n);
    if (!val_int(val_get(v, "last_seen"), &last) || last < -1 || last >= (int64_t)n) {
        return false;
    }
    for (size_t i = n; i-- > 0;) {
        const struct val *one = val_item(list, i), *key = val_item(one, 0);
        const struct val *result = val_item(one, 2);
        struct seen *s = arena_alloc(k->arena, sizeof *s);
        if (count_in(one) != SEEN_PARTS || !val_is(key, VAL_STRING) ||
            !val_int(val_item(one, 1), &s->count) || s->count < 0 || s->count > NUMBER_MAX) {
            return false;
        }
        s->key = arena_str(k->arena, key->text);
        s->link.hash = hash64(0, s->key);
        if (val_is(result, VAL_STRING)) {
            s->result = arena_str(k->arena, result->text);
        }
        links_add(k, &k->seen, &s->link);
        k->last_seen = (int64_t)i == last ? s : k->last_seen;
    }
    return true;
}

static bool read_told(struct kernel *k, const struct val *v)
{
    const struct val *list = val_get(v, "told");
    size_t n = count_in(list);
    k->told = (struct links){.slots = NULL};
    links_reserve(k, &k->told, n);
    for (size_t i = n; i-- > 0;) {
        int64_t hash;
        struct link *l = arena_alloc(k->arena, sizeof *l);
        if (!val_int(val_item(list, i), &hash)) {
            return false;
        }
        l->hash = (uint64_t)hash;
        links_add(k, &k->told, l);
    }
    return true;
}

static bool read_calls(struct kernel *k, const struct val *list, struct message *m)
{
    m->n_calls = count_in(list);
    if (m->n_calls > CALLS_MAX) {
        return false;
    }
    m->calls = arena_array(k->arena, m->n_calls, sizeof *m->calls);
    for (size_t i = 0; i < m->n_calls; i++) {
        const struct val *c = val_item(list, i);
        m->calls[i] = (struct tool_call){text_in(k, c, "id"), text_in(k, c, "name"),
                                         text_in(k, c, "arguments")};
        if (m->calls[i].arguments.p == NULL) {
            return false;
        }
    }
    return true;
}

static bool read_message(struct kernel *k, const struct val *v)
{
    size_t role = 0;
    struct message m = {.content_null = flag_in(v, "null"),
                        .content = text_in(k, v, "content"),
                        .reasoning = text_in(k, v, "reasoning"),
                        .parts = text_in(k, v, "parts"),
                        .call_id = text_in(k, v, "call_id"),
                        .notice = flag_in(v, "notice")};
    while (role < N_ROLES && !str_is(val_text(val_get(v, "role")), role_name(roles[role]))) {
        role++;
    }
    if (role == N_ROLES || m.content.p == NULL || !read_calls(k, val_get(v, "calls"), &m)) {
        return false;
    }
    m.role = roles[role];
    remember(k, m);
    return true;
}

/* It must be one that could be sent, with the system message of the log, and where a step can begin
 * there is a message of the user. */
static bool read_history(struct kernel *k, const struct val *v)
{
    const struct val *list = val_get(v, "history");
    bool user = false, system = k->config.system.p != NULL;
    k->history = NULL;
    k->sizes = NULL;
    k->n_history = k->cap_history = 0;
    for (size_t i = 0; i < count_in(list); i++) {
        if (!read_message(k, val_item(list, i))) {
            return false;
        }
        user = user || (k->history[i].role == ROLE_USER && !k->history[i].notice);
    }
    size_t n = k->n_history;
    return history_check(k->history, n, NULL) == 0 &&
           (n > 0 && k->history[0].role == ROLE_SYSTEM) == system &&
           (user || (n == (system ? 1 : 0) && k->state != STATE_MODEL));
}

bool kernel_restore(struct kernel *k, struct str snapshot, struct str log, size_t lines_max,
                    const struct tool_spec *specs, size_t n_specs)
{
    struct kernel as_told = *k;
    struct str prefix;
    struct val *v = NULL;
    if (!is_whole(snapshot)) {
        return false;
    }
    struct arena *arena = arena_new();
    bool right = json_parse(arena, NULL, snapshot, &v, NULL) == 0 &&
                 is_of_log(v, log, lines_max, &as_told.seq, &prefix) && read_state(&as_told, v) &&
                 read_config(&as_told, v, specs, n_specs) && read_numbers(&as_told, v) &&
                 read_result(&as_told, v) && read_seen(&as_told, v) && read_told(&as_told, v) &&
                 read_history(&as_told, v);
    arena_free(arena);
    if (right) {
        *k = as_told;
        log_continue(k, prefix);
    }
    return right;
}
