/* A session's event log as a task. */
#include "goldens/golden_int.h"
#include "goldens/make.h"
#include "kernel/base/json.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <string.h>
#include <unistd.h>

enum { LOG_BYTES_MAX = 1 << 30, CALLS_MAX = 10000, TURNS_MAX = 1000, PATH_BYTES_MAX = 4096 };

/* A call of the session. */
struct said_call {
    struct str id;
    struct str name;
    const struct val *arguments; /* NULL = no JSON object */
    size_t reply;                /* its number */
    bool refused;                /* it was not carried out as it was asked for */
};

/* What the log says. */
struct session_log {
    struct arena *arena;
    const struct golden_promotion *p;
    const struct val *start;
    struct str *turns;
    size_t n_turns;
    struct said_call *calls;
    size_t n_calls;
    size_t replies;
    struct str status; /* of the newest end; n 0 = it is not over */
    struct str answer; /* p NULL = none */
    uint32_t line;
    const struct val *defaults; /* of the set that it joins, which must not count; NULL = none */
};

static int fail(const struct session_log *s, struct err *e, const char *why)
{
    return err_at(e, ERR_INPUT, s->p->trace, s->line, 1, "%s", why);
}

/* ---- reading ---- */

static int add_turn(struct session_log *s, const struct val *v, struct err *e)
{
    if (s->n_turns == TURNS_MAX) {
        return fail(s, e, "more turns than a task may have");
    }
    if (s->status.n > 0 && !str_is(s->status, "completed")) {
        return fail(s, e,
                    "the user goes on after a run that did not complete, which no task of a set "
                    "does");
    }
    s->turns[s->n_turns++] = val_text(val_get(v, "content"));
    s->status = (struct str){0};
    return 0;
}

static int add_calls(struct session_log *s, const struct val *v, struct err *e)
{
    const struct val *calls = val_get(v, "calls");
    s->replies++;
    for (size_t i = 0; val_is(calls, VAL_ARRAY) && i < calls->count; i++) {
        const struct val *call = &calls->items[i];
        struct val *arguments = NULL;
        struct str text = val_text(val_get(call, "arguments"));
        if (s->n_calls == CALLS_MAX) {
            return fail(s, e, "more calls than a task may expect");
        }
        text = str_trim(text).n == 0 ? STR("{}") : text;
        if (json_parse(s->arena, NULL, text, &arguments, NULL) != 0 ||
            arguments->kind != VAL_OBJECT) {
            arguments = NULL;
        }
        s->calls[s->n_calls++] =
            (struct said_call){val_text(val_get(call, "id")), val_text(val_get(call, "name")),
                               arguments, s->replies, arguments == NULL};
    }
    return 0;
}

/* A call that was never tried is no part of what is expected. */
static void see_result(struct session_log *s, const struct val *v)
{
    struct str id = val_text(val_get(v, "call_id"));
    const struct val *ok = val_get(v, "ok");
    int64_t attempts = 0;
    if (!val_is(ok, VAL_BOOL) || ok->boolean || !val_int(val_get(v, "attempts"), &attempts) ||
        attempts > 0) {
        return;
    }
    for (size_t j = s->n_calls; j > 0 && s->calls[j - 1].reply == s->replies; j--) {
        s->calls[j - 1].refused = s->calls[j - 1].refused || str_eq(s->calls[j - 1].id, id);
    }
}

static int see_line(struct session_log *s, const struct val *v, struct err *e)
{
    struct str type = val_text(val_get(v, "type"));
    if (s->line == 1 && !str_is(type, "run_start")) {
        return fail(s, e, "expected an event log, whose first line is a run_start");
    }
    if (s->line > 1 && str_is(type, "run_start")) {
        return fail(s, e, "a second run begins here: expected the log of one");
    }
    if (str_is(type, "run_start")) {
        s->start = v;
    } else if (str_is(type, "user_message")) {
        return add_turn(s, v, e);
    } else if (str_is(type, "llm_reply")) {
        return add_calls(s, v, e);
    } else if (str_is(type, "tool_result")) {
        see_result(s, v);
    } else if (str_is(type, "run_end")) {
        const struct val *answer = val_get(v, "answer");
        s->status = val_text(val_get(v, "status"));
        s->answer = val_is(answer, VAL_STRING) ? answer->text : (struct str){0};
    }
    return 0;
}

static int read_log(struct session_log *s, struct err *e)
{
    struct str rest;
    int rc = file_read(s->arena, s->p->trace, LOG_BYTES_MAX, &rest, e);
    s->turns = arena_array(s->arena, TURNS_MAX, sizeof *s->turns);
    s->calls = arena_array(s->arena, CALLS_MAX, sizeof *s->calls);
    while (rc == 0 && rest.n > 0) {
        size_t end = str_find(rest, STR("\n"));
        struct val *v = NULL;
        struct err why = {0};
        s->line++;
        if (end == SIZE_MAX) {
            return fail(s, e, "the log ends in the middle of a line");
        }
        if (json_parse(s->arena, NULL, str_slice(rest, 0, end), &v, &why) != 0) {
            return fail(s, e, "expected a line of an event log, which is JSON");
        }
        rc = see_line(s, v, e);
        rest = str_slice(rest, end + 1, rest.n);
    }
    return rc != 0 || s->line > 0 ? rc : fail(s, e, "expected an event log, found an empty file");
}

/* ---- judging ---- */

static int check_end(const struct session_log *s, struct err *e)
{
    static const char *const bad[] = {"model_error", "cassette_miss", "cancelled",
                                      "script_mismatch"};
    if (s->n_turns == 0) {
        return fail(s, e, "the user says nothing in this log");
    }
    if (s->status.n == 0) {
        return fail(s, e, "the run is not over; finish it with assay resume, then promote its log");
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (str_is(s->status, bad[i])) {
            return err_at(e, ERR_INPUT, s->p->trace, s->line, 1,
                          "the run ended with status %s, which no task can expect; promote a "
                          "session that went well",
                          bad[i]);
        }
    }
    return 0;
}

/* ---- tools ---- */

/* An absolute path without "." and ".." words: "/a/b". Links are not looked at. */
static struct str whole_path(struct arena *arena, const char *path)
{
    char here[PATH_BYTES_MAX];
    struct buf out = {0};
    const char *base = path[0] == '/' || getcwd(here, sizeof here) == NULL ? "" : here;
    struct str rest = arena_printf(arena, "%s/%s", base, path);
    while (rest.n > 0) {
        size_t slash = str_find(rest, STR("/"));
        struct str word = str_slice(rest, 0, slash);
        rest = slash == SIZE_MAX ? str_slice(rest, rest.n, rest.n)
                                 : str_slice(rest, slash + 1, rest.n);
        if (str_is(word, "..")) {
            while (out.n > 0 && out.p[--out.n] != '/') {
            }
        } else if (word.n > 0 && !str_is(word, ".")) {
            buf_char(&out, '/');
            buf_add(&out, word);
        }
    }
    struct str made = arena_str(arena, buf_str(&out));
    buf_free(&out);
    return made;
}

/* `path` as seen from the folder `dir`; absolute where links lead another way. */
static struct str relative_path(struct arena *arena, const char *dir, const char *path)
{
    struct str from = arena_printf(arena, "%.*s/", STR_FMT(whole_path(arena, dir)));
    struct str to = whole_path(arena, path);
    struct buf out = {0};
    size_t same = 0; /* behind the last slash that both have */
    for (size_t i = 0; i < from.n && i < to.n && from.p[i] == to.p[i]; i++) {
        same = to.p[i] == '/' ? i + 1 : same;
    }
    for (size_t i = same; i < from.n; i++) {
        buf_addz(&out, from.p[i] == '/' ? "../" : "");
    }
    buf_add(&out, str_slice(to, same, to.n));
    struct str made = arena_str(arena, buf_str(&out));
    buf_free(&out);
    return path_same(path_join(arena, dir, made.p), path) ? made : to;
}

static bool same_names(const struct val *names, const struct tool_spec *specs, size_t n)
{
    bool same = names->count == n;
    for (size_t i = 0; i < n && same; i++) {
        same = str_eq(val_text(&names->items[i]), specs[i].name);
    }
    return same;
}

/* Whether a tool ends the run: its call is the answer. */
static bool is_terminal(const struct toolset *tools, struct str name)
{
    size_t n = 0;
    const struct tool_spec *specs = toolset_specs(tools, &n);
    const struct tool_spec *tool = tool_find(specs, n, name);
    return tool != NULL && tool->terminal;
}

/* Whether a program under test made the log: system message and tools are its own. */
static bool is_agents(const struct session_log *s)
{
    return val_is(val_get(s->start, "agent"), VAL_STRING);
}

/* Loads what the log's run was offered. */
static int load_tools(const struct session_log *s, struct toolset *tools, struct err *e)
{
    const struct val *names = val_get(s->start, "tools");
    size_t n = 0;
    if (!val_is(names, VAL_ARRAY)) {
        return fail(s, e, "its run_start names no tools");
    }
    if (is_agents(s)) {
        return s->p->tools == NULL
                   ? 0
                   : fail(s, e, "the tools of a program under test are its own: leave out --tools");
    }
    if (s->p->tools != NULL) {
        int rc = toolset_add_file(tools, s->p->tools, e);
        const struct tool_spec *specs = toolset_specs(tools, &n);
        if (rc == 0 && !same_names(names, specs, n)) {
            rc = err_at(e, ERR_INPUT, s->p->tools, 0, 0,
                        "offers other tools than the run had; name the file that it ran with");
        }
        return rc;
    }
    for (size_t i = 0; i < names->count; i++) {
        struct str name = val_text(&names->items[i]);
        if (toolset_add_builtin(tools, name, NULL) != 0) {
            return err_at(e, ERR_INPUT, s->p->trace, 1, 1,
                          "the run had the tool \"%.*s\", which is not built in: name its tool "
                          "file with --tools FILE",
                          STR_FMT(text_preview(s->arena, name, 64)));
        }
    }
    return 0;
}

/* Whether a task that says nothing of `key` gets one. */
static bool inherits(const struct session_log *s, const char *key)
{
    const struct val *v = val_get(s->defaults, key);
    return v != NULL && v->kind != VAL_NULL;
}

static void put_tools(const struct session_log *s, struct buf *out)
{
    const struct val *names = val_get(s->start, "tools");
    if (s->p->tools != NULL) {
        struct str path = s->p->tools[0] == '/'
                              ? str_of(s->p->tools)
                              : relative_path(s->arena, path_dir(s->arena, s->p->set), s->p->tools);
        buf_addz(out, "  tools: ");
        golden_put_text(out, path);
        buf_char(out, '\n');
        return;
    }
    if (names->count == 0 || is_agents(s)) {
        buf_addz(out, inherits(s, "tools") ? "  tools: null\n" : "");
        return;
    }
    buf_addz(out, "  tools:\n");
    for (size_t i = 0; i < names->count; i++) {
        buf_fmt(out, "  - builtin: %.*s\n", STR_FMT(val_text(&names->items[i])));
    }
}

/* ---- writing ---- */

/* Whether a value holds a map that would be read as a matcher. */
static bool has_matcher(const struct val *v)
{
    const char *const *keys = args_match_keys();
    for (size_t i = 0; v->kind == VAL_OBJECT && i < v->count; i++) {
        for (size_t k = 0; keys[k] != NULL; k++) {
            if (str_is(v->members[i].key, keys[k])) {
                return true;
            }
        }
        if (has_matcher(&v->members[i].value)) {
            return true;
        }
    }
    for (size_t i = 0; v->kind == VAL_ARRAY && i < v->count; i++) {
        if (has_matcher(&v->items[i])) {
            return true;
        }
    }
    return false;
}

static void put_call(struct buf *out, const struct said_call *c, const char *indent)
{
    buf_fmt(out, "%s- ", indent);
    golden_put_word(out, c->name);
    buf_addz(out, ": {");
    for (size_t i = 0; i < c->arguments->count; i++) {
        const struct member *m = &c->arguments->members[i];
        bool literal = has_matcher(&m->value);
        buf_addz(out, i > 0 ? ", " : "");
        golden_put_word(out, m->key);
        buf_addz(out, literal ? ": {equals: " : ": ");
        golden_put_value(out, &m->value);
        buf_addz(out, literal ? "}" : "");
    }
    buf_addz(out, "}\n");
}

/* The calls that were carried out; those of one reply in any order. */
static void put_calls(struct buf *out, const struct said_call *calls, size_t n, bool refused)
{
    if (n == 0 && !refused) {
        buf_addz(out, "    no_calls: true\n");
    }
    if (n == 0) {
        return;
    }
    buf_fmt(out, "    calls:\n      mode: %s\n      list:\n", refused ? "in_order" : "exact");
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && calls[end].reply == calls[i].reply) {
            end++;
        }
        buf_addz(out, end - i > 1 ? "      - parallel:\n" : "");
        for (size_t j = i; j < end; j++) {
            put_call(out, &calls[j], end - i > 1 ? "        " : "      ");
        }
        i = end;
    }
}

static void put_said(struct buf *out, const struct session_log *s)
{
    if (s->n_turns == 1) {
        buf_addz(out, "  prompt: ");
        golden_put_text(out, s->turns[0]);
        buf_char(out, '\n');
        return;
    }
    buf_addz(out, "  turns:\n");
    for (size_t i = 0; i < s->n_turns; i++) {
        buf_addz(out, "  - user: ");
        golden_put_text(out, s->turns[i]);
        buf_char(out, '\n');
    }
}

/* Whether the log's budget is the one that a task gets which names none. */
static bool is_usual_budget(const struct session_log *s, const struct val *budget)
{
    static const char usual[] = "{\"steps\":25,\"tokens\":60000,\"seconds\":120,\"cost_usd\":0.5}";
    return inherits(s, "budget") ? val_equal(val_get(s->defaults, "budget"), budget)
                                 : str_is(budget->raw, usual);
}

/* What the defaults of the set that it joins say otherwise is said of the task. */
static void put_settings(struct buf *out, const struct session_log *s)
{
    const struct val *system = val_get(s->start, "system");
    const struct val *budget = val_get(s->start, "budget");
    int64_t trials = 1;
    if (is_agents(s) || !val_is(system, VAL_STRING)) {
        buf_addz(out, inherits(s, "system") ? "  system: null\n" : "");
    } else if (!inherits(s, "system") ||
               !str_eq(system->text, val_text(val_get(s->defaults, "system")))) {
        buf_addz(out, "  system: ");
        golden_put_text(out, system->text);
        buf_char(out, '\n');
    }
    put_tools(s, out);
    if (val_is(budget, VAL_OBJECT) && !is_usual_budget(s, budget)) {
        buf_addz(out, "  budget: ");
        golden_put_value(out, budget);
        buf_char(out, '\n');
    }
    (void)val_int(val_get(s->defaults, "trials"), &trials);
    buf_addz(out, trials != 1 ? "  trials: 1\n" : "");
}

static void put_task(struct buf *out, const struct session_log *s, const struct toolset *tools,
                     struct str id)
{
    struct said_call *kept = arena_array(s->arena, s->n_calls, sizeof *kept);
    size_t n = 0;
    bool refused = false;
    for (size_t i = 0; i < s->n_calls; i++) {
        if (s->calls[i].refused) {
            refused = true;
        } else if (!is_terminal(tools, s->calls[i].name)) {
            kept[n++] = s->calls[i];
        }
    }
    buf_fmt(out, "- id: ");
    golden_put_word(out, id);
    buf_char(out, '\n');
    put_said(out, s);
    put_settings(out, s);
    buf_addz(out, "  expect:\n");
    put_calls(out, kept, n, refused);
    if (!str_is(s->status, "completed")) {
        buf_fmt(out, "    status: %.*s\n", STR_FMT(s->status));
    } else if (s->answer.p != NULL) {
        buf_addz(out, "    answer: ");
        golden_put_text(out, s->answer);
        buf_char(out, '\n');
    }
}

static struct str id_of(struct arena *arena, const struct golden_promotion *p)
{
    const char *slash = strrchr(p->trace, '/');
    struct str name = str_of(slash == NULL ? p->trace : slash + 1);
    size_t dot = str_find(name, STR(".jsonl"));
    return p->id.n > 0 ? arena_str(arena, p->id)
                       : golden_word(arena, str_slice(name, 0, dot), "task");
}

/* The defaults of the set that the task joins; NULL where there are none, or the set is wrong,
 * which is told when the task is added. */
static const struct val *read_defaults(struct arena *arena, const char *set)
{
    struct str text;
    struct val *root;
    bool read = path_is_file(set) && file_read(arena, set, GOLDEN_SET_BYTES_MAX, &text, NULL) == 0;
    return read && yaml_parse(arena, set, text, YAML_CORE, &root, NULL) == 0
               ? val_get(root, "defaults")
               : NULL;
}

int golden_promote(const struct golden_promotion *p, struct arena *arena, struct buf *task,
                   struct str *id, struct err *e)
{
    struct session_log s = {.arena = arena_new(), .p = p};
    s.defaults = read_defaults(s.arena, p->set);
    struct toolset *tools = toolset_new();
    int rc = read_log(&s, e);
    rc = rc != 0 ? rc : check_end(&s, e);
    rc = rc != 0 ? rc : load_tools(&s, tools, e);
    if (rc == 0) {
        *id = id_of(arena, p);
        put_task(task, &s, tools, *id);
    }
    toolset_free(tools);
    arena_free(s.arena);
    return rc;
}
