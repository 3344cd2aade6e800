#include "cli/tests/world.h"

#include "ci/testing/testing.h"
#include "cli/tests/program.h"
#include "evals/resume.h"

#include <string.h>

/* `add` counts each request once, whatever it is asked again; `runs` shows how often. */
static const char tool_file[] =
    "version: 1\ntools:\n"
    "- name: add\n  tier: write\n  idempotent: true\n  description: Adds one, once a request.\n"
    "  parameters: {type: object, properties: {to: {type: string}}}\n"
    "  command: [sh, -c, \"mkdir done.$ASSAY_REQUEST_ID 2>&- && echo x >> counter; "
    "echo x >> runs; echo counted\"]\n"
    "- name: look\n  description: Reads.\n  command: [sh, -c, \"echo x >> runs; echo there\"]\n";

static const char script_text[] =
    "version: 1\nsteps:\n"
    "- reply: {calls: [{id: c1, name: add, arguments: {to: a}}, {id: c2, name: look}]}\n"
    "- fault: {status: 500}\n"
    "- reply: {calls: [{id: c1, name: add, arguments: {to: b}}]}\n"
    "- reply: {text: Done.}\n";

struct world world;

const char *world_path(const char *name)
{
    return path_of("%s/%s", world.dir, name);
}

void world_begin(void)
{
    struct err e;
    world.dir = testing_dir();
    world.script = write_text(world.dir, "s.yaml", script_text);
    world.tools = write_text(world.dir, "tools.yaml", tool_file);
    world.trace = world_path("t.jsonl");
    const struct ran *r = ASSAY("run", "--fake", world.script, "--tools", world.tools, "--trace",
                                world.trace, "Add two.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "Done.\n");
    world.log = read_text(world.trace, &world.n);
    CU_ASSERT_FATAL(world.log != NULL);
    world.set = toolset_new();
    CU_ASSERT_EQUAL_FATAL(toolset_add_file(world.set, world.tools, &e), 0);
}

void world_end(void)
{
    toolset_free(world.set);
}

size_t world_lines(const char *name)
{
    const char *text = read_text(world_path(name), NULL);
    return text == NULL ? 0 : count_lines(text);
}

static void on_done(void *ctx)
{
    loop_stop(ctx);
}

enum run_status world_play(struct rig_options *o)
{
    struct err e;
    struct rig *rig = NULL;
    struct rig_outcome outcome = {.result = {.status = RUN_CANCELLED}};
    struct loop *loop = loop_new();
    o->ctx = loop;
    o->done = on_done;
    o->max_tokens = -1;
    o->source = EVAL_FAKE;
    if (rig_new(loop, o, &rig, &e) != 0) {
        FAIL("%s: %s", o->path, e.message);
    } else {
        loop_run(loop);
        CU_ASSERT(rig_outcome(rig, &outcome));
    }
    CU_ASSERT_EQUAL(rig_free(rig, &e), 0);
    loop_free(loop);
    return outcome.result.status;
}

bool world_verifies(const char *trace, const struct toolset *tools)
{
    struct err e;
    size_t lines = 0;
    bool ended = false;
    if (log_verify(trace, tools, &lines, &ended, &e) != 0) {
        FAIL("%s:%u: %s", trace, e.line, e.message);
        return false;
    }
    return ended;
}

bool world_go_on(const char *trace, const char *script, const struct toolset *tools)
{
    struct err e;
    struct resumed *from = NULL;
    if (resumed_open(trace, SIZE_MAX, tools, &from, &e) != 0) {
        CU_ASSERT_EQUAL(e.line, 1); /* not one whole line */
        return false;
    }
    struct rig_options o = {.path = script,
                            .tools = tools,
                            .resume = from,
                            .trace = trace,
                            .budget = from->config.budget};
    enum kernel_stage stage = kernel_stage(from->kernel);
    if (stage == STAGE_ENDED) {
        struct appender *a = NULL;
        CU_ASSERT_EQUAL(resumed_trace(from, trace, &a, &e), 0);
        CU_ASSERT_EQUAL(appender_close(a, &e), 0);
    } else if (stage == STAGE_WORKING) {
        world_play(&o);
    }
    resumed_free(from);
    return stage != STAGE_WAITING;
}
