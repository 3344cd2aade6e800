/* The same run in each wire format: by a script, recorded from an endpoint, replayed. */
#include "ci/testing/testing.h"
#include "cli/tests/loopback.h"
#include "cli/tests/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "odd.key-of-mine"

static const char *const providers[] = {"openai", "responses", "anthropic"};

/* A log without the words that are a provider's own: its name, how it says that a reply ended, and
 * the log's sum. In memory that the caller frees. */
static char *without_own_words(const char *log)
{
    static const char *const keys[] = {"\"provider\":\"", "\"stop_raw\":\"", "\"sum\":\""};
    CU_ASSERT_PTR_NOT_NULL_FATAL(log);
    char *out = malloc(strlen(log) + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    size_t n = 0;
    while (*log != '\0') {
        size_t skip = 0;
        for (size_t i = 0; i < 3; i++) {
            size_t size = strlen(keys[i]);
            if (strncmp(log, keys[i], size) == 0) {
                skip = size + strcspn(log + size, "\"");
            }
        }
        log += skip;
        if (skip == 0) {
            out[n++] = *log++;
        }
    }
    out[n] = '\0';
    return out;
}

static void scripts_play_the_same(void)
{
    char *first = NULL;
    for (size_t i = 0; i < 3; i++) {
        for (int stream = 0; stream < 2; stream++) {
            const char *log = path_of("%s/%s.jsonl", testing_dir(), providers[i]);
            const struct ran *r = ASSAY(
                "run", "--fake", SOURCE_DIR "/goldens/quickstart/margin-drop.script.yaml",
                "--tools", SOURCE_DIR "/goldens/quickstart/tools.yaml", "--provider", providers[i],
                "--trace", log, "By how much did the margin fall?", stream ? "--stream" : NULL);
            CHECK_STATUS(r, 0);
            CHECK_OUT(r, "4.2 percentage points");
            CHECK_STATUS(ASSAY("trace", "verify", "--tools",
                               SOURCE_DIR "/goldens/quickstart/tools.yaml", log),
                         0);
            if (!stream) { /* a stream has as many events as its provider sends, and so its time */
                char *words = without_own_words(read_text(log, NULL));
                if (first != NULL) {
                    CHECK_TEXT(words, first);
                    free(words);
                } else {
                    first = words;
                }
            }
        }
    }
    free(first);
}

/* What an endpoint answers twice, and what of it must come back in the second request. */
struct endpoint_case {
    const char *provider;
    const char *env;
    struct loopback_answer answers[2];
    const char *path;
    const char *sent_back;
};

#define MESSAGE(content, stop)                                                                     \
    LOOPBACK_JSON "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\"," \
                  "\"content\":[" content "],\"stop_reason\":\"" stop "\",\"stop_sequence\":null," \
                  "\"usage\":{\"input_tokens\":5,\"output_tokens\":7}}"
#define RESPONSE(output)                                                                           \
    LOOPBACK_JSON                                                                                  \
    "{\"id\":\"resp_1\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\","         \
    "\"output\":[" output "],\"usage\":{\"input_tokens\":5,\"output_tokens\":7}}"

static const struct endpoint_case endpoint_cases[] = {
    {"anthropic",
     "ANTHROPIC_API_KEY=" KEY,
     {{.bytes = MESSAGE("{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"EqQ+/w==\"},"
                        "{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"calculator\","
                        "\"input\":{\"expression\":\"1+1\"}}",
                        "tool_use")},
      {.bytes = MESSAGE("{\"type\":\"text\",\"text\":\"Two.\"}", "end_turn")}},
     "/v1/messages",
     "\"signature\": \"EqQ+/w==\""},
    /* a turn that the provider's own tool takes long in: the history is sent again with it */
    {"anthropic",
     "ANTHROPIC_API_KEY=" KEY,
     {{.bytes = MESSAGE("{\"type\":\"text\",\"text\":\"Let me search.\"},"
                        "{\"type\":\"server_tool_use\",\"id\":\"srvtoolu_1\",\"name\":"
                        "\"web_search\",\"input\":{\"query\":\"1+1\"}}",
                        "pause_turn")},
      {.bytes = MESSAGE("{\"type\":\"text\",\"text\":\"Two.\"}", "end_turn")}},
     "/v1/messages",
     "\"input\": {\"query\": \"1+1\"}"},
    {"responses",
     "OPENAI_API_KEY=" KEY,
     {{.bytes = RESPONSE("{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],"
                         "\"encrypted_content\":\"gAAA+/w==\"},{\"id\":\"fc_1\",\"type\":"
                         "\"function_call\",\"call_id\":\"c1\",\"name\":\"calculator\","
                         "\"arguments\":\"{\\\"expression\\\":\\\"1+1\\\"}\"}")},
      {.bytes = RESPONSE("{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\","
                         "\"content\":[{\"type\":\"output_text\",\"text\":\"Two.\"}]}")}},
     "/v1/responses",
     "\"encrypted_content\": \"gAAA+/w==\""},
};

static void recordings_replay(void)
{
    for (size_t i = 0; i < sizeof endpoint_cases / sizeof endpoint_cases[0]; i++) {
        const struct endpoint_case *c = &endpoint_cases[i];
        const struct program_options with = {.more = (const char *const[]){c->env, NULL}};
        struct loopback *l = loopback_start(c->answers, 2);
        const char *dir = testing_dir();
        const char *cassette = path_of("%s/c.yaml", dir), *live = path_of("%s/live.jsonl", dir),
                   *again = path_of("%s/again.jsonl", dir);
        const struct ran *r =
            ASSAY_WITH(&with, "run", "--provider", c->provider, "--base-url", loopback_url(l),
                       "--model", "m", "--record", cassette, "--trace", live, "1+1?");
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, "Two.");
        CU_ASSERT_EQUAL(loopback_stop(l), 2);
        const char *text = read_text(cassette, NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, c->path));
        const char *sent = strstr(text, c->sent_back); /* a request is stored spaced, a reply not */
        CU_ASSERT_PTR_NOT_NULL(sent);
        CU_ASSERT_PTR_NULL(strstr(text, KEY));
        /* the recording names its format */
        CHECK_STATUS(ASSAY("run", "--replay", cassette, "--trace", again, "--strict", "1+1?"), 0);
        CU_ASSERT(same_bytes(live, again));
        r = ASSAY("run", "--replay", cassette, "--provider", "openai", "1+1?");
        CHECK_STATUS(r, 3);
        CHECK_STATUS(ASSAY("cassette", "check", cassette), 0);
    }
}

static void unknown_providers_are_refused(void)
{
    const struct ran *r = ASSAY("run", "--provider", "gemini", "--model", "m", "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--provider gemini: no such wire format; expected openai, responses or anthropic");
}

static void a_missing_key_is_named(void)
{
    static const struct loopback_answer refusing = {
        .bytes = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: "
                 "close\r\n\r\n{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\","
                 "\"message\":\"x-api-key header is required\"},\"request_id\":\"req_1\"}"};
    struct loopback *l = loopback_start(&refusing, 1);
    const struct ran *r = ASSAY("run", "--provider", "anthropic", "--base-url", loopback_url(l),
                                "--model", "m", "Hello.");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "ANTHROPIC_API_KEY is not set");
    loopback_stop(l);
}

TESTS(providers, {"a_script_plays_the_same_in_every_format", scripts_play_the_same},
      {"a_recording_of_every_format_replays", recordings_replay},
      {"run_refuses_unknown_providers", unknown_providers_are_refused},
      {"run_names_the_key_that_is_missing", a_missing_key_is_named})
