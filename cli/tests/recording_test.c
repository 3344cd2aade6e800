/* What a recording holds and what its replay makes of it, through the real program. */
#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define KEY "odd.key-of-mine"

static const struct loopback_answer refusing_key = {
    .bytes = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: "
             "close\r\n\r\n{\"error\":{\"message\":\"the key " KEY " (" KEY ") is none\"}}"};

/* What a test works with: files in one folder, a recording made or to be made. */
static struct {
    const char *cassette;
    const char *live;   /* event log of the recording */
    const char *replay; /* of the replay */
} f;

static void begin(void)
{
    const char *dir = testing_dir();
    f.cassette = path_of("%s/c.yaml", dir);
    f.live = path_of("%s/live.jsonl", dir);
    f.replay = path_of("%s/replay.jsonl", dir);
}

static bool holds(const char *text, const char *part)
{
    return text != NULL && strstr(text, part) != NULL;
}

static void an_error_that_quotes_the_key(void)
{
    static const char *const env[] = {"OPENAI_API_KEY=" KEY, NULL};
    const struct program_options with_key = {.more = env};
    struct loopback *l = loopback_start(&refusing_key, 1);
    begin();
    const struct ran *r = ASSAY_WITH(&with_key, "run", "--base-url", loopback_url(l), "--model",
                                     "m", "--record", f.cassette, "--trace", f.live, "Hello.");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "the key REDACTED (REDACTED) is none");
    CU_ASSERT_FALSE(holds(r->err, KEY));
    CU_ASSERT_FALSE(holds(read_text(f.live, NULL), KEY));
    CU_ASSERT_FALSE(holds(read_text(f.cassette, NULL), KEY));
    CHECK_STATUS(ASSAY("run", "--replay", f.cassette, "--trace", f.replay, "Hello."), 4);
    CU_ASSERT(same_bytes(f.live, f.replay));
    loopback_stop(l);
}

/* Records against these answers and interrupts while the last one hangs. */
static void interrupt_recording(const struct loopback_answer *answers, size_t n)
{
    struct loopback *l = loopback_start(answers, n);
    begin();
    const char *words[] = {"run",      "--base-url", loopback_url(l), "--model", "m",
                           "--record", f.cassette,   "Hello.",        NULL};
    struct program_running p;
    program_start(words, NULL, &p);
    for (size_t i = 0; i < n; i++) {
        loopback_wait_request(l);
    }
    kill(p.pid, SIGINT);
    CHECK_STATUS(program_wait(&p), 130);
    loopback_stop(l);
}

static void an_interrupted_recording(void)
{
    const struct loopback_answer answers[] = {loopback_calling, loopback_hanging};
    interrupt_recording(answers, 2);
    CU_ASSERT_FALSE(holds(read_text(f.cassette, NULL), "stopped"));
    const struct ran *r = ASSAY("run", "--replay", f.cassette, "--trace", f.replay, "Hello.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r,
              "the recording holds 1 request to chat/completions; this is request 2\n"
              "  to record it anew: assay run --mode all --model m --base-url http://127.0.0.1:");
    CU_ASSERT(log_ends(read_text(f.replay, NULL), "cassette_miss"));
    interrupt_recording(&loopback_hanging, 1);
    r = ASSAY("run", "--replay", f.cassette, "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "c.yaml: holds no interaction, so there is nothing to replay");
}

/* A run that goes on is recorded from there: its replay behind the same log, and behind a longer
 * one, is the same. */
static void the_rest_of_a_run(void)
{
    const struct loopback_answer answers[] = {loopback_calling, loopback_fine, loopback_calling,
                                              loopback_fine};
    struct loopback *l = loopback_start(answers, 4);
    begin();
    const char *dir = testing_dir(), *cut = path_of("%s/cut.jsonl", dir);
    CHECK_STATUS(
        ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--trace", f.live, "Hello."),
        0);
    write_text(dir, "cut.jsonl", read_text(f.live, NULL));
    write_text(dir, "again.jsonl", read_text(f.live, NULL));
    CHECK_STATUS(ASSAY("resume", f.live, "--base-url", loopback_url(l), "--record", f.cassette,
                       "And again."),
                 0);
    CU_ASSERT(holds(read_text(f.cassette, NULL), ", after_requests: 2, after_calls: 1}"));
    CHECK_STATUS(ASSAY("resume", cut, "--replay", f.cassette, "--strict", "And again."), 0);
    CU_ASSERT(same_bytes(f.live, cut));
    CHECK_STATUS(ASSAY("fork", f.live, "--at",
                       path_of("%zu", count_lines(read_text(f.live, NULL)) - 3), "--trace",
                       f.replay, "--replay", f.cassette, "--strict"),
                 0);
    CHECK_STATUS(ASSAY("trace", "verify", f.replay), 0);
    struct program_options said = {.in = "And again.\n"};
    CHECK_STATUS(ASSAY_WITH(&said, "chat", "--resume", path_of("%s/again.jsonl", dir), "--replay",
                            f.cassette, "--strict"),
                 0);
    CU_ASSERT(same_bytes(f.live, path_of("%s/again.jsonl", dir)));
    const struct ran *r = ASSAY("run", "--replay", f.cassette, "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "holds the rest of a run, behind its first 2 requests");
    r = ASSAY("fork", f.live, "--at", "3", "--trace", f.replay, "--replay", f.cassette);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "goes on behind 2 requests and 1 tool calls of its run");
    CU_ASSERT_EQUAL(loopback_stop(l), 4);
}

/* What the budget stops is a part of the session, and is replayed as such. */
static void a_recording_that_ran_out_of_time(void)
{
    struct loopback *l = loopback_start(&loopback_hanging, 1);
    begin();
    CHECK_STATUS(ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--record", f.cassette,
                       "--budget", "seconds=1", "--trace", f.live, "Hello."),
                 1);
    CU_ASSERT(holds(read_text(f.cassette, NULL), "ended: stopped"));
    CHECK_STATUS(ASSAY("run", "--replay", f.cassette, "--budget", "seconds=1", "--strict",
                       "--trace", f.replay, "Hello."),
                 1);
    CU_ASSERT(same_bytes(f.live, f.replay));
    const struct ran *r = ASSAY("cassette", "check", f.cassette);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "interaction 1 ends without an answer (stopped) [no_answer]");
    loopback_stop(l);
}

static void settings_of_the_request(void)
{
    static const char *const flags[][6] = {{"--temperature", "0", "--max-tokens", "77", "--stream"},
                                           {"--temperature", "0.70"},
                                           {"--max-tokens", "1"}};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        struct loopback *l = loopback_start(&loopback_fine, 1);
        begin();
        const char *words[16] = {"run",      "--base-url", loopback_url(l), "--model", "m",
                                 "--record", f.cassette,   "--trace",       f.live,    "Hello."};
        memcpy(words + 10, flags[i], sizeof flags[i]);
        CHECK_STATUS(program_run(words, NULL), 0);
        const struct ran *r =
            ASSAY("run", "--replay", f.cassette, "--strict", "--trace", f.replay, "Hello.");
        CHECK_STATUS(r, 0);
        CHECK_TEXT(r->err, "");
        CU_ASSERT(same_bytes(f.live, f.replay));
        /* what is given counts */
        r = ASSAY("run", "--replay", f.cassette, "--temperature", "0.3", "Hello.");
        CHECK_STATUS(r, 3);
        CHECK_ERR(r, "temperature: recorded ");
        loopback_stop(l);
    }
}

/* A session that another program recorded, with the older name of the limit and its nulls. */
static const char theirs[] =
    "interactions:\n"
    "- request:\n"
    "    body: '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello.\", \"name\": null}],\n"
    "      \"model\": \"m\", \"max_tokens\": 50, \"temperature\": 0.0}'\n"
    "    headers: {}\n"
    "    method: POST\n"
    "    uri: https://api.example/v1/chat/completions\n"
    "  response:\n"
    "    body: {string: '{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Fine.\"},"
    "\"finish_reason\":\"stop\"}]}'}\n"
    "    headers: {}\n"
    "    status: {code: 200, message: OK}\n";

static void another_programs_recording(void)
{
    const char *dir = testing_dir();
    const char *path = write_text(dir, "theirs.yaml", theirs);
    const struct ran *r = ASSAY("run", "--replay", path, "--tools", "", "--strict", "Hello.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Fine.\n");
    r = ASSAY("run", "--replay", path, "--tools", "", "--system", "Be kind.", "Hello.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "the request has 2 messages, the recording 1; messages[0].");
}

static void no_session(void)
{
    const char *path = write_text(
        testing_dir(), "m.yaml",
        "interactions:\n- request: {method: POST, uri: 'https://h/v1/embeddings', headers: {}, "
        "body: "
        "'{\"model\":\"m\"}'}\n  response: {status: {code: 200}, headers: {}, body: {string: "
        "'{}'}}\n");
    static const char say[] = "m.yaml: POST /v1/embeddings: none is a request to a model, "
                              "so there is nothing to replay";
    static const char found[] =
        "m.yaml:1:1: warning: POST /v1/embeddings: none is a "
        "request to a model, so there is nothing to replay [not_replayable]";
    const struct ran *r = ASSAY("run", "--replay", path, "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, say);
    CHECK_STATUS(ASSAY("run", "--replay", path, "--model", "m", "Hello."), 2);
    CHECK_OUT(ASSAY("cassette", "check", path), found);
}

static void folders(void)
{
    struct loopback *l = loopback_start(&loopback_fine, 1);
    const char *dir = testing_dir();
    const char *path = path_of("%s/a/b/c.yaml", dir);
    CHECK_STATUS(
        ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--record", path, "Hello."), 0);
    CHECK_STATUS(ASSAY("run", "--replay", path, "Hello."), 0);
    const struct ran *r = ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--record",
                                path_of("%s/a/b", dir), "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "is a folder");
    CU_ASSERT_EQUAL(loopback_stop(l), 1);
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    while ((text = strstr(text, part)) != NULL) {
        text += strlen(part);
        n++;
    }
    return n;
}

/* As a killed recorder leaves it: without the last interaction's end. */
static void torn(void)
{
    const struct loopback_answer answers[] = {loopback_calling, loopback_fine};
    struct loopback *l = loopback_start(answers, 2);
    begin();
    CHECK_STATUS(ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--record", f.cassette,
                       "Hello."),
                 0);
    loopback_stop(l);
    const char *whole = read_text(f.cassette, NULL);
    const char *last = strstr(whole, "    assay: {at_ms:");
    const char *cut = path_of("%.*s", (int)(last - whole), whole);
    const char *path = write_text(testing_dir(), "torn-1.yaml", cut);
    const struct ran *r = ASSAY("run", "--replay", path, "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "torn-1.yaml: holds no complete interaction, so there is nothing to replay");
    while (strstr(last + 1, "    assay: {at_ms:") != NULL) {
        last = strstr(last + 1, "    assay: {at_ms:");
    }
    path = write_text(testing_dir(), "torn-2.yaml", path_of("%.*s", (int)(last - whole), whole));
    r = ASSAY("run", "--replay", path, "Hello.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "torn-2.yaml: the recording was cut off in interaction 3, which is left out");
    r = ASSAY("cassette", "check", path);
    CHECK_STATUS(r, 0);
    CU_ASSERT_EQUAL(count_of(r->out, "torn-2.yaml"), 2); /* with the command that mends it */
    CHECK_OUT(r, "the recording was cut off in interaction 3, which is left out; to drop it: ");
    r = ASSAY("cassette", "show", path);
    CU_ASSERT_EQUAL(count_of(r->err, "torn-2.yaml"), 1);
    r = ASSAY("cassette", "show", "--json", path);
    CHECK_OUT(r, path_of(",\"file\":\"%s\"}\n", path));
}

TESTS(recording, {"recording_holds_no_key_that_an_error_quotes", an_error_that_quotes_the_key},
      {"recording_that_was_interrupted_is_a_miss", an_interrupted_recording},
      {"recording_that_ran_out_of_time_does_so_again", a_recording_that_ran_out_of_time},
      {"recording_of_the_rest_of_a_run_replays_behind_its_log", the_rest_of_a_run},
      {"recording_needs_no_flags_again", settings_of_the_request},
      {"recording_of_another_program_replays", another_programs_recording},
      {"recording_that_is_no_session_says_so", no_session},
      {"recording_makes_its_folders", folders}, {"recording_that_is_torn_says_so_once", torn})
