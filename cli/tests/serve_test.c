#include "ci/testing/testing.h"
#include "cli/tests/model_server.h"
#include "cli/tests/program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGRAM BUILD_DIR "/assay"
#define PROMPT  "By how much did the margin fall?"

static const char two_steps[] =
    "version: 1\nsteps:\n"
    "- expect: {last_user: {contains: margin}}\n"
    "  reply: {calls: [{name: calculator, arguments: {expression: \"42.4-38.2\"}}],\n"
    "          usage: {input: 100, output: 10}}\n"
    "- fault: {status: 429, retry_after_s: 1}\n"
    "- expect: {last_tool: {contains: \"4.2\"}}\n"
    "  reply: {text: It fell by 4.2 points., usage: {input: 120, output: 12}}\n";

static const char *script_in(const char *dir)
{
    return write_text(dir, "margin.script.yaml", two_steps);
}

/* The log without what a clock or chance decided. */
static const char *timeless(const char *log)
{
    static const char *const keys[] = {
        "\"t_ms\":", "\"latency_ms\":", "\"run\":", "\"started_at\":", "\"sum\":"};
    size_t n = 0;
    char *out = strdup(read_text(log, &n));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        for (char *at = strstr(out, keys[i]); at != NULL; at = strstr(at, keys[i])) {
            at += strlen(keys[i]);
            size_t value = strcspn(at, ",}");
            memmove(at, at + value, strlen(at + value) + 1);
        }
    }
    const char *kept = path_of("%s", out);
    free(out);
    return kept;
}

/* ---- serve ---- */

static void same_log(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *script = script_in(dir);
    const char *a = path_of("%s/a.jsonl", dir), *b = path_of("%s/b.jsonl", dir);
    CHECK_STATUS(ASSAY("run", "--fake", script, "--seed", "7", "--trace", a, PROMPT), 0);
    SERVE(&s, "--script", script, "--strict");
    const struct ran *r = ASSAY("run", "--base-url", path_of("%s/v1", s.url), "--model", "fake-1",
                                "--seed", "7", "--trace", b, PROMPT);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "It fell by 4.2 points.\n");
    CHECK_TEXT(timeless(b), timeless(a));
    CHECK_STATUS(server_end(&s), 0);
}

static void strict(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *script = script_in(dir);
    SERVE(&s, "--script", script, "--strict");
    CHECK_STATUS(server_end(&s), 0); /* nobody began */
    SERVE(&s, "--script", script, "--strict");
    const char *base = path_of("%s/v1", s.url);
    CHECK_STATUS(ASSAY("run", "--base-url", base, "--model", "fake-1", "Hello."), 4);
    const struct ran *r = server_end(&s);
    CHECK_STATUS(r, 1);
    CHECK_ERR(r, "expected text containing \"margin\"");
    CHECK_ERR(r, "left over");
    SERVE(&s, "--script", script);
    base = path_of("%s/v1", s.url);
    CHECK_STATUS(ASSAY("run", "--base-url", base, "--model", "fake-1", "Hello."), 4);
    CHECK_STATUS(server_end(&s), 0);
}

/* Asks without leaving a port in TIME_WAIT behind, however often. */
static bool listens(const struct sockaddr_in *to)
{
    const struct linger reset = {.l_onoff = 1};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    bool refused =
        connect(fd, (const struct sockaddr *)to, sizeof *to) != 0 && errno == ECONNREFUSED;
    close(fd);
    return !refused;
}

/* A client that waits for an answer that never ends: the first signal waits, the second does not.
 */
static void hanging(void)
{
    static const char question[] =
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n"
        "Content-Length: 56\r\n\r\n"
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}";
    struct server s;
    const char *script = write_text(testing_dir(), "h.script.yaml",
                                    "version: 1\nsteps:\n- fault: {kind: hang, after_bytes: 9}\n");
    SERVE(&s, "--script", script);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtol(s.url + 17, NULL, 10))};
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    CU_ASSERT_EQUAL(send(fd, question, sizeof question - 1, 0), (ssize_t)sizeof question - 1);
    char got[4096];
    CU_ASSERT(recv(fd, got, sizeof got, 0) > 0); /* it is under way */
    kill(s.running.pid, SIGTERM);
    while (listens(&to)) { /* until the first signal has come */
        sched_yield();
    }
    CHECK_STATUS(server_end(&s), 0);
    close(fd);
}

static void serve_words(void)
{
    static const struct {
        const char *words[6];
        const char *part;
    } cases[] = {
        {{"serve"}, "one of --script, --replay, --record"},
        {{"serve", "--script", "a", "--replay", "b"}, "one of --script, --replay, --record"},
        {{"serve", "--record", "a"}, "--upstream"},
        {{"serve", "--script", "/nowhere/a.yaml"}, "/nowhere/a.yaml"},
        {{"serve", "--script", "a", "--match", "order"}, "--match goes with --replay"},
        {{"serve", "--script", "a", "--mode", "all"}, "--mode all goes with --record"},
        {{"serve", "--script", "a", "--port", "70000"}, "--port"},
        {{"serve", "--record", "a", "--upstream", "ftp://x"}, "http"},
        {{"serve", "--script", "a", "b"}, "one word too many"},
        {{"serve", "--script", "a", "--timeout", "idle=1"}, "they go with --record"},
        {{"record", "--", "true"}, "-o CASSETTE"},
        {{"record", "-o", "a.yaml"}, "behind --"},
        {{"record", "-o", "a.yaml", "--upstream", "x:y"}, "http"},
        {{"replay", "--", "true"}, "replay CASSETTE"},
        {{"replay", "/nowhere/a.yaml", "--", "true"}, "/nowhere/a.yaml"},
        {{"replay", "a.yaml"}, "behind --"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *words[7] = {0};
        memcpy(words, cases[i].words, sizeof cases[i].words);
        const struct ran *r = program_run(words, NULL);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
}

static void beyond_loopback(void)
{
    const char *dir = testing_dir();
    const char *script = script_in(dir);
    const struct ran *r = ASSAY("serve", "--script", script, "--address", "0.0.0.0");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--token-file");
    r = ASSAY("serve", "--script", script, "--token-file", write_text(dir, "token", " \n"));
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "holds no token");
    r = ASSAY("serve", "--script", script, "--address", "nowhere");
    CHECK_STATUS(r, 2);
    r = ASSAY("serve", "--record", dir, "--upstream", "nowhere");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "assay: --upstream wants an address");
    struct server s;
    SERVE(&s, "--script", script, "--address", "localhost");
    CHECK_STATUS(server_end(&s), 0);
}

/* ---- record and replay ---- */

static void wrapped(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *cassette = path_of("%s/c.yaml", dir);
    SERVE(&s, "--script", script_in(dir), "--strict");
    struct program_options o = {.more = s.more};
    const struct ran *r =
        ASSAY_WITH(&o, "record", "-o", cassette, "--", PROGRAM, "run", "--model", "fake-1", PROMPT);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "It fell by 4.2 points.\n");
    CHECK_STATUS(server_end(&s), 0);
    CHECK_STATUS(ASSAY("cassette", "check", cassette), 0);
    r = ASSAY("replay", "--strict", cassette, "--", PROGRAM, "run", "--model", "fake-1", PROMPT);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "It fell by 4.2 points.\n");
    r = ASSAY("replay", cassette, "--", PROGRAM, "run", "--model", "fake-1", "Other.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "session main, request 1: ");
    CHECK_STATUS(ASSAY("replay", cassette, "--", "true"), 0);
    r = ASSAY("replay", "--strict", cassette, "--", "true");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "asked no model");
}

static void passes_on(void)
{
    const char *dir = testing_dir();
    struct program_options o = {.in = "what came in\n"};
    const struct ran *r =
        ASSAY_WITH(&o, "record", "-o", path_of("%s/c.yaml", dir), "--", "sh", "-c",
                   "cat; echo to stderr >&2; test \"$OPENAI_BASE_URL\" = \"$OPENAI_API_BASE\" && "
                   "test \"$ANTHROPIC_BASE_URL/v1\" = \"$OPENAI_BASE_URL\" && exit 1");
    CHECK_STATUS(r, 1);
    CHECK_TEXT(r->out, "what came in\n");
    CHECK_ERR(r, "to stderr\n");
    r = ASSAY("record", "-o", path_of("%s/d.yaml", dir), "--", "/nowhere/program");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "/nowhere/program");
}

static void kept(void)
{
    const char *dir = testing_dir();
    const char *cassette = write_text(dir, "c.yaml", "mine");
    const char *marker = path_of("%s/began", dir);
    const struct ran *r = ASSAY("record", "-o", cassette, "--", "touch", marker);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "--mode all");
    CU_ASSERT_PTR_NULL(read_text(marker, NULL)); /* the program did not begin */
    CHECK_TEXT(read_text(cassette, NULL), "mine");
}

static const struct ran *record_one(const struct server *s, const char *cassette, const char *mode,
                                    const char *prompt)
{
    struct program_options o = {.more = s->more};
    return ASSAY_WITH(&o, "record", "-o", cassette, "--mode", mode, "--", PROGRAM, "run", "--model",
                      "fake-1", prompt);
}

/* The upstream counts: what is replayed does not reach it. */
static void modes(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *cassette = path_of("%s/c.yaml", dir);
    SERVE(&s, "--strict", "--script",
          write_text(dir, "s.script.yaml",
                     "version: 1\nsteps:\n- reply: {text: One.}\n- reply: {text: Two.}\n"
                     "- reply: {text: Three.}\n"));
    CHECK_TEXT(record_one(&s, cassette, "once", "a")->out, "One.\n");
    const struct ran *r = record_one(&s, cassette, "once", "a");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "One.\n");
    r = record_one(&s, cassette, "once", "b");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "not in the cassette");
    CHECK_TEXT(record_one(&s, cassette, "new_episodes", "a")->out, "One.\n");
    CHECK_TEXT(record_one(&s, cassette, "new_episodes", "b")->out, "Two.\n");
    CHECK_TEXT(record_one(&s, cassette, "once", "a")->out, "One.\n");
    CHECK_TEXT(record_one(&s, cassette, "once", "b")->out, "Two.\n");
    CHECK_TEXT(record_one(&s, cassette, "all", "b")->out, "Three.\n");
    r = record_one(&s, cassette, "once", "a");
    CHECK_STATUS(r, 3);
    CHECK_STATUS(server_end(&s), 0);
}

/* What is wrong with a recording ends with the command that mends it, which does. */
static void mends(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *cassette = path_of("%s/c.yaml", dir);
    SERVE(&s, "--script",
          write_text(dir, "s.script.yaml", "version: 1\nrules:\n- reply: {text: So be it.}\n"));
    CHECK_STATUS(record_one(&s, cassette, "all", "a"), 0);
    const struct ran *r = ASSAY("replay", "--ignore", "user", cassette, "--", PROGRAM, "run",
                                "--model", "fake-1", "it's b");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, path_of("assay: to record what is missing: assay record -o %s --mode new_episodes "
                         "--ignore user -- %s run --model fake-1 'it'\\''s b'\n",
                         path_word(cassette), path_word(PROGRAM)));
    CHECK_STATUS(record_one(&s, cassette, "new_episodes", "b"), 0);
    r = ASSAY("replay", "--strict", cassette, "--", PROGRAM, "run", "--model", "fake-1", "b");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r,
              path_of("to record it anew: assay record -o %s --mode all -- ", path_word(cassette)));
    CHECK_STATUS(server_end(&s), 0);
}

/* The endpoint is called as the flags say: through the proxy of the environment, with more headers.
 */
static void live_settings(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *cassette = path_of("%s/c.yaml", dir);
    SERVE(&s, "--script",
          write_text(dir, "s.script.yaml", "version: 1\nrules:\n- reply: {text: So be it.}\n"));
    const char *more[] = {path_of("http_proxy=%s", s.url),
                          "OPENAI_BASE_URL=http://upstream.invalid/v1", NULL};
    struct program_options o = {.more = more};
    const struct ran *r = ASSAY_WITH(
        &o, "record", "-o", cassette, "--header", "x-assay-session: of-header", "--timeout",
        "first-byte=20", "--rpm", "1000", "--", PROGRAM, "run", "--model", "fake-1", "a");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "So be it.\n");
    r = server_end(&s);
    CHECK_STATUS(r, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(read_text(cassette, NULL), "http://upstream.invalid/v1/chat/"));
}

/* Two programs of one recording: each session of a folder is a file. */
static void folder(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *cassettes = path_of("%s/all/", dir);
    const char *command = "for n in a b; do \"$0\" run --base-url \"$ASSAY_BASE_URL/s/$n/v1\" "
                          "--model fake-1 '" PROMPT "' || exit 1; done";
    const char *script =
        write_text(dir, "s.script.yaml", "version: 1\nrules:\n- reply: {text: So be it.}\n");
    SERVE(&s, "--script", script);
    struct program_options o = {.more = s.more};
    CHECK_STATUS(ASSAY_WITH(&o, "record", "-o", cassettes, "--", "sh", "-c", command, PROGRAM), 0);
    CHECK_STATUS(server_end(&s), 0);
    CU_ASSERT_PTR_NOT_NULL(read_text(path_of("%s/a.yaml", cassettes), NULL));
    CU_ASSERT_PTR_NOT_NULL(read_text(path_of("%s/b.yaml", cassettes), NULL));
    const struct ran *r =
        ASSAY("replay", "--strict", cassettes, "--", "sh", "-c", command, PROGRAM);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "So be it.\nSo be it.\n");
}

/* What another matching answered although it differs is told, and with --strict an error. */
static void drifts(void)
{
    struct server s;
    const char *dir = testing_dir();
    const char *cassette = path_of("%s/c.yaml", dir);
    SERVE(&s, "--script",
          write_text(dir, "s.script.yaml", "version: 1\nrules:\n- reply: {text: So be it.}\n"));
    CHECK_STATUS(record_one(&s, cassette, "all", "a"), 0);
    CHECK_STATUS(server_end(&s), 0);
    const struct ran *r = ASSAY("replay", "--match", "order", cassette, "--", PROGRAM, "run",
                                "--model", "fake-1", "b");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "So be it.\n");
    CHECK_ERR(r, "session main: interaction 1: messages[0].content: recorded \"a\", sent \"b\"");
    r = ASSAY("replay", "--match", "order", "--strict", cassette, "--", PROGRAM, "run", "--model",
              "fake-1", "b");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r,
              path_of("to record it anew: assay record -o %s --mode all -- ", path_word(cassette)));
}

/* A session that no file answers, or that cannot be recorded, is not for the program alone to see.
 */
static void unserved(void)
{
    const char *dir = testing_dir();
    const char *broken = write_text(dir, "broken.yaml", "no cassette\n");
    const char *command = "\"$0\" run --base-url \"$ASSAY_BASE_URL/s/other/v1\" --model fake-1 a; "
                          "exit 0";
    mkdir(path_of("%s/all", dir), 0700);
    write_text(dir, "all/main.yaml", "version: 1\ninteractions: []\n");
    const struct ran *r =
        ASSAY("replay", path_of("%s/all", dir), "--", "sh", "-c", command, PROGRAM);
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "/other.yaml for session");
    CHECK_ERR(r, path_of("%s --mode new_episodes -- sh -c ", path_word(path_of("%s/all", dir))));
    r = ASSAY("record", "-o", path_of("%s/c.yaml", dir), "--", "sh", "-c", command, PROGRAM);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "for sessions of their own name a folder");
    r = ASSAY("record", "-o", broken, "--mode", "once", "--", "sh", "-c", "echo begun");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    r = ASSAY("record", "-o", path_of("%s/tests", dir), "--", "sh", "-c", "echo begun");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "ends with .yaml");
    CHECK_ONE_LINE(r);
}

/* The official SDKs want a key, also where it goes nowhere. */
static void keys(void)
{
    const char *dir = testing_dir();
    const char *cassette = write_text(dir, "c.yaml", "version: 1\ninteractions: []\n");
    static const char command[] = "echo \"$OPENAI_API_KEY,$ANTHROPIC_API_KEY\"";
    static const char *const more[] = {"OPENAI_API_KEY=", "ANTHROPIC_API_KEY=own", NULL};
    struct program_options o = {.more = more};
    CHECK_TEXT(ASSAY_WITH(&o, "replay", cassette, "--", "sh", "-c", command)->out,
               "none-in-a-replay,own\n");
    CHECK_TEXT(
        ASSAY_WITH(&o, "record", "-o", path_of("%s/d.yaml", dir), "--", "sh", "-c", command)->out,
        ",own\n");
}

/* Without a terminal nobody else tells the program of SIGINT. */
static void interrupted(void)
{
    const char *dir = testing_dir();
    const char *cassette = write_text(dir, "c.yaml", "version: 1\ninteractions: []\n");
    struct program_options o = {.program = "/usr/bin/setsid"};
    struct program_running p;
    if (access(o.program, X_OK) != 0) {
        testing_skip("there is no setsid");
        return;
    }
    program_start((const char *const[]){PROGRAM, "replay", cassette, "--", "sh", "-c",
                                        "trap 'exit 1' INT; echo; while :; do sleep 0.01; done",
                                        NULL},
                  &o, &p);
    program_await_file(&p, path_of("%s/stdout", p.dir));
    kill(p.pid, SIGINT);
    CHECK_STATUS(program_wait(&p), 1);
}

/* An endpoint below another path than /v1, as of Gemini or a gateway, is asked where the program
 * itself would ask it; and what else it serves replays too. */
static void other_paths(void)
{
    static const struct {
        const char *base, *option, *asked;
    } cases[] = {
        {"/s/a/v1beta/openai/", NULL, "/v1beta/openai/chat/completions"},
        {"/s/a/api/v3", NULL, "/api/v3/chat/completions"},
        {"/s/a", NULL, "/chat/completions"},
        {"/s/a?api-version=1", NULL, "/chat/completions?api-version=1"},
        {"/s/a/api/v3", "--upstream", "/api/v3/chat/completions"},
        {"/s/a", "--upstream", "/v1/chat/completions"},
    };
    static const char command[] = "curl -s -d '{}' \"$OPENAI_BASE_URL/chat/completions\"; "
                                  "curl -s \"$OPENAI_BASE_URL/models\"";
    if (access("/usr/bin/curl", X_OK) != 0) {
        testing_skip("curl is not there");
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct server s;
        const char *dir = testing_dir();
        const char *cassette = path_of("%s/c.yaml", dir);
        SERVE(&s, "--script",
              write_text(dir, "s.script.yaml", "version: 1\nrules:\n- reply: {text: So.}\n"));
        const char *base = path_of("%s%s", s.url, cases[i].base);
        const char *more[] = {path_of("OPENAI_BASE_URL=%s", base), NULL};
        struct program_options o = {.more = cases[i].option == NULL ? more : NULL};
        const char *option = cases[i].option == NULL ? "--mode" : cases[i].option;
        CHECK_STATUS(ASSAY_WITH(&o, "record", "-o", cassette, option,
                                cases[i].option == NULL ? "all" : base, "--", "sh", "-c", command),
                     0);
        const char *got = read_text(cassette, NULL);
        CU_ASSERT_PTR_NOT_NULL(strstr(got, path_of("uri: %s/s/a%s\n", s.url, cases[i].asked)));
        CHECK_STATUS(server_end(&s), 0);
        if (strstr(cases[i].base, "/v3") != NULL) {
            CHECK_STATUS(ASSAY("replay", "--strict", cassette, "--", "sh", "-c", command), 0);
        }
    }
}

TESTS(serve, {"serve_gives_the_log_that_the_script_gives_in_process", same_log},
      {"serve_strict_tells_what_was_left_over_or_refused", strict},
      {"serve_ends_at_once_with_a_second_signal", hanging},
      {"serve_record_and_replay_say_what_is_wrong_with_their_words", serve_words},
      {"serve_listens_beyond_this_machine_only_with_a_token", beyond_loopback},
      {"record_of_a_program_replays_without_its_upstream", wrapped},
      {"record_passes_input_output_and_status_through", passes_on},
      {"record_never_begins_over_a_cassette", kept},
      {"record_replays_or_adds_to_what_is_there_as_its_mode_says", modes},
      {"replay_ends_with_the_command_that_mends_its_recording", mends},
      {"record_calls_the_endpoint_as_its_flags_say", live_settings},
      {"record_into_a_folder_makes_a_file_a_session", folder},
      {"record_asks_where_the_program_itself_would", other_paths},
      {"replay_tells_what_differed_from_its_recording", drifts},
      {"record_and_replay_fail_where_a_session_is_not_served", unserved},
      {"replay_makes_up_keys_where_there_are_none", keys},
      {"replay_passes_on_an_interrupt_that_no_terminal_told", interrupted})
