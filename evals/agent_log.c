/* The event log of a program's run, made from its traffic.
 *
 * Conversations stand in an order that is made of what they hold, never of when they came: those
 * that begin with the prompt, then those that hold it, then the others; the shorter first, then by
 * their texts. One that a call has led to (a sub-agent) stands between this call's tool_start and
 * its tool_result: its first message holds an argument of the call, the longest one decides. Of
 * several conversations that equal calls may have led to, each call gets one in turn. */
#include <stdlib.h>
#include <string.h>

#include "evals/agent_int.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"

enum { ARGUMENT_BYTES_MIN = 2, DEPTH_MAX = 64 };

struct writer {
    struct traffic *t;
    const struct agent_facts *facts;
    struct buf *log;
    struct rig_outcome *out;
    struct eval_call *calls;
    int64_t seq, step, numbers;
    uint64_t now;
    int64_t conversation; /* the one at hand */
};

/* ---- their order ---- */

static struct str first_text(const struct conversation *c)
{
    const struct turn *turn = c->first;
    for (size_t i = turn->n_heard; i > 0; i--) {
        if (turn->heard[i - 1].role == ROLE_USER) {
            return turn->heard[i - 1].content;
        }
    }
    return STR("");
}

static int compare_replies(const struct reply *a, const struct reply *b)
{
    int diff = str_cmp(a->content, b->content);
    for (size_t i = 0; diff == 0 && i < a->n_calls && i < b->n_calls; i++) {
        diff = str_cmp(a->calls[i].name, b->calls[i].name);
        diff = diff != 0 ? diff : str_cmp(a->calls[i].arguments, b->calls[i].arguments);
    }
    return diff != 0 ? diff : (a->n_calls > b->n_calls) - (a->n_calls < b->n_calls);
}

static int compare_turns(const struct turn *a, const struct turn *b)
{
    int diff = 0;
    for (size_t i = 0; diff == 0 && i < a->n_heard && i < b->n_heard; i++) {
        diff = str_cmp(a->heard[i].content, b->heard[i].content);
    }
    diff = diff != 0 ? diff : (a->n_heard > b->n_heard) - (a->n_heard < b->n_heard);
    diff = diff != 0 ? diff : str_cmp(a->model, b->model);
    return diff != 0 ? diff : compare_replies(&a->reply, &b->reply);
}

static int by_content(const void *x, const void *y)
{
    const struct conversation *a = *(struct conversation *const *)x;
    const struct conversation *b = *(struct conversation *const *)y;
    int diff = b->prompted - a->prompted;
    diff = diff != 0
               ? diff
               : (a->first->n_heard > b->first->n_heard) - (a->first->n_heard < b->first->n_heard);
    diff = diff != 0 ? diff : str_cmp(first_text(a), first_text(b));
    diff = diff != 0 ? diff : str_cmp(a->system, b->system);
    const struct turn *s = a->first, *t = b->first;
    for (; diff == 0 && s != NULL && t != NULL; s = s->next, t = t->next) {
        diff = compare_turns(s, t);
    }
    return diff != 0 ? diff : (s != NULL) - (t != NULL);
}

static bool descends_from(const struct conversation *c, const struct conversation *from)
{
    while (c != NULL && c != from) {
        c = c->parent;
    }
    return c != NULL;
}

/* How many bytes of a call's longest argument stand in the text. */
static size_t argument_in(const struct val *arguments, struct str text)
{
    size_t most = 0;
    for (size_t i = 0; val_is(arguments, VAL_OBJECT) && i < arguments->count; i++) {
        struct str value = str_trim(val_text(&arguments->members[i].value));
        if (value.n > most && value.n >= ARGUMENT_BYTES_MIN && str_find(text, value) != SIZE_MAX) {
            most = value.n;
        }
    }
    return most;
}

/* A call that may have led to other conversations. */
struct origin {
    struct turn *turn;
    size_t call;
    const struct val *arguments;
};

static size_t list_origins(struct conversation **sorted, size_t n, struct arena *scratch,
                           struct origin *out)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        for (struct turn *turn = sorted[i]->first; turn != NULL; turn = turn->next) {
            for (size_t c = 0; c < turn->reply.n_calls; c++) {
                struct val *v = NULL;
                if (json_parse(scratch, NULL, turn->reply.calls[c].arguments, &v, NULL) == 0) {
                    out[found++] = (struct origin){turn, c, v};
                }
            }
        }
    }
    return found;
}

static size_t n_children(const struct origin *from)
{
    size_t n = 0;
    for (const struct conversation *c = from->turn->children[from->call]; c != NULL;
         c = c->sibling) {
        n++;
    }
    return n;
}

/* Later siblings go behind earlier ones: they come in order. */
static void adopt(struct conversation *c, const struct origin *from)
{
    struct conversation **link = &from->turn->children[from->call];
    while (*link != NULL) {
        link = &(*link)->sibling;
    }
    *link = c;
    c->parent = from->turn->of;
}

static void find_parents(const struct traffic *t, struct conversation **sorted, size_t n)
{
    struct arena *scratch = arena_new();
    bool many = t->n_calls > 0 && n > TRAFFIC_CANDIDATES_MAX / t->n_calls;
    struct origin *origins = arena_array(scratch, t->n_calls, sizeof *origins);
    size_t n_origins = many || n < 2 ? 0 : list_origins(sorted, n, scratch, origins);
    for (size_t i = 0; i < n; i++) {
        struct conversation *c = sorted[i];
        const struct origin *best = NULL;
        size_t most = 0;
        for (size_t o = 0; c->prompted < 2 && o < n_origins; o++) {
            size_t fit = argument_in(origins[o].arguments, first_text(c));
            bool better = fit > most ||
                          (most > 0 && fit == most && n_children(&origins[o]) < n_children(best));
            if (better && !descends_from(origins[o].turn->of, c)) {
                best = &origins[o];
                most = fit;
            }
        }
        if (best != NULL) {
            adopt(c, best);
        }
    }
    arena_free(scratch);
}

static struct conversation **put_in_order(const struct traffic *t)
{
    size_t n = 0;
    struct conversation **sorted = arena_array(t->arena, t->n_conversations + 1, sizeof *sorted);
    for (struct conversation *c = t->first; c != NULL; c = c->next) {
        sorted[n++] = c;
    }
    qsort(sorted, n, sizeof *sorted, by_content);
    find_parents(t, sorted, n);
    return sorted;
}

/* ---- lines ---- */

static void begin(struct writer *w, const char *type)
{
    buf_char(w->log, '{');
    json_put_int(w->log, "seq", ++w->seq);
    json_put_int(w->log, "t_ms", (int64_t)w->now);
    json_put_text(w->log, "type", str_of(type));
    if (w->conversation > 1) {
        json_put_int(w->log, "conversation", w->conversation);
    }
}

static void end(struct writer *w)
{
    buf_addz(w->log, "}\n");
}

/* Moves on to a measured time; the log's never falls. */
static void reach(struct writer *w, int64_t at_ms)
{
    if (w->facts->timed && at_ms > (int64_t)w->now) {
        w->now = (uint64_t)at_ms;
    }
}

static void put_start(struct writer *w, const struct conversation *main)
{
    const struct agent_facts *f = w->facts;
    const struct turn *turn = main == NULL ? NULL : main->first;
    begin(w, "run_start");
    json_put_int(w->log, "schema", 1);
    json_put_text(w->log, "run", f->run);
    json_put_int(w->log, "seed", (int64_t)f->seed);
    json_put_text(w->log, "started_at", f->started_at);
    json_put_text(w->log, "model", w->out->model);
    json_put_text(w->log, "provider",
                  str_of(wire_provider(turn == NULL ? WIRE_CHAT : turn->format)));
    json_put_text_or_null(w->log, "system", main == NULL ? (struct str){NULL, 0} : main->system);
    json_put_text(w->log, "agent", f->command);
    json_put_texts(w->log, "tools", turn == NULL ? NULL : turn->tools,
                   turn == NULL ? 0 : turn->n_tools);
    json_key(w->log, "budget");
    buf_char(w->log, '{');
    json_put_int(w->log, "seconds", f->task->budget.seconds);
    buf_addz(w->log, "},\"config\":{}");
    end(w);
}

static void begin_of_turn(struct writer *w, const char *type)
{
    begin(w, type);
    json_put_int(w->log, "step", w->step);
}

/* What the turn costs by its model's price; its currency into *currency. */
static int64_t cost_of(const struct writer *w, const struct turn *turn, struct str *currency)
{
    const struct prices *prices = w->facts->prices == NULL ? prices_shipped() : w->facts->prices;
    const struct price *price = prices_find(prices, turn->model, currency);
    return usage_cost_nano(&turn->reply.usage, price);
}

static void put_reply(struct writer *w, const struct turn *turn, int64_t cost_nano)
{
    const struct reply *r = &turn->reply;
    const struct str none = {NULL, 0};
    begin_of_turn(w, "llm_reply");
    if (!str_eq(turn->model, w->out->model)) {
        json_put_text(w->log, "model", turn->model);
    }
    json_put_text_or_null(w->log, "content", r->content_null ? none : r->content);
    json_put_text_or_null(w->log, "reasoning", r->reasoning);
    tool_calls_put(w->log, r->calls, r->n_calls);
    json_put_text(w->log, "stop", str_of(stop_name(r->stop)));
    json_put_text_or_null(w->log, "stop_raw", r->stop_raw);
    usage_put(w->log, &r->usage);
    json_put_known(w->log, "cost_nano", cost_nano);
    json_put_int(w->log, "latency_ms", turn->ended_ms - turn->at_ms);
    json_put_int(w->log, "attempts", turn->attempts);
    end(w);
}

static void put_failure(struct writer *w, const struct turn *turn)
{
    const struct failure *f = &turn->failure;
    begin_of_turn(w, "llm_failure");
    json_put_text(w->log, "class", str_of(fail_name(f->class)));
    json_put_known(w->log, "status", f->status == 0 ? -1 : f->status);
    json_put_text(w->log, "message", f->message);
    json_put_bool(w->log, "final", true);
    end(w);
}

static void begin_call(struct writer *w, const char *type, const struct tool_call *c)
{
    begin_of_turn(w, type);
    json_put_text(w->log, "call_id", c->id);
    json_put_text(w->log, "name", c->name);
}

/* What the program answered to a call, in its next request; NULL = it never told. */
static const struct message *result_of(const struct turn *next, struct str id)
{
    for (size_t i = 0; next != NULL && i < next->n_heard; i++) {
        if (next->heard[i].role == ROLE_TOOL && str_eq(next->heard[i].call_id, id)) {
            return &next->heard[i];
        }
    }
    return NULL;
}

static void put_result(struct writer *w, const struct turn *turn, size_t call)
{
    const struct tool_call *c = &turn->reply.calls[call];
    const struct message *m = result_of(turn->next, c->id);
    if (m != NULL) {
        reach(w, turn->next->at_ms);
    }
    int64_t took = !w->facts->timed || m == NULL ? 0 : turn->next->at_ms - turn->ended_ms;
    begin_call(w, "tool_result", c);
    json_put_bool(w->log, "ok", m != NULL);
    if (m != NULL) {
        json_put_text(w->log, "content", m->content);
    } else {
        json_key(w->log, "error");
        buf_char(w->log, '{');
        json_put_text(w->log, "code", STR("CANCELLED"));
        json_put_text(w->log, "message", STR("the program told its model no result"));
        json_put_bool(w->log, "retryable", false);
        json_put_text_or_null(w->log, "hint", (struct str){NULL, 0});
        buf_char(w->log, '}');
    }
    json_put_int(w->log, "latency_ms", took);
    json_put_int(w->log, "attempts", 1);
    json_put_bool(w->log, "cached", false);
    json_put_bool(w->log, "truncated", false);
    end(w);
}

/* ---- conversations ---- */

static bool is_terminal(const struct golden_task *task, struct str name)
{
    size_t n = 0;
    const struct tool_spec *specs = task->tools == NULL ? NULL : toolset_specs(task->tools, &n);
    const struct tool_spec *tool = tool_find(specs, n, name);
    return tool != NULL && tool->terminal;
}

static void count_reply(struct writer *w, const struct turn *turn, int64_t cost_nano,
                        struct str currency)
{
    struct run_result *r = &w->out->result;
    bool first = r->steps++ == 0;
    bool other = !first && cost_nano >= 0 && !str_eq(currency, r->currency);
    r->cost_nano = first                                        ? cost_nano
                   : cost_nano < 0 || r->cost_nano < 0 || other ? -1
                                                                : r->cost_nano + cost_nano;
    r->currency = first ? currency : r->currency;
    usage_add(&r->usage, &turn->reply.usage);
    r->calls_made += (int64_t)turn->reply.n_calls;
    for (size_t i = 0; i < turn->reply.n_calls; i++) {
        const struct tool_call *c = &turn->reply.calls[i];
        if (!is_terminal(w->facts->task, c->name)) {
            w->calls[w->out->n_calls++] = (struct eval_call){c->name, c->arguments, w->step};
        }
    }
}

static void put_conversation(struct writer *w, struct conversation *c, int depth);

/* The calls of a reply, each with the conversations that it has led to. */
static void put_batch(struct writer *w, const struct turn *turn, int depth)
{
    int64_t step = w->step, conversation = w->conversation;
    for (size_t i = 0; i < turn->reply.n_calls; i++) {
        begin_call(w, "tool_start", &turn->reply.calls[i]);
        json_put_text(w->log, "arguments", turn->reply.calls[i].arguments);
        end(w);
    }
    for (size_t i = 0; i < turn->reply.n_calls; i++) {
        for (struct conversation *c = turn->children[i]; c != NULL; c = c->sibling) {
            put_conversation(w, c, depth + 1);
        }
    }
    int64_t after = w->step;
    w->step = step;
    w->conversation = conversation;
    for (size_t i = 0; i < turn->reply.n_calls; i++) {
        put_result(w, turn, i);
    }
    w->step = after;
}

static void put_turn(struct writer *w, const struct turn *turn, int depth)
{
    struct str currency = {NULL, 0};
    reach(w, turn->at_ms);
    for (size_t i = 0; i < turn->n_heard; i++) {
        if (turn->heard[i].role == ROLE_USER) {
            begin(w, "user_message");
            json_put_text(w->log, "content", turn->heard[i].content);
            end(w);
        }
    }
    w->step++;
    begin_of_turn(w, "step_start");
    end(w);
    reach(w, turn->ended_ms);
    w->now += w->facts->timed ? 0 : (uint64_t)(turn->ended_ms - turn->at_ms);
    if (turn->state != TURN_ANSWERED) {
        put_failure(w, turn);
        return;
    }
    int64_t cost_nano = cost_of(w, turn, &currency);
    put_reply(w, turn, cost_nano);
    count_reply(w, turn, cost_nano, currency);
    put_batch(w, turn, depth);
}

/* Deeper ones are left out of the log: nobody writes programs like that. */
static void put_conversation(struct writer *w, struct conversation *c, int depth)
{
    int64_t before = w->conversation;
    if (depth > DEPTH_MAX) {
        return;
    }
    w->conversation = ++w->numbers;
    for (const struct turn *turn = c->first; turn != NULL; turn = turn->next) {
        put_turn(w, turn, depth);
    }
    w->conversation = before;
}

/* What the program's last reply said, where it printed nothing. */
static struct str last_words(const struct conversation *main)
{
    struct str text = {NULL, 0};
    for (const struct turn *turn = main == NULL ? NULL : main->first; turn != NULL;
         turn = turn->next) {
        text =
            turn->state == TURN_ANSWERED && turn->reply.content.n > 0 ? turn->reply.content : text;
    }
    return text;
}

static void put_end(struct writer *w)
{
    struct run_result *r = &w->out->result;
    w->conversation = 0;
    if (r->status == RUN_COMPLETED) {
        begin_of_turn(w, "final");
        json_put_text_or_null(w->log, "answer", r->answer);
        end(w);
    }
    uint64_t sum = hash64(0, buf_str(w->log));
    begin(w, "run_end");
    json_put_text(w->log, "status", str_of(run_status_name(r->status)));
    json_put_int(w->log, "steps", r->steps);
    usage_put(w->log, &r->usage);
    json_put_known(w->log, "cost_nano", r->cost_nano);
    json_put_text_or_null(w->log, "currency", r->currency);
    json_put_text_or_null(w->log, "answer", r->answer);
    json_put_hash(w->log, "sum", sum);
    end(w);
}

void agent_log(struct traffic *t, const struct agent_facts *facts, struct buf *log,
               struct rig_outcome *out)
{
    struct conversation **sorted = put_in_order(t);
    size_t root = 0;
    while (root < t->n_conversations && sorted[root]->parent != NULL) {
        root++;
    }
    const struct conversation *main = sorted[root];
    struct writer w = {.t = t, .facts = facts, .log = log, .out = out};
    w.calls = arena_array(t->arena, t->n_calls, sizeof *w.calls);
    out->calls = w.calls;
    out->n_calls = 0;
    out->model = main == NULL ? STR("") : main->first->model;
    out->result =
        (struct run_result){.status = facts->status,
                            .cost_nano = -1,
                            .answer = facts->answer.p != NULL ? facts->answer : last_words(main),
                            .reason = facts->reason};
    put_start(&w, main);
    for (size_t i = 0; i < t->n_conversations; i++) {
        if (sorted[i]->parent == NULL) {
            put_conversation(&w, sorted[i], 0);
        }
    }
    out->result.ended_ms = w.now;
    put_end(&w);
}
