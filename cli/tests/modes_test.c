/* What --mode, --match, --ignore and the other flags of cassettes do, through the real program. */
#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct loopback_answer streaming = {
    .bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
             "data: {\"id\":\"1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"
             "\"Hé\"}}]}\n\n"
             "data: {\"id\":\"1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":"
             "\"llo\"},\"finish_reason\":\"stop\"}]}\n\n"
             "data: [DONE]\n\n"};

/* What a test works with: files in one folder. */
static struct {
    const char *dir, *cassette, *one, *two;
} f;

static void begin(void)
{
    f.dir = testing_dir();
    f.cassette = path_of("%s/c.yaml", f.dir);
    f.one = path_of("%s/one.jsonl", f.dir);
    f.two = path_of("%s/two.jsonl", f.dir);
}

static bool holds(const char *text, const char *part)
{
    return text != NULL && strstr(text, part) != NULL;
}

/* `run` with --model m and these words, the last of which is the prompt. */
#define RUN(url, ...) ASSAY("run", "--base-url", (url), "--model", "m", __VA_ARGS__)

static void once(void)
{
    struct loopback *l = loopback_start(&loopback_fine, 1);
    const char *url = loopback_url(l);
    begin();
    CHECK_STATUS(RUN(url, "--record", f.cassette, "--mode", "once", "--trace", f.one, "Hello."), 0);
    const char *recorded = read_text(f.cassette, NULL);
    CHECK_STATUS(
        RUN(url, "--record", f.cassette, "--mode", "once", "--strict", "--trace", f.two, "Hello."),
        0);
    CU_ASSERT(same_bytes(f.one, f.two));
    const struct ran *r = RUN(url, "--record", f.cassette, "--mode", "once", "Other.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "messages[0].content: recorded \"Hello.\", sent \"Other.\"");
    CHECK_ERR(r, "to record it anew: assay run --mode all --base-url ");
    CHECK_TEXT(read_text(f.cassette, NULL), recorded);
    CU_ASSERT_EQUAL(loopback_stop(l), 1);
}

/* Records a session that is interrupted at its second request. */
static void record_half(void)
{
    const struct loopback_answer answers[] = {loopback_calling, loopback_hanging};
    struct loopback *l = loopback_start(answers, 2);
    const char *words[] = {"run",      "--base-url", loopback_url(l), "--model", "m",
                           "--record", f.cassette,   "Hello.",        NULL};
    struct program_running p;
    program_start(words, NULL, &p);
    loopback_wait_request(l);
    loopback_wait_request(l);
    kill(p.pid, SIGINT);
    CHECK_STATUS(program_wait(&p), 130);
    loopback_stop(l);
}

/* The recording is replayed as far as it goes, and the rest is added to it: whole, or with its last
 * interaction cut off. What it then is replays to the same log. */
static void new_episodes(void)
{
    static const size_t cuts[] = {0, 1, 40, 150};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        size_t n = 0;
        begin();
        record_half();
        const char *half = read_text(f.cassette, &n);
        write_bytes(f.dir, "c.yaml", half, n - cuts[i]);
        struct loopback *l = loopback_start(&loopback_fine, 1);
        const struct ran *r = RUN(loopback_url(l), "--record", f.cassette, "--mode", "new_episodes",
                                  "--trace", f.one, "Hello.");
        CHECK_STATUS(r, 0);
        CHECK_TEXT(r->out, "Fine.\n");
        CU_ASSERT(holds(r->err, "cut off in interaction 2") == (cuts[i] > 1));
        CHECK_STATUS(ASSAY("run", "--replay", f.cassette, "--strict", "--trace", f.two, "Hello."),
                     0);
        CU_ASSERT(same_bytes(f.one, f.two));
        CU_ASSERT(cuts[i] > 1 || strncmp(half, read_text(f.cassette, NULL), n - cuts[i]) == 0);
        CU_ASSERT_EQUAL(loopback_stop(l), 1);
    }
}

static void new_episodes_without_a_gap(void)
{
    struct loopback *l = loopback_start(&loopback_fine, 1);
    const char *url = loopback_url(l);
    begin();
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(RUN(url, "--record", f.cassette, "--mode", "new_episodes", "--trace",
                         i == 0 ? f.one : f.two, "Hello."),
                     0);
    }
    CU_ASSERT(same_bytes(f.one, f.two));
    CU_ASSERT_EQUAL(loopback_stop(l), 1);
}

static const char theirs[] =
    "interactions:\n"
    "- request:\n"
    "    body: '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"model\": \"m\"}'\n"
    "    headers: {}\n    method: POST\n    uri: https://api.openai.com/v1/chat/completions\n"
    "  response: {body: {string: 'x'}, headers: {}, status: {code: 200, message: OK}}\n"
    "version: 1\n";

static void nothing_is_added_to_others(void)
{
    begin();
    write_text(f.dir, "c.yaml", theirs);
    const struct ran *r =
        RUN("http://127.0.0.1:1/v1", "--record", f.cassette, "--mode", "new_episodes", "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "another program recorded it, so nothing can be added to it");
    CHECK_TEXT(read_text(f.cassette, NULL), theirs);
}

/* A slip in the path costs no file; recordings, also theirs and broken ones of ours, are replaced.
 */
static void all_overwrites_recordings_alone(void)
{
    static const char *const other[] = {"print('hello')\n", "name: x\n", "{}", "\xff\xfe", "- a\n"};
    static const char *const recordings[] = {
        "", "version: 1\nassay", theirs,
        "version: 1\nassay: {format: 1}\ninteractions:\n- request: {method: [\n"};
    struct loopback *l = loopback_start(&loopback_fine, 1);
    begin();
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        write_text(f.dir, "c.yaml", other[i]);
        const struct ran *r =
            RUN(loopback_url(l), "--record", f.cassette, "--mode", "all", "Hello.");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "c.yaml: is there and is no cassette, so it is not overwritten");
        CHECK_TEXT(read_text(f.cassette, NULL), other[i]);
    }
    CU_ASSERT_EQUAL(loopback_stop(l), 0);
    for (size_t i = 0; i < sizeof recordings / sizeof recordings[0]; i++) {
        l = loopback_start(&loopback_fine, 1);
        write_text(f.dir, "c.yaml", recordings[i]);
        CHECK_STATUS(RUN(loopback_url(l), "--record", f.cassette, "--mode", "all", "Hello."), 0);
        loopback_stop(l);
        CHECK_STATUS(ASSAY("run", "--replay", f.cassette, "Hello."), 0);
    }
}

/* What a replay takes from its recording stands in the command that records it anew, which would
 * otherwise ask another model elsewhere. Another program's recording is not overwritten. */
static void a_miss_names_the_whole_command(void)
{
    struct loopback *l = loopback_start(&streaming, 1);
    const char *url = loopback_url(l);
    begin();
    CHECK_STATUS(RUN(url, "--record", f.cassette, "--stream", "--temperature", "0.5",
                     "--max-tokens", "50", "Hello."),
                 0);
    const struct ran *r = ASSAY("run", "--replay", f.cassette, "It's other.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, path_of("  to record it anew: assay run --mode all --model m --stream "
                         "--temperature 0.5 --max-tokens 50 --base-url %s --record %s "
                         "'It'\\''s other.'",
                         url, f.cassette));
    r = ASSAY("run", "--replay", f.cassette, "--model", "n", "--base-url", "http://h/v1", "Hello.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, path_of("--mode all --stream --temperature 0.5 --max-tokens 50 --record %s "
                         "--model n --base-url http://h/v1 Hello.",
                         f.cassette));
    loopback_stop(l);
    write_text(f.dir, "c.yaml", theirs);
    r = ASSAY("run", "--replay", f.cassette, "Hello.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "not in ");
    CU_ASSERT_FALSE(holds(r->err, "to record it anew"));
}

static void wrong_combinations(void)
{
    static const struct {
        const char *words[8];
        const char *want;
    } cases[] = {
        {{"run", "x", "--record", "c", "--mode", "none"}, "--mode none records nothing"},
        {{"run", "x", "--replay", "c", "--mode", "all"}, "--replay never calls a model"},
        {{"run", "x", "--replay", "c", "--mode", "new_episodes"}, "goes with --record"},
        {{"run", "x", "--fake", "c", "--mode", "none"}, "--mode none goes with --replay"},
        {{"run", "x", "--record", "c", "--mode", "new"}, "once, new_episodes or all"},
        {{"run", "x", "--record", "c", "--mode", "all", "--strict"}, "--strict goes with"},
        {{"run", "x", "--record", "c", "--speed", "x2"}, "--speed goes with --replay"},
        {{"run", "x", "--replay", "c", "--speed", "2"}, "--speed wants real, or x"},
        {{"run", "x", "--replay", "c", "--speed", "x0"}, "--speed wants real, or x"},
        {{"run", "x", "--replay", "c", "--rechunk", "0"}, "--rechunk wants"},
        {{"run", "x", "--replay", "c", "--rechunk", "random5"}, "--rechunk wants"},
        {{"run", "x", "--replay", "c", "--rechunk", "randomly"}, "--rechunk wants"},
        {{"run", "x", "--replay", "c", "--max-age", "30"}, "--max-age wants days"},
        {{"run", "x", "--replay", "c", "--max-age", "0d"}, "--max-age wants days"},
        {{"run", "x", "--replay", "c", "--ignore", "a..b"}, "wrong at its character 3"},
        {{"run", "x", "--replay", "c", "--ignore", "$"}, "leaves nothing to compare"},
        {{"run", "x", "--replay", "c", "--ignore", "a[x]"}, "expected a number, * or a key"},
        {{"run", "x", "--replay", "c", "--normalise", "a=b"}, "expected PATH=REGEX=>TEXT"},
        {{"run", "x", "--replay", "c", "--normalise", "a=(=>T"}, "bad regular expression"},
        {{"eval", "s", "--fake", "--ignore", "a"}, "--ignore goes with --record or --replay"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = program_run(cases[i].words, NULL);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].want);
    }
}

static const char three_tasks[] = "version: 1\nname: three\ntasks:\n"
                                  "- {id: a, prompt: Hello., expect: {answer: Fine.}}\n"
                                  "- {id: b, prompt: Hi., expect: {answer: Fine.}}\n"
                                  "- {id: c, prompt: Hey., expect: {answer: Fine.}}\n";

/* A recording of a set that was broken off goes on: what is there is replayed. */
static void a_set_goes_on(void)
{
    static const char *const modes[] = {"once", "new_episodes"};
    for (size_t i = 0; i < 2; i++) {
        struct loopback *l = loopback_start(&loopback_fine, 1);
        const char *url = loopback_url(l);
        begin();
        const char *set = write_text(f.dir, "set.yaml", three_tasks);
        const char *to = path_of("%s/cassettes", f.dir), *out = path_of("%s/run", f.dir);
        CHECK_STATUS(ASSAY("eval", set, "--base-url", url, "--model", "m", "--record", to, "--task",
                           "b", "--out", out),
                     0);
        const struct ran *r = ASSAY("eval", set, "--base-url", url, "--model", "m", "--record", to,
                                    "--mode", modes[i], "--out", path_of("%s/run2", f.dir));
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, "3 passed");
        CHECK_ERR(r, "recorded 2 cassettes into ");
        CU_ASSERT(same_bytes(path_of("%s/run/traces/b.jsonl", f.dir),
                             path_of("%s/run2/traces/b.jsonl", f.dir)));
        CU_ASSERT(read_text(path_of("%s/b.failed.yaml", to), NULL) == NULL);
        CHECK_STATUS(
            ASSAY("eval", set, "--replay", to, "--strict", "--out", path_of("%s/run3", f.dir)), 0);
        CU_ASSERT_EQUAL(loopback_stop(l), 3);
    }
}

/* Rules stay with the recording, and say what no longer counts; nothing else is left out. */
static void rules(void)
{
    struct loopback *l = loopback_start(&loopback_fine, 1);
    begin();
    CHECK_STATUS(RUN(loopback_url(l), "--record", f.cassette, "--normalise",
                     "messages[*].content=[0-9]{2}:[0-9]{2}=>TIME", "--ignore", "tools",
                     "At 10:15."),
                 0);
    CHECK_STATUS(ASSAY("run", "--replay", f.cassette, "--strict", "--tools", "now", "At 23:59."),
                 0);
    const struct ran *r = ASSAY("run", "--replay", f.cassette, "Near 23:59.");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "messages[0].content: recorded \"At TIME.\", sent \"Near TIME.\"\n");
    r = RUN(loopback_url(l), "--record", f.cassette, "--mode", "new_episodes", "--ignore", "model",
            "At 10:15.");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "its head has other rules than --ignore and --normalise");
    CU_ASSERT_EQUAL(loopback_stop(l), 1);
}

static void relaxed(void)
{
    struct loopback *l = loopback_start(&loopback_fine, 1);
    begin();
    CHECK_STATUS(RUN(loopback_url(l), "--record", f.cassette, "Hello."), 0);
    loopback_stop(l);
    const struct ran *r =
        ASSAY("run", "--replay", f.cassette, "--match", "relaxed", "--temperature", "0", "Hi.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Fine.\n");
    CHECK_ERR(r, "1 request differed from the recording:\n  interaction 1: messages[0].content: "
                 "recorded \"Hello.\", sent \"Hi.\", and 1 more\n");
    r = ASSAY("run", "--replay", f.cassette, "--match", "relaxed", "--strict", "Hi.");
    CHECK_STATUS(r, 3);
    CHECK_STATUS(ASSAY("run", "--replay", f.cassette, "--match", "relaxed", "--strict", "Hello."),
                 0);
}

static void age(void)
{
    struct loopback *l = loopback_start(&loopback_fine, 1);
    size_t n = 0;
    begin();
    CHECK_STATUS(RUN(loopback_url(l), "--record", f.cassette, "Hello."), 0);
    loopback_stop(l);
    const struct ran *r =
        ASSAY("run", "--replay", f.cassette, "--max-age", "1h", "--strict", "Hello.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->err, "");
    char *text = strdup(read_text(f.cassette, &n));
    char *at = strstr(text, "started_at: \"");
    CU_ASSERT_FATAL(at != NULL);
    memcpy(at + strlen("started_at: \""), "2020", 4);
    write_bytes(f.dir, "c.yaml", text, n);
    free(text);
    r = ASSAY("run", "--replay", f.cassette, "--max-age", "30d", "Hello.");
    CHECK_STATUS(r, 0);
    CHECK_ERR(r,
              " days ago, and --max-age allows 30 days; to record it anew: assay run --mode all");
    r = ASSAY("run", "--replay", f.cassette, "--max-age", "12h", "--strict", "Hello.");
    CHECK_STATUS(r, 3);
    CHECK_ONE_LINE(r);
}

/* However a stream is cut, and however fast it comes, the log is the same. */
static void speed_and_pieces(void)
{
    static const char *const flags[][2] = {{"--rechunk", "1"},         {"--rechunk", "7"},
                                           {"--rechunk", "random"},    {"--rechunk", "random:99"},
                                           {"--rechunk", "100000000"}, {"--speed", "x1000"},
                                           {"--speed", "real"}};
    struct loopback *l = loopback_start(&streaming, 1);
    begin();
    CHECK_STATUS(
        RUN(loopback_url(l), "--record", f.cassette, "--stream", "--trace", f.one, "Hello."), 0);
    loopback_stop(l);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        const struct ran *r = ASSAY("run", "--replay", f.cassette, "--strict", "--trace", f.two,
                                    flags[i][0], flags[i][1], "--stream", "Hello.");
        CHECK_STATUS(r, 0);
        CHECK_TEXT(r->out, "Héllo\n");
        CU_ASSERT(same_bytes(f.one, f.two));
    }
}

TESTS(modes, {"mode_once_replays_what_is_there", once},
      {"mode_new_episodes_adds_what_is_missing", new_episodes},
      {"mode_new_episodes_without_a_gap_is_a_replay", new_episodes_without_a_gap},
      {"mode_new_episodes_leaves_others_recordings_alone", nothing_is_added_to_others},
      {"mode_all_overwrites_recordings_alone", all_overwrites_recordings_alone},
      {"a_miss_names_the_whole_command", a_miss_names_the_whole_command},
      {"mode_that_does_not_fit_is_told", wrong_combinations},
      {"mode_once_and_new_episodes_go_on_with_a_set", a_set_goes_on},
      {"rules_are_kept_with_the_recording", rules}, {"relaxed_takes_the_nearest", relaxed},
      {"max_age_warns_and_fails_when_strict", age},
      {"speed_and_rechunk_leave_the_log_as_it_is", speed_and_pieces})
