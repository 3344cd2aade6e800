/* Runs that are broken off from outside: by a write that fails, a kill, no more memory. What was
 * written before is whole and is gone on with, and what was done in the world is done once. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"
#include "cli/tests/world.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* As if nothing had ever been run there. */
static void forget(void)
{
    struct program_options o = {.program = "/bin/sh", .dir = world.dir};
    CHECK_STATUS(ASSAY_WITH(&o, "-c", "rm -rf counter runs done.* t.jsonl"), 0);
}

/* The log on disk is the beginning of the one of a run that nothing befell, up to the end of a
 * line. */
static bool is_beginning(const char *log, size_t n)
{
    return log != NULL && n <= world.n && memcmp(log, world.log, n) == 0 &&
           (n == 0 || log[n - 1] == '\n');
}

/* The log is gone on with, where it holds a message of the user's, to the same end. */
static bool comes_to_the_same(void)
{
    if (!world_go_on(world.trace, world.script, world.set)) {
        return world_lines("runs") == 0;
    }
    const char *log = read_text(world.trace, NULL);
    return log_ends(log, "completed") && strstr(log, "\"answer\":\"Done.\"") != NULL &&
           world_verifies(world.trace, world.set);
}

/* ---- a process killed at every event ---- */

enum { KILLED = 99 };

static size_t lines_left;

/* The lines are on disk when this is told. */
static int die_in_time(void *ctx, struct str lines)
{
    (void)ctx;
    for (size_t i = 0; i < lines.n; i++) {
        if (lines.p[i] == '\n' && --lines_left == 0) {
            _exit(KILLED);
        }
    }
    return 0;
}

static int run_and_die(void)
{
    struct rig_options o = {.path = world.script,
                            .tools = world.set,
                            .prompt = STR("Add two."),
                            .identity = STR("Add two."),
                            .trace = world.trace,
                            .budget = BUDGET_DEFAULT,
                            .log = die_in_time};
    return (int)world_play(&o);
}

/* Runs fn in a child, and waits until the tools that it began have ended too: they hold the other
 * end of the pipe. Returns its exit status, or minus its signal. */
static int in_child(int (*fn)(void))
{
    int status = 0, ends[2];
    char byte;
    fflush(NULL);
    CU_ASSERT_FATAL(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(fn());
    }
    close(ends[1]);
    CU_ASSERT_FATAL(pid > 0 && waitpid(pid, &status, 0) == pid);
    CU_ASSERT_EQUAL(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void killed_at_every_event(void)
{
    world_begin();
    size_t n = count_lines(world.log);
    for (size_t i = 1; i <= n; i++) {
        forget();
        lines_left = i;
        CU_ASSERT_EQUAL(in_child(run_and_die), KILLED);
        const char *log = read_text(world.trace, NULL);
        CU_ASSERT_FATAL(log != NULL && count_lines(log) >= i);
        const char *end = log;
        for (size_t line = 0; line < i; line++) {
            end = strchr(end, '\n') + 1;
        }
        /* lines that were written together may be torn apart */
        write_bytes(world.dir, "t.jsonl", log, (size_t)(end - log));
        bool same = comes_to_the_same();
        if (!same || world_lines("counter") != (i < 2 ? 0 : ADDS) ||
            world_lines("runs") > RUNS + 1) {
            FAIL("killed at event %zu: %zu counted, %zu run\n%s", i, world_lines("counter"),
                 world_lines("runs"), read_text(world.trace, NULL));
        }
    }
    world_end();
}

/* ---- a write that fails ---- */

/* Runs the program where no file can be larger than that. */
static const struct ran *with_room(size_t bytes, const char *const *words)
{
    struct rlimit before, limit;
    struct program_running p;
    CU_ASSERT_FATAL(getrlimit(RLIMIT_FSIZE, &before) == 0);
    limit = before;
    limit.rlim_cur = bytes;
    fflush(NULL); /* this program's output is no part of it */
    CU_ASSERT_FATAL(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    program_start(words, NULL, &p);
    CU_ASSERT_FATAL(setrlimit(RLIMIT_FSIZE, &before) == 0);
    return program_wait(&p);
}

static void write_fails(size_t bytes)
{
    const char *const words[] = {"run",     "--fake",    world.script, "--tools", world.tools,
                                 "--trace", world.trace, "Add two.",   NULL};
    size_t n = 0;
    forget();
    const struct ran *r = with_room(bytes, words);
    CHECK_STATUS(r, 4);
    CU_ASSERT_EQUAL(count_lines(r->err), 1); /* what was answered, though not logged, is shown */
    CU_ASSERT(r->out_n == 0 || strcmp(r->out, "Done.\n") == 0);
    CHECK_ERR(r, "File too large");
    CHECK_ERR(r, world.trace);
    const char *log = read_text(world.trace, &n);
    bool told = strstr(log, "user_message") != NULL;
    CU_ASSERT(is_beginning(log, n) && n <= bytes);
    r = ASSAY("resume", world.trace, "--fake", world.script, "--tools", world.tools);
    CHECK_STATUS(r, told ? 0 : 2);
    CHECK_TEXT(r->out, told ? "Done.\n" : "");
    CU_ASSERT_EQUAL(world_lines("counter"), told ? ADDS : 0);
}

/* At each line of the log: it finds no room at all, or all but one byte. */
static void every_write_fails(void)
{
    world_begin();
    size_t from = 0;
    for (const char *at = world.log; *at != '\0'; at = strchr(at, '\n') + 1) {
        size_t to = (size_t)(strchr(at, '\n') + 1 - world.log);
        from = (size_t)(at - world.log);
        if (from > 0) { /* where nothing can be written, nothing can be told either */
            write_fails(from);
        }
        write_fails(to - 1);
    }
    world_end();
}

/* ---- and in an evaluation ---- */

static const char set_text[] =
    "version: 1\nname: two\ndefaults:\n  tools: [{builtin: now}, {builtin: calculator}]\ntasks:\n"
    "- {id: a, prompt: A, fake: s.yaml, expect: {answer: {contains: Done}}}\n"
    "- {id: b, prompt: B, fake: s.yaml, expect: {answer: {contains: Done}}}\n";

static const char set_script[] =
    "version: 1\nsteps:\n"
    "- reply: {calls: [{name: now}, {name: calculator, arguments: {expression: 1+1}}]}\n"
    "- reply: {text: Done.}\n";

/* The trace holds whole lines, and goes on to the same answer; `all` is the one that nothing
 * befell.
 */
static void trace_goes_on(const char *trace, const char *script, const char *all)
{
    size_t n = 0;
    const char *log = read_text(trace, &n);
    if (log == NULL) {
        return; /* it had not begun */
    }
    CU_ASSERT(json_lines(log, NULL) && strncmp(log, all, n) == 0);
    bool told = strstr(log, "user_message") != NULL, ended = strcmp(log, all) == 0;
    const struct ran *r = ASSAY("resume", trace, "--fake", script);
    CHECK_STATUS(r, told && !ended ? 0 : 2);
    CHECK_TEXT(r->out, told && !ended ? "Done.\n" : "");
}

/* First the manifest has no room, then the traces, then the journal, then nothing is amiss. */
static void every_write_of_an_evaluation_fails(void)
{
    enum { FIRST = 300, STEP = 231, LAST = 5400 };
    static const char *const files[] = {"manifest.json", "traces/", "trials.jsonl"};
    const char *dir = testing_dir(), *all = NULL;
    const char *set = write_text(dir, "set.yaml", set_text);
    const char *script = write_text(dir, "s.yaml", set_script);
    size_t met[3] = {0};
    for (size_t room = LAST; room >= FIRST; room -= STEP) {
        const char *out = path_of("%s/out.%zu", dir, room);
        const char *const words[] = {"eval",   set, "--fake", "--trials", "4",
                                     "--jobs", "1", "--out",  out,        NULL};
        const struct ran *r = with_room(room, words);
        const char *trace = path_of("%s/traces/a.1.jsonl", out);
        if (all == NULL) {
            CHECK_STATUS(r, 0);
            all = read_text(trace, NULL);
            CU_ASSERT_FATAL(all != NULL);
            continue;
        }
        if (r->status == 0) {
            continue;
        }
        CHECK_STATUS(r, 4);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "File too large");
        for (size_t i = 0; i < 3; i++) {
            met[i] += strstr(r->err, path_of("%s/%s", out, files[i])) != NULL;
        }
        const char *journal = read_text(path_of("%s/trials.jsonl", out), NULL);
        CU_ASSERT(journal == NULL || json_lines(journal, NULL));
        CU_ASSERT_PTR_NULL(read_text(path_of("%s/results.jsonl", out), NULL));
        trace_goes_on(trace, script, all);
    }
    CU_ASSERT(met[0] > 0 && met[1] > 0 && met[2] > 0);
}

/* ---- no more memory ---- */

void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);

static size_t allocations;      /* so far */
static size_t allocation_fails; /* this one and all behind it; 0 = none */

static bool fails(void)
{
    return ++allocations >= allocation_fails && allocation_fails > 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

static int run_out_of_memory(void)
{
    const struct rlimit no_core = {0, 0};
    int null = open("/dev/null", O_WRONLY);
    if (null < 0 || dup2(null, STDERR_FILENO) < 0 || setrlimit(RLIMIT_CORE, &no_core) != 0) {
        return -1;
    }
    lines_left = SIZE_MAX;
    allocations = 0;
    return run_and_die();
}

/* How many allocations a run makes, beside those of the first in a process. */
static size_t allocations_of_a_run(void)
{
    for (int i = 0; i < 2; i++) {
        forget();
        lines_left = SIZE_MAX;
        allocations = 0;
        CU_ASSERT_EQUAL(run_and_die(), RUN_COMPLETED);
    }
    return allocations;
}

/* The process ends there and then: what is on disk is the beginning of the log. */
static void every_allocation_fails(void)
{
    enum { SAMPLES = 60 };
    world_begin();
    size_t n = allocations_of_a_run();
    CU_ASSERT_FATAL(n > SAMPLES);
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t bytes = 0, k = 1 + i * (n - 1) / (SAMPLES - 1);
        forget();
        write_text(world.dir, "t.jsonl", ""); /* so that one is there */
        allocation_fails = k;
        int end = in_child(run_out_of_memory);
        allocation_fails = 0;
        CU_ASSERT_EQUAL(end, -SIGABRT);
        const char *log = read_text(world.trace, &bytes);
        bool same = is_beginning(log, bytes) && comes_to_the_same();
        if (!same ||
            world_lines("counter") > ADDS) { /* a tool dies with us, maybe before it counts */
            FAIL("allocation %zu of %zu failed: %zu counted, %zu run\n%s", k, n,
                 world_lines("counter"), world_lines("runs"), log);
        }
    }
    world_end();
}

TESTS(crash, {"a_run_killed_at_every_event_is_resumed_to_the_same_end", killed_at_every_event},
      {"a_failed_write_at_every_line_is_told_and_resumed", every_write_fails},
      {"a_failed_write_anywhere_in_an_evaluation_is_told", every_write_of_an_evaluation_fails},
      {"a_failed_allocation_leaves_a_log_to_resume", every_allocation_fails})
