/* BFCL's AST checker, rule by rule and in its order, for agreement; and the same with its faults
 * mended. Rules: bfcl_eval/eval_checker/ast_eval/ast_checker.py of ShishirPatil/gorilla. */
#include <string.h>

#include "evals/bfcl/bfcl_int.h"

static const char type_simple[] = "type_error:simple";
static const char type_nested[] = "type_error:nested";
static const char no_key[] = BFCL_EXCEPTION "KeyError";
static const char no_type[] = BFCL_EXCEPTION "TypeError";
static const char no_attribute[] = BFCL_EXCEPTION "AttributeError";

/* The type of the first accepted value that is not "", or false where there is none. */
static bool accepted_type(const struct bfcl_value *accepted, enum bfcl_type *out)
{
    for (size_t i = 0; i < accepted->n; i++) {
        if (!bfcl_is_empty_str(&accepted->items[i])) {
            *out = accepted->items[i].type;
            return true;
        }
    }
    return false;
}

/* A float where a whole number is given for it: what the checker does for parameters, and a mended
 * one for the items of lists too. */
static bool to_float(const struct bfcl_checker *c, const struct bfcl_value *v, const char **error,
                     struct bfcl_value *out)
{
    if (c->language != BFCL_PYTHON || v->type != BFCL_INT) {
        return false;
    }
    *out = (struct bfcl_value){.type = BFCL_FLOAT, .real = bfcl_double(v->text)};
    if (out->real - out->real != 0.0) { /* infinite */
        *error = BFCL_EXCEPTION "OverflowError";
    }
    return true;
}

/* Whether every item has the documented type, or that of the items of one accepted list. What is
 * accepted and is no list lets everything pass. */
static bool items_fit(const struct bfcl_types *t, const struct bfcl_value *value,
                      const struct bfcl_value *accepted)
{
    for (size_t i = 0; i < accepted->n; i++) {
        const struct bfcl_value *option = &accepted->items[i];
        enum bfcl_type other = t->items;
        bool has_other = option->type == BFCL_LIST && accepted_type(option, &other);
        bool fits = true;
        for (size_t k = 0; option->type == BFCL_LIST && fits && k < value->n; k++) {
            enum bfcl_type type = value->items[k].type;
            fits = type == t->items || (has_other && type == other);
        }
        if (fits) {
            return true;
        }
    }
    return false;
}

/* The type check. *is_variable: the accepted values have another type than the documented one. */
static const char *check_type(const struct bfcl_types *t, const struct bfcl_value *value,
                              const struct bfcl_value *accepted, bool *is_variable)
{
    enum bfcl_type other = BFCL_NONE;
    bool has_other = accepted_type(accepted, &other);
    *is_variable = has_other && other != t->type;
    bool is_other = has_other && value->type == other;
    if (value->type == t->type) {
        if (!t->nested || items_fit(t, value, accepted)) {
            return NULL;
        }
        return is_other ? type_nested : type_simple;
    }
    if (is_other) {
        *is_variable = true;
        return NULL;
    }
    return type_simple;
}

/* A string in its plain form, anything else as it is. What is equal before is equal then, and most
 * is. */
static struct bfcl_value plain(const struct bfcl_checker *c, const struct bfcl_value *v)
{
    return v->type == BFCL_STR ? bfcl_str(bfcl_plain(c->work, v->text)) : *v;
}

/* The number of characters of a string, and its i-th one: Python takes strings for lists of them.
 */
static struct bfcl_value characters(const struct bfcl_checker *c, struct str s)
{
    struct bfcl_value out = {.type = BFCL_LIST};
    out.items = arena_array(c->work->arena, s.n, sizeof *out.items);
    for (size_t at = 0; at < s.n;) {
        size_t from = at;
        utf8_next(s, &at);
        out.items[out.n++] = bfcl_str(str_slice(s, from, at));
    }
    return out;
}

/* What Python's len() and [0], [1], … make of a value where the checker expects a list. */
static const char *as_list(const struct bfcl_checker *c, const struct bfcl_value *v,
                           struct bfcl_value *out)
{
    *out = *v;
    switch (v->type) {
    case BFCL_LIST: return NULL;
    case BFCL_STR: *out = characters(c, v->text); return NULL;
    case BFCL_DICT: *out = (struct bfcl_value){.type = BFCL_LIST}; return v->n == 0 ? NULL : no_key;
    case BFCL_TUPLE:
    case BFCL_NONE:
    case BFCL_BOOL:
    case BFCL_INT:
    case BFCL_FLOAT:
    case BFCL_OTHER: break;
    }
    return no_type;
}

/* Whether v, strings plain, is among the items, strings plain. */
static bool plain_in(const struct bfcl_checker *c, const struct bfcl_value *v,
                     const struct bfcl_value *list)
{
    if (bfcl_in(v, list)) {
        return true;
    }
    struct bfcl_value mine = plain(c, v);
    for (size_t i = 0; i < list->n; i++) {
        struct bfcl_value other = plain(c, &list->items[i]);
        if (bfcl_equal(&mine, &other)) {
            return true;
        }
    }
    return false;
}

static const char *check_string(const struct bfcl_checker *c, const struct bfcl_value *value,
                                const struct bfcl_value *accepted)
{
    if (bfcl_in(value, accepted)) {
        return NULL;
    }
    struct str mine = bfcl_plain(c->work, value->text);
    for (size_t i = 0; i < accepted->n; i++) {
        if (accepted->items[i].type == BFCL_STR &&
            str_eq(bfcl_plain(c->work, accepted->items[i].text), mine)) {
            return NULL;
        }
    }
    return "value_error:string";
}

/* Equal lists, the strings of their first level plain. */
static bool lists_equal(const struct bfcl_checker *c, const struct bfcl_value *a,
                        const struct bfcl_value *b)
{
    if (a->n != b->n) {
        return false;
    }
    for (size_t i = 0; i < a->n; i++) {
        if (bfcl_equal(&a->items[i], &b->items[i])) {
            continue;
        }
        struct bfcl_value mine = plain(c, &a->items[i]), other = plain(c, &b->items[i]);
        if (!bfcl_equal(&mine, &other)) {
            return false;
        }
    }
    return true;
}

static const char *check_list(const struct bfcl_checker *c, const struct bfcl_value *value,
                              const struct bfcl_value *accepted)
{
    bool found = false;
    for (size_t i = 0; i < accepted->n; i++) {
        struct bfcl_value option;
        const char *error = as_list(c, &accepted->items[i], &option);
        if (error != NULL && !c->mended) {
            return error;
        }
        found = found || (error == NULL && lists_equal(c, value, &option));
    }
    return found ? NULL : "value_error:list/tuple";
}

/* What the official checker ends with where an accepted dict is something else. */
static const char *not_a_dict(const struct bfcl_value *value, const struct bfcl_value *option)
{
    if (value->n == 0) {
        return no_attribute;
    }
    const struct bfcl_value *key = &value->pairs[0].key;
    if (option->type == BFCL_LIST) {
        return bfcl_in(key, option) ? no_type : no_attribute;
    }
    if (option->type == BFCL_STR && key->type == BFCL_STR) {
        return str_find(option->text, key->text) != SIZE_MAX ? no_type : no_attribute;
    }
    return no_type;
}

/* One accepted dict: key → list of accepted values. */
static const char *check_dict_option(const struct bfcl_checker *c, const struct bfcl_value *value,
                                     const struct bfcl_value *option)
{
    const char *wrong = NULL;
    for (size_t i = 0; wrong == NULL && i < value->n; i++) {
        const struct bfcl_pair *pair = &value->pairs[i];
        const struct bfcl_value *found =
            pair->key.type == BFCL_STR ? bfcl_get(option, pair->key.text) : NULL;
        struct bfcl_value list;
        if (found == NULL) {
            wrong = "value_error:dict_key";
            break;
        }
        const char *error = as_list(c, found, &list);
        if (error != NULL && !c->mended) {
            return error;
        }
        if (error != NULL ? !bfcl_equal(&pair->value, found) : !plain_in(c, &pair->value, &list)) {
            wrong = "value_error:dict_value";
        }
    }
    for (size_t i = 0; i < option->n; i++) {
        const struct bfcl_value *list = &option->pairs[i].value;
        if (bfcl_get(value, option->pairs[i].key.text) != NULL) {
            continue;
        }
        bool sized = list->type == BFCL_LIST || list->type == BFCL_STR || list->type == BFCL_DICT;
        if (!sized && !c->mended) {
            return no_type;
        }
        bool may_lack = list->type == BFCL_STR ||
                        (list->type == BFCL_LIST && bfcl_has_empty(list)) ||
                        (list->type == BFCL_DICT && bfcl_get(list, STR("")) != NULL);
        if (!may_lack) {
            return "value_error:dict_key";
        }
    }
    return wrong;
}

/* accepted: n options. The last one's error is told. */
static const char *check_dict(const struct bfcl_checker *c, const struct bfcl_value *value,
                              const struct bfcl_value *accepted, size_t n)
{
    const char *wrong = "dict_checker:unclear";
    for (size_t i = 0; i < n; i++) {
        if (bfcl_is_empty_str(&accepted[i])) {
            continue;
        }
        if (value->type != BFCL_DICT) {
            wrong = no_attribute;
        } else if (accepted[i].type != BFCL_DICT) {
            wrong = not_a_dict(value, &accepted[i]);
        } else {
            wrong = check_dict_option(c, value, &accepted[i]);
        }
        if (wrong == NULL) {
            return NULL;
        }
        if (strncmp(wrong, BFCL_EXCEPTION, strlen(BFCL_EXCEPTION)) == 0) {
            if (!c->mended) {
                return wrong;
            }
            wrong = "value_error:dict_value";
        }
    }
    return wrong;
}

static const char *check_dicts(const struct bfcl_checker *c, const struct bfcl_value *value,
                               const struct bfcl_value *accepted)
{
    const char *wrong = "list_dict_checker:unclear";
    for (size_t i = 0; i < accepted->n; i++) {
        const struct bfcl_value *option = &accepted->items[i];
        size_t length = option->type == BFCL_STR ? utf8_count(option->text) : option->n;
        bool sized =
            option->type == BFCL_LIST || option->type == BFCL_STR || option->type == BFCL_DICT;
        if (!sized && !c->mended) {
            return no_type;
        }
        if (!sized || length != value->n) {
            wrong = "value_error:list_dict_count";
            continue;
        }
        struct bfcl_value list;
        const char *error = as_list(c, option, &list);
        wrong = c->mended && error != NULL ? "value_error:list_dict_count" : error;
        for (size_t k = 0; wrong == NULL && k < value->n; k++) {
            wrong = check_dict(c, &value->items[k], &list.items[k], 1);
        }
        if (wrong == NULL) {
            return NULL;
        }
        if (strncmp(wrong, BFCL_EXCEPTION, strlen(BFCL_EXCEPTION)) == 0) {
            return wrong;
        }
    }
    return wrong;
}

const char *bfcl_check_value(const struct bfcl_checker *c, const struct bfcl_types *t,
                             const struct bfcl_value *value, const struct bfcl_value *accepted)
{
    struct bfcl_value mine = *value;
    bool is_variable;
    const char *error = NULL;
    if (str_is(t->name, "tuple") && mine.type == BFCL_TUPLE) {
        mine.type = BFCL_LIST;
    }
    if (str_is(t->name, "float") && to_float(c, value, &error, &mine) && error != NULL) {
        return c->mended ? type_simple : error;
    }
    error = check_type(t, &mine, accepted, &is_variable);
    if (error != NULL) {
        return error;
    }
    if (!is_variable) {
        switch (t->type) {
        case BFCL_DICT: return check_dict(c, &mine, accepted->items, accepted->n);
        case BFCL_STR: return check_string(c, &mine, accepted);
        case BFCL_LIST:
            return t->nested && t->items == BFCL_DICT ? check_dicts(c, &mine, accepted)
                                                      : check_list(c, &mine, accepted);
        case BFCL_NONE:
        case BFCL_BOOL:
        case BFCL_INT:
        case BFCL_FLOAT:
        case BFCL_TUPLE:
        case BFCL_OTHER: break;
        }
    }
    return bfcl_in(&mine, accepted) ? NULL : "value_error:others";
}
