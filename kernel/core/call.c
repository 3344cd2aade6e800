/* What a reply asked for: ids, arguments, repeats. */
#include <string.h>

#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/core/kernel_int.h"

enum { TOOLS_LISTED_MAX = 20, CLOSE_NAME_SLIPS = 2, CLOSE_NAME_BYTES = 3, LINK_SLOTS_FIRST = 8 };

bool tool_repeatable(const struct tool_spec *tool)
{
    return tool->tier == TIER_READ || tool->idempotent;
}

bool runnable(const struct call *c)
{
    return c->refusal.code.n == 0 && !c->refusal.ok;
}

/* What the model may try next, by code. */
static struct str hint_of(const char *code)
{
    static const struct {
        const char *code, *hint;
    } hints[] = {
        {"BAD_ARGUMENTS", "send the call again with one JSON object as its arguments"},
        {"BAD_PARAMETERS", "correct the arguments by the tool's schema and call again"},
        {"REPEATED_CALL", "use the earlier result, try something else, or answer"},
        {"TIMEOUT", "try a smaller request or another tool"},
        {"LIMIT", "make fewer calls, or answer with what is known"},
        {"TRUNCATED_CALL", "the reply was cut before the call was complete: send a shorter one"},
        {"DENIED", "do without this call, or ask the user"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (strcmp(hints[i].code, code) == 0) {
            return str_of(hints[i].hint);
        }
    }
    return (struct str){NULL, 0};
}

struct tool_output call_error(struct kernel *k, const char *code, struct str message,
                              bool retryable)
{
    return (struct tool_output){.code = str_of(code),
                                .message = text_preview(k->arena, message, ERROR_MESSAGE_CHARS - 1),
                                .hint = hint_of(code),
                                .retryable = retryable};
}

/* Whether call i of the reply may not keep or take this id: another one has it. */
static bool id_taken(const struct kernel *k, const struct reply *r, size_t i, struct str id)
{
    for (size_t j = 0; j < r->n_calls; j++) {
        if ((j < i && str_eq(k->calls[j].id, id)) || (j > i && str_eq(r->calls[j].id, id))) {
            return true;
        }
    }
    return false;
}

/* A given id is kept by its first owner; a missing or repeated one gets a name of its own. */
static struct str unique_id(struct kernel *k, const struct reply *r, size_t i)
{
    struct str id = r->calls[i].id;
    bool first = id.n > 0;
    for (size_t j = 0; j < i && first; j++) {
        first = !str_eq(r->calls[j].id, id);
    }
    if (first) {
        return id;
    }
    id = arena_printf(k->arena, "call_%lld_%zu", (long long)k->step, i + 1);
    while (id_taken(k, r, i, id)) {
        id = arena_printf(k->arena, "%.*s_", STR_FMT(id));
    }
    return id;
}

static struct tool_output unknown_tool(struct kernel *k, struct str name)
{
    const struct kernel_config *c = &k->config;
    const char **names = arena_array(k->arena, c->n_tools, sizeof *names);
    struct buf hint = {.max = 4096};
    buf_addz(&hint, c->n_tools == 0 ? "no tools are offered: answer without" : "available: ");
    for (size_t i = 0; i < c->n_tools; i++) {
        names[i] = arena_cstr(k->arena, c->tools[i].name);
        if (i < TOOLS_LISTED_MAX) {
            buf_addz(&hint, i == 0 ? "" : ", ");
            buf_add(&hint, c->tools[i].name);
        }
    }
    const char *close = text_closest(name, names, c->n_tools);
    struct str shown = text_preview(k->arena, name, 80);
    struct str message = name.n == 0 ? STR("the call names no tool")
                         : close == NULL
                             ? arena_printf(k->arena, "no tool is called %.*s", STR_FMT(shown))
                             : arena_printf(k->arena, "no tool is called %.*s; did you mean %s?",
                                            STR_FMT(shown), close);
    struct tool_output o = call_error(k, "UNKNOWN_TOOL", message, false);
    o.hint = arena_str(k->arena, buf_str(&hint));
    buf_free(&hint);
    return o;
}

/* The arguments as an object, or a refusal in c->refusal and NULL. */
static const struct val *parse_arguments(struct kernel *k, struct call *c)
{
    struct str text = str_trim(c->arguments);
    struct val *v = NULL;
    struct err e;
    if (text.n == 0 || str_is(text, "null")) {
        text = STR("{}");
    }
    if (json_parse(k->arena, NULL, text, &v, &e) != 0) {
        c->refusal =
            json_is_prefix(text)
                ? call_error(k, "BAD_ARGUMENTS", STR("arguments incomplete, send them again"), true)
                : call_error(k, "BAD_ARGUMENTS",
                             arena_printf(k->arena,
                                          "arguments are not JSON: %s (line %u, "
                                          "column %u)",
                                          e.message, e.line, e.column),
                             true);
        return NULL;
    }
    if (v->kind != VAL_OBJECT) {
        c->refusal = call_error(k, "BAD_ARGUMENTS",
                                arena_printf(k->arena, "arguments must be a JSON object, got %s",
                                             val_kind_name(v->kind)),
                                true);
        return NULL;
    }
    return v;
}

/* Checks v by the tool's schema, coercing where that is safe. NULL with c->refusal set when it does
 * not hold. */
static const struct val *check_schema(struct kernel *k, struct call *c, const struct val *v)
{
    const struct tool_spec *tool = &k->config.tools[c->tool];
    if (tool->validator == NULL) {
        return v;
    }
    struct buf why = {.max = 4096};
    if (!schema_valid(tool->validator, v, &why)) {
        const struct val *better = v;
        schema_coerce(tool->validator, k->arena, v, &better, &c->coerced);
        if (c->coerced && schema_valid(tool->validator, better, NULL)) {
            v = better;
        } else {
            c->coerced = false;
            c->refusal = call_error(k, "BAD_PARAMETERS", arena_str(k->arena, buf_str(&why)), true);
            v = NULL;
        }
    }
    buf_free(&why);
    return v;
}

/* The first of those that may have this hash. */
static struct link *links_at(const struct links *t, uint64_t hash)
{
    return t->n_slots == 0 ? NULL : t->slots[hash & (t->n_slots - 1)];
}

static void links_put(struct links *t, struct link *l)
{
    struct link **slot = &t->slots[l->hash & (t->n_slots - 1)];
    l->next = *slot;
    *slot = l;
}

void links_reserve(struct kernel *k, struct links *t, size_t n)
{
    for (t->n_slots = n == 0 ? 0 : LINK_SLOTS_FIRST; t->n_slots < n;) {
        t->n_slots *= 2;
    }
    t->slots = arena_array(k->arena, t->n_slots, sizeof(struct link *));
}

void links_add(struct kernel *k, struct links *t, struct link *l)
{
    if (t->n == t->n_slots) {
        struct links old = *t;
        links_reserve(k, t, old.n + 1);
        for (size_t i = 0; i < old.n_slots; i++) {
            for (struct link *next, *at = old.slots[i]; at != NULL; at = next) {
                next = at->next;
                links_put(t, at);
            }
        }
    }
    links_put(t, l);
    t->n++;
}

/* How many slots there are follows from what it holds, so that a snapshot need not tell. */
static void links_empty(struct links *t)
{
    *t = (struct links){.slots = NULL};
}

static struct seen *seen_of(struct kernel *k, struct str key)
{
    uint64_t hash = hash64(0, key);
    for (struct link *l = links_at(&k->seen, hash); l != NULL; l = l->next) {
        struct seen *s = (struct seen *)l;
        if (l->hash == hash && str_eq(s->key, key)) {
            return s;
        }
    }
    struct seen *s = arena_alloc(k->arena, sizeof *s);
    *s = (struct seen){.link.hash = hash, .key = arena_str(k->arena, key)};
    links_add(k, &k->seen, &s->link);
    return s;
}

/* Counts the call and refuses it when it is one too many of its kind. args NULL: it did not
 * parse, and counts by its text. */
static void count_repeat(struct kernel *k, struct call *c, const struct val *args)
{
    if (c->tool != SIZE_MAX && k->config.tools[c->tool].polling) {
        return;
    }
    struct buf key = {0};
    buf_add(&key, c->name);
    buf_char(&key, '\0');
    if (args == NULL) {
        buf_add(&key, c->arguments);
    } else {
        json_add_canonical(&key, args);
    }
    c->seen = seen_of(k, buf_str(&key));
    buf_free(&key);
    c->seen->count++;
    k->streak = c->seen == k->last_seen ? k->streak + 1 : 1;
    k->last_seen = c->seen;
    if (k->config.repeat == REPEAT_ALLOW) {
        return;
    }
    if (k->streak >= k->config.max_consecutive) {
        k->over_repeats = true;
    }
    if (c->seen->count < 2 || c->refusal.code.n > 0) {
        return;
    }
    if (k->config.repeat == REPEAT_CACHE && c->seen->result.p != NULL &&
        k->config.tools[c->tool].tier == TIER_READ) {
        c->refusal = (struct tool_output){.ok = true, .content = c->seen->result, .cached = true};
    } else {
        c->refusal = call_error(k, "REPEATED_CALL",
                                STR("this tool was already called with these arguments; its result "
                                    "will not change"),
                                false);
    }
}

/* The one tool that a slightly wrong name can mean, or NULL. A slip for each three characters: of
 * short names any other is near. */
static const struct tool_spec *close_tool(const struct kernel *k, struct str name)
{
    const struct tool_spec *found = NULL;
    for (size_t i = 0; i < k->config.n_tools; i++) {
        const struct tool_spec *t = &k->config.tools[i];
        size_t slips = t->name.n / CLOSE_NAME_BYTES;
        unsigned most = slips > CLOSE_NAME_SLIPS ? CLOSE_NAME_SLIPS : (unsigned)slips;
        if (text_distance(t->name, name, most) > most) {
            continue;
        }
        if (found != NULL) {
            return NULL;
        }
        found = t;
    }
    return found;
}

/* Names the call to servers that carry out the same request once: the same when it is made again
 * after a crash, another when a fork of the run asks for something else in its place. */
static struct str request_id(struct kernel *k, const struct call *c)
{
    uint64_t what = hash64(hash64(0, c->name), c->arguments);
    return arena_printf(k->arena, "%.*s-%u-%08x", STR_FMT(k->config.run), c->order,
                        (unsigned)(what & 0xffffffff));
}

/* Refuses a call that is one too many; a terminal one, which costs nothing, may always end the run.
 */
static bool over_limit(struct kernel *k, struct call *c, size_t i)
{
    const struct budget *b = &k->config.budget;
    bool run = k->calls_made - k->base.calls > b->calls;
    if (!run && (int64_t)i < b->calls_per_reply) {
        return false;
    }
    if (c->tool != SIZE_MAX && k->config.tools[c->tool].terminal) {
        return false;
    }
    c->refusal = call_error(k, "LIMIT",
                            arena_printf(k->arena, "at most %lld tool calls %s",
                                         (long long)(run ? b->calls : b->calls_per_reply),
                                         run ? "in a run" : "in one reply"),
                            false);
    return true;
}

/* The arguments to run with, in c->checked; or a refusal. */
static void check_call(struct kernel *k, struct call *c)
{
    const struct val *args = NULL, *checked = NULL;
    if (c->tool == SIZE_MAX) {
        c->refusal = unknown_tool(k, c->name);
    } else {
        args = parse_arguments(k, c);
        checked = args == NULL ? NULL : check_schema(k, c, args);
    }
    if (checked != NULL && k->config.tiers[k->config.tools[c->tool].tier] == TIER_POLICY_DENY) {
        c->refusal = call_error(k, "DENIED", STR("calls of this kind are not allowed here"), false);
    }
    count_repeat(k, c, checked != NULL ? checked : args);
    if (checked != NULL && runnable(c)) {
        struct buf text = {0};
        json_add(&text, checked);
        c->checked = arena_str(k->arena, buf_str(&text));
        buf_free(&text);
    }
}

static void take_call(struct kernel *k, struct call *c, const struct reply *r, size_t i, bool cut)
{
    const struct kernel_config *config = &k->config;
    c->id = unique_id(k, r, i);
    c->name = r->calls[i].name;
    c->arguments = r->calls[i].arguments;
    c->order = ++k->order;
    const struct tool_spec *tool = tool_find(config->tools, config->n_tools, c->name);
    if (tool == NULL && config->close_names) {
        tool = close_tool(k, c->name);
        c->name = tool == NULL ? c->name : tool->name;
    }
    c->tool = tool == NULL ? SIZE_MAX : (size_t)(tool - config->tools);
    c->request_id = request_id(k, c);
    k->calls_made++;
#ifdef PLANT_RUN_CUT /* I10: calls of a reply that was cut are carried out */
    cut = false;
#endif
    if (cut) {
        c->refusal =
            call_error(k, "TRUNCATED_CALL",
                       STR("the reply was cut off, so its calls are not carried out"), true);
    } else if (!over_limit(k, c, i)) {
        check_call(k, c);
    }
}

/* One number for what a reply called; 0 when it called a polling tool, which may repeat. */
static uint64_t sign_of(const struct kernel *k)
{
    uint64_t sign = 0;
    for (size_t i = 0; i < k->n_calls; i++) {
        if (k->calls[i].seen == NULL) {
            return 0;
        }
        sign = hash64(sign, k->calls[i].seen->key);
    }
    return sign;
}

void calls_take(struct kernel *k, const struct reply *r, bool cut)
{
    k->n_calls = r->n_calls;
    k->calls = arena_array(k->arena, r->n_calls, sizeof *k->calls);
    k->serial = false;
    k->over_repeats = false;
    for (size_t i = 0; i < r->n_calls; i++) {
        take_call(k, &k->calls[i], r, i, cut);
        if (k->calls[i].tool != SIZE_MAX && k->config.tools[k->calls[i].tool].serial) {
            k->serial = true;
        }
    }
    memmove(k->step_sign, k->step_sign + 1, sizeof k->step_sign - sizeof k->step_sign[0]);
    k->step_sign[ALTERNATION_STEPS - 1] = r->n_calls == 0 ? 0 : sign_of(k);
}

struct call *calls_terminal(struct kernel *k)
{
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        if (c->checked.n > 0 && k->config.tools[c->tool].terminal) {
            return c;
        }
    }
    return NULL;
}

void call_unsee(struct kernel *k, struct call *c)
{
    if (c->seen == NULL) {
        return;
    }
    c->seen->count--;
    if (c->seen == k->last_seen && k->streak > 0) {
        k->streak--;
    }
}

bool calls_alternate(const struct kernel *k)
{
    const uint64_t *s = k->step_sign;
    for (size_t i = 0; i + 2 < ALTERNATION_STEPS; i++) {
        if (s[i] == 0 || s[i] != s[i + 2]) {
            return false;
        }
    }
    return s[0] != s[1] && k->config.repeat != REPEAT_ALLOW;
}

/* ---- what results tell ---- */

static bool told_before(struct kernel *k, uint64_t hash)
{
    for (const struct link *l = links_at(&k->told, hash); l != NULL; l = l->next) {
        if (l->hash == hash) {
            return true;
        }
    }
    struct link *l = arena_alloc(k->arena, sizeof *l);
    l->hash = hash;
    links_add(k, &k->told, l);
    return false;
}

void calls_forget(struct kernel *k)
{
    links_empty(&k->seen);
    links_empty(&k->told);
    memset(k->step_sign, 0, sizeof k->step_sign);
    k->last_seen = NULL;
    k->streak = 0;
    k->nothing_new = 0;
}

void call_learn(struct kernel *k, const struct call *c)
{
    const struct tool_output *o = &c->output;
    if (o->ok && c->seen != NULL) {
        c->seen->result = o->content;
    }
    if (str_is(o->code, "CANCELLED") || (c->tool != SIZE_MAX && k->config.tools[c->tool].polling)) {
        return; /* the first tells nothing of the model, the second waits for something new */
    }
    struct str said = o->ok ? o->content : o->message;
    uint64_t kind = o->ok ? 0 : 1;
    k->nothing_new = told_before(k, hash64(kind, said)) ? k->nothing_new + 1 : 0;
}

/* ---- calls in the text ---- */

/* The JSON inside the only fenced block of a text; n 0 when there is none, or more. */
static struct str fenced(struct str text)
{
    const struct str fence = STR("```");
    size_t open = str_find(text, fence);
    if (open == SIZE_MAX) {
        return (struct str){NULL, 0};
    }
    struct str rest = str_slice(text, open + fence.n, text.n);
    size_t line = str_find(rest, STR("\n"));
    size_t close = str_find(rest, fence);
    if (line == SIZE_MAX || close == SIZE_MAX || close < line ||
        str_find(str_slice(rest, close + fence.n, rest.n), fence) != SIZE_MAX) {
        return (struct str){NULL, 0};
    }
    return str_trim(str_slice(rest, line + 1, close));
}

bool call_in_text(struct kernel *k, const struct reply *r, struct tool_call *out)
{
    struct str text = fenced(r->content);
    struct val *v = NULL;
    struct err e;
    if (!k->config.fenced_calls || r->n_calls > 0 || text.n == 0 ||
        json_parse(k->arena, NULL, text, &v, &e) != 0) {
        return false;
    }
    struct str name = val_text(val_get(v, "name"));
    const struct val *arguments = val_get(v, "arguments");
    if (name.n == 0 || !val_is(arguments, VAL_OBJECT) ||
        tool_find(k->config.tools, k->config.n_tools, name) == NULL) {
        return false;
    }
    *out = (struct tool_call){.id = {NULL, 0}, .name = name, .arguments = arguments->raw};
    return true;
}
