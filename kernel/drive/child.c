#include "kernel/drive/child.h"

#include "kernel/base/arena.h"
#include "kernel/drive/child_int.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

/* True while uv_spawn forks. */
static volatile sig_atomic_t forking;

static void after_fork_in_child(void)
{
#ifdef __linux__
    if (forking) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
#endif
}

int spawn_bound(uv_loop_t *loop, uv_process_t *process, const uv_process_options_t *options)
{
    static bool watching;
    if (!watching) {
        watching = pthread_atfork(NULL, NULL, after_fork_in_child) == 0;
    }
    forking = 1;
    int rc = uv_spawn(loop, process, options);
    forking = 0;
    return rc;
}

struct child {
    uv_process_t process; /* first: its handle is freed with it */
    void *ctx;
    void (*ended)(void *ctx, int status, int signal);
    bool running;
};

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
    struct child *c = (struct child *)process;
    c->running = false;
    if (c->ended != NULL) {
        c->ended(c->ctx, (int)status, signal);
    }
}

static bool sets(const struct child_options *o, const char *variable)
{
    for (size_t i = 0; i < o->n_variables; i++) {
        size_t n = strlen(o->variables[i].name);
        if (strncmp(variable, o->variables[i].name, n) == 0 && variable[n] == '=') {
            return true;
        }
    }
    return false;
}

extern char **environ;

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
        struct str text = arena_printf(arena, "%s=%s", o->variables[i].name, o->variables[i].value);
        out[at++] = arena_cstr(arena, text);
    }
    out[at] = NULL;
    return out;
}

static void free_child(uv_handle_t *h)
{
    free(h);
}

int child_start(const struct child_options *o, struct child **out, struct err *e)
{
    struct child *c = mem_zero(sizeof *c);
    struct arena *arena = arena_new();
    uv_stdio_container_t stdio[3];
    for (int fd = 0; fd < 3; fd++) {
        stdio[fd].flags = UV_INHERIT_FD;
        stdio[fd].data.fd = fd;
    }
    uv_process_options_t options = {
        .exit_cb = on_exit_of,
        .file = o->argv[0],
        .args = o->argv,
        .env = environment(o, arena),
        .stdio_count = 3,
        .stdio = stdio,
    };
    c->ctx = o->ctx;
    c->ended = o->ended;
    int rc = spawn_bound(loop_uv(o->loop), &c->process, &options);
    arena_free(arena);
    if (rc != 0) {
        uv_close((uv_handle_t *)&c->process, free_child);
        return err_set(e, ERR_IO, "%s cannot be started: %s", o->argv[0], uv_strerror(rc));
    }
    c->running = true;
    *out = c;
    return 0;
}

void child_signal(struct child *c, int signal)
{
    if (c->running) {
        uv_process_kill(&c->process, signal);
    }
}

void child_free(struct child *c)
{
    if (c == NULL) {
        return;
    }
    c->ended = NULL;
    child_signal(c, SIGKILL);
    uv_close((uv_handle_t *)&c->process, free_child);
}
