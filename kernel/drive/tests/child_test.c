#include "kernel/drive/child.h"

#include "ci/testing/testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child that stands apart said and how it ended. */
static struct {
    struct buf said[3];
    int status, signal, ends;
    struct child *child;
    size_t kill_at; /* so many bytes of output end it; 0 = none do */
} t;

static void on_wrote(void *ctx, int fd, struct str piece)
{
    (void)ctx;
    buf_add(&t.said[fd], piece);
    if (t.kill_at > 0 && t.said[1].n >= t.kill_at) {
        t.kill_at = 0;
        child_kill(t.child);
    }
}

static void on_ended(void *ctx, int status, int by_signal)
{
    (void)ctx;
    t.status = status;
    t.signal = by_signal;
    t.ends++;
    child_free(t.child);
}

static int run(const char *script, struct str input, size_t kill_at)
{
    char sh[] = "sh", c[] = "-c", text[512];
    struct err e;
    static const struct child_variable variables[] = {{"ASSAY_TEST_A", "set", false},
                                                      {"PATH", "/nowhere", true},
                                                      {"ASSAY_TEST_B", "spare", true}};
    snprintf(text, sizeof text, "%s", script);
    char *argv[] = {sh, c, text, NULL};
    memset(&t, 0, sizeof t);
    t.kill_at = kill_at;
    struct loop *loop = loop_new();
    struct child_options o = {.loop = loop,
                              .argv = argv,
                              .variables = variables,
                              .n_variables = 3,
                              .apart = true,
                              .input = input,
                              .wrote = on_wrote,
                              .ended = on_ended};
    int rc = child_start(&o, &t.child, &e);
    loop_run(loop);
    loop_free(loop);
    return rc;
}

static void forget(void)
{
    buf_free(&t.said[1]);
    buf_free(&t.said[2]);
}

static void hears_both_streams(void)
{
    CU_ASSERT_EQUAL(
        run("cat; echo $ASSAY_TEST_A $ASSAY_TEST_B ${PATH#/nowhere} >&2; exit 3", STR("in"), 0), 0);
    CU_ASSERT(str_is(buf_str(&t.said[1]), "in"));
    CU_ASSERT(str_starts(buf_str(&t.said[2]), "set spare /"));
    CU_ASSERT(t.status == 3 && t.signal == 0 && t.ends == 1);
    forget();
}

/* More than a pipe holds, which it never reads. */
static void need_not_read(void)
{
    char *much = mem_alloc(1 << 20);
    memset(much, 'x', 1 << 20);
    CU_ASSERT_EQUAL(run("echo done", (struct str){much, 1 << 20}, 0), 0);
    CU_ASSERT(str_is(buf_str(&t.said[1]), "done\n"));
    CU_ASSERT_EQUAL(t.status, 0);
    free(much);
    forget();
}

/* What it leaves behind has its streams: were that not ended, this would wait for it. */
static void ends_its_group(void)
{
    CU_ASSERT_EQUAL(run("sleep 300 & echo left", STR(""), 0), 0);
    CU_ASSERT(str_is(buf_str(&t.said[1]), "left\n"));
    CU_ASSERT(t.status == 0 && t.ends == 1);
    forget();
    CU_ASSERT_EQUAL(run("sleep 300 & while :; do echo more; done", STR(""), 10), 0);
    CU_ASSERT(t.signal == SIGKILL && t.ends == 1);
    forget();
}

/* Likewise of what has left its group, for who has a keeper. */
static void ends_what_left_its_group(void)
{
#ifdef __linux__
    CU_ASSERT_EQUAL(run("setsid sh -c 'sleep 300 & echo left; exec sleep 300' & read -r line; :",
                        STR("a\n"), 0),
                    0);
    CU_ASSERT(t.status == 0 && t.ends == 1);
    forget();
    CU_ASSERT_EQUAL(
        run("setsid sleep 300 & kill -STOP $PPID; while :; do echo more; done", STR(""), 10), 0);
    CU_ASSERT(t.signal == SIGKILL && t.ends == 1);
    forget();
#else
    testing_skip("only Linux makes us the parent of what lost its own");
#endif
}

static void ends_as_the_program(void)
{
    CU_ASSERT_EQUAL(run("kill -TERM $$", STR(""), 0), 0);
    CU_ASSERT(t.status == 0 && t.signal == SIGTERM && t.ends == 1);
    forget();
}

/* Starts a child that says "x" into the pipe once all of it runs, and waits. */
static void run_until_killed(int in)
{
    char sh[] = "sh", c[] = "-c", text[128];
    char *argv[] = {sh, c, text, NULL};
    struct err e;
    struct child *child = NULL;
    struct loop *loop = loop_new();
    struct child_options o = {
        .loop = loop, .argv = argv, .apart = true, .wrote = on_wrote, .ended = on_ended};
    snprintf(text, sizeof text, "sleep 300 & setsid sleep 300 & printf x >&%d; wait", in);
    if (child_start(&o, &child, &e) == 0) {
        loop_run(loop);
    }
    _exit(1);
}

/* Each process of the child holds the pipe: it is at its end when none is left. */
static void ends_when_we_are_killed(void)
{
#ifdef __linux__
    int ends[2];
    char said[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        run_until_killed(ends[1]);
    }
    close(ends[1]);
    CU_ASSERT_EQUAL(read(ends[0], said, 1), 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CU_ASSERT_EQUAL(read(ends[0], said, 1), 0);
    close(ends[0]);
#else
    testing_skip("only Linux tells a process that its parent has died");
#endif
}

static void says_what_is_not_there(void)
{
    char name[] = "/nowhere/program";
    char *argv[] = {name, NULL};
    struct err e;
    struct loop *loop = loop_new();
    struct child *c = NULL;
    struct child_options o = {.loop = loop, .argv = argv, .apart = true, .wrote = on_wrote};
    CU_ASSERT_EQUAL(child_start(&o, &c, &e), ERR_IO);
    CU_ASSERT(strstr(e.message, "/nowhere/program cannot be started") != NULL);
    loop_run(loop);
    loop_free(loop);
    struct arena *scratch = arena_new();
    CU_ASSERT(program_found(scratch, "sh", "."));
    CU_ASSERT(!program_found(scratch, name, "."));
    arena_free(scratch);
}

TESTS(child, {"a_child_apart_is_heard_on_both_streams", hears_both_streams},
      {"a_child_need_not_read_its_input", need_not_read},
      {"a_child_apart_takes_its_group_with_it", ends_its_group},
      {"a_child_apart_takes_with_it_what_left_its_group", ends_what_left_its_group},
      {"a_child_apart_ends_as_the_program", ends_as_the_program},
      {"nothing_of_a_child_apart_outlives_us", ends_when_we_are_killed},
      {"a_program_that_is_not_there_is_told", says_what_is_not_there})
