/* Opening a set against loading it: for tests and the fuzz target. */
#ifndef GOLDENS_TESTS_OPENED_H
#define GOLDENS_TESTS_OPENED_H

#include "goldens/golden.h"
#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/base/val_pack.h"

#include <inttypes.h>
#include <string.h>

static inline void opened_add_value(struct buf *out, const char *key, const struct val *v)
{
    struct buf packed = {0};
    if (v != NULL) {
        val_pack(&packed, v);
    }
    json_put_int(out, key, (int64_t)packed.n);
    json_put_hash(out, key, hash64(0, buf_str(&packed)));
    buf_free(&packed);
}

static inline void opened_add_tools(struct buf *out, const struct toolset *tools)
{
    size_t n = 0;
    const struct tool_spec *specs = toolset_specs(tools, &n);
    for (size_t i = 0; i < n; i++) {
        json_put_text(out, "tool", specs[i].name);
        json_put_text(out, "description", specs[i].description);
        json_put_int(out, "line", toolset_line(tools, specs[i].name));
    }
}

static inline void opened_add_expect(struct buf *out, const struct golden_expect *x)
{
    static const struct str answers[] = {
        {NULL, 0}, {"", 0}, {"It fell by 4.2%, to 38.2.", 25}, {"{\"a\":[1,2]}", 11}};
    json_put_bool(out, "has_calls", x->has_calls);
    json_put_bool(out, "ignore_extra_args", x->ignore_extra_args);
    json_put_bool(out, "no_calls", x->no_calls);
    json_put_int(out, "mode", x->mode);
    json_put_int(out, "status", x->status);
    json_put_int(out, "max_steps", x->max_steps);
    json_put_int(out, "max_calls", x->max_calls);
    json_put_int(out, "max_tokens", x->max_tokens);
    json_put_int(out, "max_cost_nano", x->max_cost_nano);
    json_put_int(out, "max_ms", x->max_ms);
    for (size_t i = 0; i < x->n_calls; i++) {
        json_put_text(out, "call", x->calls[i].name);
        json_put_int(out, "group", x->calls[i].group);
        json_put_bool(out, "args", x->calls[i].args != NULL);
        opened_add_value(out, "at", x->calls[i].at);
    }
    for (size_t i = 0; i < x->n_forbid; i++) {
        json_put_text(out, "forbid", x->forbid[i]);
    }
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct buf why = {0};
        json_put_bool(out, "passes", golden_answer_test(x->answer, answers[i], &why));
        json_put_text(out, "why", buf_str(&why));
        buf_free(&why);
    }
}

/* Everything that a task says. */
static inline void opened_add_task(struct buf *out, const struct golden_task *t)
{
    json_put_text(out, "id", t->id);
    json_put_text(out, "path", str_of(t->path));
    json_put_int(out, "line", t->line);
    json_put_int(out, "column", t->column);
    json_put_text(out, "prompt", t->prompt);
    json_put_text_or_null(out, "system", t->system);
    json_put_int(out, "trials", t->trials);
    json_put_text_or_null(out, "fake", str_of(t->fake));
    for (size_t i = 0; i < t->n_tags; i++) {
        json_put_text(out, "tag", t->tags[i]);
    }
    for (size_t i = 0; i < t->n_turns; i++) {
        json_put_text(out, "turn", t->turns[i]);
    }
    json_put_int(out, "steps", t->budget.steps);
    json_put_int(out, "tokens", t->budget.tokens);
    json_put_int(out, "seconds", t->budget.seconds);
    json_put_int(out, "cost_nano", t->budget.cost_nano);
    json_put_int(out, "calls", t->budget.calls);
    json_put_int(out, "calls_per_reply", t->budget.calls_per_reply);
    json_put_text_or_null(out, "judge", t->judge == NULL ? STR("") : t->judge->model);
    opened_add_value(out, "fake_at", t->fake_at);
    opened_add_value(out, "at", t->at);
    opened_add_tools(out, t->tools);
    opened_add_expect(out, &t->expect);
}

static inline bool opened_same_entry(struct golden_entry a, const struct golden_task *t)
{
    bool same = str_eq(a.id, t->id) && a.n_tags == t->n_tags && strcmp(a.path, t->path) == 0 &&
                a.line == t->line && a.column == t->column && a.trials == t->trials &&
                a.n_turns == t->n_turns && str_eq(str_of(a.fake), str_of(t->fake)) &&
                (a.fake == NULL) == (t->fake == NULL) && a.judge == t->judge &&
                a.rubric == (golden_answer_rubric(t->expect.answer) != NULL) &&
                (a.tools == NULL ? val_is(val_get(t->at, "tools"), VAL_ARRAY) : true);
    for (size_t i = 0; same && i < a.n_tags; i++) {
        same = str_eq(a.tags[i], t->tags[i]);
    }
    return same;
}

static inline bool opened_same_task(struct golden_set *opened, const struct golden_set *loaded,
                                    size_t i)
{
    struct golden_task *t = NULL;
    struct err e;
    struct buf a = {0};
    struct buf b = {0};
    if (golden_task_load(opened, i, &t, &e) != 0) {
        return false;
    }
    opened_add_task(&a, t);
    opened_add_task(&b, &loaded->tasks[i]);
    bool same = str_eq(buf_str(&a), buf_str(&b)) && opened_same_entry(golden_entry(opened, i), t) &&
                opened_same_entry(golden_entry(loaded, i), &loaded->tasks[i]);
    buf_free(&a);
    buf_free(&b);
    golden_task_free(t);
    return same;
}

/* Whether opening the set at `path` gives the tasks that loading it gives, in whatever order they
 * are asked for, or the same mistake. *loads: whether it could be loaded. */
static inline bool opened_agrees(const char *path, bool *loads)
{
    struct golden_set *loaded = NULL;
    struct golden_set *opened = NULL;
    struct err a = {.code = 0};
    struct err b = {.code = 0};
    int rc = golden_load(path, &loaded, &a);
    bool same = golden_open(path, &opened, &b) == rc;
    *loads = rc == 0;
    if (rc != 0 || !same) {
        same = same && a.code == b.code && a.line == b.line && a.column == b.column &&
               strcmp(a.file, b.file) == 0 && strcmp(a.message, b.message) == 0;
    } else {
        same = loaded->n_tasks == opened->n_tasks && loaded->hash == opened->hash &&
               loaded->n_files == opened->n_files && str_eq(loaded->name, opened->name) &&
               loaded->n_models == opened->n_models && opened->tasks == NULL;
        for (size_t i = loaded->n_tasks; same && i > 0; i--) {
            same = opened_same_task(opened, loaded, i - 1);
        }
    }
    golden_free(loaded);
    golden_free(opened);
    return same;
}
#endif
