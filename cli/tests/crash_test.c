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

/* Runs the program that is refused each of its allocations in turn, in a child (short_of_memory.c):
 * the child has told it in one line and ended with status 4, each time. */
static const struct ran *short_of_memory(const char *const *words, const char *trace, int status)
{
    const char *told = world_path("allocations");
    const char *const more[] = {path_of("SHORT_REPORT=%s", told),
                                trace == NULL ? NULL : path_of("SHORT_TRACE=%s", trace), NULL};
    const struct program_options o = {
        .program = BUILD_DIR "/cli/tests/assay_short", .dir = world.dir, .more = more};
    const struct ran *r = program_run(words, &o);
    static const char line[] = "assay: out of memory;";
    size_t n = 0;
    CHECK_STATUS(r, status);
    for (const char *at = r->err; (at = strstr(at, line)) != NULL; at += sizeof line - 1) {
        n++;
    }
    const char *count = read_text(told, NULL);
    if (count == NULL || n == 0 || n != strtoul(count, NULL, 10)) {
        FAIL("%zu of %s allocations were told", n, count);
    }
    return r;
}

/* The folder as it was when memory ran out: the log is the beginning of a whole one, and goes on to
 * the same end. A tool may have died before it counted what it did. */
static void folder_goes_on(const char *dir)
{
    size_t n = 0;
    const char *trace = path_of("%s/t.jsonl", dir), *log = read_text(trace, &n);
    CU_ASSERT_FATAL(is_beginning(log, n));
    if (n == world.n) {
        return;
    }
    bool told = strstr(log, "user_message") != NULL;
    const struct ran *r =
        ASSAY("resume", trace, "--fake", world.script, "--tools", path_of("%s/tools.yaml", dir));
    CHECK_STATUS(r, told ? 0 : 2);
    CHECK_TEXT(r->out, told ? "Done.\n" : "");
    const char *counter = read_text(path_of("%s/counter", dir), NULL);
    CU_ASSERT(counter == NULL || count_lines(counter) <= ADDS);
    CU_ASSERT(!told || log_ends(read_text(trace, NULL), "completed"));
}

static void every_allocation_fails(void)
{
    size_t folders = 0;
    world_begin();
    forget();
    CHECK_TEXT(
        short_of_memory((const char *const[]){"run", "--fake", world.script, "--tools", world.tools,
                                              "--trace", world.trace, "Add two.", NULL},
                        world.trace, 0)
            ->out,
        "Done.\n");
    CU_ASSERT(
        is_beginning(read_text(world.trace, NULL), world.n)); /* the run itself is a whole one */
    CU_ASSERT(world_lines("counter") == ADDS && world_lines("runs") == RUNS);
    for (size_t n = 0; n <= world.n; n++) {
        const char *dir = path_of("%s/at.%zu", world.dir, n);
        if (access(dir, F_OK) == 0) {
            folder_goes_on(dir);
            folders++;
        }
    }
    CU_ASSERT(folders > 5);
    world_end();
}

/* Going on with a log that was cut, looking at it, and sets and recordings. */
static void every_allocation_of_other_verbs_fails(void)
{
    world_begin();
    const char *cut = strstr(world.log, "\"tool_result\"");
    CU_ASSERT_FATAL(cut != NULL);
    write_bytes(world.dir, "cut.jsonl", world.log, (size_t)(cut - world.log));
    short_of_memory((const char *const[]){"resume", "cut.jsonl", "--fake", world.script, "--tools",
                                          world.tools, NULL},
                    NULL, 0);
    write_text(world.dir, "set.yaml", set_text);
    write_text(world.dir, "s.yaml", set_script);
    const char *replay = SOURCE_DIR "/cassettes/quickstart";
    const char *one = SOURCE_DIR "/cassettes/quickstart/margin-drop.yaml";
    const char *const verbs[][10] = {
        {"trace", "verify", "t.jsonl", "--tools", "tools.yaml"},
        {"trace", "check", "t.jsonl"},
        {"trace", "show", "t.jsonl"},
        {"golden", "check", "set.yaml"},
        {"eval", "set.yaml", "--fake", "--jobs", "2", "--out", "out"},
        {"cassette", "check", one},
        {"cassette", "show", one},
        {"eval", SOURCE_DIR "/goldens/quickstart.yaml", "--replay", replay, "--task", "margin-drop",
         "--out", "replayed"},
    };
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        short_of_memory(verbs[i], NULL, 0);
    }
    world_end();
}

TESTS(crash, {"a_run_killed_at_every_event_is_resumed_to_the_same_end", killed_at_every_event},
      {"a_failed_write_at_every_line_is_told_and_resumed", every_write_fails},
      {"a_failed_write_anywhere_in_an_evaluation_is_told", every_write_of_an_evaluation_fails},
      {"each_failed_allocation_of_a_run_leaves_a_log_to_resume", every_allocation_fails},
      {"each_failed_allocation_of_other_verbs_is_told", every_allocation_of_other_verbs_fails})
