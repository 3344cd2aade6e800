#define _DEFAULT_SOURCE /* forkpty */

#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/program.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define HEAD   "version: 1\nsteps:\n"
#define REFUND "- reply: {calls: [{name: refund, arguments: {usd: 5}}]}\n"
#define TEXT   "- reply: {text: Done.}\n"

enum { SEEN_BYTES = 1 << 16 };

static const char tool_file[] =
    "version: 1\n"
    "tools:\n"
    "- builtin: calculator\n"
    "- {name: note, tier: write, answers: [{result: noted}]}\n"
    "- {name: refund, tier: danger, answers: [{result: paid}]}\n"
    "- {name: long, tier: read, command: [seq, -s, ' ', '1', '200']}\n"
    "- {name: wait, tier: read, command: [sleep, '100'], timeout_ms: 100000}\n";

/* ---- a person at a terminal ---- */

static struct {
    pid_t pid;
    int fd;
    size_t n;
    size_t at; /* behind what was waited for last */
    char seen[SEEN_BYTES];
} t;

/* What the next test's program gets beside this. */
static const char *no_color = "NO_COLOR=1";

static void sit_down(const char *const *words)
{
    static const char *argv[64];
    const char *dir = testing_dir();
    const char *const env[] = {"PATH=/usr/bin:/bin",       "TERM=xterm", path_of("TMPDIR=%s", dir),
                               "ASAN_OPTIONS=exitcode=99", no_color,     NULL};
    size_t n = 0;
    argv[n++] = BUILD_DIR "/assay";
    for (size_t i = 0; words[i] != NULL; i++) {
        argv[n++] = words[i];
    }
    argv[n] = NULL;
    memset(&t, 0, sizeof t);
    t.pid = forkpty(&t.fd, NULL, NULL, NULL);
    CU_ASSERT_FATAL(t.pid >= 0);
    if (t.pid == 0) {
        union {
            const char *const *c;
            char *const *plain;
        } a = {argv}, e = {env};
        alarm(PROGRAM_LIMIT_S);
        execve(argv[0], a.plain, e.plain);
        _exit(127);
    }
}

/* Reads what is shown; false when nothing more will be. */
static bool look(void)
{
    struct pollfd p = {.fd = t.fd, .events = POLLIN};
    if (poll(&p, 1, PROGRAM_LIMIT_S * 1000) != 1 || t.n + 1 >= SEEN_BYTES) {
        return false;
    }
    ssize_t got = read(t.fd, t.seen + t.n, SEEN_BYTES - 1 - t.n);
    t.n += got > 0 ? (size_t)got : 0;
    return got > 0;
}

static void await(const char *text)
{
    char *found;
    while ((found = strstr(t.seen + t.at, text)) == NULL) {
        if (!look()) {
            FAIL("waited for \"%s\", saw: %s", text, t.seen);
            return;
        }
    }
    t.at = (size_t)(found - t.seen) + strlen(text);
}

static bool hung_up(void)
{
    struct pollfd p = {.fd = t.fd};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

/* Waits until a line can be edited. */
static void await_prompt(void)
{
    struct termios mode;
    await("you> ");
    while (tcgetattr(t.fd, &mode) == 0 && (mode.c_lflag & ICANON) != 0 && !hung_up()) {
        sched_yield();
    }
}

static void type(const char *text)
{
    CU_ASSERT_EQUAL(write(t.fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int leave(void)
{
    int status = 0;
    while (look()) {
    }
    close(t.fd);
    while (waitpid(t.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (strstr(t.seen, "Sanitizer") != NULL) {
        FAIL("%s", t.seen);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

struct desk {
    const char *dir, *tools, *script, *trace;
};

static struct desk desk(const char *script)
{
    struct desk d = {.dir = testing_dir()};
    d.tools = write_text(d.dir, "tools.yaml", tool_file);
    d.script = write_text(d.dir, "s.yaml", script);
    d.trace = path_of("%s/t.jsonl", d.dir);
    return d;
}

static void chat_with(const struct desk *d)
{
    sit_down((const char *const[]){"chat", "--fake", d->script, "--tools", d->tools, "--trace",
                                   d->trace, NULL});
}

/* ---- on a terminal ---- */

static void talks(void)
{
    if (!program_has_terminal()) {
        return;
    }
    struct desk d =
        desk(HEAD "- expect: {last_user: 你好}\n  reply: {text: Hello., chunk: {tokens: "
                  "1}}\n- expect: {last_user: 你好 again}\n  reply: {text: Hello again.}\n");
    chat_with(&d);
    await_prompt();
    type("你好\n");
    await("agent> Hello.\r\n");
    await_prompt();
    type("\x1b[A again\n"); /* the line before, from the history */
    await("agent> Hello again.\r\n");
    await_prompt();
    type("/help\n");
    await("/exit, /quit");
    await_prompt();
    type("/quit\n");
    CU_ASSERT_EQUAL(leave(), 0);
    CHECK_TEXT(event_types(read_text(d.trace, NULL)),
               "run_start user_message step_start llm_reply final run_end "
               "resume user_message step_start llm_reply final run_end");
}

static void colors(void)
{
    if (!program_has_terminal()) {
        return;
    }
    struct desk d = desk(HEAD "- reply: {calls: [{name: calculator, arguments: {expression: 6*7}}, "
                              "{name: none}]}\n" TEXT);
    no_color = NULL;
    chat_with(&d);
    no_color = "NO_COLOR=1";
    await("\x1b[1;36myou>\x1b[0m ");
    type("6*7?\n");
    await("\x1b[33m[calculator] {\"expression\":\"6*7\"}\x1b[0m\r\n");
    await("\x1b[31m[none] UNKNOWN_TOOL: ");
    await("\x1b[1;32magent>\x1b[0m Done.");
    await("you>");
    type("/exit\n");
    CU_ASSERT_EQUAL(leave(), 0);
    chat_with(&d);
    await_prompt();
    type("6*7?\n");
    await("agent> Done.");
    await_prompt();
    CU_ASSERT_PTR_NULL(strstr(t.seen, "\x1b[1;3"));
    type("/exit\n");
    CU_ASSERT_EQUAL(leave(), 0);
}

static void stops(void)
{
    if (!program_has_terminal()) {
        return;
    }
    struct desk d = desk(HEAD "- reply: {calls: [{name: wait}]}\n"
                              "- expect: {last_user: Still there?}\n  reply: {text: Yes.}\n");
    chat_with(&d);
    await_prompt();
    type("Wait.\n");
    await("[wait] {}");
    type("\x03");
    await("(stopped; say something to go on");
    await_prompt();
    type("Still there?\n");
    await("agent> Yes.");
    await_prompt();
    type("half a line\x03");
    await("(Ctrl+C again");
    await_prompt();
    type("\x03");
    CU_ASSERT_EQUAL(leave(), 0);
    const char *log = read_text(d.trace, NULL);
    CU_ASSERT(log != NULL && strstr(log, "\"status\":\"cancelled\"") != NULL);
    CHECK_STATUS(ASSAY("trace", "verify", d.trace, "--tools", d.tools), 0);
}

static void leaves(void)
{
    if (!program_has_terminal()) {
        return;
    }
    struct desk d = desk(HEAD TEXT);
    sit_down((const char *const[]){"chat", "--fake", d.script, NULL});
    await_prompt();
    type("\x04");
    CU_ASSERT_EQUAL(leave(), 0);
    CU_ASSERT_PTR_NULL(strstr(t.seen, "event log")); /* nothing was said */
    sit_down((const char *const[]){"chat", "--fake", d.script, NULL});
    await_prompt();
    type("Hello.\n");
    await("Done.");
    await_prompt();
    type("\x04");
    await("the event log is ");
    await("/assay-chat-");
    CU_ASSERT_EQUAL(leave(), 0);
}

/* ---- decisions at a terminal ---- */

/* Answers the question about the refund; the log holds the decision, at the same millisecond. */
static void answer(const char *typed, const char *decision, bool paid)
{
    struct desk d = desk(HEAD REFUND "- reply: {calls: [{name: calculator, arguments: {expression: "
                                     "6*7}}]}\n" TEXT);
    sit_down((const char *const[]){"run", "p", "--fake", d.script, "--tools", d.tools, "--trace",
                                   d.trace, NULL});
    await("refund {\"usd\":5}: allow? [y]es / [n]o / [a]lways ");
    type("perhaps\n");
    await("[a]lways ");
    type(typed);
    await("Done.");
    CU_ASSERT_EQUAL(leave(), 0);
    const char *log = read_text(d.trace, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    CU_ASSERT_PTR_NOT_NULL(strstr(log, path_of("\"t_ms\":0,\"type\":\"approval\",\"call_id\":"
                                               "\"call_1\",\"decision\":\"%s\"",
                                               decision)));
    CU_ASSERT((strstr(log, "\"paid\"") != NULL) == paid);
    CU_ASSERT(log_ends(log, "completed"));
}

static void decides(void)
{
    if (!program_has_terminal()) {
        return;
    }
    answer("y\n", "allow", true);
    answer(" Yes \n", "allow", true);
    answer("n\n", "deny", false);
    answer("A\n", "always", true);
    answer("\x04", "deny", false);
}

static void stops_asking(void)
{
    if (!program_has_terminal()) {
        return;
    }
    struct desk d = desk(HEAD REFUND TEXT);
    sit_down((const char *const[]){"run", "p", "--fake", d.script, "--tools", d.tools, "--trace",
                                   d.trace, NULL});
    await("[a]lways ");
    type("\x03");
    CU_ASSERT_EQUAL(leave(), 130);
    CU_ASSERT(log_ends(read_text(d.trace, NULL), "cancelled"));
}

static void decides_in_chat(void)
{
    if (!program_has_terminal()) {
        return;
    }
    struct desk d = desk(HEAD REFUND TEXT REFUND TEXT);
    chat_with(&d);
    await_prompt();
    type("Pay.\n");
    await("[a]lways ");
    type("a\n");
    await("[refund] -> paid");
    await_prompt();
    type("Pay again.\n");
    await("[refund] -> paid"); /* without a question */
    await_prompt();
    type("/exit\n");
    CU_ASSERT_EQUAL(leave(), 0);
}

/* ---- without a terminal ---- */

static const struct ran *pipe_in(const struct desk *d, const char *in, const char *flag,
                                 const char *value)
{
    const struct program_options o = {.in = in};
    const char *words[] = {"chat",    "--fake", d->script, "--tools", d->tools,
                           "--trace", d->trace, flag,      value,     NULL};
    return program_run(words, &o);
}

static void reads_lines(void)
{
    struct desk d = desk(HEAD "- {expect: {last_user: one}, reply: {text: First.}}\n"
                              "- {expect: {last_user: /etc/hosts two}, reply: {text: Second.}}\n");
    const struct ran *r = pipe_in(&d, "one\n\n  /etc/hosts two  ", NULL, NULL);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "agent> First.\nagent> Second.\n");
    CHECK_TEXT(r->err, "");
    r = pipe_in(&d, "one\n/exit\nnever\n", NULL, NULL);
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "s.yaml"); /* a step is left over */
    r = pipe_in(&d, "one\n/exi\n/etc/hosts two\n", NULL, NULL);
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "there is no command /exi; did you mean /exit");
    r = pipe_in(&d, "one\n/etc/hosts two\nthree\n", NULL, NULL);
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "script_mismatch");
    r = pipe_in(&d, "", NULL, NULL);
    CHECK_TEXT(r->out, "");
    r = pipe_in(&d, "\xff\n", NULL, NULL);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "not UTF-8");
}

static void shows_tools(void)
{
    struct desk d = desk(HEAD "- reply: {calls: [{name: long}]}\n" TEXT);
    const struct ran *r = pipe_in(&d, "Count.\n", NULL, NULL);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "[long] {}\n[long] -> 1 2 3");
    CHECK_OUT(r, "…\nagent> Done.\n");
    CU_ASSERT_PTR_NULL(strstr(r->out, "199 200"));
    r = pipe_in(&d, "Count.\n", "--verbose", NULL);
    CHECK_OUT(r, "199 200\nagent> Done.\n");
}

static void shows_retries(void)
{
    struct desk d = desk(HEAD "- fault: {status: 429, message: busy, retry_after_s: 2}\n" TEXT
                              "- {fault: {status: 400, message: bad}}\n");
    const struct ran *r = pipe_in(&d, "Hello.\nAnd?\n", NULL, NULL);
    CHECK_STATUS(r, 4);
    CHECK_OUT(r, "[model] ");
    CHECK_OUT(r, "next try in 2000 ms\nagent> Done.\n");
    CHECK_ERR(r, "model_error: ");
}

/* Each message has the budget for itself. */
static void budgets(void)
{
    struct desk d = desk(HEAD TEXT TEXT TEXT);
    CHECK_STATUS(pipe_in(&d, "a\nb\nc\n", "--budget", "steps=1"), 0);
}

/* A log that cannot be kept ends the chat. */
static void full_disk(void)
{
    struct desk d = desk(HEAD TEXT TEXT);
    d.trace = "/dev/full";
    const struct ran *r = pipe_in(&d, "a\nb\n", NULL, NULL);
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "/dev/full");
    CU_ASSERT_EQUAL(count_lines(r->err), 1);
}

static void resumes(void)
{
    struct desk d = desk(HEAD "- reply: {text: First.}\n- {expect: {last_user: two}, reply: {text: "
                              "Second.}}\n");
    const char *both = path_of("%s/both.jsonl", d.dir);
    const struct program_options two = {.in = "two\n"}, one = {.in = "one\n"};
    ASSAY_WITH(&one, "chat", "--fake", d.script, "--tools", d.tools, "--trace", d.trace);
    const struct ran *r = ASSAY_WITH(&two, "chat", "--fake", d.script, "--tools", d.tools,
                                     "--resume", d.trace, "--trace", both);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "agent> Second.\n");
    CHECK_ERR(r, "2 messages so far");
    CHECK_TEXT(event_types(read_text(both, NULL)),
               "run_start user_message step_start llm_reply final run_end "
               "resume user_message step_start llm_reply final run_end");
    CHECK_STATUS(
        ASSAY_WITH(&two, "chat", "--fake", d.script, "--tools", d.tools, "--resume", d.trace), 0);
    CU_ASSERT(same_bytes(both, d.trace));
    r = ASSAY_WITH(&two, "chat", "--fake", d.script, "--resume", d.trace, "--system", "x");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--resume: a session that goes on takes no --system");
}

/* The t_ms of the first line of the type. */
static long time_of(const char *log, const char *type)
{
    const char *at = strstr(log, path_of("\"type\":\"%s\"", type));
    while (at != NULL && at > log && strncmp(at, "\"t_ms\":", 7) != 0) {
        at--;
    }
    return at == NULL ? -1 : strtol(at + 7, NULL, 10);
}

/* Without its decision the call is decided about as in a new run; with another call's it is a miss;
 * a longer wait is a later time. */
static void check_edited(const char *dir, const char *text, const char *tools)
{
    const struct program_options in = {.in = "Pay.\nThanks.\n"};
    const char *at = strstr(text, "- request: {method: ASK"), *uri = strstr(at, "refund");
    const char *next = strstr(at + 1, "- request: "), *took = strstr(at, "took_ms: 0");
    CU_ASSERT_FATAL(took != NULL && took < next);
    const char *none =
        write_text(dir, "none.yaml", path_of("%.*s%s", (int)(at - text), text, next));
    const char *other =
        write_text(dir, "other.yaml", path_of("%.*sother!%s", (int)(uri - text), text, uri + 6));
    const char *late = write_text(
        dir, "late.yaml", path_of("%.*stook_ms: 77%s", (int)(took - text), text, took + 10));
    const struct ran *r = ASSAY_WITH(&in, "chat", "--replay", none, "--tools", tools);
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "is denied");
    r = ASSAY_WITH(&in, "chat", "--replay", other, "--tools", tools);
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "ASK approval:refund {}: not in");
    const char *trace = path_of("%s/late.jsonl", dir);
    r = ASSAY_WITH(&in, "chat", "--replay", late, "--tools", tools, "--trace", trace);
    CHECK_STATUS(r, 0);
    const char *log = read_text(trace, NULL);
    CU_ASSERT_EQUAL(time_of(log, "approval"), time_of(log, "approval_required") + 77);
}

/* A recorded chat with decisions of a file replays to the same log with the same decisions, and to
 * a miss without. */
static void replays(void)
{
    static const struct loopback_answer talk[] = {
        {.bytes =
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
             "{\"id\":\"1\",\"object\":\"chat.completion\",\"model\":\"m\",\"choices\":[{\"index\":"
             "0,"
             "\"message\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c1\","
             "\"type\":\"function\",\"function\":{\"name\":\"refund\",\"arguments\":\"{}\"}}]},"
             "\"finish_reason\":\"tool_calls\"}]}"},
        {.bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
                  "{\"id\":\"2\",\"object\":\"chat.completion\",\"model\":\"m\",\"choices\":[{"
                  "\"index\":0,"
                  "\"message\":{\"role\":\"assistant\",\"content\":\"Done.\"},\"finish_reason\":"
                  "\"stop\"}]}"},
    };
    struct desk d = desk(HEAD TEXT);
    const char *file =
        write_text(d.dir, "d.yaml", "{version: 1, decisions: [{tool: refund, decision: always}]}");
    const char *cassette = path_of("%s/c.yaml", d.dir), *again = path_of("%s/again.jsonl", d.dir);
    const struct program_options in = {.in = "Pay.\nThanks.\n"};
    struct loopback *l = loopback_start(talk, 2);
    const struct ran *r =
        ASSAY_WITH(&in, "chat", "--base-url", loopback_url(l), "--model", "m", "--tools", d.tools,
                   "--no-stream", "--record", cassette, "--decisions", file, "--trace", d.trace);
    loopback_stop(l);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "[refund] -> paid\nagent> Done.\nagent> Done.\n");
    r = ASSAY_WITH(&in, "chat", "--replay", cassette, "--tools", d.tools, "--decisions", file,
                   "--strict", "--trace", again);
    CHECK_STATUS(r, 0);
    CU_ASSERT(same_bytes(d.trace, again));
    CU_ASSERT(strstr(read_text(cassette, NULL), "{method: ASK, uri: \"approval:refund\"") != NULL);
    r = ASSAY_WITH(&in, "chat", "--replay", cassette, "--tools", d.tools, "--strict", "--trace",
                   again);
    CHECK_STATUS(r, 0); /* nobody is asked: the recording decides */
    CU_ASSERT(same_bytes(d.trace, again));
    check_edited(d.dir, read_text(cassette, NULL), d.tools);
}

static void bad_words(void)
{
    static const struct {
        const char *words[8];
        const char *part;
    } cases[] = {
        {{"chat", "Hello."}, "chat takes no prompt"},
        {{"chat", "--trace", "-"}, "standard output holds the conversation"},
        {{"chat", "--fake", "/nowhere.yaml"}, "/nowhere.yaml"},
        {{"chat", "--stream", "--no-stream"}, "one of --stream and --no-stream"},
        {{"chat", "--resume", "/nowhere.jsonl"}, "/nowhere.jsonl"},
        {{"chat", "--fake", "a", "--replay", "b"}, "give one of"},
        {{"chat", "--verbos"}, "did you mean --verbose?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = program_run(cases[i].words, NULL);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
}

TESTS(chat, {"chat_edits_lines_and_keeps_their_history", talks},
      {"chat_has_colors_only_where_wanted", colors},
      {"chat_stops_a_run_and_keeps_the_session", stops},
      {"chat_is_left_by_ctrl_d_and_tells_its_log", leaves},
      {"terminal_decides_about_a_call", decides},
      {"terminal_may_stop_a_run_that_asks", stops_asking},
      {"terminal_decides_in_a_chat", decides_in_chat},
      {"chat_reads_lines_without_a_terminal", reads_lines},
      {"chat_shows_tools_shortened", shows_tools},
      {"chat_shows_retries_and_failures", shows_retries},
      {"chat_gives_each_message_the_whole_budget", budgets},
      {"chat_ends_when_its_log_cannot_be_kept", full_disk}, {"chat_goes_on_with_a_log", resumes},
      {"chat_recorded_replays_to_the_same_log", replays}, {"chat_refuses_bad_words", bad_words})
