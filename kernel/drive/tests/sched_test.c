#include "ci/testing/testing.h"
#include "kernel/base/str.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/sched.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

/* What came, as "name@now " each. */
static struct {
    struct loop *loop;
    struct sched *sched;
    struct buf seen;
} t;

static void begin(bool real)
{
    t.loop = loop_new();
    t.sched = real ? sched_real(t.loop) : sched_virtual(t.loop);
}

static void expect(const char *want)
{
    buf_char(&t.seen, '\0');
    CHECK_TEXT(t.seen.p, want);
    buf_clear(&t.seen);
}

static void end(void)
{
    sched_free(t.sched);
    loop_free(t.loop);
    buf_free(&t.seen);
}

static void note(void *arg)
{
    buf_fmt(&t.seen, "%s@%llu ", (const char *)arg, (unsigned long long)sched_now(t.sched));
}

/* Texts for the callbacks' void pointers. */
static char A[] = "a", B[] = "b", C[] = "c", W[] = "wake";

static void comes_by_time_then_order_then_posting(void)
{
    for (int real = 0; real < 2; real++) {
        begin(real == 1);
        sched_post(t.sched, 9, 0, note, C);
        sched_wake(t.sched, 5, note, W);
        sched_post(t.sched, 5, 2, note, B);
        sched_post(t.sched, 5, 1, note, A);
        sched_post(t.sched, 5, 0, note, C);
        sched_post(t.sched, 5, 0, note, A);
        loop_run(t.loop);
        expect("c@5 a@5 a@5 b@5 wake@5 c@9 ");
        end();
    }
}

/* The same things at the same milliseconds as on a virtual clock, but not before their time. */
static void a_paced_clock_waits_for_the_wall(void)
{
    uint64_t start = uv_hrtime();
    begin(false);
    sched_free(t.sched);
    t.sched = sched_paced(t.loop, 2000); /* twice as fast */
    CU_ASSERT(sched_is_virtual(t.sched));
    sched_post(t.sched, 60, 0, note, C);
    sched_wake(t.sched, 20, note, W);
    sched_post(t.sched, 20, 1, note, A);
    sched_skip(t.sched, 1000); /* what is due then comes a second late by its own clock */
    loop_run(t.loop);
    expect("a@1000 wake@1000 c@1000 ");
    sched_post(t.sched, 60, 0, note, B);
    loop_run(t.loop);
    expect("b@1060 ");
    CU_ASSERT(uv_hrtime() - start >= UINT64_C(29) * 1000 * 1000);
    end();
}

static void go_real(void *arg)
{
    note(arg);
    sched_make_real(t.sched);
    sched_post(t.sched, 15, 0, note, B);
}

/* Hours pass at once until it is real, then it goes on from there. */
static void a_virtual_clock_becomes_real(void)
{
    uint64_t start = uv_hrtime();
    begin(false);
    sched_post(t.sched, 7200000, 0, go_real, A);
    sched_post(t.sched, 7200010, 0, note, C);
    loop_run(t.loop);
    expect("a@7200000 c@7200010 b@7200015 ");
    CU_ASSERT_FALSE(sched_is_virtual(t.sched));
    CU_ASSERT(uv_hrtime() - start >= UINT64_C(14) * 1000 * 1000);
    sched_make_real(t.sched);
    sched_post(t.sched, 0, 0, note, C);
    loop_run(t.loop);
    CU_ASSERT(str_starts(buf_str(&t.seen), "c@72000"));
    end();
}

static void nothing_comes_from_inside_post(void)
{
    begin(false);
    sched_post(t.sched, 0, 0, note, A);
    sched_wake(t.sched, 0, note, W);
    expect("");
    loop_run(t.loop);
    expect("a@0 wake@0 ");
    end();
}

static void cancelled_things_do_not_come(void)
{
    for (int real = 0; real < 2; real++) {
        begin(real == 1);
        struct timer *timers[20];
        for (int i = 0; i < 20; i++) {
            timers[i] = sched_post(t.sched, (uint64_t)(i * 7 % 20), 0, note, A);
        }
        struct timer *far = sched_wake(t.sched, 86400000, note, W);
        for (int i = 0; i < 20; i++) {
            if (i != 3 && i != 11) { /* due at 1 and 17 */
                sched_cancel(t.sched, timers[i]);
            }
        }
        sched_cancel(t.sched, far);
        sched_cancel(t.sched, NULL);
        loop_run(t.loop);
        expect("a@1 a@17 ");
        end();
    }
}

static void post_lower(void *arg)
{
    note(arg);
    sched_post(t.sched, 0, 1, note, A);
    sched_post(t.sched, 0, 3, note, C);
    sched_post(t.sched, 0, 0, note, W);
}

static void lower_order_after_higher_comes_a_millisecond_later(void)
{
    for (int real = 0; real < 2; real++) {
        begin(real == 1);
        sched_post(t.sched, 4, 2, post_lower, B);
        loop_run(t.loop);
        expect("b@4 wake@4 c@4 a@5 ");
        end();
    }
}

static void on_child(uv_timer_t *timer)
{
    const char *name = timer->data;
    sched_post(t.sched, 0, name[0] == 'a' ? 1 : 2, note, timer->data);
    sched_release(t.sched);
    uv_close((uv_handle_t *)timer, NULL);
}

static uv_timer_t children[2];

/* Two things of the world: b ends first, a later. */
static void start_children(void *arg)
{
    note(arg);
    for (int i = 0; i < 2; i++) {
        sched_hold(t.sched);
        uv_timer_init(loop_uv(t.loop), &children[i]);
        children[i].data = i == 0 ? A : B;
        uv_timer_start(&children[i], on_child, i == 0 ? 4 : 1, 0);
    }
}

static void held_time_stands_still_and_results_come_by_order(void)
{
    begin(false);
    sched_post(t.sched, 2, 0, start_children, C);
    sched_wake(t.sched, 3, note, W);
    loop_run(t.loop);
    expect("c@2 a@2 b@2 wake@3 ");
    end();
}

static void free_all(void *arg)
{
    note(arg);
    sched_free(t.sched);
    t.sched = NULL;
}

static void may_be_freed_from_its_own_callback(void)
{
    for (int real = 0; real < 2; real++) {
        begin(real == 1);
        sched_post(t.sched, 1, 0, free_all, A);
        sched_post(t.sched, 1, 0, note, B);
        loop_run(t.loop);
        expect("a@1 ");
        end();
    }
}

static void block_then_touch(void *arg)
{
    (void)arg;
    uv_sleep(6);
    sched_touch(t.sched);
    note(A);
}

static void late_machine_leaves_no_trace(void)
{
    begin(true);
    sched_post(t.sched, 2, 0, note, B);
    sched_wake(t.sched, 3, note, W);
    loop_defer(t.loop, block_then_touch, NULL); /* by then both are overdue */
    loop_run(t.loop);
    expect("a@2 b@2 wake@3 ");
    sched_touch(t.sched);
    CU_ASSERT_TRUE(sched_now(t.sched) >= 6);
    end();
}

static void many_come_in_order(void)
{
    begin(false);
    uint64_t state = 1;
    for (int i = 0; i < 5000; i++) { /* more than one turn takes */
        state = state * 6364136223846793005u + 1442695040888963407u;
        sched_post(t.sched, state >> 40, 0, note, A);
    }
    loop_run(t.loop);
    buf_char(&t.seen, '\0');
    uint64_t last = 0;
    int n = 0;
    for (char *p = t.seen.p; *p == 'a'; n++) {
        char *next;
        uint64_t at = strtoull(p + 2, &next, 10);
        CU_ASSERT_TRUE(at >= last);
        last = at;
        p = next + 1;
    }
    CU_ASSERT_EQUAL(n, 5000);
    end();
}

static struct timer *never;

static void on_interrupt(void *arg, int signal)
{
    note(signal == SIGINT ? arg : W);
    sched_cancel(t.sched, never);
    never = NULL;
}

static void interrupt(void *arg)
{
    note(arg);
    CU_ASSERT_EQUAL(raise(SIGINT), 0);
}

static void terminate(void *arg)
{
    note(arg);
    CU_ASSERT_EQUAL(raise(SIGTERM), 0);
}

static void interrupts_are_told_with_and_without_libuv(void)
{
    void (*before)(int) = signal(SIGINT, SIG_DFL);
    for (int real = 0; real < 2; real++) {
        begin(real == 1);
        loop_on_interrupt(t.loop, on_interrupt, B);
        if (real == 1) {
            never = sched_wake(t.sched, 86400000, note, C);
        }
        sched_post(t.sched, 0, 0, interrupt, A);
        loop_run(t.loop);
        expect("a@0 b@0 ");
        sched_post(t.sched, 0, 0, terminate, A);
        loop_run(t.loop);
        expect("a@0 wake@0 ");
        end();
    }
    CU_ASSERT_TRUE(signal(SIGINT, before) == SIG_DFL); /* the handler is gone */
}

static void stop(void *arg)
{
    note(arg);
    loop_stop(t.loop);
}

static void stopped_loop_keeps_what_is_due(void)
{
    begin(false);
    loop_defer(t.loop, stop, A);
    loop_defer(t.loop, note, B);
    loop_defer(t.loop, note, C);
    loop_undefer(t.loop, note, C);
    loop_run(t.loop);
    expect("a@0 ");
    loop_run(t.loop);
    expect("b@0 ");
    end();
}

static int pipe_in, pipe_out;
static struct loop_watch *watched;

/* Reads a byte, and stops watching at the end of the pipe. */
static void on_readable(void *arg)
{
    char byte;
    ssize_t n = read(pipe_in, &byte, 1);
    *(int *)arg += n == 1;
    if (n == 0) {
        loop_unwatch(watched);
    } else if (pipe_out >= 0) {
        close(pipe_out);
        pipe_out = -1;
    }
}

static void watching_tells_what_can_be_read(void)
{
    int fds[2], bytes = 0;
    struct loop *loop = loop_new();
    CU_ASSERT_EQUAL_FATAL(pipe(fds), 0);
    pipe_in = fds[0];
    pipe_out = fds[1];
    CU_ASSERT_EQUAL(write(pipe_out, "ab", 2), 2);
    watched = loop_watch(loop, pipe_in, on_readable, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(watched);
    loop_run(loop); /* ends when nothing is watched any more */
    CU_ASSERT_EQUAL(bytes, 2);
    close(pipe_in);
    loop_free(loop);
}

TESTS(sched, {"sched_waits_for_the_wall_where_it_is_paced", a_paced_clock_waits_for_the_wall},
      {"sched_becomes_real_where_it_stands", a_virtual_clock_becomes_real},
      {"sched_comes_by_time_then_order_then_posting", comes_by_time_then_order_then_posting},
      {"sched_delivers_nothing_from_inside_post", nothing_comes_from_inside_post},
      {"sched_forgets_what_is_cancelled", cancelled_things_do_not_come},
      {"sched_puts_a_lower_order_off_after_a_higher",
       lower_order_after_higher_comes_a_millisecond_later},
      {"sched_stands_still_while_held", held_time_stands_still_and_results_come_by_order},
      {"sched_may_be_freed_from_its_own_callback", may_be_freed_from_its_own_callback},
      {"sched_shows_exact_times_however_late_it_is", late_machine_leaves_no_trace},
      {"sched_keeps_order_among_many", many_come_in_order},
      {"loop_tells_interrupts_with_and_without_libuv", interrupts_are_told_with_and_without_libuv},
      {"loop_keeps_what_is_due_when_stopped", stopped_loop_keeps_what_is_due},
      {"loop_tells_what_can_be_read_while_watched", watching_tells_what_can_be_read})
