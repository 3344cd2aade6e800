/* Texts of models as calls: what BFCL's decoder makes of Python's syntax. Rules:
 * bfcl_eval/model_handler/utils.py of ShishirPatil/gorilla. */
#include <string.h>

#include "evals/bfcl/python_int.h"

static bool value_of(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out);

/* The dotted name of what is called; what it hangs on counts only where it is a name. */
static struct bfcl_value called_name(struct bfcl_work *w, const struct py_node *n)
{
    const struct py_node *first = n;
    size_t bytes = 0;
    while (first->kind == PY_ATTRIBUTE) {
        bytes += first->text.n + 1;
        first = first->left;
    }
    if (first->kind == PY_NAME) {
        bytes += first->text.n + 1;
    }
    char *p = arena_alloc(w->arena, bytes + 1);
    size_t at = bytes; /* from the end, as the names are met */
    for (; bytes > 0; n = n->left) {
        at -= n->text.n + 1;
        memcpy(p + at, n->text.p, n->text.n);
        p[at + n->text.n] = '.';
        if (n->kind == PY_NAME || (n->left->kind != PY_NAME && n->left->kind != PY_ATTRIBUTE)) {
            break;
        }
    }
    return bfcl_str((struct str){p, bytes == 0 ? 0 : bytes - 1});
}

/* A call with its keywords; what is given by position is dropped. */
static bool call_of(struct bfcl_work *w, const struct py_node *n, struct bfcl_call *out)
{
    struct bfcl_pair *pairs = arena_array(w->arena, n->n, sizeof *pairs);
    size_t count = 0;
    out->name = called_name(w, n->left);
    for (size_t i = 0; i < n->n; i++) {
        const struct py_child *c = &n->children[i];
        if (c->name.n == 0) {
            continue;
        }
        struct bfcl_pair *pair = &pairs[count++];
        pair->key =
            str_is(c->name, "**") ? (struct bfcl_value){.type = BFCL_NONE} : bfcl_str(c->name);
        if (!value_of(w, c->node, &pair->value)) {
            return false;
        }
    }
    return bfcl_dict(w->arena, pairs, count, &out->arguments);
}

static struct str printed(struct bfcl_work *w, const struct py_node *n)
{
    struct buf out = {0};
    py_print(w, &out, n);
    struct str text = arena_str(w->arena, buf_str(&out));
    buf_free(&out);
    return text;
}

static bool has_keywords(const struct py_node *n)
{
    for (size_t i = 0; i < n->n; i++) {
        if (n->children[i].name.n > 0) {
            return true;
        }
    }
    return false;
}

/* A call as a value: its text, or with keywords a dict of it. */
static bool call_value(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out)
{
    struct bfcl_call call;
    if (!has_keywords(n)) {
        *out = bfcl_str(printed(w, n));
        return true;
    }
    if (!call_of(w, n, &call)) {
        return false;
    }
    struct bfcl_pair *pair = arena_alloc(w->arena, sizeof *pair);
    *pair = (struct bfcl_pair){call.name, call.arguments};
    return bfcl_dict(w->arena, pair, 1, out);
}

static bool dict_value(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out)
{
    struct bfcl_pair *pairs = arena_array(w->arena, n->n, sizeof *pairs);
    for (size_t i = 0; i < n->n; i++) {
        const struct py_child *c = &n->children[i];
        if (c->key == NULL || !value_of(w, c->key, &pairs[i].key) ||
            !value_of(w, c->node, &pairs[i].value)) {
            return false;
        }
    }
    return bfcl_dict(w->arena, pairs, n->n, out);
}

/* false: the decoder breaks off. */
static bool value_of(struct bfcl_work *w, const struct py_node *n, struct bfcl_value *out)
{
    switch (n->kind) {
    case PY_CONSTANT: *out = n->value; return true;
    case PY_ELLIPSIS: *out = bfcl_str(STR("...")); return true;
    case PY_NAME: *out = bfcl_str(n->text); return true;
    case PY_UNARY: /* whichever sign it is, it negates */
        return n->left->kind == PY_CONSTANT && py_negate(w, &n->left->value, out);
    case PY_BINARY: return py_compute(w, n, out);
    case PY_LIST:
    case PY_TUPLE: return py_items(w, n, value_of, out);
    case PY_DICT: return dict_value(w, n, out);
    case PY_CALL: return call_value(w, n, out);
    case PY_SUBSCRIPT:
        *out = bfcl_str(
            arena_printf(w->arena, "%s[%s]", printed(w, n->left).p, printed(w, n->right).p));
        return true;
    case PY_FORMATTED:
    case PY_ATTRIBUTE:
    case PY_SLICE:
    case PY_BOOLEAN:
    case PY_COMPARE:
    case PY_CHOICE:
    case PY_LAMBDA:
    case PY_SET:
    case PY_COMPREHENSION:
    case PY_STARRED:
    case PY_NAMED:
    case PY_AWAIT:
    case PY_YIELD: break;
    }
    return false;
}

static enum bfcl_reading read_python(struct bfcl_work *w, struct str text, struct bfcl_calls *out)
{
    const struct py_node *n = py_parse(w, text);
    const struct py_child alone = {.node = arena_alloc(w->arena, sizeof *n)};
    const struct py_child *all = &alone;
    size_t count = 1;
    if (n == NULL) {
        return BFCL_UNREADABLE;
    }
    if (n->kind == PY_LIST || n->kind == PY_TUPLE || n->kind == PY_SET) {
        all = n->children;
        count = n->n;
    } else {
        *alone.node = *n;
    }
    out->at = arena_array(w->arena, count, sizeof *out->at);
    for (size_t i = 0; i < count; i++) {
        if (all[i].node->kind != PY_CALL || !call_of(w, all[i].node, &out->at[i])) {
            return BFCL_UNREADABLE;
        }
    }
    out->n = count;
    return BFCL_READ;
}

static struct str strip(struct str s, const char *set)
{
    while (s.n > 0 && s.p[0] != '\0' && strchr(set, s.p[0]) != NULL) {
        s = str_slice(s, 1, s.n);
    }
    while (s.n > 0 && s.p[s.n - 1] != '\0' && strchr(set, s.p[s.n - 1]) != NULL) {
        s.n--;
    }
    return s;
}

enum bfcl_reading bfcl_read_text(struct bfcl_work *w, enum bfcl_language language, struct str text,
                                 struct bfcl_calls *out)
{
    *out = (struct bfcl_calls){0};
    text = strip(text, "`\n ");
    if (text.n > BFCL_TEXT_MAX || (text.n > 0 && memchr(text.p, '\0', text.n) != NULL)) {
        return BFCL_UNREADABLE;
    }
    const char *open = str_starts(text, "[") ? "" : "[";
    const char *close = text.n > 0 && str_ends(text, "]") ? "" : "]";
    char *p = arena_alloc(w->arena, text.n + 2);
    size_t n = 0;
    for (const char *c = open; *c != '\0'; c++) {
        p[n++] = *c;
    }
    memcpy(p + n, text.n == 0 ? p : text.p, text.n);
    n += text.n;
    for (const char *c = close; *c != '\0'; c++) {
        p[n++] = *c;
    }
    struct str whole = {p, n};
    switch (language) {
    case BFCL_PYTHON: return read_python(w, whole, out);
    case BFCL_JAVA: return bfcl_read_java(w, str_slice(whole, 1, n - 1), out);
    case BFCL_JAVASCRIPT: break;
    }
    return bfcl_read_js(w, str_slice(whole, 1, n - 1), out);
}
