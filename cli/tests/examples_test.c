#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <string.h>

static const char prompt[] =
    "ACME's gross margin fell from 42.4% to 38.2%. By how many percentage points?";

/* The path of a file of the examples, or NULL with the test skipped. */
static const char *example(const char *name)
{
    const char *path = testing_corpus(path_of("../examples/%s", name));
    if (path == NULL) {
        testing_skip("the examples are not there");
    }
    return path;
}

static void script(void)
{
    const char *file = example("margin.script.yaml");
    const char *log = example("margin.trace.jsonl");
    if (file == NULL || log == NULL) {
        return;
    }
    const char *trace = path_of("%s/t.jsonl", testing_dir());
    const struct ran *r =
        ASSAY("run", "--fake", file, "--tools", "calculator", "--trace", trace, prompt);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "It fell by 4.2 percentage points.\n");
    CHECK_TEXT(event_types(read_text(trace, NULL)), event_types(read_text(log, NULL)));
}

static void replay(void)
{
    const char *cassette = example("margin.cassette.yaml");
    const char *log = example("margin.trace.jsonl");
    if (cassette == NULL || log == NULL) {
        return;
    }
    const char *trace = path_of("%s/t.jsonl", testing_dir());
    const struct ran *r = ASSAY("run", "--replay", cassette, "--tools", "calculator", "--strict",
                                "--trace", trace, prompt);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(read_text(trace, NULL), read_text(log, NULL));
    r = ASSAY("run", "--replay", cassette, "--tools", "calculator", "--match", "order", "--trace",
              trace, prompt);
    CHECK_STATUS(r, 0);
    CU_ASSERT(same_bytes(trace, log));
}

static void golden(void)
{
    const char *set = example("margin.golden.yaml");
    if (set == NULL) {
        return;
    }
    CHECK_STATUS(ASSAY("golden", "check", set), 0);
    const struct ran *r = ASSAY("eval", set, "--fake", "--out", path_of("%s/run", testing_dir()));
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "1 passed, 0 failed, 0 errors");
}

static void show(void)
{
    static const char *const shown[] = {"gross margin",   "calculator", "42.4-38.2", "value\":4.2",
                                        "It fell by 4.2", "100",        "12"};
    const char *cassette = example("margin.cassette.yaml");
    if (cassette == NULL) {
        return;
    }
    const struct ran *r = ASSAY("cassette", "show", cassette);
    CHECK_STATUS(r, 0);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        CHECK_OUT(r, shown[i]);
    }
    r = ASSAY("cassette", "show", "--json", cassette);
    size_t n = 0;
    CU_ASSERT(json_lines(r->out, &n) && n == 3);
    CHECK_STATUS(ASSAY("cassette", "check", cassette), 0);
}

/* Another prompt is a miss: what differs, and the command that mends it. */
static void miss(void)
{
    const char *cassette = example("margin.cassette.yaml");
    if (cassette == NULL) {
        return;
    }
    const char *trace = path_of("%s/t.jsonl", testing_dir());
    const struct ran *r = ASSAY("run", "--replay", cassette, "--tools", "calculator", "--trace",
                                trace, "And how many basis points?");
    CHECK_STATUS(r, 3);
    CHECK_ERR(r, "basis points");
    CHECK_ERR(r, "gross margin");
    CHECK_ERR(r, "--record");
    CU_ASSERT(log_ends(read_text(trace, NULL), "cassette_miss"));
    r = ASSAY("run", "--replay", cassette, "--tools", "calculator", "--match", "order", prompt,
              "--system", "Be short.");
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "differed");
    r = ASSAY("run", "--replay", cassette, "--tools", "calculator", "--match", "order", prompt,
              "--system", "Be short.", "--strict");
    CHECK_STATUS(r, 3);
}

TESTS(examples, {"example_script_gives_the_logs_events", script},
      {"example_cassette_replays_to_the_log", replay}, {"example_golden_task_passes", golden},
      {"example_cassette_is_shown", show}, {"example_with_another_prompt_is_a_miss", miss})
