#include "kernel/core/model.h"

/* The assistant message whose calls still wait for results, and how many have theirs. */
struct open_calls {
    const struct message *owner; /* NULL = none */
    size_t answered;
};

static const struct tool_call *due_call(const struct open_calls *open)
{
    return &open->owner->calls[open->answered];
}

static int check_calls(const struct message *m, size_t i, struct err *e)
{
    for (size_t a = 0; a < m->n_calls; a++) {
        const struct tool_call *c = &m->calls[a];
        if (c->id.n == 0 || c->name.n == 0) {
            return err_set(e, ERR_STATE, "messages[%zu]: call %zu has no %s", i, a + 1,
                           c->id.n == 0 ? "id" : "tool name");
        }
        for (size_t b = 0; b < a; b++) {
            if (str_eq(c->id, m->calls[b].id)) {
                return err_set(e, ERR_STATE, "messages[%zu]: call id %.*s stands twice", i,
                               STR_FMT(c->id));
            }
        }
    }
    return 0;
}

static int check_result(const struct message *m, size_t i, struct open_calls *open, struct err *e)
{
    if (open->owner == NULL) {
        return err_set(e, ERR_STATE, "messages[%zu]: a result for call %.*s, which nobody made", i,
                       STR_FMT(m->call_id));
    }
    if (!str_eq(due_call(open)->id, m->call_id)) {
        return err_set(e, ERR_STATE, "messages[%zu]: expected the result of call %.*s, got %.*s", i,
                       STR_FMT(due_call(open)->id), STR_FMT(m->call_id));
    }
    if (++open->answered == open->owner->n_calls) {
        open->owner = NULL;
    }
    return 0;
}

static int check_message(const struct message *m, size_t i, struct open_calls *open, struct err *e)
{
    if (m->role == ROLE_TOOL) {
        return check_result(m, i, open, e);
    }
    if (open->owner != NULL) {
        return err_set(e, ERR_STATE, "messages[%zu]: call %.*s has no result yet", i,
                       STR_FMT(due_call(open)->id));
    }
    if (m->role == ROLE_SYSTEM && i != 0) {
        return err_set(e, ERR_STATE, "messages[%zu]: a system message may only come first", i);
    }
    if (m->n_calls == 0) {
        return 0;
    }
    if (m->role != ROLE_ASSISTANT) {
        return err_set(e, ERR_STATE, "messages[%zu]: a %s message may not call tools", i,
                       role_name(m->role));
    }
    *open = (struct open_calls){m, 0};
    return check_calls(m, i, e);
}

int history_check(const struct message *messages, size_t n, struct err *e)
{
    struct open_calls open = {NULL, 0};
    for (size_t i = 0; i < n; i++) {
        int rc = check_message(&messages[i], i, &open, e);
        if (rc != 0) {
            return rc;
        }
    }
    if (open.owner != NULL) {
        return err_set(e, ERR_STATE, "messages[%zu]: call %.*s has no result", n,
                       STR_FMT(due_call(&open)->id));
    }
    return 0;
}
