#include "fakellm/fake_int.h"

static int load_cond(struct doc d, const struct val *v, const char *key, struct text_cond **out,
                     struct err *e)
{
    const struct val *c = val_get(v, key);
    return c == NULL ? 0 : text_cond_new(d, c, true, out, e);
}

int fake_when_load(struct doc d, const struct val *v, struct fake_when *out, struct err *e)
{
    static const char *const keys[] = {"last_user", "last_tool", "system", "model",
                                       "tools",     "turn",      NULL};
    if (v == NULL || v->kind == VAL_NULL) {
        return 0;
    }
    int rc = doc_keys(d, v, "the conditions on a request", keys, e);
    rc = rc != 0 ? rc : load_cond(d, v, "last_user", &out->last_user, e);
    rc = rc != 0 ? rc : load_cond(d, v, "last_tool", &out->last_tool, e);
    rc = rc != 0 ? rc : load_cond(d, v, "system", &out->system, e);
    rc = rc != 0 ? rc : load_cond(d, v, "model", &out->model, e);
    rc = rc != 0 ? rc
                 : doc_strings(d, v, "tools", "the name of a tool", &out->tools, &out->n_tools, e);
    return rc != 0 ? rc : doc_int(d, v, "turn", DOC_OPTIONAL, 1, INT32_MAX, &out->turn, e);
}

void fake_when_free(struct fake_when *w)
{
    text_cond_free(w->last_user);
    text_cond_free(w->last_tool);
    text_cond_free(w->system);
    text_cond_free(w->model);
}

bool fake_when_is_any(const struct fake_when *w)
{
    return w->last_user == NULL && w->last_tool == NULL && w->system == NULL && w->model == NULL &&
           w->tools == NULL && w->turn == 0;
}

static bool test_text(const char *name, const struct text_cond *c, const struct str *s,
                      struct buf *why)
{
    if (c == NULL) {
        return true;
    }
    struct buf reason = {0};
    bool holds = text_cond_test(c, s, &reason);
    if (!holds && why != NULL) {
        buf_fmt(why, "%s: ", name);
        buf_add(why, buf_str(&reason));
    }
    buf_free(&reason);
    return holds;
}

static void add_names(struct buf *out, const struct str *names, size_t n)
{
    buf_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        buf_addz(out, i == 0 ? "" : ", ");
        buf_add(out, names[i]);
    }
    buf_char(out, ']');
}

static bool test_tools(const struct fake_when *w, const struct fake_request *rq, struct buf *why)
{
    if (w->tools == NULL) {
        return true;
    }
    bool same = w->n_tools == rq->n_tools;
    for (size_t i = 0; same && i < w->n_tools; i++) {
        same = str_eq(w->tools[i], rq->tools[i]);
    }
    if (!same && why != NULL) {
        buf_addz(why, "tools: expected ");
        add_names(why, w->tools, w->n_tools);
        buf_addz(why, ", got ");
        add_names(why, rq->tools, rq->n_tools);
    }
    return same;
}

bool fake_when_test(const struct fake_when *w, const struct fake_request *rq, struct buf *why)
{
    if (w->turn != 0 && w->turn != rq->turn) {
        if (why != NULL) {
            buf_fmt(why, "turn: expected %lld, got %lld", (long long)w->turn, (long long)rq->turn);
        }
        return false;
    }
    return test_text("last_user", w->last_user, rq->last_user, why) &&
           test_text("last_tool", w->last_tool, rq->last_tool, why) &&
           test_text("system", w->system, rq->system, why) &&
           test_text("model", w->model, rq->model, why) && test_tools(w, rq, why);
}
