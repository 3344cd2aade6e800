/* A whole program around the kernel: a tool that is a function of ours, a model that plays a
 * script, a session, its answer. Built and run with the tests. */
#include <stdio.h>

#include "fakellm/fake.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/endpoint.h"
#include "kernel/drive/loop.h"
#include "kernel/drive/session.h"
#include "kernel/drive/tools_function.h"

static const char script_text[] =
    "version: 1\n"
    "steps:\n"
    "- reply: {calls: [{name: order_status, arguments: {order_id: \"123\"}}]}\n"
    "- expect: {last_tool: {contains: shipped}}\n"
    "  reply: {text: Order 123 has been shipped.}\n";

static const struct tool_param params[] = {
    {"order_id", PARAM_STRING, .description = "As on the invoice.", .required = true},
    {"detail", PARAM_STRING, .values = (const char *const[]){"short", "full", NULL}},
    {0}};

static void order_status(void *ctx, const struct val *args, struct arena *arena,
                         struct tool_output *out)
{
    struct str id = val_text(val_get(args, "order_id"));
    ++*(size_t *)ctx;
    out->ok = true;
    out->content = arena_printf(arena, "order %.*s: shipped", STR_FMT(id));
}

/* Runs one prompt. Returns the exit status. */
static int converse(const struct toolset *set, const struct fake_script *script)
{
    struct loop *loop = loop_new();
    struct sched *sched = sched_virtual(loop);
    struct fake_session *fake = fake_session_new(script);
    struct transport *transport =
        transport_fake(fake, sched); /* transport_curl asks a real model */
    struct llm *llm = llm_endpoint(transport, &(struct endpoint_options){.sched = sched});
    struct toolbox *tools = toolbox_local(set, sched, loop, 0);
    struct session_options options = {.config = kernel_config_default(),
                                      .prompt = STR("Where is order 123?"),
                                      .llm = llm,
                                      .tools = tools,
                                      .sched = sched,
                                      .max_tokens = -1};
    options.config.run = STR("embed");
    options.config.started_at = STR("2026-11-29T18:00:00.000Z");
    options.config.model = fake_model(script);
    options.config.provider = STR("openai");
    options.config.tools = toolset_specs(set, &options.config.n_tools);

    struct session *session = session_new(&options);
    loop_run(loop);
    struct run_result result;
    bool ended = session_result(session, &result);
    if (ended) {
        printf("%s: %.*s\n", run_status_name(result.status), STR_FMT(result.answer));
    }
    session_free(session);
    tools->ops->free(tools);
    llm->ops->free(llm);
    transport->ops->free(transport);
    fake_session_free(fake);
    sched_free(sched);
    loop_free(loop);
    return ended && result.status == RUN_COMPLETED ? 0 : 1;
}

int main(void)
{
    size_t asked = 0;
    const struct tool_function tool = {.name = "order_status",
                                       .description = "Tell where an order is.",
                                       .params = params,
                                       .call = order_status,
                                       .ctx = &asked};
    struct arena *arena = arena_new();
    struct toolset *set = toolset_new();
    struct fake_script *script = NULL;
    struct val *root;
    struct err e;
    int rc = toolset_add_function(set, &tool, &e);
    if (rc == 0) {
        rc = yaml_parse(arena, "script", STR(script_text), YAML_CORE, &root, &e);
    }
    if (rc == 0) {
        rc = fake_load_doc((struct doc){arena, "script"}, root, &script, &e);
    }
    if (rc == 0) {
        rc = converse(set, script);
        printf("%zu order looked up\n", asked);
    } else {
        fprintf(stderr, "%s\n", e.message);
    }
    fake_free(script);
    toolset_free(set);
    arena_free(arena);
    return rc == 0 ? 0 : 1;
}
