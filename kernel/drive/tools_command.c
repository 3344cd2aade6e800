/* A job goes QUEUED → RUNNING, or to STOPPED from either. It has ended when its child has, which
 * for a stopped one is after its process was reaped; its memory goes then. */
#include <assert.h>
#include <stdlib.h>
#include <uv.h>

#include "kernel/base/text.h"
#include "kernel/drive/child_int.h"
#include "kernel/drive/files.h"
#include "kernel/drive/loop_int.h"
#include "kernel/drive/tools_int.h"

enum { STDERR_KEEP_BYTES = 4096 };

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_STOPPED };

struct job {
    enum job_state state;
    struct job_options options;
    struct arena *arena;
    struct job *next;    /* in the queue */
    struct child *child; /* NULL in the queue */
    uv_timer_t *limit;   /* NULL = none */
    bool too_long;       /* more than COMMAND_OUTPUT_MAX came */
    bool too_slow;       /* limit_ms is over */
    struct buf output;
    struct buf complaint; /* the end of stderr */
};

/* Children belong to the process, not to a loop, so this is per process. */
static struct {
    int running;
    struct job *first;
    struct job *last;
} children;

static void start_queued(void);

static void job_free(struct job *j)
{
    if (j->limit != NULL) {
        loop_timer_free(j->limit);
    }
    child_free(j->child);
    buf_free(&j->output);
    buf_free(&j->complaint);
    arena_free(j->arena);
    free(j);
}

/* The last whole lines of stderr that fit, or the end of the last one where that alone is too long:
 * programs say last what went wrong. */
static struct str last_words(struct job *j)
{
    struct str all = str_trim(buf_str(&j->complaint));
    struct str end = utf8_suffix(all, COMMAND_STDERR_CHARS);
    if (end.n < all.n) {
        size_t line = end.p[-1] == '\n' ? 0 : str_find(end, STR("\n"));
        end = str_trim(str_slice(end, line == SIZE_MAX ? 0 : line, end.n));
    }
    return text_preview(j->arena, end, COMMAND_STDERR_CHARS);
}

/* What the process was killed by first decides the message. status, signal: as of child_options. */
static void failure(struct job *j, int status, int signal, struct tool_output *out)
{
    struct str said = last_words(j);
    const char *name = j->options.argv[0];
    *out = (struct tool_output){.code = STR("TOOL_ERROR")};
    if (j->too_slow) {
        out->code = STR("TIMEOUT");
        out->retryable = true;
        out->message = arena_printf(j->arena, "the command %s took longer than %lld ms", name,
                                    (long long)j->options.limit_ms);
        return;
    }
    if (j->too_long) {
        out->message = arena_printf(j->arena, "the command %s wrote more than %d bytes", name,
                                    COMMAND_OUTPUT_MAX);
        out->hint = STR("ask for less");
        return;
    }
    struct str how = signal != 0 ? arena_printf(j->arena, "was ended by signal %d", signal)
                                 : arena_printf(j->arena, "ended with status %d", status);
    out->message = arena_printf(j->arena, "the command %s %.*s%s%.*s", name, STR_FMT(how),
                                said.n > 0 ? ": " : "", STR_FMT(said));
}

/* stdout without the one newline that shell scripts end with. */
static struct str result(const struct job *j)
{
    struct str all = buf_str(&j->output);
    size_t end = str_ends(all, "\r\n") ? 2 : str_ends(all, "\n") ? 1 : 0;
    return str_slice(all, 0, all.n - end);
}

static void on_ended(void *ctx, int status, int signal)
{
    struct job *j = ctx;
    children.running--;
    if (j->state == JOB_RUNNING) {
        struct tool_output output = {.ok = true, .content = result(j)};
        if (j->too_slow || j->too_long || signal != 0 || status != 0) {
            failure(j, status, signal, &output);
        }
        j->options.done(j->options.ctx, &output);
    }
    job_free(j);
    start_queued();
}

static void keep_output(struct job *j, struct str data)
{
    if (!j->too_long && data.n > COMMAND_OUTPUT_MAX - j->output.n) {
        j->too_long = true;
        child_kill(j->child);
    } else if (!j->too_long) {
        buf_add(&j->output, data);
    }
}

static void keep_complaint(struct job *j, struct str data)
{
    buf_add(&j->complaint, data);
    if (j->complaint.n > STDERR_KEEP_BYTES) {
        struct buf kept = {0};
        buf_add(&kept, str_slice(buf_str(&j->complaint), j->complaint.n - STDERR_KEEP_BYTES,
                                 j->complaint.n));
        buf_free(&j->complaint);
        j->complaint = kept;
    }
}

static void on_wrote(void *ctx, int fd, struct str piece)
{
    struct job *j = ctx;
    if (fd == 1) {
        keep_output(j, piece);
    } else {
        keep_complaint(j, piece);
    }
}

static void on_limit(uv_timer_t *timer)
{
    struct job *j = timer->data;
    j->too_slow = true;
    child_kill(j->child);
}

/* The variables a command may see, and the one that names this call, by which a command can tell a
 * call that it has carried out already. */
static char **environment(struct arena *arena, struct str request_id)
{
    static const char *const allowed[] = {"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
    enum { N = sizeof allowed / sizeof allowed[0] };
    char **env = arena_array(arena, N + 2, sizeof *env);
    size_t n = 0;
    for (size_t i = 0; i < N; i++) {
        const char *value = getenv(allowed[i]);
        if (value != NULL) {
            env[n++] = arena_cstr(arena, arena_printf(arena, "%s=%s", allowed[i], value));
        }
    }
    if (request_id.n > 0) {
        env[n] =
            arena_cstr(arena, arena_printf(arena, "ASSAY_REQUEST_ID=%.*s", STR_FMT(request_id)));
    }
    return env;
}

/* Starts the process of a job whose turn has come. On failure *output says why (in `arena`), and
 * the job is gone. */
static bool run_job(struct job *j, struct arena *arena, struct tool_output *output)
{
    const char *why = NULL;
    const char *name = j->options.argv[0];
    const char *dir = j->options.dir;
    const struct child_options options = {.loop = j->options.loop,
                                          .argv = j->options.argv,
                                          .environment =
                                              environment(j->arena, j->options.request_id),
                                          .dir = dir,
                                          .apart = true,
                                          .input = j->options.input,
                                          .wrote = on_wrote,
                                          .ctx = j,
                                          .ended = on_ended};
    j->child = child_new(&options, &why);
    if (j->child == NULL) {
        *output = (struct tool_output){.code = STR("TOOL_ERROR")};
        output->message =
            path_is_dir(dir)
                ? arena_printf(arena, "cannot start the command %s: %s", name, why)
                : arena_printf(arena, "cannot start the command %s: there is no folder %s", name,
                               dir);
        output->hint = STR("the program must be in PATH or named relative to the tool file");
        job_free(j);
        return false;
    }
    j->state = JOB_RUNNING;
    children.running++;
    if (j->options.limit_ms > 0) {
        j->limit = loop_timer_new(j->options.loop, j);
        int rc = uv_timer_start(j->limit, on_limit, (uint64_t)j->options.limit_ms, 0);
        assert(rc == 0); /* a fresh one */
        (void)rc;
    }
    return true;
}

static void start_queued(void)
{
    while (children.running < COMMANDS_MAX && children.first != NULL) {
        struct job *j = children.first;
        children.first = j->next;
        children.last = children.first == NULL ? NULL : children.last;
        struct tool_output output;
        struct job_options options = j->options;
        struct arena *arena = arena_new();
        if (!run_job(j, arena, &output)) {
            options.done(options.ctx, &output);
        }
        arena_free(arena);
    }
}

struct job *job_start(const struct job_options *o, struct arena *arena, struct tool_output *output)
{
    struct job *j = mem_zero(sizeof *j);
    j->options = *o;
    j->arena = arena_new();
    j->options.input = arena_str(j->arena, o->input);
    j->options.request_id = arena_str(j->arena, o->request_id);
    j->state = JOB_QUEUED;
    if (children.running < COMMANDS_MAX) {
        return run_job(j, arena, output) ? j : NULL;
    }
    if (children.last == NULL) {
        children.first = j;
    } else {
        children.last->next = j;
    }
    children.last = j;
    return j;
}

static void unqueue(struct job *j)
{
    struct job *before = NULL;
    for (struct job *i = children.first; i != j; i = i->next) {
        before = i;
    }
    if (before == NULL) {
        children.first = j->next;
    } else {
        before->next = j->next;
    }
    if (children.last == j) {
        children.last = before;
    }
    job_free(j);
}

void job_stop(struct job *j)
{
    assert(j->state == JOB_QUEUED || j->state == JOB_RUNNING);
    if (j->state == JOB_QUEUED) {
        unqueue(j);
        return;
    }
    j->state = JOB_STOPPED;
    child_kill(j->child);
}
