#include "ci/testing/testing.h"
#include "cli/tests/program.h"

/* A recording of one model call, which asks for a tool and holds no answer of it. */
#define CASSETTE(name, arguments)                                                                  \
    "version: 1\n"                                                                                 \
    "assay: {format: 1, encoder: 1, run: 624ba6db152b, seed: 1, "                                  \
    "started_at: \"2026-11-29T20:26:22.309Z\"}\n"                                                  \
    "interactions:\n"                                                                              \
    "- request:\n"                                                                                 \
    "    method: POST\n"                                                                           \
    "    uri: http://127.0.0.1:1/v1/chat/completions\n"                                            \
    "    headers: {Content-Type: [application/json]}\n"                                            \
    "    body: '{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"go\"}]}'\n"        \
    "  response:\n"                                                                                \
    "    status: {code: 200, message: OK}\n"                                                       \
    "    headers: {Content-Type: [application/json]}\n"                                            \
    "    body: {string: '{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","          \
    "\"content\":null,\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{"         \
    "\"name\":\"" name "\",\"arguments\":\"" arguments                                             \
    "\"}}]},\"finish_reason\":\"tool_calls\"}]}'}\n"                                               \
    "    assay: {at_ms: 0, took_ms: 3, ended: clean}\n"

static const char tools_text[] =
    "version: 1\ntools:\n"
    "- {builtin: read_file, root: .}\n"
    "- {builtin: write_file, root: .}\n"
    "- {builtin: list_files, root: no-such-folder}\n"
    "- name: order\n"
    "  http: {url: \"http://127.0.0.1:1/\", headers: {A: \"${ASSAY_NO_SUCH_VARIABLE}\"}}\n";

/* Nor does a replay mind that the folder and the variable are missing. */
static void replay_does_not_touch_the_world(void)
{
    static const struct {
        const char *cassette;
        const char *missed;
    } cases[] = {
        {CASSETTE("write_file", "{\\\"path\\\":\\\"new\\\",\\\"content\\\":\\\"x\\\"}"),
         "CALL tool:write_file"},
        {CASSETTE("read_file", "{\\\"path\\\":\\\"t.yaml\\\"}"), "CALL tool:read_file"},
        {CASSETTE("order", "{}"), "CALL tool:order"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *dir = testing_dir();
        const char *tools = write_text(dir, "t.yaml", tools_text);
        const char *cassette = write_text(dir, "c.yaml", cases[i].cassette);
        const struct ran *r =
            ASSAY("run", "--replay", cassette, "--match", "order", "--tools", tools, "go");
        CHECK_STATUS(r, 3);
        CHECK_ERR(r, cases[i].missed);
        CHECK_ERR(r, "not in ");
        CU_ASSERT_PTR_NULL(read_text(path_of("%s/new", dir), NULL));
    }
}

static void what_tools_need_is_asked_for_first(void)
{
    const char *dir = testing_dir();
    const char *tools = write_text(dir, "t.yaml", tools_text);
    const char *script = write_text(dir, "s.yaml", "version: 1\nsteps:\n- reply: {text: Hi.}\n");
    const struct ran *r = ASSAY("run", "--fake", script, "--tools", tools, "go");
    CHECK_STATUS(r, 4);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, path_of("%s:5:31: there is no folder ", tools));
}

TESTS(replayed_tools,
      {"replay_calls_no_server_and_touches_no_file", replay_does_not_touch_the_world},
      {"missing_folders_are_told_before_a_run", what_tools_need_is_asked_for_first})
