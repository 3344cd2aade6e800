#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/program.h"

#include <string.h>
#include <sys/stat.h>

#define KEY "sk-live-0123456789abcdefghij"

static const struct loopback_answer good = {
    .bytes =
        LOOPBACK_JSON "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Fine.\"},"
                      "\"finish_reason\":\"stop\"}]}"};
static const struct loopback_answer silent = {.bytes = NULL, .end = LOOPBACK_HANG};
static const struct loopback_answer unknown_key = {
    .bytes = "HTTP/1.1 401 Unauthorized\r\nx-request-id: req_7\r\nConnection: close\r\n\r\n"
             "{\"error\":{\"message\":\"no such key\"}}"};
static const struct loopback_answer busy = {
    .bytes = "HTTP/1.1 429 Too Many Requests\r\nretry-after-ms: 5\r\nConnection: close\r\n\r\n"
             "{\"error\":{\"message\":\"slow down\"}}"};

/* What the limit on open files does not let be is told. */
static void few_files(void)
{
    const char *set = write_text(testing_dir(), "set.yaml",
                                 "version: 1\nname: many\ntasks:\n- {id: a, prompt: A}\n");
    const struct program_options with = {.program = "/bin/sh"};
    const char *assay = path_of("%s/assay", BUILD_DIR);
    const struct ran *r =
        ASSAY_WITH(&with, "-c",
                   path_of("ulimit -n 300; exec '%s' run --base-url http://127.0.0.1:9 --model m "
                           "--max-in-flight 5000 Hi.",
                           assay));
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "ulimit -n");
    CHECK_ERR(r, "lets 236 connections");
    r = ASSAY_WITH(
        &with, "-c",
        path_of("ulimit -n 300; exec '%s' eval '%s' --base-url http://127.0.0.1:9 --model m "
                "--trials 70 --jobs 70 --verbose --out '%s/run'",
                assay, set, testing_dir()));
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "51 sessions in flight, not 70: the limit on open files is 300 (ulimit -n)");
}

/* Each is refused in one line, which never shows a value. */
static void mistakes(void)
{
    static const struct {
        const char *flag, *value;
        const char *part;
    } cases[] = {
        {"--timeout", "connect", "connect wants seconds"},
        {"--timeout", "connect=-1", "connect wants seconds"},
        {"--timeout", "total=1e3", "total wants seconds"},
        {"--timeout", "idle=86401", "idle wants seconds from 0 (none) to 86400"},
        {"--timeout", "idle=1,idle=2", "idle is given twice"},
        {"--timeout", "read=3", "connect, first-byte, idle and total"},
        {"--timeout", "", "connect, first-byte, idle and total"},
        {"--header", "Authorization: Bearer " KEY, "--key-file"},
        {"--header", "API-Key: " KEY, "--key-file"},
        {"--header", "x-api-key:" KEY, "--key-file"},
        {"--header", "Cookie: a=" KEY, "--key-file"},
        {"--header", "Content-Length: 3", "set by assay itself"},
        {"--header", KEY, "'Name: value'"},
        {"--header", "X Y: " KEY, "'Name: value'"},
        {"--header", ": " KEY, "'Name: value'"},
        {"--header", "X-A: ", "the value is missing"},
        {"--header", "X-A: a\r\nX-B: " KEY, "a control character"},
        {"--rpm", "0", "--rpm wants a whole number"},
        {"--tpm", "many", "--tpm wants a whole number"},
        {"--max-in-flight", "0", "--max-in-flight wants a whole number"},
        {"--ca", "nowhere.pem", "there is no such file"},
        {"--key-file", "nowhere.key", "there is no such file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("run", "--base-url", "http://127.0.0.1:9/v1", "--model", "m",
                                    cases[i].flag, cases[i].value, "Hi.");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
        CU_ASSERT(strstr(r->err, KEY) == NULL);
    }
}

static void key_files(void)
{
    struct loopback *l = loopback_start(&unknown_key, 1);
    const char *dir = testing_dir();
    const char *key = write_text(dir, "key.txt", KEY "\n");
    const char *empty = write_text(dir, "empty.txt", " \n");
    const char *odd = write_text(dir, "odd.txt", "one\ntwo\n");
    const char *url = loopback_url(l);
    const int open_modes[] = {0644, 0640, 0604, 0660};
    CU_ASSERT_EQUAL(chmod(empty, 0600) + chmod(odd, 0400), 0);
    for (size_t i = 0; i < sizeof open_modes / sizeof open_modes[0]; i++) {
        CU_ASSERT_EQUAL(chmod(key, (mode_t)open_modes[i]), 0);
        const struct ran *r =
            ASSAY("run", "--base-url", url, "--model", "m", "--key-file", key, "Hi.");
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, "chmod 600");
        CU_ASSERT(strstr(r->err, KEY) == NULL);
    }
    CU_ASSERT_EQUAL(chmod(key, 0600), 0);
    const struct ran *r = ASSAY("run", "--base-url", url, "--model", "m", "--key-file", key, "Hi.");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "no such key");
    CHECK_ERR(r, path_of("It is from %s; x-request-id req_7", key));
    CU_ASSERT(strstr(r->err, KEY) == NULL);
    r = ASSAY("run", "--base-url", url, "--model", "m", "--key-file", empty, "Hi.");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "is empty");
    r = ASSAY("run", "--base-url", url, "--model", "m", "--key-file", odd, "Hi.");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "one line");
    r = ASSAY("run", "--base-url", url, "--model", "m", "--key-file", dir, "Hi.");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "is a folder");
    CU_ASSERT_EQUAL(loopback_stop(l), 1);
}

/* The variable that a provider's key is in is named where it is missing. */
static void key_variables(void)
{
    static const struct {
        const char *provider, *part;
    } cases[] = {{"openai", "OPENAI_API_KEY is not set"},
                 {"responses", "OPENAI_API_KEY is not set"},
                 {"anthropic", "ANTHROPIC_API_KEY is not set"}};
    struct loopback *l = loopback_start(&unknown_key, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY("run", "--base-url", loopback_url(l), "--model", "m",
                                    "--provider", cases[i].provider, "Hi.");
        CHECK_STATUS(r, 4);
        CHECK_ERR(r, cases[i].part);
    }
    loopback_stop(l);
}

static void deadlines(void)
{
    struct loopback *l = loopback_start(&silent, 1);
    const struct ran *r = ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--attempts",
                                "1", "--timeout", "first-byte=0.05", "Hi.");
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "first-byte=0.05 s passed");
    r = ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--attempts", "1", "--timeout",
              "first-byte=0,total=0.05", "Hi.");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "total=0.05 s passed");
    loopback_stop(l);
}

static void limits(void)
{
    const struct loopback_answer answers[] = {busy, good};
    struct loopback *l = loopback_start(answers, 2);
    const struct ran *r = ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "--verbose",
                                "--rpm", "100", "--tpm", "100000", "--max-in-flight", "4", "Hi.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Fine.\n");
    CHECK_ERR(r, "assay: HTTP 429: at most 1 at once from now on");
    loopback_stop(l);
    l = loopback_start(answers, 2);
    r = ASSAY("run", "--base-url", loopback_url(l), "--model", "m", "Hi.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->err, "");
    loopback_stop(l);
}

/* A name that cannot be one (RFC 1035: 63 letters at most), so that no name server is asked. */
#define NOWHERE "nowhere-nowhere-nowhere-nowhere-nowhere-nowhere-nowhere-nowhere-nowhere.invalid"

static void proxies(void)
{
    struct loopback *l = loopback_start(&good, 1);
    const char *dir = testing_dir();
    const char *url = loopback_url(l);
    const char *lower[] = {path_of("http_proxy=%.*s", (int)strlen(url) - 3, url), NULL};
    const char *upper[] = {path_of("HTTP_PROXY=%.*s", (int)strlen(url) - 3, url), NULL};
    const char *none[] = {upper[0], "NO_PROXY=" NOWHERE, NULL};
    const struct program_options with[] = {{.more = lower}, {.more = upper}, {.more = none}};
    for (size_t i = 0; i < 3; i++) {
        const struct ran *r =
            ASSAY_WITH(&with[i], "run", "--base-url", "http://" NOWHERE "/v1", "--model", "m",
                       "--attempts", "1", "--header", "X-Title: t", "Hi.");
        CHECK_STATUS(r, i == 2 ? 4 : 0);
        if (i == 2) {
            CHECK_ERR(r, "name");
        }
    }
    const char *set = write_text(dir, "set.yaml",
                                 "version: 1\nname: one\ntasks:\n"
                                 "- {id: a, prompt: A, expect: {answer: Fine.}}\n");
    const struct ran *r = ASSAY_WITH(&with[0], "eval", set, "--base-url",
                                     "http://" NOWHERE "/{task}/v1", "--model", "m");
    CHECK_STATUS(r, 0);
    CU_ASSERT_EQUAL(loopback_stop(l), 3);
}

TESTS(live, {"live_mistakes_are_told_and_no_value_is_shown", mistakes},
      {"live_key_files_are_closed_to_others", key_files},
      {"live_keys_come_from_their_providers_variable", key_variables},
      {"live_deadlines_are_named_when_they_pass", deadlines},
      {"live_sessions_are_as_many_as_files_may_be_open", few_files},
      {"live_limits_are_heeded_and_told_when_asked", limits},
      {"live_proxies_are_those_of_the_environment", proxies})
