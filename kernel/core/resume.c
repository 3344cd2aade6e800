/* Going on after an end or a crash, maybe with another model, tools, budget or settings. */
#include "kernel/core/kernel_int.h"

/* Approvals hold for tools of the same name, calls that wait for the tool that is now called so. */
static void change_tools(struct kernel *k, const struct kernel_config *before)
{
    const struct kernel_config *now = &k->config;
    bool *always = arena_array(k->arena, now->n_tools, sizeof *always);
    for (size_t i = 0; i < before->n_tools; i++) {
        const struct tool_spec *tool = tool_find(now->tools, now->n_tools, before->tools[i].name);
        if (tool != NULL) {
            always[tool - now->tools] = k->always[i];
        }
    }
    k->always = always;
    for (size_t i = 0; i < k->n_calls; i++) {
        struct call *c = &k->calls[i];
        const struct tool_spec *tool = tool_find(now->tools, now->n_tools, c->name);
        c->tool = tool == NULL ? SIZE_MAX : (size_t)(tool - now->tools);
    }
}

static void reconfigure(struct kernel *k, const struct kernel_config *to)
{
    struct kernel_config before = k->config;
    k->config = *to;
    k->config.run = before.run; /* what the log's first line says stays */
    k->config.seed = before.seed;
    k->config.started_at = before.started_at;
    k->config.system = before.system;
    if (k->cost_nano > 0 && !str_eq(to->currency, before.currency)) {
        k->cost_nano = -1; /* amounts of two currencies have no sum */
    }
    change_tools(k, &before);
    size_tools(k);
}

/* Whether the user is next: nobody has spoken yet, or the run has said its last words. */
static bool user_is_next(const struct kernel *k)
{
    bool said = k->n_history > (k->config.system.p == NULL ? 0 : 1);
    return !said || k->result.status == RUN_COMPLETED || k->result.status == RUN_REFUSED ||
           k->result.status == RUN_TRUNCATED;
}

/* After an end, or before a beginning. */
static void go_on(struct kernel *k, struct str text)
{
    bool waits = k->state == STATE_IDLE || user_is_next(k);
    k->result = (struct run_result){.answer = {NULL, 0}};
    k->state = STATE_IDLE;
    if (text.p != NULL) {
        run_user_message(k, text);
    } else if (!waits) {
        step_start(k);
    }
}

void resume(struct kernel *k, const struct event *ev)
{
    struct kernel_config before = k->config;
    if (ev->config != NULL) {
        reconfigure(k, ev->config);
    }
    log_resume(k, &before, ev->text);
    k->attempt = 0;
    if (ev->text.p != NULL) {
        batch_close(k, STR("the user said something else before this call was carried out"));
        k->state = k->state == STATE_IDLE ? STATE_IDLE : STATE_DONE;
    }
    switch (k->state) {
    case STATE_IDLE:
    case STATE_DONE: go_on(k, ev->text); break;
    case STATE_MODEL:
    case STATE_BACKOFF: step_call_model(k); break;
    case STATE_SUMMARY: step_ask_summary(k); break;
    case STATE_TOOLS: batch_resume(k); break;
    }
}
