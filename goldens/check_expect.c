/* Expectations of a task that contradict each other, its budget, or the way runs end. */
#include "goldens/golden_int.h"

#include <inttypes.h>

/* The task's value under `expect`, or the task itself where it is not written. */
static const struct val *place(const struct golden_task *t, const char *key, const char *inner)
{
    const struct val *v = val_get(val_get(t->at, "expect"), key);
    v = inner != NULL && val_get(v, inner) != NULL ? val_get(v, inner) : v;
    return v != NULL ? v : t->at;
}

/* Where the task's own budget of steps stands, else the task. */
static const struct val *budget_place(const struct golden_task *t)
{
    const struct val *v = val_get(val_get(t->at, "budget"), "steps");
    return v != NULL ? v : t->at;
}

static void tell(const struct golden_report *r, const struct val *at,
                 enum finding_severity severity, const char *code, struct buf *message)
{
    golden_tell(r, at->line, at->column, severity, code, message);
}

static void never(const struct golden_report *r, const struct val *at, struct buf *message)
{
    tell(r, at, FINDING_ERROR, "never_holds", message);
}

static bool has_terminal(const struct golden_task *t)
{
    size_t n = 0;
    const struct tool_spec *specs = toolset_specs(t->tools, &n);
    for (size_t i = 0; i < n; i++) {
        if (specs[i].terminal) {
            return true;
        }
    }
    return false;
}

/* Calls that must be made for the expectation to hold. */
static int64_t calls_needed(const struct golden_expect *x)
{
    return x->has_calls && x->mode != GOLDEN_SUBSET ? (int64_t)x->n_calls : 0;
}

/* Replies without which it cannot hold: one that calls, and one that answers. */
static int64_t steps_needed(const struct golden_task *t)
{
    int64_t turns = (int64_t)t->n_turns;
    bool calls = calls_needed(&t->expect) > 0 && !has_terminal(t);
    return t->expect.status == RUN_COMPLETED ? turns + (calls ? 1 : 0) : 1;
}

static void check_needed(const struct golden_report *r, const struct golden_task *t)
{
    const struct golden_expect *x = &t->expect;
    int64_t calls = calls_needed(x);
    int64_t steps = steps_needed(t);
    struct buf message = {0};
    if (x->max_calls >= 0 && x->max_calls < calls) {
        buf_fmt(&message,
                "the limit of calls is %" PRId64 " and the calls expected are %" PRId64
                "; raise the limit, or leave it out",
                x->max_calls, calls);
        never(r, place(t, "limits", "calls"), &message);
    }
    if (x->max_steps >= 0 && x->max_steps < steps) {
        buf_fmt(&message,
                "the limit of steps is %" PRId64 " and %" PRId64
                " are needed: the calls and the answer to them are a reply each; raise the limit",
                x->max_steps, steps);
        never(r, place(t, "limits", "steps"), &message);
    }
    if (x->max_tokens == 0) {
        buf_addz(&message, "the limit of tokens is 0, and every reply takes some; raise the limit, "
                           "or leave it out");
        never(r, place(t, "limits", "tokens"), &message);
    }
    if (x->status == RUN_COMPLETED && t->budget.calls < calls) {
        buf_fmt(&message,
                "the budget of calls is %" PRId64
                " and the calls expected of a run that completes are %" PRId64 "; raise the budget",
                t->budget.calls, calls);
        never(r, place(t, "calls", NULL), &message);
    }
    if (x->status == RUN_COMPLETED && t->n_turns == 1 && t->budget.steps < steps) {
        buf_fmt(&message,
                "the budget of steps is %" PRId64 " and %" PRId64
                " are needed: the calls and the answer to them are a reply each; raise the budget",
                t->budget.steps, steps);
        never(r, budget_place(t), &message);
    }
}

enum { REPEATS_MAX = 2 }; /* a third call that is the same in a row ends the run (K9) */

/* Whether nothing but one call fits both. */
static bool same_call(const struct golden_call *a, const struct golden_call *b)
{
    const struct val *args = a->at->kind == VAL_OBJECT ? &a->at->members[0].value : NULL;
    for (size_t i = 0; val_is(args, VAL_OBJECT) && i < args->count; i++) {
        enum val_kind kind = args->members[i].value.kind;
        if (kind == VAL_OBJECT || kind == VAL_ARRAY) {
            return false; /* there may be a matcher in it */
        }
    }
    return val_is(args, VAL_OBJECT) && val_equal(a->at, b->at);
}

/* Calls that the run would not survive. */
static void check_repeats(const struct golden_report *r, const struct golden_task *t)
{
    const struct golden_expect *x = &t->expect;
    size_t n = 0, repeats = 0;
    const struct tool_spec *specs = toolset_specs(t->tools, &n);
    bool strict = x->mode == GOLDEN_EXACT && x->status == RUN_COMPLETED && t->n_turns == 1;
    for (size_t i = 1; strict && i < x->n_calls; i++) {
        const struct tool_spec *tool = tool_find(specs, n, x->calls[i].name);
        bool same = tool != NULL && !tool->polling && same_call(&x->calls[i - 1], &x->calls[i]);
        repeats = same ? repeats + 1 : 0;
        if (repeats == REPEATS_MAX) {
            struct buf message = {0};
            buf_fmt(&message,
                    "the run ends with repeated_calls at this call, the third in a row that is "
                    "the same; write `polling: true` at the tool \"%.*s\" if that is meant",
                    STR_FMT(tool->name));
            never(r, x->calls[i].at, &message);
        }
    }
}

/* A budget is for one message of the user, a limit for the run. */
static void check_idle(const struct golden_report *r, const struct golden_task *t)
{
    const struct golden_expect *x = &t->expect;
    const struct {
        const char *key;
        int64_t limit;
        int64_t budget;
    } pairs[] = {{"steps", x->max_steps, t->budget.steps},
                 {"tokens", x->max_tokens, t->budget.tokens},
                 {"seconds", x->max_ms, t->budget.seconds * 1000},
                 {"cost_usd", x->max_cost_nano, t->budget.cost_nano}};
    for (size_t i = 0; x->status == RUN_COMPLETED && i < sizeof pairs / sizeof pairs[0]; i++) {
        struct buf message = {0};
        if (pairs[i].limit >= 0 && pairs[i].limit / (int64_t)t->n_turns > pairs[i].budget) {
            buf_fmt(&message,
                    "this limit can never be broken: the budget ends the run before; lower the "
                    "limit below the budget's %s, or leave it out",
                    pairs[i].key);
            tell(r, place(t, "limits", pairs[i].key), FINDING_WARNING, "idle_limit", &message);
        }
    }
}

static void check_status(const struct golden_report *r, const struct golden_task *t)
{
    const struct golden_expect *x = &t->expect;
    struct buf message = {0};
    if (x->status == RUN_COMPLETED) {
        return;
    }
    if (x->answer != NULL) {
        buf_fmt(&message,
                "a run that ends with status %s gives no answer that could be checked; leave out "
                "answer or status",
                run_status_name(x->status));
        never(r, place(t, "answer", NULL), &message);
    }
    if (x->status == RUN_MAX_STEPS && x->max_steps >= 0 && x->max_steps < t->budget.steps) {
        buf_fmt(&message,
                "the limit of steps is %" PRId64 " and the run ends with max_steps after %" PRId64
                "; make budget and limit equal",
                x->max_steps, t->budget.steps);
        never(r, place(t, "limits", "steps"), &message);
    }
    if (x->no_calls && (x->status == RUN_REPEATED_CALLS || x->status == RUN_CALL_BUDGET)) {
        buf_fmt(&message,
                "a run ends with status %s by its calls, and no_calls allows none; leave one out",
                run_status_name(x->status));
        never(r, place(t, "no_calls", NULL), &message);
    }
}

/* Modes that let further calls through ask for nothing where the list is empty. */
static void check_mode(const struct golden_report *r, const struct golden_task *t)
{
    const struct golden_expect *x = &t->expect;
    struct buf message = {0};
    if (x->has_calls && x->n_calls == 0 &&
        (x->mode == GOLDEN_SUPERSET || x->mode == GOLDEN_IN_ORDER)) {
        buf_addz(&message, "an empty list in this mode lets any calls through; name a call, or "
                           "write no_calls: true");
        tell(r, place(t, "calls", "list"), FINDING_WARNING, "accepts_anything", &message);
    }
}

void golden_check_expect(const struct golden_report *r, const struct golden_task *t)
{
    check_needed(r, t);
    check_repeats(r, t);
    check_idle(r, t);
    check_status(r, t);
    check_mode(r, t);
    golden_check_answer(r, t->expect.answer);
}
