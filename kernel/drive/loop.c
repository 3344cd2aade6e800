/* The event loop: a plain queue of deferred calls, with libuv under it from the first need on. A
 * process that only replays never starts libuv.
 *
 * A turn: run what was deferred before the turn, look for interrupts, let libuv run once (it waits
 * for the world only when nothing is deferred). */
#include "kernel/drive/loop.h"

#include "kernel/base/arena.h"
#include "kernel/drive/loop_int.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

struct deferred {
    void (*fn)(void *arg); /* NULL = dropped */
    void *arg;
};

struct slot {
    void *p;
    void (*free_fn)(void *p);
};

enum loop_state { LOOP_IDLE, LOOP_GOING, LOOP_STOPPING };

struct loop {
    enum loop_state state;
    struct deferred *queue; /* a ring */
    size_t first;
    size_t n;
    size_t cap;
    struct slot slots[LOOP_SLOTS];
    void (*interrupt)(void *arg, int signal);
    void *interrupt_arg;
    struct sigaction old_int;
    struct sigaction old_term;
    struct sigaction old_hup;
    bool has_uv; /* uv, busy and awake are initialised */
    uv_loop_t uv;
    uv_idle_t busy;   /* active while something is deferred, so that libuv does not wait */
    uv_async_t awake; /* the signal handler's way to end libuv's wait */
};

/* What the signal handler may touch; one loop of a process watches at a time. */
static struct {
    struct loop *owner;
    volatile sig_atomic_t got_int;
    volatile sig_atomic_t got_term;
    _Atomic(uv_async_t *) awake; /* NULL while the owner has no libuv */
} watch;

struct loop *loop_new(void)
{
    return mem_zero(sizeof(struct loop));
}

/* ---- deferred calls ---- */

static void queue_grow(struct loop *l)
{
    size_t cap = l->cap == 0 ? 16 : l->cap * 2;
    struct deferred *queue = mem_alloc(cap * sizeof *queue);
    for (size_t i = 0; i < l->n; i++) {
        queue[i] = l->queue[(l->first + i) % l->cap];
    }
    free(l->queue);
    l->queue = queue;
    l->cap = cap;
    l->first = 0;
}

static void on_busy(uv_idle_t *handle)
{
    (void)handle;
}

static void busy_start(struct loop *l)
{
    int rc = uv_idle_start(&l->busy, on_busy);
    assert(rc == 0);
    (void)rc;
}

void loop_defer(struct loop *l, void (*fn)(void *arg), void *arg)
{
    assert(fn != NULL);
    if (l->n == l->cap) {
        queue_grow(l);
    }
    l->queue[(l->first + l->n) % l->cap] = (struct deferred){fn, arg};
    l->n++;
    if (l->has_uv) {
        busy_start(l);
    }
}

void loop_undefer(struct loop *l, void (*fn)(void *arg), void *arg)
{
    for (size_t i = 0; i < l->n; i++) {
        struct deferred *d = &l->queue[(l->first + i) % l->cap];
        if (d->fn == fn && d->arg == arg) {
            d->fn = NULL;
        }
    }
}

/* Runs what was deferred before now; what is deferred meanwhile comes in the next turn. */
static void run_deferred(struct loop *l)
{
    for (size_t left = l->n; left > 0 && l->state == LOOP_GOING; left--) {
        struct deferred d = l->queue[l->first];
        l->first = (l->first + 1) % l->cap;
        l->n--;
        if (d.fn != NULL) {
            d.fn(d.arg);
        }
    }
    if (l->has_uv && l->n == 0) {
        uv_idle_stop(&l->busy);
    }
}

/* ---- signals ---- */

static void on_signal(int signal)
{
    if (signal == SIGINT) {
        watch.got_int = 1;
    } else {
        watch.got_term = 1;
    }
    uv_async_t *awake = atomic_load(&watch.awake);
    if (awake != NULL) {
        uv_async_send(awake);
    }
}

static void on_awake(uv_async_t *handle)
{
    (void)handle; /* libuv's wait is over; the turn looks at the flags */
}

void loop_on_interrupt(struct loop *l, void (*fn)(void *arg, int signal), void *arg)
{
    assert(fn != NULL && l->interrupt == NULL && watch.owner == NULL);
    l->interrupt = fn;
    l->interrupt_arg = arg;
    watch.owner = l;
    watch.got_int = 0;
    watch.got_term = 0;
    atomic_store(&watch.awake, l->has_uv ? &l->awake : NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    int failed = sigaction(SIGINT, &action, &l->old_int);
    failed += sigaction(SIGTERM, &action, &l->old_term);
    failed += sigaction(SIGHUP, &action, &l->old_hup);
    if (l->old_hup.sa_handler == SIG_IGN) { /* nohup: to go on when the terminal closes */
        failed += sigaction(SIGHUP, &l->old_hup, NULL);
    }
    assert(failed == 0);
    (void)failed;
}

static void unwatch(struct loop *l)
{
    if (watch.owner != l) {
        return;
    }
    int failed = sigaction(SIGINT, &l->old_int, NULL);
    failed += sigaction(SIGTERM, &l->old_term, NULL);
    failed += sigaction(SIGHUP, &l->old_hup, NULL);
    assert(failed == 0);
    (void)failed;
    atomic_store(&watch.awake, NULL);
    watch.owner = NULL;
}

static void look_for_interrupts(struct loop *l)
{
    if (watch.owner != l) {
        return;
    }
    if (watch.got_int) {
        watch.got_int = 0;
        l->interrupt(l->interrupt_arg, SIGINT);
    }
    if (watch.got_term) {
        watch.got_term = 0;
        l->interrupt(l->interrupt_arg, SIGTERM);
    }
}

/* ---- libuv ---- */

/* A write to a child or peer that is gone shall be an error, not the end of the process. */
static void ignore_sigpipe(void)
{
    struct sigaction old;
    if (sigaction(SIGPIPE, NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
        struct sigaction action = {.sa_handler = SIG_IGN};
        sigemptyset(&action.sa_mask);
        sigaction(SIGPIPE, &action, NULL);
    }
}

void loop_must(const char *what, int uv_code)
{
    if (uv_code != 0) {
        fprintf(stderr, "assay: %s: %s; are too many files open (ulimit -n)?\n", what,
                uv_strerror(uv_code));
        exit(4);
    }
}

static void *take_array(size_t count, size_t size)
{
    return size != 0 && count > SIZE_MAX / size ? NULL : mem_zero(count * size);
}

/* libuv aborts in places where it finds no memory; taken from here, that is told as anywhere. */
static void lend_memory(void)
{
    int rc = uv_replace_allocator(mem_alloc, mem_grow, take_array, free);
    assert(rc == 0);
    (void)rc;
}

/* Nor may it find no file free, in its first loop: UV_EMFILE where there are not as many. */
static int find_files(void)
{
    enum { FILES = 8 };
    int fds[FILES], n = 0;
    while (n < FILES && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        n++;
    }
    for (int i = 0; i < n; i++) {
        close(fds[i]);
    }
    return n == FILES ? 0 : UV_EMFILE;
}

struct uv_loop_s *loop_uv(struct loop *l)
{
    if (l->has_uv) {
        return &l->uv;
    }
    ignore_sigpipe();
    lend_memory();
    loop_must("the event loop cannot be started", find_files());
    loop_must("the event loop cannot be started", uv_loop_init(&l->uv));
    loop_must("the event loop cannot be started", uv_idle_init(&l->uv, &l->busy));
    loop_must("the event loop cannot be started", uv_async_init(&l->uv, &l->awake, on_awake));
    uv_unref((uv_handle_t *)&l->busy);
    uv_unref((uv_handle_t *)&l->awake);
    l->has_uv = true;
    if (watch.owner == l) {
        atomic_store(&watch.awake, &l->awake);
    }
    if (l->n > 0) {
        busy_start(l);
    }
    return &l->uv;
}

/* ---- timers ---- */

struct uv_timer_s *loop_timer_new(struct loop *l, void *data)
{
    uv_timer_t *timer = mem_zero(sizeof *timer);
    int rc = uv_timer_init(loop_uv(l), timer);
    assert(rc == 0);
    (void)rc;
    timer->data = data;
    return timer;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void loop_timer_free(struct uv_timer_s *t)
{
    uv_close((uv_handle_t *)t, free_handle);
}

/* ---- watching ---- */

struct loop_watch {
    uv_poll_t poll;
    void (*fn)(void *arg);
    void *arg;
};

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct loop_watch *w = poll->data;
    (void)status; /* an error is seen by whoever reads */
    (void)events;
    w->fn(w->arg);
}

struct loop_watch *loop_watch(struct loop *l, int fd, void (*fn)(void *arg), void *arg)
{
    struct loop_watch *w = mem_zero(sizeof *w);
    w->fn = fn;
    w->arg = arg;
    if (uv_poll_init(loop_uv(l), &w->poll, fd) != 0) {
        free(w);
        return NULL;
    }
    w->poll.data = w;
    int rc = uv_poll_start(&w->poll, UV_READABLE | UV_DISCONNECT, on_readable);
    assert(rc == 0);
    (void)rc;
    return w;
}

static void free_watch(uv_handle_t *handle)
{
    free(handle->data);
}

void loop_unwatch(struct loop_watch *w)
{
    if (w != NULL) {
        uv_close((uv_handle_t *)&w->poll, free_watch);
    }
}

/* Interrupts are looked for after the deferred calls, which may have started libuv: a signal before
 * that has set its flag, a later one ends libuv's wait. */
void loop_run(struct loop *l)
{
    assert(l->state == LOOP_IDLE);
    l->state = LOOP_GOING;
    while (l->state == LOOP_GOING) {
        run_deferred(l);
        look_for_interrupts(l);
        if (l->state != LOOP_GOING) {
            break;
        }
        bool alive = l->has_uv && uv_loop_alive(&l->uv) != 0;
        if (l->n == 0 && !alive) {
            break;
        }
        if (alive) {
            uv_run(&l->uv, l->n > 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
        }
    }
    l->state = LOOP_IDLE;
}

void loop_stop(struct loop *l)
{
    if (l->state == LOOP_GOING) {
        l->state = LOOP_STOPPING;
    }
}

/* ---- slots and the end ---- */

void *loop_slot(const struct loop *l, enum loop_slot slot)
{
    return l->slots[slot].p;
}

void loop_slot_set(struct loop *l, enum loop_slot slot, void *p, void (*free_fn)(void *p))
{
    assert(l->slots[slot].p == NULL && p != NULL && free_fn != NULL);
    l->slots[slot] = (struct slot){p, free_fn};
}

void loop_free(struct loop *l)
{
    if (l == NULL) {
        return;
    }
    assert(l->state == LOOP_IDLE);
    for (int i = 0; i < LOOP_SLOTS; i++) {
        if (l->slots[i].p != NULL) {
            l->slots[i].free_fn(l->slots[i].p);
        }
    }
    unwatch(l);
    if (l->has_uv) {
        uv_close((uv_handle_t *)&l->busy, NULL);
        uv_close((uv_handle_t *)&l->awake, NULL);
        uv_run(&l->uv, UV_RUN_DEFAULT);
        int rc = uv_loop_close(&l->uv);
        assert(rc == 0); /* something on the loop had not ended */
        (void)rc;
    }
    free(l->queue);
    free(l);
}
