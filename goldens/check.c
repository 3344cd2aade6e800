#include "fakellm/fake.h"
#include "goldens/check_int.h"
#include "kernel/base/text.h"

#include <stdlib.h>
#include <string.h>

void golden_tell(const struct golden_report *r, uint32_t line, uint32_t column,
                 enum finding_severity severity, const char *code, struct buf *message)
{
    struct finding f = {r->file, line, column, severity, code, buf_str(message)};
    r->found(r->ctx, &f);
    buf_free(message);
}

static const struct tool_spec *find_tool(const struct golden_task *t, struct str name)
{
    size_t n = 0;
    const struct tool_spec *specs = toolset_specs(t->tools, &n);
    return tool_find(specs, n, name);
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

/* Whether tools are said nowhere, as in a set for programs (--agent), which have their own. */
static bool says_no_tools(const struct golden_task *t)
{
    size_t n = 0;
    toolset_specs(t->tools, &n);
    return n == 0 && val_get(t->at, "tools") == NULL;
}

static void check_no_tools(const struct golden_report *r, const struct golden_task *t)
{
    struct buf message = {0};
    if (t->expect.n_calls > 0) {
        buf_fmt(&message,
                "the task \"%.*s\" expects calls and offers no tools: only a program under test "
                "(--agent) can make them; else name a tool file as `tools`",
                STR_FMT(t->id));
        golden_tell(r, t->line, t->column, FINDING_WARNING, "no_tools", &message);
    }
}

static void check_calls(const struct golden_report *r, const struct golden_task *t)
{
    if (says_no_tools(t)) {
        check_no_tools(r, t);
        return;
    }
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
            golden_tell(r, call->at->line, call->at->column, FINDING_ERROR, "unknown_tool",
                        &message);
            continue;
        }
        if (tool->terminal) {
            struct buf message = {0};
            buf_fmt(&message,
                    "\"%.*s\" is a terminal tool: its call is the answer, not a call; check it "
                    "with `answer`",
                    STR_FMT(call->name));
            golden_tell(r, call->at->line, call->at->column, FINDING_ERROR, "terminal_call",
                        &message);
        }
        if (call->at->kind == VAL_OBJECT) {
            golden_check_args(r, tool, &call->at->members[0].value);
            if (!t->expect.ignore_extra_args) {
                golden_check_required(r, tool, &call->at->members[0].value, call->at);
            }
        }
    }
}

static void check_forbidden(const struct golden_report *r, const struct golden_task *t)
{
    for (size_t i = 0; i < t->expect.n_forbid; i++) {
        struct str name = t->expect.forbid[i];
        struct buf message = {0};
        if (!says_no_tools(t) && find_tool(t, name) == NULL) {
            buf_fmt(&message, "the task \"%.*s\" forbids \"%.*s\", a tool that it does not offer",
                    STR_FMT(t->id), STR_FMT(name));
            add_closest(t, name, &message);
            golden_tell(r, t->line, t->column, FINDING_WARNING, "unknown_forbidden_tool", &message);
        }
        for (size_t j = 0; j < t->expect.n_calls; j++) {
            if (str_eq(t->expect.calls[j].name, name)) {
                const struct val *at = t->expect.calls[j].at;
                buf_fmt(&message, "a call of \"%.*s\" is expected and forbidden", STR_FMT(name));
                golden_tell(r, at->line, at->column, FINDING_ERROR, "forbidden_call", &message);
            }
        }
    }
}

void golden_check_script(const struct golden_report *r, const char *path, const struct val *at)
{
    struct fake_script *script;
    struct err e = {0};
    struct buf message = {0};
    int rc = fake_load(path, &script, &e);
    if (rc == 0) {
        fake_free(script);
    } else if (rc == ERR_NOT_FOUND) {
        buf_fmt(&message, "there is no script %s", path);
        golden_add_close_file(&message, path);
        golden_tell(r, at->line, at->column, FINDING_ERROR, "missing_script", &message);
    } else {
        struct golden_report other = {r->found, r->ctx, path};
        buf_addz(&message, e.message);
        golden_tell(&other, e.line, e.column, FINDING_ERROR, "bad_script", &message);
    }
}

static void check_expects(const struct golden_report *r, const struct golden_task *t)
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
        golden_tell(r, t->line, t->column, FINDING_WARNING, "expects_nothing", &message);
    }
}

/* A message of nothing but white space. */
static void check_prompt(const struct golden_report *r, const struct golden_task *t)
{
    for (size_t i = 0; i < t->n_turns; i++) {
        if (str_trim(t->turns[i]).n == 0) {
            struct buf message = {0};
            buf_fmt(&message, "the user of the task \"%.*s\" says nothing but white space",
                    STR_FMT(t->id));
            golden_tell(r, t->line, t->column, FINDING_WARNING, "blank_prompt", &message);
            return;
        }
    }
}

/* Looks at a script once where tasks in a row name it. */
static void check_script(const struct golden_report *r, struct golden_lint *lint,
                         const struct golden_task *t)
{
    if (t->fake != NULL && !str_is(buf_str(&lint->script), t->fake)) {
        golden_check_script(r, t->fake, t->fake_at);
        buf_clear(&lint->script);
        buf_addz(&lint->script, t->fake);
    }
}

void golden_lint_file(struct golden_lint *lint, const char *path)
{
    golden_lines_free(lint->lines);
    lint->lines = golden_lines_read(path);
    lint->files = mem_room(lint->files, lint->n_files, &lint->cap_files, sizeof *lint->files);
    lint->files[lint->n_files++] = (struct lint_file){path, lint->comments.bytes.n};
}

void golden_lint_task(struct golden_loaded *l, const struct golden_task *t)
{
    struct golden_lint *lint = l->lint;
    const struct golden_report r = {golden_queue_add, &lint->tasks, t->path};
    const struct golden_report names = {golden_queue_add, &lint->names, t->path};
    const struct golden_report comments = {golden_queue_add, &lint->comments, t->path};
    check_calls(&r, t);
    check_forbidden(&r, t);
    check_script(&r, lint, t);
    check_prompt(&r, t);
    check_expects(&r, t);
    golden_check_expect(&r, t);
    golden_check_rubric(&r, t);
    golden_check_name(&names, t);
    golden_check_comments(&comments, lint->lines, t);
    golden_note_tools(l, t);
    lint->hashes = mem_room(lint->hashes, lint->n_hashes, &lint->cap_hashes, sizeof *lint->hashes);
    lint->hashes[lint->n_hashes++] = golden_asked(t);
}

/* ---- in order ---- */

/* Hands findings on and counts the errors. */
struct counted {
    void (*found)(void *ctx, const struct finding *f);
    void *ctx;
    size_t errors;
};

static void count(void *ctx, const struct finding *f)
{
    struct counted *c = ctx;
    c->errors += f->severity == FINDING_ERROR;
    c->found(c->ctx, f);
}

static void tell_all(const struct golden_queue *q, struct counted *c)
{
    golden_queue_tell(q, 0, q->bytes.n, count, c);
}

/* Those of each file together, as often as it is included. */
static void tell_comments(const struct golden_set *s, const struct golden_lint *lint,
                          struct counted *c)
{
    const struct golden_queue *q = &lint->comments;
    for (size_t i = 0; q->bytes.n > 0 && i < s->n_files; i++) {
        for (size_t j = 0; j < lint->n_files; j++) {
            const struct lint_file *file = &lint->files[j];
            if (strcmp(file->path, s->files[i]) == 0) {
                size_t end = j + 1 < lint->n_files ? file[1].comments : q->bytes.n;
                golden_queue_tell(q, file->comments, end, count, c);
            }
        }
    }
}

void golden_check(const char *path, void (*wrong)(void *ctx, const struct err *e),
                  void (*found)(void *ctx, const struct finding *f), void *ctx)
{
    struct golden_lint lint = {.wrong = wrong, .ctx = ctx};
    struct golden_loaded *l = golden_lint_open(path, &lint);
    struct counted counted = {found, ctx, lint.passed_over ? 1 : 0};
    const struct golden_report r = {count, &counted, path};
    tell_all(&lint.tasks, &counted);
    golden_check_judges(&r, l);
    tell_comments(&l->set, &lint, &counted);
    tell_all(&lint.names, &counted);
    golden_check_set(&r, l, counted.errors == 0);
    tell_all(&lint.tools, &counted);
    golden_free(&l->set);
    golden_queue_free(&lint.tasks);
    golden_queue_free(&lint.comments);
    golden_queue_free(&lint.names);
    golden_queue_free(&lint.tools);
    golden_lines_free(lint.lines);
    buf_free(&lint.script);
    free(lint.files);
    free(lint.hashes);
}
