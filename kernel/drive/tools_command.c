/* A job goes QUEUED → RUNNING → ENDED, or to STOPPED from either of the first two. A running job
 * ends when its process has exited and stdout and stderr are at their end. Its memory goes when its
 * last handle is closed, which for a stopped one is after its process was reaped. */
#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <uv.h>

#include "kernel/base/text.h"
#include "kernel/drive/child_int.h"
#include "kernel/drive/files.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/tools_int.h"

enum { READ_BYTES = 65536, STDERR_KEEP_BYTES = 4096 };

enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_STOPPED, JOB_ENDED };

struct job {
    enum job_state state;
    struct job_options options;
    struct arena *arena;
    struct job *next; /* in the queue */
    int handles;      /* of libuv, not yet closed */
    int streams;      /* stdout and stderr, not yet at their end */
    uv_process_t process;
    uv_pipe_t in;
    uv_pipe_t out;
    uv_pipe_t err;
    uv_timer_t limit;
    uv_write_t write;
    int pid; /* also its process group's number */
    bool exited;
    bool too_long; /* more than COMMAND_OUTPUT_MAX came */
    bool too_slow; /* limit_ms is over */
    int64_t status;
    int signal;
    struct buf output;
    struct buf complaint; /* the end of stderr */
    char chunk[READ_BYTES];
};

/* Children belong to the process, not to a loop, so this is per process. */
static struct {
    int running;
    struct job *first;
    struct job *last;
} children;

static void start_queued(void);

static void on_closed(uv_handle_t *h)
{
    struct job *j = h->data;
    if (--j->handles == 0) {
        assert(j->state == JOB_STOPPED || j->state == JOB_ENDED);
        buf_free(&j->output);
        buf_free(&j->complaint);
        arena_free(j->arena);
        free(j);
    }
}

static void close_handle(uv_handle_t *h)
{
    if (!uv_is_closing(h)) {
        uv_close(h, on_closed);
    }
}

static void close_pipes(struct job *j)
{
    close_handle((uv_handle_t *)&j->in);
    close_handle((uv_handle_t *)&j->out);
    close_handle((uv_handle_t *)&j->err);
    close_handle((uv_handle_t *)&j->limit);
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

/* What the process was killed by first decides the message. */
static void failure(struct job *j, struct tool_output *out)
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
    struct str how = j->signal != 0
                         ? arena_printf(j->arena, "was ended by signal %d", j->signal)
                         : arena_printf(j->arena, "ended with status %lld", (long long)j->status);
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

static void maybe_end(struct job *j)
{
    if (j->state != JOB_RUNNING || !j->exited || j->streams > 0) {
        return;
    }
    j->state = JOB_ENDED;
    struct tool_output output = {.ok = true, .content = result(j)};
    if (j->too_slow || j->too_long || j->signal != 0 || j->status != 0) {
        failure(j, &output);
    }
    j->options.done(j->options.ctx, &output);
    close_pipes(j);
}

/* Ends a job that did too much, whoever still holds its pipes. */
static void give_up(struct job *j)
{
    if (!j->exited) {
        keeper_kill(j->pid);
    }
    j->streams = 0;
    close_pipes(j);
    maybe_end(j);
}

static void on_exit_of_process(uv_process_t *process, int64_t status, int signal)
{
    struct job *j = process->data;
    j->exited = true;
    j->status = status;
    j->signal = signal;
    kill(-j->pid, SIGKILL); /* what it left in the background */
    close_handle((uv_handle_t *)process);
    children.running--;
    maybe_end(j);
    start_queued();
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct job *j = h->data;
    *out = uv_buf_init(j->chunk, READ_BYTES);
}

static void keep_output(struct job *j, struct str data)
{
    if (!j->too_long && data.n > COMMAND_OUTPUT_MAX - j->output.n) {
        j->too_long = true;
        give_up(j);
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

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct job *j = stream->data;
    bool is_out = stream == (uv_stream_t *)&j->out;
    if (n < 0) {
        j->streams--;
        close_handle((uv_handle_t *)stream);
        maybe_end(j);
    } else if (is_out) {
        keep_output(j, (struct str){buf->base, (size_t)n});
    } else {
        keep_complaint(j, (struct str){buf->base, (size_t)n});
    }
}

/* A command need not read its arguments, so a failed write is no failure. */
static void on_written(uv_write_t *request, int status)
{
    (void)status;
    struct job *j = request->data;
    close_handle((uv_handle_t *)&j->in);
}

static void on_limit(uv_timer_t *timer)
{
    struct job *j = timer->data;
    j->too_slow = true;
    give_up(j);
}

static void init_handles(struct job *j)
{
    uv_loop_t *uv = loop_uv(j->options.loop);
    int failed = uv_pipe_init(uv, &j->in, 0);
    failed += uv_pipe_init(uv, &j->out, 0);
    failed += uv_pipe_init(uv, &j->err, 0);
    failed += uv_timer_init(uv, &j->limit);
    assert(failed == 0); /* these only fill in memory */
    (void)failed;
    j->process.data = j;
    j->in.data = j;
    j->out.data = j;
    j->err.data = j;
    j->limit.data = j;
    j->write.data = j;
    j->handles = 5;
    j->streams = 2;
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

static int spawn(struct job *j)
{
    init_handles(j);
    uv_stdio_container_t stdio[3];
    stdio[0].flags = UV_CREATE_PIPE | UV_READABLE_PIPE;
    stdio[0].data.stream = (uv_stream_t *)&j->in;
    stdio[1].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[1].data.stream = (uv_stream_t *)&j->out;
    stdio[2].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[2].data.stream = (uv_stream_t *)&j->err;
    char **argv = arena_array(j->arena, TOOL_ARGV_MAX + 1, sizeof *argv);
    for (size_t i = 0; i < TOOL_ARGV_MAX && j->options.argv[i] != NULL; i++) {
        argv[i] = j->options.argv[i];
    }
    uv_process_options_t options = {
        .exit_cb = on_exit_of_process,
        .file = argv[0],
        .args = argv,
        .env = environment(j->arena, j->options.request_id),
        .cwd = j->options.dir,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = stdio,
    };
    return spawn_bound(loop_uv(j->options.loop), &j->process, &options);
}

/* Starts the process of a job whose turn has come. On failure *output says why (in `arena`), and
 * the job is as good as ended. */
static bool run_job(struct job *j, struct arena *arena, struct tool_output *output)
{
    int rc = spawn(j);
    if (rc != 0) {
        const char *name = j->options.argv[0];
        const char *dir = j->options.dir;
        *output = (struct tool_output){.code = STR("TOOL_ERROR")};
        output->message =
            path_is_dir(dir)
                ? arena_printf(arena, "cannot start the command %s: %s", name, uv_strerror(rc))
                : arena_printf(arena, "cannot start the command %s: there is no folder %s", name,
                               dir);
        output->hint = STR("the program must be in PATH or named relative to the tool file");
        j->state = JOB_ENDED;
        close_handle((uv_handle_t *)&j->process);
        close_pipes(j);
        return false;
    }
    j->state = JOB_RUNNING;
    j->pid = j->process.pid;
    children.running++;
    uv_buf_t input =
        uv_buf_init(arena_cstr(j->arena, j->options.input), (unsigned)j->options.input.n);
    if (uv_write(&j->write, (uv_stream_t *)&j->in, &input, 1, on_written) != 0) {
        close_handle((uv_handle_t *)&j->in);
    }
    rc = uv_read_start((uv_stream_t *)&j->out, on_alloc, on_read);
    rc += uv_read_start((uv_stream_t *)&j->err, on_alloc, on_read);
    if (j->options.limit_ms > 0) {
        rc += uv_timer_start(&j->limit, on_limit, (uint64_t)j->options.limit_ms, 0);
    }
    assert(rc == 0); /* fresh handles in the right state */
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
    arena_free(j->arena);
    free(j);
}

void job_stop(struct job *j)
{
    assert(j->state == JOB_QUEUED || j->state == JOB_RUNNING);
    if (j->state == JOB_QUEUED) {
        unqueue(j);
        return;
    }
    j->state = JOB_STOPPED;
    if (!j->exited) {
        keeper_kill(j->pid);
    }
    close_pipes(j);
}
