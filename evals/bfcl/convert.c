/* What a string of Java or JavaScript stands for, by its documented type. What does not fit stays a
 * string. Rules: bfcl_eval/eval_checker/ast_eval/type_convertor of ShishirPatil/gorilla. */
#include <string.h>

#include "evals/bfcl/bfcl_int.h"

static const char no_convert[] = BFCL_EXCEPTION "NotImplementedError";
static const char no_value[] = BFCL_EXCEPTION "ValueError";

/* Values found so far. */
struct list {
    struct bfcl_value *at;
    size_t n;
    size_t cap;
};

static void push(struct bfcl_work *w, struct list *l, struct bfcl_value v)
{
    if (l->n == l->cap) {
        l->cap = l->cap == 0 ? 8 : 2 * l->cap;
        struct bfcl_value *more = arena_array(w->arena, l->cap, sizeof *more);
        memcpy(more, l->n == 0 ? more : l->at, l->n * sizeof *more);
        l->at = more;
    }
    l->at[l->n++] = v;
}

static struct bfcl_value list_value(const struct list *l)
{
    return (struct bfcl_value){.type = BFCL_LIST, .n = l->n, .items = l->at};
}

static struct bfcl_value bool_value(bool b)
{
    return (struct bfcl_value){.type = BFCL_BOOL, .boolean = b};
}

/* Without its first and last character. */
static struct str inside(struct str s)
{
    return s.n < 2 ? (struct str){NULL, 0} : str_slice(s, 1, s.n - 1);
}

static bool is_quoted(struct str s, char quote)
{
    return s.n > 0 && s.p[0] == quote && s.p[s.n - 1] == quote;
}

/* int(s), else float(s), else s */
static struct bfcl_value number_or_text(struct bfcl_work *w, struct str s)
{
    struct bfcl_value v;
    if (bfcl_parse_int(w->arena, s, &v) || bfcl_parse_float(w->arena, s, &v)) {
        return v;
    }
    return bfcl_str(s);
}

static struct bfcl_value int_value(struct bfcl_work *w, struct str s)
{
    struct bfcl_value v;
    return bfcl_parse_int(w->arena, s, &v) ? v : bfcl_str(s);
}

static struct bfcl_value float_value(struct str s)
{
    return (struct bfcl_value){.type = BFCL_FLOAT, .real = bfcl_double(s)};
}

/* ---- Java ---- */

/* A value of which no type is documented. */
static struct bfcl_value java_guess(struct bfcl_work *w, struct str s)
{
    struct str found;
    if (str_is(s, "true") || str_is(s, "false")) {
        return bool_value(s.p[0] == 't');
    }
    if (is_quoted(s, '"')) {
        return bfcl_str(inside(s));
    }
    if (bfcl_find(w, BFCL_RE_JAVA_LONG, s, 0, &found)) {
        return int_value(w, found);
    }
    if (bfcl_find(w, BFCL_RE_JAVA_FLOAT, s, 0, &found)) {
        return float_value(found);
    }
    return number_or_text(w, s);
}

/* An item of a collection; strings and characters of an ArrayList lose their quotes. */
static const char *java_item(struct bfcl_work *w, struct str s, const struct str *type,
                             bool unquotes, struct bfcl_value *out)
{
    if (type == NULL) {
        *out = java_guess(w, s);
        return NULL;
    }
    if (unquotes && (str_is(*type, "char") || str_is(*type, "String"))) {
        *out = bfcl_str(inside(s));
        return NULL;
    }
    return bfcl_java_value(w, s, *type, NULL, out);
}

/* Parts between commas. */
static const char *java_items(struct bfcl_work *w, struct str s, const struct str *type,
                              bool array_list, struct bfcl_value *out)
{
    struct list l = {0};
    const char *error = NULL;
    for (bool more = true; more && error == NULL; more = s.p != NULL) {
        struct bfcl_value v = bfcl_str(str_trim(str_cut(&s, ',')));
        if (array_list || v.text.n > 0) {
            error = java_item(w, v.text, type, array_list, &v);
            push(w, &l, v);
        }
    }
    *out = list_value(&l);
    return error;
}

static const char *java_array_list(struct bfcl_work *w, struct str s, const struct str *type,
                                   struct bfcl_value *out)
{
    struct str found;
    struct str adds;
    if (bfcl_find(w, BFCL_RE_JAVA_AS_LIST, s, 0, &found)) {
        return java_items(w, found, type, true, out);
    }
    if (bfcl_find(w, BFCL_RE_JAVA_ADDS, s, 0, &adds)) {
        struct list l = {0};
        const char *error = NULL;
        size_t from = 0;
        while (error == NULL && bfcl_find(w, BFCL_RE_JAVA_ADD, adds, from, &found)) {
            struct bfcl_value v;
            error = java_item(w, str_trim(found), type, true, &v);
            push(w, &l, v);
            from = (size_t)(found.p - adds.p) + found.n + 1;
        }
        *out = list_value(&l);
        return error;
    }
    *out = bfcl_find(w, BFCL_RE_JAVA_NEW_LIST, s, 0, &found) ? list_value(&(struct list){0})
                                                             : bfcl_str(s);
    return NULL;
}

/* put("key", value) of a HashMap's initialiser, as many as there are. */
static struct bfcl_value java_puts(struct bfcl_work *w, struct str puts)
{
    struct bfcl_pair *pairs = NULL;
    size_t n = 0, cap = 0, from = 0;
    struct str put;
    while (bfcl_find(w, BFCL_RE_JAVA_PUT, puts, from, &put)) {
        size_t quote = str_find(put, STR("\","));
        if (n == cap) {
            cap = cap == 0 ? 8 : 2 * cap;
            struct bfcl_pair *more = arena_array(w->arena, cap, sizeof *more);
            memcpy(more, n == 0 ? more : pairs, n * sizeof *more);
            pairs = more;
        }
        pairs[n].key = bfcl_str(str_slice(put, 0, quote));
        pairs[n++].value = java_guess(w, str_trim(str_slice(put, quote + 2, put.n)));
        from = (size_t)(put.p - puts.p) + put.n + 1;
    }
    struct bfcl_value out;
    bool made = bfcl_dict(w->arena, pairs, n, &out);
    (void)made; /* keys are strings */
    return out;
}

static struct bfcl_value java_map(struct bfcl_work *w, struct str s)
{
    struct str puts;
    if (bfcl_find(w, BFCL_RE_JAVA_PUTS, s, 0, &puts)) {
        return java_puts(w, puts);
    }
    if (bfcl_find(w, BFCL_RE_JAVA_NEW_MAP, s, 0, &puts)) {
        return (struct bfcl_value){.type = BFCL_DICT};
    }
    return bfcl_str(s);
}

const char *bfcl_java_value(struct bfcl_work *w, struct str s, struct str type,
                            const struct str *nested, struct bfcl_value *out)
{
    struct str found;
    *out = bfcl_str(s);
    if (str_is(type, "byte") || str_is(type, "short") || str_is(type, "integer")) {
        if (bfcl_find(w, BFCL_RE_INTEGER, s, 0, &found)) {
            *out = int_value(w, s);
        }
    } else if (str_is(type, "float")) {
        if (bfcl_find(w, BFCL_RE_JAVA_FLOAT, s, 0, &found)) {
            *out = float_value(found);
        }
    } else if (str_is(type, "double")) {
        if (bfcl_find(w, BFCL_RE_JAVA_DOUBLE, s, 0, &found)) {
            *out = float_value(s);
        }
    } else if (str_is(type, "long")) {
        if (bfcl_find(w, BFCL_RE_JAVA_LONG, s, 0, &found)) {
            *out = int_value(w, found);
        }
    } else if (str_is(type, "boolean")) {
        if (str_is(s, "true") || str_is(s, "false")) {
            *out = bool_value(s.p[0] == 't');
        }
    } else if (str_is(type, "ArrayList")) {
        return java_array_list(w, s, nested, out);
    } else if (str_is(type, "Array")) {
        return bfcl_find(w, BFCL_RE_JAVA_ARRAY, s, 0, &found)
                   ? java_items(w, found, nested, false, out)
                   : NULL;
    } else if (str_is(type, "HashMap")) {
        *out = java_map(w, s);
    } else if (str_is(type, "Set") || str_is(type, "Hashtable") || str_is(type, "Queue") ||
               str_is(type, "Stack")) {
        return no_convert;
    }
    return NULL; /* char, String and any stay strings */
}

/* ---- JavaScript ---- */

static struct bfcl_value js_array(struct bfcl_work *w, struct str s, const struct str *nested);

/* A value of which no type is documented. */
static struct bfcl_value js_guess(struct bfcl_work *w, struct str s)
{
    s = str_trim(s);
    if (str_is(s, "true") || str_is(s, "false")) {
        return bool_value(s.p[0] == 't');
    }
    if (is_quoted(s, '"') || is_quoted(s, '\'')) {
        return bfcl_str(inside(s));
    }
    return number_or_text(w, s);
}

static struct bfcl_value js_row(struct bfcl_work *w, struct str row)
{
    struct list l = {0};
    for (bool more = true; more; more = row.p != NULL) {
        push(w, &l, js_guess(w, str_trim(str_cut(&row, ','))));
    }
    return list_value(&l);
}

static struct bfcl_value js_rows(struct bfcl_work *w, struct str s)
{
    struct list l = {0};
    struct str row;
    size_t from = 0;
    while (bfcl_find(w, BFCL_RE_JS_INNER, s, from, &row)) {
        from = (size_t)(row.p - s.p) + row.n + 1;
        row = str_trim(row);
        if (l.n == 0 && str_starts(row, "[")) { /* the outer bracket of the first */
            row = str_slice(row, 1, row.n);
        }
        push(w, &l, js_row(w, row));
    }
    return list_value(&l);
}

static struct bfcl_value js_array(struct bfcl_work *w, struct str s, const struct str *nested)
{
    struct str found;
    s = str_trim(s);
    if (bfcl_find(w, BFCL_RE_JS_ARRAY_2D, s, 0, &found)) {
        return js_rows(w, found);
    }
    if (!bfcl_find(w, BFCL_RE_JS_ARRAY, s, 0, &found)) {
        return bfcl_str(s);
    }
    struct list l = {0};
    found = str_trim(found);
    for (bool more = found.n > 0; more; more = found.p != NULL) {
        struct str part = str_trim(str_cut(&found, ','));
        struct bfcl_value v = bfcl_str(part);
        if (nested == NULL) {
            v = js_guess(w, part);
        } else if (bfcl_js_value(w, part, *nested, NULL, &v) != NULL) {
            return bfcl_str(s);
        }
        push(w, &l, v);
    }
    return list_value(&l);
}

/* Without quotes of either kind at both ends, however many. */
static struct str unquoted(struct str s)
{
    while (s.n > 0 && (s.p[0] == '"' || s.p[0] == '\'')) {
        s = str_slice(s, 1, s.n);
    }
    while (s.n > 0 && (s.p[s.n - 1] == '"' || s.p[s.n - 1] == '\'')) {
        s.n--;
    }
    return s;
}

static struct bfcl_value js_dict(struct bfcl_work *w, struct str s);

/* "key: value", with the comma before the next pair. */
static struct bfcl_pair js_pair(struct bfcl_work *w, struct str pair, bool last)
{
    size_t colon = str_find(pair, STR(":"));
    struct str value = str_trim(str_slice(pair, colon + 1, pair.n));
    if (!last && str_ends(value, ",")) {
        value = str_trim(str_slice(value, 0, value.n - 1));
    }
    struct bfcl_pair out = {.key = bfcl_str(unquoted(str_trim(str_slice(pair, 0, colon))))};
    if (str_starts(value, "[") && str_ends(value, "]")) {
        out.value = js_array(w, value, NULL);
    } else if (str_starts(value, "{") && str_ends(value, "}")) {
        out.value = js_dict(w, value);
    } else {
        out.value = js_guess(w, unquoted(value));
    }
    return out;
}

static struct bfcl_value js_dict(struct bfcl_work *w, struct str s)
{
    struct str content;
    s = str_trim(s);
    if (str_is(s, "{}")) {
        return (struct bfcl_value){.type = BFCL_DICT};
    }
    if (!bfcl_find(w, BFCL_RE_JS_DICT, s, 0, &content)) {
        return bfcl_str(s);
    }
    size_t colons = 0;
    for (size_t i = 0; i < content.n; i++) {
        colons += content.p[i] == ':' ? 1 : 0;
    }
    struct bfcl_pair *pairs = arena_array(w->arena, colons, sizeof *pairs);
    size_t n = 0, from = 0;
    struct str pair;
    while (n < colons && bfcl_find(w, BFCL_RE_JS_PAIR, content, from, &pair)) {
        from = (size_t)(pair.p - content.p) + pair.n;
        pairs[n++] = js_pair(w, pair, from == content.n);
    }
    struct bfcl_value out;
    bool made = bfcl_dict(w->arena, pairs, n, &out);
    (void)made; /* keys are strings */
    return out;
}

const char *bfcl_js_value(struct bfcl_work *w, struct str s, struct str type,
                          const struct str *nested, struct bfcl_value *out)
{
    struct str found;
    *out = bfcl_str(s);
    if (str_is(type, "String")) {
        if (is_quoted(s, '"') || is_quoted(s, '\'')) {
            *out = bfcl_str(inside(s));
        }
    } else if (str_is(type, "integer")) {
        if (bfcl_find(w, BFCL_RE_INTEGER, s, 0, &found)) {
            *out = int_value(w, s);
        }
    } else if (str_is(type, "float")) {
        if (bfcl_find(w, BFCL_RE_JS_FLOAT, s, 0, &found)) {
            *out = float_value(s);
        }
    } else if (str_is(type, "Bigint")) {
        if (bfcl_find(w, BFCL_RE_JS_BIGINT, s, 0, &found)) {
            *out = int_value(w, found);
            return s.n == found.n + 1 ? NULL : no_value; /* int("5n") where a newline follows */
        }
    } else if (str_is(type, "Boolean")) {
        if (str_is(s, "true") || str_is(s, "false")) {
            *out = bool_value(s.p[0] == 't');
        }
    } else if (str_is(type, "array")) {
        *out = js_array(w, s, nested);
    } else if (str_is(type, "dict")) {
        *out = js_dict(w, s);
    }
    return NULL; /* any stays a string */
}
