/* What a model gave, read as calls: lists of calls as APIs give them, and texts. */
#include "evals/bfcl/bfcl_int.h"
#include "kernel/base/json.h"

/* The arguments of a call as a string of JSON. */
static enum bfcl_reading read_arguments(struct bfcl_work *w, struct str text,
                                        struct bfcl_value *out)
{
    struct val *v;
    if (str_starts(text, "\xEF\xBB\xBF") || bfcl_json(w->arena, NULL, text, &v, NULL) != 0) {
        return BFCL_UNREADABLE;
    }
    *out = bfcl_of_val(w->arena, v);
    return out->type == BFCL_DICT ? BFCL_READ : BFCL_WRONG_FORMAT;
}

/* {name: "arguments"}; further members are not looked at. */
static enum bfcl_reading read_function_call(struct bfcl_work *w, const struct val *v,
                                            struct bfcl_call *out)
{
    if (!val_is(v, VAL_OBJECT) || v->count == 0 || v->members[0].value.kind != VAL_STRING) {
        return BFCL_UNREADABLE;
    }
    out->name = bfcl_str(v->members[0].key);
    return read_arguments(w, v->members[0].value.text, &out->arguments);
}

/* {name, arguments}: arguments as a map, or as a string of JSON. */
static enum bfcl_reading read_named_call(struct bfcl_work *w, const struct val *v,
                                         struct bfcl_call *out)
{
    const struct val *name = val_get(v, "name");
    const struct val *arguments = val_get(v, "arguments");
    if (!val_is(name, VAL_STRING) || arguments == NULL) {
        return BFCL_UNREADABLE;
    }
    out->name = bfcl_str(name->text);
    if (arguments->kind == VAL_STRING) {
        return read_arguments(w, arguments->text, &out->arguments);
    }
    out->arguments = bfcl_of_val(w->arena, arguments);
    return out->arguments.type == BFCL_DICT ? BFCL_READ : BFCL_WRONG_FORMAT;
}

static enum bfcl_reading read_list(struct bfcl_work *w, const struct val *v,
                                   enum bfcl_reading (*read)(struct bfcl_work *w,
                                                             const struct val *v,
                                                             struct bfcl_call *out),
                                   struct bfcl_calls *out)
{
    enum bfcl_reading all = BFCL_READ;
    if (!val_is(v, VAL_ARRAY)) {
        return BFCL_UNREADABLE;
    }
    out->at = arena_array(w->arena, v->count, sizeof *out->at);
    for (size_t i = 0; i < v->count; i++) {
        enum bfcl_reading one = read(w, &v->items[i], &out->at[out->n++]);
        if (one == BFCL_UNREADABLE) {
            return one;
        }
        all = one == BFCL_READ ? all : one;
    }
    return all;
}

/* A model that gives calls gives a text instead, or nothing, where it makes none. */
static enum bfcl_reading read_function_calls(struct bfcl_work *w, const struct val *v,
                                             struct bfcl_calls *out)
{
    bool nothing =
        (v->kind == VAL_STRING && v->text.n == 0) || (v->kind == VAL_OBJECT && v->count == 0);
    return nothing ? BFCL_READ : read_list(w, v, read_function_call, out);
}

enum bfcl_reading bfcl_read_result(struct bfcl_work *w, enum bfcl_language language,
                                   enum bfcl_output output, const struct bfcl_result *r,
                                   struct bfcl_calls *out)
{
    *out = (struct bfcl_calls){0};
    if (r->calls != NULL) {
        return read_list(w, r->calls, read_named_call, out);
    }
    if (output == BFCL_CALLS) {
        return read_function_calls(w, r->result, out);
    }
    return r->result->kind == VAL_STRING ? bfcl_read_text(w, language, r->result->text, out)
                                         : BFCL_UNREADABLE;
}
