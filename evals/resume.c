#include "evals/resume.h"

#include "kernel/base/json.h"
#include "kernel/core/kernel.h"
#include "kernel/drive/snapshots.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const builtin_names[] = {"calculator", "search_docs", "now", "task_done"};

static int add_builtins(struct toolset *t, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof builtin_names / sizeof builtin_names[0]; i++) {
        rc = toolset_add_builtin(t, str_of(builtin_names[i]), e);
    }
    return rc;
}

/* The specs of `tools`, then of the built-in tools: the first of a name counts. */
static const struct tool_spec *all_specs(struct resumed *r, const struct toolset *tools, size_t *n)
{
    size_t given = 0, built_in = 0;
    const struct tool_spec *a = tools == NULL ? NULL : toolset_specs(tools, &given);
    const struct tool_spec *b = toolset_specs(r->builtins, &built_in);
    struct tool_spec *specs = arena_array(r->arena, given + built_in, sizeof *specs);
    for (size_t i = 0; i < given; i++) {
        specs[i] = a[i];
    }
    for (size_t i = 0; i < built_in; i++) {
        specs[given + i] = b[i];
    }
    *n = given + built_in;
    return specs;
}

/* ---- what the world has answered already ---- */

struct str log_line_type(struct str line)
{
    const struct str key = STR("\"type\":\"");
    size_t at = str_find(str_slice(line, 0, 80), key);
    struct str word = at == SIZE_MAX ? STR("") : str_slice(line, at + key.n, line.n);
    return str_slice(word, 0, str_find(word, STR("\"")));
}

/* Whether the request was answered at all, as a script or a recording counts it. */
static bool was_answered(const struct val *failure)
{
    struct str class = val_text(val_get(failure, "class"));
    return !str_is(class, fail_name(FAIL_SCRIPT)) && !str_is(class, fail_name(FAIL_MISS)) &&
           !str_is(class, fail_name(FAIL_HISTORY));
}

/* Calls of the reply at hand, and those carried out, as struct tool_call each. */
struct count {
    struct resumed *r;
    bool calls; /* are wanted */
    struct buf begun;
    struct buf ended;
    struct tool_call asked; /* the call that approval was last asked for */
    struct buf decided;     /* calls, once for each decision */
};

static void note_start(struct count *c, const struct val *v)
{
    struct str coerced = val_text(val_get(v, "coerced"));
    struct str arguments = coerced.n > 0 ? coerced : val_text(val_get(v, "arguments"));
    struct tool_call call = {val_text(val_get(v, "call_id")), val_text(val_get(v, "name")),
                             arguments.n > 0 ? arguments : STR("{}")};
    buf_add(&c->begun, (struct str){(const char *)&call, sizeof call});
}

static void note_end(struct count *c, const struct val *v)
{
    struct str id = val_text(val_get(v, "call_id"));
    for (size_t at = 0; at < c->begun.n; at += sizeof(struct tool_call)) {
        struct tool_call call;
        memcpy(&call, c->begun.p + at, sizeof call);
        if (str_eq(call.id, id)) {
            buf_add(&c->ended, (struct str){(const char *)&call, sizeof call});
            return;
        }
    }
}

/* One call at a time is asked about. */
static void note_decision(struct count *c, struct str type, const struct val *v)
{
    if (str_is(type, "approval_required")) {
        c->asked = (struct tool_call){val_text(val_get(v, "call_id")), val_text(val_get(v, "name")),
                                      val_text(val_get(v, "arguments"))};
    } else {
        buf_add(&c->decided, (struct str){(const char *)&c->asked, sizeof c->asked});
    }
}

static void count_line(struct count *c, struct str line)
{
    struct str type = log_line_type(line);
    struct val *v = NULL;
    int64_t attempts = 1;
    if (str_is(type, "llm_reply")) {
        c->r->requests++;
        buf_clear(&c->begun);
        return;
    }
    bool start = c->calls && str_is(type, "tool_start"), failure = str_is(type, "llm_failure");
    bool result = c->calls && str_is(type, "tool_result");
    bool retry = c->calls && str_is(type, "tool_retry");
    bool summary = str_is(type, "compaction");
    bool decision = c->calls && str_starts(type, "approval");
    if (!(start || failure || result || retry || summary || decision) ||
        json_parse(c->r->arena, NULL, line, &v, NULL) != 0) {
        return;
    }
    if (failure || summary) {
        c->r->requests += failure ? was_answered(v) : val_get(v, "usage") != NULL;
    } else if (decision) {
        note_decision(c, type, v);
    } else if (start) {
        note_start(c, v);
    } else if (retry || !val_int(val_get(v, "attempts"), &attempts) || attempts > 0) {
        note_end(c, v);
    }
}

/* The struct tool_calls that a buffer holds. */
static struct tool_call *calls_in(struct resumed *r, const struct buf *b, size_t *n)
{
    *n = b->n / sizeof(struct tool_call);
    struct tool_call *calls = arena_array(r->arena, *n, sizeof *calls);
    if (*n > 0) {
        memcpy(calls, b->p, b->n);
    }
    return calls;
}

void resumed_count(struct resumed *r, bool calls)
{
    struct count c = {.r = r, .calls = calls};
    r->requests = 0;
    for (struct str rest = r->log; rest.n > 0;) {
        count_line(&c, str_cut(&rest, '\n'));
    }
    r->calls = calls_in(r, &c.ended, &r->n_calls);
    r->decided = calls_in(r, &c.decided, &r->n_decided);
    buf_free(&c.begun);
    buf_free(&c.ended);
    buf_free(&c.decided);
}

size_t resumed_requests(struct resumed *r, const struct kernel_asked **out)
{
    struct kernel_config config;
    struct kernel_replay walk = {.tools = r->specs, .n_tools = r->n_specs, .asks = true};
    int rc = kernel_config_of_log(r->arena, r->path, r->log, r->specs, r->n_specs, &config, NULL);
    assert(rc == 0); /* it was read before */
    r->past = kernel_new(&config);
    rc = kernel_replay(r->past, r->path, r->log, SIZE_MAX, &walk, NULL);
    (void)rc; /* as far as it follows */
    buf_free(&walk.missing);
    *out = walk.asked;
    return walk.n_asked;
}

/* ---- bringing it up ---- */

static int feed_log(struct resumed *r, const struct kernel_config *config, struct str log,
                    size_t lines_max, struct kernel_replay *walk, struct err *e)
{
    r->kernel = kernel_new(config);
    return kernel_replay(r->kernel, r->path, log, lines_max, walk, e);
}

/* What does not follow behind a snapshot is told by the whole log, as if there were none. */
static int feed_rest(struct resumed *r, const struct kernel_config *config, struct str log,
                     size_t lines_max, struct kernel_replay *walk, struct err *e)
{
    const struct kernel_replay from_start = {.tools = walk->tools, .n_tools = walk->n_tools};
    walk->snapshot = snapshots_read(r->arena, r->path);
    int rc = feed_log(r, config, log, lines_max, walk, e);
    if (rc != 0 && walk->restored > 0) {
        kernel_free(r->kernel);
        buf_free(&walk->missing);
        *walk = from_start;
        rc = feed_log(r, config, log, lines_max, walk, e);
    }
    return rc;
}

/* Returns ERR_STATE, with ERR_INPUT in *e, where a line does not follow. whole: no line may be
 * taken for granted, as a snapshot would. */
static int bring_up(struct resumed *r, size_t lines_max, const struct toolset *tools, bool whole,
                    size_t *lines, struct err *e)
{
    struct str log;
    struct kernel_replay walk = {.lines = 0};
    struct kernel_config config;
    int rc = add_builtins(r->builtins, e);
    rc = rc != 0 ? rc : file_read(r->arena, r->path, LOG_BYTES_MAX, &log, e);
    if (rc == 0) {
        walk.tools = r->specs = all_specs(r, tools, &walk.n_tools);
        r->n_specs = walk.n_tools;
        rc = kernel_config_of_log(r->arena, r->path, log, walk.tools, walk.n_tools, &config, e);
    }
    if (rc != 0) {
        return rc;
    }
    rc = whole ? feed_log(r, &config, log, lines_max, &walk, e)
               : feed_rest(r, &config, log, lines_max, &walk, e);
    r->missing = walk.missing;
    r->config = walk.config;
    r->torn = walk.torn;
    r->log = str_slice(log, 0, walk.bytes);
    r->restored = walk.restored;
    *lines = walk.lines;
    return rc == ERR_INPUT ? ERR_STATE : rc;
}

static struct resumed *new_resumed(const char *path)
{
    struct resumed *r = mem_zero(sizeof *r);
    r->arena = arena_new();
    r->path = path;
    r->builtins = toolset_new();
    return r;
}

int resumed_open(const char *path, size_t lines_max, const struct toolset *tools,
                 struct resumed **out, struct err *e)
{
    struct resumed *r = new_resumed(path);
    size_t lines = 0;
    int rc = bring_up(r, lines_max, tools, false, &lines, e);
    rc = rc == ERR_STATE ? ERR_INPUT : rc;
    if (rc == 0 && lines_max != SIZE_MAX && lines < lines_max) {
        rc = err_at(e, ERR_INPUT, path, 0, 0, "holds %zu whole line%s, not %zu", lines,
                    lines == 1 ? "" : "s", lines_max);
    }
    if (rc != 0) {
        resumed_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void resumed_free(struct resumed *r)
{
    if (r == NULL) {
        return;
    }
    kernel_free(r->kernel);
    kernel_free(r->past);
    buf_free(&r->missing);
    toolset_free(r->builtins);
    arena_free(r->arena);
    free(r);
}

int resumed_trace(const struct resumed *r, const char *path, struct appender **out, struct err *e)
{
    struct appender *a = NULL;
    bool same = path_same(r->path, path);
    int rc = appender_open(path, same ? APPEND_CONTINUE : APPEND_TRUNCATE, &a, e);
    if (rc == 0 && same && r->torn) {
        rc = file_cut(path, r->log.n, e);
    } else if (rc == 0 && !same) {
        rc = appender_add(a, r->log, e);
    }
    if (rc == 0 && r->missing.n > 0) {
        rc = appender_add(a, buf_str(&r->missing), e);
    }
    if (rc != 0 && a != NULL) {
        int closed = appender_close(a, NULL);
        (void)closed; /* the first error is the one to tell */
        return rc;
    }
    *out = a;
    return rc;
}

int log_check_replaced(const char *path, struct err *e)
{
    if (file_begins_otherwise(path, STR("{\"seq\":"))) {
        return err_at(e, ERR_INPUT, path, 0, 0,
                      "is there and is no event log, so it is not overwritten: remove it, or name "
                      "another file");
    }
    return appender_check(path, e);
}

int log_verify(const char *path, const struct toolset *tools, size_t *lines, bool *ended,
               struct err *e)
{
    struct resumed *r = new_resumed(path);
    *lines = 0;
    *ended = false;
    int rc = bring_up(r, SIZE_MAX, tools, true, lines, e);
    if (rc == 0) {
        *ended = !r->torn && r->missing.n == 0 && kernel_stage(r->kernel) == STAGE_ENDED;
    }
    resumed_free(r);
    return rc;
}
