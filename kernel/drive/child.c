#include "kernel/drive/child.h"

#include "kernel/drive/child_int.h"
#include "kernel/drive/files.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

/* What uv_spawn forks for; parent is ours. */
static struct {
    volatile sig_atomic_t under_way;
    bool apart;
    pid_t parent;
} forking;

static void after_fork_in_child(void)
{
    if (forking.under_way) {
        keeper_part(forking.parent, forking.apart);
    }
}

/* uv_spawn for a process that is killed when we end, even if we are killed. One that stands apart
 * has a keeper (Linux), whose number is then process->pid. */
static int spawn_bound(uv_loop_t *loop, uv_process_t *process, const uv_process_options_t *options)
{
    static bool watching;
    if (!watching) {
        watching = pthread_atfork(NULL, NULL, after_fork_in_child) == 0;
    }
    forking.apart = (options->flags & UV_PROCESS_DETACHED) != 0;
    forking.parent = getpid();
    forking.under_way = 1;
    int rc = uv_spawn(loop, process, options);
    forking.under_way = 0;
    return rc;
}

enum { READ_BYTES = 65536 };

/* It has ended when it was reaped and its streams, where it has some of its own, are at their end.
 */
struct child {
    uv_process_t process;
    uv_pipe_t in, out, err; /* where it stands apart */
    uv_write_t write;
    int handles; /* of libuv, not yet closed: the memory goes with the last */
    int streams; /* not yet at their end */
    int pid;     /* its keeper's; where there is none its own and its group's */
    bool apart;
    bool running;
    int64_t status;
    int signal;
    char *input;
    void *ctx;
    void (*wrote)(void *ctx, int fd, struct str piece);
    void (*ended)(void *ctx, int status, int signal);
    char chunk[READ_BYTES];
};

/* ---- its life ---- */

static void on_closed(uv_handle_t *h)
{
    struct child *c = h->data;
    if (--c->handles == 0) {
        free(c->input);
        free(c);
    }
}

static void close_handle(uv_handle_t *h)
{
    if (!uv_is_closing(h)) {
        uv_close(h, on_closed);
    }
}

static void maybe_ended(struct child *c)
{
    void (*ended)(void *ctx, int status, int signal) = c->ended;
    if (!c->running && c->streams == 0 && ended != NULL) {
        c->ended = NULL;
        ended(c->ctx, (int)c->status, c->signal);
    }
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
    struct child *c = process->data;
    c->running = false;
    c->status = status;
    c->signal = signal;
    if (c->apart) {
        kill(-c->pid, SIGKILL); /* what it left in the background */
    }
    maybe_ended(c);
}

static void close_streams(struct child *c)
{
    c->streams = 0;
    if (c->apart) {
        close_handle((uv_handle_t *)&c->in);
        close_handle((uv_handle_t *)&c->out);
        close_handle((uv_handle_t *)&c->err);
    }
}

/* ---- its streams ---- */

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *out)
{
    (void)suggested;
    struct child *c = h->data;
    *out = uv_buf_init(c->chunk, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct child *c = stream->data;
    if (n >= 0) {
        int fd = stream == (uv_stream_t *)&c->out ? 1 : 2;
        c->wrote(c->ctx, fd, (struct str){buf->base, (size_t)n});
        return;
    }
    c->streams--;
    close_handle((uv_handle_t *)stream);
    maybe_ended(c);
}

/* A program need not read what it is given. */
static void on_written(uv_write_t *request, int status)
{
    (void)status;
    struct child *c = request->data;
    close_handle((uv_handle_t *)&c->in);
}

static void init_streams(struct child *c, uv_loop_t *uv, uv_stdio_container_t stdio[3])
{
    uv_pipe_t *const pipes[] = {&c->in, &c->out, &c->err};
    for (int fd = 0; fd < 3; fd++) {
        int failed = uv_pipe_init(uv, pipes[fd], 0);
        assert(failed == 0); /* this only fills in memory */
        (void)failed;
        pipes[fd]->data = c;
        stdio[fd].flags = UV_CREATE_PIPE | (fd == 0 ? UV_READABLE_PIPE : UV_WRITABLE_PIPE);
        stdio[fd].data.stream = (uv_stream_t *)pipes[fd];
    }
    c->handles += 3;
    c->streams = 2;
}

static void start_streams(struct child *c, size_t n)
{
    uv_buf_t input = uv_buf_init(c->input, (unsigned)n);
    c->write.data = c;
    if (uv_write(&c->write, (uv_stream_t *)&c->in, &input, 1, on_written) != 0) {
        close_handle((uv_handle_t *)&c->in);
    }
    int rc = uv_read_start((uv_stream_t *)&c->out, on_alloc, on_read);
    rc += uv_read_start((uv_stream_t *)&c->err, on_alloc, on_read);
    assert(rc == 0); /* fresh handles in the right state */
    (void)rc;
}

/* ---- its environment ---- */

static bool names(const char *variable, const char *name)
{
    size_t n = strlen(name);
    return strncmp(variable, name, n) == 0 && variable[n] == '=';
}

static bool sets(const struct child_options *o, const char *variable)
{
    for (size_t i = 0; i < o->n_variables; i++) {
        size_t n = strlen(o->variables[i].name);
        if (names(variable, o->variables[i].name)) {
            return !o->variables[i].spare || variable[n + 1] == '\0';
        }
    }
    return false;
}

extern char **environ;

static bool is_set(const char *name)
{
    size_t n = 0;
    while (environ[n] != NULL && !names(environ[n], name)) {
        n++;
    }
    return environ[n] != NULL && environ[n][strlen(name) + 1] != '\0';
}

static char **environment(const struct child_options *o, struct arena *arena)
{
    size_t n = 0;
    while (environ[n] != NULL) {
        n++;
    }
    char **out = arena_array(arena, n + o->n_variables + 1, sizeof *out);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!sets(o, environ[i])) {
            out[at++] = environ[i];
        }
    }
    for (size_t i = 0; i < o->n_variables; i++) {
        const struct child_variable *v = &o->variables[i];
        if (!v->spare || !is_set(v->name)) {
            out[at++] = arena_cstr(arena, arena_printf(arena, "%s=%s", v->name, v->value));
        }
    }
    out[at] = NULL;
    return out;
}

/* ---- starting and ending it ---- */

static int spawn(struct child *c, const struct child_options *o)
{
    struct arena *arena = arena_new();
    uv_stdio_container_t stdio[3];
    uv_process_options_t options = {
        .exit_cb = on_exit_of,
        .file = o->argv[0],
        .args = o->argv,
        .env = o->environment != NULL ? o->environment : environment(o, arena),
        .cwd = o->dir,
        .flags = o->apart ? UV_PROCESS_DETACHED : 0,
        .stdio_count = 3,
        .stdio = stdio,
    };
    for (int fd = 0; fd < 3; fd++) {
        stdio[fd].flags = UV_INHERIT_FD;
        stdio[fd].data.fd = fd;
    }
    if (o->apart) {
        init_streams(c, loop_uv(o->loop), stdio);
    }
    int rc = spawn_bound(loop_uv(o->loop), &c->process, &options);
    arena_free(arena);
    return rc;
}

struct child *child_new(const struct child_options *o, const char **why)
{
    struct child *c = mem_zero(sizeof *c);
    c->process.data = c;
    c->handles = 1;
    c->apart = o->apart;
    c->ctx = o->ctx;
    c->wrote = o->wrote;
    c->ended = o->ended;
    int rc = spawn(c, o);
    if (rc != 0) {
        close_streams(c);
        close_handle((uv_handle_t *)&c->process);
        *why = uv_strerror(rc);
        return NULL;
    }
    c->running = true;
    c->pid = c->process.pid;
    if (o->apart) {
        c->input = mem_alloc(o->input.n + 1);
        memcpy(c->input, o->input.n > 0 ? o->input.p : "", o->input.n);
        start_streams(c, o->input.n);
    }
    return c;
}

int child_start(const struct child_options *o, struct child **out, struct err *e)
{
    const char *why = NULL;
    *out = child_new(o, &why);
    return *out != NULL ? 0 : err_set(e, ERR_IO, "%s cannot be started: %s", o->argv[0], why);
}

void child_signal(struct child *c, int signal)
{
    if (c->running) {
        uv_process_kill(&c->process, signal);
    }
}

bool child_is_running(const struct child *c)
{
    return c->running;
}

/* Before its streams are closed: it shall end by this, not by a broken pipe. */
void child_kill(struct child *c)
{
    if (c->running && c->apart) {
        keeper_kill(c->pid);
    } else {
        child_signal(c, SIGKILL);
    }
    close_streams(c);
    maybe_ended(c);
}

void child_free(struct child *c)
{
    if (c == NULL) {
        return;
    }
    c->ended = NULL;
    child_kill(c);
    close_handle((uv_handle_t *)&c->process);
}

/* ---- looking for a program ---- */

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp looks for it (POSIX), from the folder that the command is started in: an empty entry of
 * PATH is that folder, and so are relative ones from there. */
bool program_found(struct arena *scratch, const char *program, const char *dir)
{
    if (strchr(program, '/') != NULL) {
        return is_program(path_join(scratch, dir, program));
    }
    const char *path = getenv("PATH");
    struct str rest = str_of(path == NULL ? "/bin:/usr/bin" : path);
    for (bool more = true; more;) {
        size_t colon = str_find(rest, STR(":"));
        more = colon != SIZE_MAX;
        const char *entry = arena_cstr(scratch, str_slice(rest, 0, more ? colon : rest.n));
        rest = str_slice(rest, more ? colon + 1 : rest.n, rest.n);
        const char *folder = *entry == '\0' ? dir : path_join(scratch, dir, entry);
        if (is_program(path_join(scratch, folder, program))) {
            return true;
        }
    }
    return false;
}
