/* What the program says: help whose examples work, slips of words, and the shape of messages. */
#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/program.h"

#include <string.h>
#include <unistd.h>

#define JSON_HEAD "Content-Type: application/json\r\nConnection: close\r\n\r\n"
#define GOOD_BODY                                                                                  \
    "{\"id\":\"1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{"    \
    "\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Fine.\"},\"finish_reason\":"    \
    "\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}"

static const struct loopback_answer good = {.bytes = "HTTP/1.1 200 OK\r\n" JSON_HEAD GOOD_BODY};
static const struct loopback_answer no_key = {.bytes = "HTTP/1.1 401 Unauthorized\r\n" JSON_HEAD
                                                       "{\"error\":{\"message\":\"bad key\"}}"};

/* ---- examples ---- */

/* The next example of a help text, as one command; *text moves behind it. NULL: no more. */
static const char *next_example(const char **text)
{
    const char *at = strstr(*text, "\n  assay ");
    if (at == NULL) {
        return NULL;
    }
    const char *end = at + 1;
    do {
        end = strchr(end, '\n') + 1;
    } while (end[-2] == '\\'); /* goes on in the next line */
    const char *command =
        path_of("'%s/assay'%.*s", BUILD_DIR, (int)(end - at - 9), at + strlen("\n  assay"));
    *text = end - 1;
    return command;
}

/* In the order in which they stand, as somebody who tries them one by one from the checkout. */
static void examples(void)
{
    static const char *const pages[] = {NULL,     "run",      "resume", "fork", "eval",
                                        "golden", "cassette", "fake",   "trace"};
    const char *dir = testing_dir();
    struct loopback *l = loopback_start(&good, 1);
    struct program_options o = {
        .program = "/bin/sh",
        .dir = dir,
        .more = (const char *const[]){path_of("OPENAI_BASE_URL=%s", loopback_url(l)), NULL}};
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(symlink(SOURCE_DIR "/goldens", path_of("%s/goldens", dir)), 0);
    CU_ASSERT_EQUAL_FATAL(symlink(SOURCE_DIR "/cassettes", path_of("%s/cassettes", dir)), 0);
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        const char *text = pages[i] == NULL ? ASSAY("--help")->out : ASSAY(pages[i], "--help")->out;
        for (const char *command; (command = next_example(&text)) != NULL; n++) {
            CHECK_STATUS(ASSAY_WITH(&o, "-c", command), 0);
        }
    }
    CU_ASSERT(n >= 11);
    CU_ASSERT_EQUAL(loopback_stop(l), 1); /* the one that records */
}

static void other_ways(void)
{
    CHECK_TEXT(ASSAY("help", "run")->out, ASSAY("run", "--help")->out);
    CHECK_TEXT(ASSAY("version")->out, ASSAY("--version")->out);
    CHECK_STATUS(ASSAY("golden", "--json", "check", SOURCE_DIR "/goldens/quickstart.yaml"), 0);
}

/* ---- slips ---- */

static void slips(void)
{
    static const struct {
        const char *words[9];
        const char *parts[2];
    } cases[] = {
        {{"--versoin"}, {"did you mean \"--version\"?"}},
        {{"--hlep"}, {"did you mean \"--help\"?"}},
        {{"--zzzzzz"}, {"assay --help"}},
        {{"verison"}, {"did you mean \"version\"?"}},
        {{"help", "rnu"}, {"did you mean \"run\"?"}},
        {{"cassette", "sho", "f"}, {"show, check", "did you mean \"show\"?"}},
        {{"cassette", "chekc", "f"}, {"show, check", "did you mean \"check\"?"}},
        {{"trace", "shw", "f"}, {"did you mean \"show\"?"}},
        {{"golden", "chek", "f"}, {"did you mean \"check\"?"}},
        {{"fake", "xyzzy", "f"}, {"check"}},
        {{"check", "f"}, {"golden check, fake check"}},
        {{"promote", "f"}, {"assay golden promote"}},
        {{"run", "x", "--fake", "s", "--strict"}, {"--replay"}},
        {{"run", "x", "--match", "order"}, {"--replay"}},
        {{"run", "x", "--record", "c", "--match", "body"}, {"--replay"}},
        {{"eval", "s", "--fake", "--strict"}, {"--replay"}},
        {{"eval", "s", "--record", "c", "--match", "order"}, {"--replay"}},
        {{"eval", "s", "--temperature", "warm"}, {"--temperature wants a number"}},
        {{"eval", "s", "--max-tokens", "0"}, {"--max-tokens wants a whole number"}},
        {{"run", "x", "--fake", "s", "--tools", "now,,now"}, {"between two tools"}},
        {{"run", "x", "--fake", "s", "--tools", "now, "}, {"between two tools"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = program_run(cases[i].words, NULL);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].parts[0]);
        if (cases[i].parts[1] != NULL) {
            CHECK_ERR(r, cases[i].parts[1]);
        }
    }
}

static void folders(void)
{
    const char *dir = testing_dir();
    const char *script =
        write_text(dir, "s.yaml", "version: 1\nsteps:\n- reply: {text: It is 4.}\n");
    const char *const cases[][8] = {
        {"run", "x", "--fake", dir},
        {"run", "x", "--fake", script, "--tools", dir},
        {"run", "x", "--fake", script, "--trace", dir},
        {"run", "x", "--replay", dir},
        {"run", "x", "--model", "m", "--record", dir},
        {"run", "x", "--model", "m", "--record", dir, "--mode=all"},
        {"eval", dir, "--fake"},
        {"trace", "show", dir},
        {"cassette", "show", dir},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = program_run(cases[i], NULL);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "is a folder");
    }
}

/* ---- runs ---- */

static void tools(void)
{
    const char *script = write_text(
        testing_dir(), "s.yaml",
        "version: 1\nsteps:\n- {expect: {tools: [calculator, now]}, reply: {text: x}}\n");
    CHECK_STATUS(ASSAY("run", "--fake", script, "--tools", " calculator, now ", "p"), 0);
}

static void log_once(void)
{
    const char *script =
        write_text(testing_dir(), "s.yaml", "version: 1\nsteps:\n- reply: {text: Yes.}\n");
    const struct ran *log = ASSAY("run", "--fake", script, "--trace", "-", "p");
    const struct ran *both = ASSAY("run", "--fake", script, "--trace", "-", "--json", "p");
    CHECK_STATUS(both, 0);
    CHECK_TEXT(both->out, log->out);
}

/* A key that nobody gave is what to look at first. */
static void key(void)
{
    struct loopback *l = loopback_start(&no_key, 1);
    struct program_options with = {.more = (const char *const[]){"OPENAI_API_KEY=abc", NULL}};
    const struct ran *r = ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "p");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "HTTP 401: bad key");
    CHECK_ERR(r, "OPENAI_API_KEY is not set");
    r = ASSAY_WITH(&with, "run", "--base-url", loopback_url(l), "--model", "m", "p");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "HTTP 401: bad key");
    CU_ASSERT(strstr(r->err, "is not set") == NULL);
    loopback_stop(l);
}

/* Further lines of a message are indented, and no blank line ends it. */
static void check_shape(const struct ran *r)
{
    CU_ASSERT(strncmp(r->err, "assay: ", 7) == 0);
    for (const char *at = strchr(r->err, '\n'); at != NULL; at = strchr(at + 1, '\n')) {
        bool shaped =
            at[1] == '\0' || strncmp(at + 1, "assay: ", 7) == 0 || (at[1] == ' ' && at[2] == ' ');
        if (!shaped) {
            FAIL("a line that is not indented:\n%s", r->err);
        }
    }
}

static void shapes(void)
{
    struct loopback *l = loopback_start(&good, 1);
    const char *cassette = path_of("%s/c.yaml", testing_dir());
    CHECK_STATUS(ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--record", cassette,
                       "How are you?"),
                 0);
    loopback_stop(l);
    const struct ran *r = ASSAY("run", "--replay", cassette, "Where are you?");
    CHECK_STATUS(r, 3);
    check_shape(r);
    r = ASSAY("run", "--replay", cassette, "--match", "order", "Where are you?");
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "assay: 1 request differed from the recording:\n  interaction 1: ");
    check_shape(r);
    r = ASSAY("run", "--replay", cassette, "--match", "order", "--strict", "Where are you?");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "assay: 1 request differed from the recording, and --strict makes that an error:");
    check_shape(r);
}

static void traces(void)
{
    const char *dir = testing_dir();
    const char *script = write_text(dir, "s.yaml", "version: 1\nsteps:\n- reply: {text: Yes.}\n");
    const char *a = path_of("%s/a.jsonl", dir), *b = path_of("%s/b.jsonl", dir);
    CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", a, "p"), 0);
    CHECK_STATUS(ASSAY("run", "--fake", script, "--trace", b, "p"), 0);
    const struct ran *one = ASSAY("trace", "show", a);
    CU_ASSERT(strstr(one->out, "==>") == NULL);
    CHECK_OUT(one, "answer: the reply above");
    const struct ran *two = ASSAY("trace", "show", a, b);
    CHECK_STATUS(two, 0);
    CHECK_TEXT(two->out, path_of("==> %s <==\n%s\n==> %s <==\n%s", a, one->out, b,
                                 ASSAY("trace", "show", b)->out));
}

/* ---- recording a set ---- */

static const char two_tasks[] = "version: 1\nname: two\ntasks:\n"
                                "- {id: a, prompt: A, expect: {answer: Fine.}}\n"
                                "- {id: b, prompt: B, expect: {answer: Fine.}}\n";

static const struct ran *record(const struct loopback *l, const char *dir, const char *more,
                                const char *value)
{
    const char *set = write_text(dir, "set.yaml", two_tasks);
    const char *url = l == NULL ? loopback_refusing() : loopback_url(l);
    struct program_options o = {.dir = dir};
    return ASSAY_WITH(&o, "eval", set, "--base-url", url, "--model", "m", "--jobs", "1", "--record",
                      "c", "--json", more, value);
}

/* What failed is set aside, what is missing is recorded alone, what is there stays. */
static void recording(void)
{
    const struct loopback_answer answers[] = {good, no_key};
    struct loopback *l = loopback_start(answers, 2);
    const char *dir = testing_dir();
    const char *a = path_of("%s/c/a.yaml", dir), *b = path_of("%s/c/b.yaml", dir);
    const char *failed = path_of("%s/c/b.failed.yaml", dir);
    const struct ran *r = record(l, dir, NULL, NULL);
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "recorded 1 cassette into c");
    CHECK_OUT(r, "c/b.failed.yaml");
    CHECK_OUT(r, "HTTP 401: bad key (is the API key right? OPENAI_API_KEY is not set)");
    CHECK_OUT(r, "\"scored\":1,");
    CHECK_OUT(r, ",\"run\":\"runs/two\"}\n");
    loopback_stop(l);
    CU_ASSERT(access(a, R_OK) == 0 && access(b, F_OK) != 0 && access(failed, R_OK) == 0);
    const char *before = read_text(a, NULL);

    l = loopback_start(&good, 1);
    r = record(l, dir, NULL, NULL);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--task");
    r = record(l, dir, "--task", "b");
    CHECK_STATUS(r, 0);
    CU_ASSERT_EQUAL(loopback_stop(l), 1);
    CU_ASSERT(access(b, R_OK) == 0 && access(failed, F_OK) != 0);
    CHECK_STATUS(ASSAY("cassette", "check", a, b), 0);

    r = record(NULL, dir, "--mode", "all"); /* nobody answers: the good recordings stay */
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "recorded 0 cassettes into c");
    CHECK_TEXT(read_text(a, NULL), before);
}

static void failed_task(void)
{
    const char *dir = testing_dir();
    write_text(dir, "s.yaml", "version: 1\nsteps:\n- reply: {text: It is 5.}\n");
    const char *set = write_text(dir, "set.yaml",
                                 "version: 1\nname: failing\ntasks:\n- id: sum\n  prompt: 2+2?\n"
                                 "  fake: s.yaml\n  expect: {answer: {number: {value: 4}}}\n"
                                 "- {id: untold, prompt: x, fake: s.yaml}\n");
    const struct ran *r = ASSAY("eval", set, "--fake", "--out", path_of("%s/run", dir));
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, path_of("\nfail sum (%s:4)\n", set));
    CHECK_OUT(r, "\n2 steps, 0 calls, ");
    CHECK_OUT(r, "cost unpriced");
    CU_ASSERT(strstr(r->out, "tokens  cost") == NULL);
    r = ASSAY("eval", set, "--fake", "--task", "untold", "--out", path_of("%s/one", dir));
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "\n1 step, 0 calls, ");
    r = ASSAY("eval", set, "--fake", "--task", "sun", "--out", path_of("%s/two", dir));
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "did you mean sum?");
}

TESTS(words, {"every_example_of_every_help_works", examples},
      {"help_and_version_are_verbs_too", other_ways},
      {"slips_of_words_are_told_what_was_meant", slips},
      {"folders_in_place_of_files_are_bad_input", folders},
      {"tools_may_be_named_with_blanks", tools}, {"log_on_stdout_stands_there_once", log_once},
      {"a_refused_run_without_a_key_says_so", key},
      {"messages_of_several_lines_are_indented", shapes},
      {"several_traces_are_shown_under_their_names", traces},
      {"failed_recordings_are_set_aside", recording},
      {"failed_tasks_are_named_with_their_place", failed_task})
