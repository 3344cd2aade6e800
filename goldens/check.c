#include "fakellm/fake.h"
#include "goldens/golden_int.h"
#include "kernel/base/schema.h"
#include "kernel/base/text.h"

struct report {
    void (*found)(void *ctx, const struct golden_finding *f);
    void *ctx;
    const char *file;
};

static void tell(const struct report *r, uint32_t line, uint32_t column, const char *severity,
                 const char *code, struct buf *message)
{
    struct golden_finding f = {r->file, line, column, severity, code, buf_str(message)};
    r->found(r->ctx, &f);
    buf_free(message);
}

static const struct tool_spec *find_tool(const struct golden_task *t, struct str name)
{
    size_t n;
    const struct tool_spec *specs = toolset_specs(t->tools, &n);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(specs[i].name, name)) {
            return &specs[i];
        }
    }
    return NULL;
}

static void add_closest(const struct golden_task *t, struct str name, struct buf *out)
{
    size_t n;
    struct arena *arena = arena_new();
    const struct tool_spec *specs = toolset_specs(t->tools, &n);
    const char **names = arena_array(arena, n, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        names[i] = arena_cstr(arena, specs[i].name);
    }
    const char *closest = text_closest(name, names, n);
    if (closest != NULL) {
        buf_fmt(out, "; did you mean \"%s\"?", closest);
    }
    arena_free(arena);
}

/* Whether v is written without matchers, so that a schema can judge it. *value is what it stands
 * for. */
static bool is_plain(const struct val *v, const struct val **value)
{
    const struct val *equals = val_get(v, "equals");
    if (equals != NULL && v->count == 1) {
        *value = equals;
        return true;
    }
    *value = v;
    bool plain = v->kind != VAL_OBJECT;
    for (size_t i = 0; v->kind == VAL_ARRAY && plain && i < v->count; i++) {
        const struct val *item;
        plain = is_plain(&v->items[i], &item) && item == &v->items[i];
    }
    return plain;
}

static bool refuses_others(const struct val *schema)
{
    const struct val *more = val_get(schema, "additionalProperties");
    return val_is(more, VAL_BOOL) && !more->boolean && val_get(schema, "patternProperties") == NULL;
}

/* One argument against its own part of the tool's schema. References into the rest of the schema
 * are left to the run. */
static void check_argument(const struct report *r, const struct tool_spec *tool,
                           const struct member *arg)
{
    struct buf message = {0};
    const struct val *part = val_find(val_get(tool->schema, "properties"), arg->key);
    const struct val *value;
    struct schema *schema;
    if (part == NULL) {
        if (refuses_others(tool->schema)) {
            buf_fmt(&message, "the tool \"%.*s\" has no parameter \"%.*s\"", STR_FMT(tool->name),
                    STR_FMT(arg->key));
            tell(r, arg->line, arg->column, "error", "unknown_parameter", &message);
        }
        return;
    }
    if (!is_plain(&arg->value, &value) || schema_new(part, SCHEMA_2020_12, &schema, NULL) != 0) {
        return;
    }
    struct buf why = {0};
    if (!schema_valid(schema, value, &why)) {
        buf_fmt(&message,
                "the tool \"%.*s\" does not allow this for \"%.*s\": ", STR_FMT(tool->name),
                STR_FMT(arg->key));
        buf_add(&message, buf_str(&why));
        tell(r, value->line, value->column, "error", "bad_argument", &message);
    }
    buf_free(&why);
    schema_free(schema);
}

static void check_calls(const struct report *r, const struct golden_task *t)
{
    for (size_t i = 0; i < t->expect.n_calls; i++) {
        const struct golden_call *call = &t->expect.calls[i];
        const struct tool_spec *tool = find_tool(t, call->name);
        if (tool == NULL) {
            struct buf message = {0};
            buf_fmt(&message,
                    "the task \"%.*s\" expects a call of \"%.*s\", a tool that it does "
                    "not offer",
                    STR_FMT(t->id), STR_FMT(call->name));
            add_closest(t, call->name, &message);
            tell(r, call->at->line, call->at->column, "error", "unknown_tool", &message);
            continue;
        }
        if (tool->terminal) {
            struct buf message = {0};
            buf_fmt(&message,
                    "\"%.*s\" is a terminal tool: its call is the answer, not a call; check it "
                    "with `answer`",
                    STR_FMT(call->name));
            tell(r, call->at->line, call->at->column, "error", "terminal_call", &message);
        }
        const struct val *args = call->at->kind == VAL_OBJECT ? &call->at->members[0].value : NULL;
        for (size_t j = 0; args != NULL && tool->schema != NULL && j < args->count; j++) {
            check_argument(r, tool, &args->members[j]);
        }
    }
}

static void check_forbidden(const struct report *r, const struct golden_task *t)
{
    for (size_t i = 0; i < t->expect.n_forbid; i++) {
        struct str name = t->expect.forbid[i];
        struct buf message = {0};
        if (find_tool(t, name) == NULL) {
            buf_fmt(&message, "the task \"%.*s\" forbids \"%.*s\", a tool that it does not offer",
                    STR_FMT(t->id), STR_FMT(name));
            add_closest(t, name, &message);
            tell(r, t->line, t->column, "warning", "unknown_forbidden_tool", &message);
        }
        for (size_t j = 0; j < t->expect.n_calls; j++) {
            if (str_eq(t->expect.calls[j].name, name)) {
                const struct val *at = t->expect.calls[j].at;
                buf_fmt(&message, "a call of \"%.*s\" is expected and forbidden", STR_FMT(name));
                tell(r, at->line, at->column, "error", "forbidden_call", &message);
            }
        }
    }
}

static void check_script(const struct report *r, const struct golden_task *t)
{
    struct fake_script *script;
    struct err e = {0};
    struct buf message = {0};
    if (t->fake == NULL) {
        return;
    }
    int rc = fake_load(t->fake, &script, &e);
    if (rc == 0) {
        fake_free(script);
    } else if (rc == ERR_NOT_FOUND) {
        buf_fmt(&message, "there is no script %s", t->fake);
        tell(r, t->line, t->column, "error", "missing_script", &message);
    } else {
        struct report other = {r->found, r->ctx, t->fake};
        buf_addz(&message, e.message);
        tell(&other, e.line, e.column, "error", "bad_script", &message);
    }
}

static void check_expects(const struct report *r, const struct golden_task *t)
{
    const struct golden_expect *x = &t->expect;
    bool limits = x->max_steps >= 0 || x->max_calls >= 0 || x->max_tokens >= 0 ||
                  x->max_cost_nano >= 0 || x->max_ms >= 0;
    if (!x->has_calls && x->n_forbid == 0 && !x->no_calls && x->answer == NULL && !limits &&
        x->status == RUN_COMPLETED) {
        struct buf message = {0};
        buf_fmt(&message,
                "the task \"%.*s\" expects nothing: every run that completes passes; add `expect`",
                STR_FMT(t->id));
        tell(r, t->line, t->column, "warning", "expects_nothing", &message);
    }
}

void golden_check(const struct golden_set *s,
                  void (*found)(void *ctx, const struct golden_finding *f), void *ctx)
{
    struct report r = {found, ctx, s->path};
    for (size_t i = 0; i < s->n_tasks; i++) {
        check_calls(&r, &s->tasks[i]);
        check_forbidden(&r, &s->tasks[i]);
        check_script(&r, &s->tasks[i]);
        check_expects(&r, &s->tasks[i]);
    }
}
