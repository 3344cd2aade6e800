/* What Java and JavaScript questions of BFCL become. Which texts mean a value: the converters of
 * bfcl_eval/eval_checker/ast_eval/type_convertor of ShishirPatil/gorilla; how parameters are
 * offered: its bfcl_eval/utils.py. */
#include "goldens/import_bfcl_int.h"
#include "goldens/make.h"
#include "kernel/base/json.h"

#include <string.h>

enum bfcl_code bfcl_code_of(struct str id)
{
    return str_starts(id, "simple_javascript") ? BFCL_CODE_JAVASCRIPT
           : str_starts(id, "simple_java")     ? BFCL_CODE_JAVA
                                               : BFCL_CODE_NONE;
}

/* ---- parameters ---- */

/* "the text of a Java ArrayList of String" */
static void add_hint(enum bfcl_code code, const struct val *property, struct buf *text)
{
    const char *language = code == BFCL_CODE_JAVA ? "Java" : "JavaScript";
    struct str type = val_text(val_get(property, "type"));
    struct str item = val_text(val_get(val_get(property, "items"), "type"));
    const struct val *members = val_get(property, "properties");
    if (type.n == 0 || str_is(type, "any")) {
        buf_fmt(text, "%s%s of any type, written as source text", text->n > 0 ? " " : "", language);
    } else {
        buf_fmt(text, "%s%s %.*s", text->n > 0 ? " " : "", language, STR_FMT(type));
        buf_fmt(text, "%s%.*s", item.n > 0 ? " of " : "", STR_FMT(item));
        buf_addz(text, ", written as source text");
    }
    if (val_is(members, VAL_OBJECT)) {
        buf_addz(text, "; its entries: ");
        json_add(text, members);
    }
    buf_char(text, '.');
}

static void add_property(enum bfcl_code code, const struct member *m, struct buf *out)
{
    struct buf text = {0};
    buf_add(&text, val_text(val_get(&m->value, "description")));
    add_hint(code, &m->value, &text);
    json_next(out);
    json_add_string(out, m->key);
    buf_addz(out, ":{\"type\":\"string\",\"description\":");
    json_add_string(out, buf_str(&text));
    buf_char(out, '}');
    buf_free(&text);
}

void bfcl_code_add_schema(enum bfcl_code code, const struct val *parameters, struct buf *out)
{
    const struct val *properties = val_get(parameters, "properties");
    const struct val *required = val_get(parameters, "required");
    buf_addz(out, "{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; val_is(properties, VAL_OBJECT) && i < properties->count; i++) {
        add_property(code, &properties->members[i], out);
    }
    buf_char(out, '}');
    if (required != NULL) {
        buf_addz(out, ",\"required\":");
        json_add(out, required);
    }
    buf_char(out, '}');
}

/* ---- values as regular expressions ---- */

static void add_source(enum bfcl_code code, const struct val *v, struct buf *re);

/* A number without zeros at its end: 4.0 and 4.00 are 4. */
static void add_number(struct str number, struct buf *re)
{
    size_t dot = str_find(number, STR("."));
    bool plain = str_find(number, STR("e")) == SIZE_MAX && str_find(number, STR("E")) == SIZE_MAX;
    while (plain && dot != SIZE_MAX && number.n > dot && number.p[number.n - 1] == '0') {
        number.n--;
    }
    bool whole = dot == SIZE_MAX || number.n == dot + 1;
    golden_add_pattern(re, whole ? str_slice(number, 0, dot) : number);
    buf_addz(re, !plain ? "" : whole ? "(?:\\.0+)?" : "0*");
}

static void add_items(enum bfcl_code code, const struct val *list, const char *before,
                      const char *after, const char *between, struct buf *re)
{
    for (size_t i = 0; i < list->count; i++) {
        buf_addz(re, i > 0 ? between : "");
        buf_addz(re, before);
        add_source(code, &list->items[i], re);
        buf_addz(re, after);
    }
}

static void add_list(enum bfcl_code code, const struct val *list, struct buf *re)
{
    static const char comma[] = "\\s*,\\s*";
    if (code == BFCL_CODE_JAVASCRIPT) {
        buf_addz(re, "(?:\\[\\s*");
        add_items(code, list, "", "", comma, re);
        buf_addz(re, "\\s*\\]|new\\s+Array\\(\\s*");
        add_items(code, list, "", "", comma, re);
        buf_addz(re, "\\s*\\))");
        return;
    }
    buf_addz(re, "(?:new\\s+\\w+\\[\\]\\s*\\{\\s*");
    add_items(code, list, "", "", comma, re);
    buf_addz(re, "\\s*\\}|new\\s+ArrayList<\\w*>\\(\\s*Arrays\\.asList\\(\\s*");
    add_items(code, list, "", "", comma, re);
    buf_addz(re, "\\s*\\)\\s*\\)|new\\s+ArrayList<\\w*>\\(\\)");
    if (list->count > 0) {
        buf_addz(re, "\\s*\\{\\{\\s*");
        add_items(code, list, "add\\(\\s*", "\\s*\\);", "\\s*", re);
        buf_addz(re, "\\s*\\}\\}");
    }
    buf_char(re, ')');
}

static bool is_gap(const struct val *v)
{
    return v->kind == VAL_STRING && v->text.n == 0;
}

/* Whether the entry may be left out. */
static bool is_optional(const struct member *m)
{
    for (size_t i = 0; m->value.kind == VAL_ARRAY && i < m->value.count; i++) {
        if (is_gap(&m->value.items[i])) {
            return true;
        }
    }
    return false;
}

/* key: value, or put("key", value) */
static void add_entry(enum bfcl_code code, const struct member *m, struct buf *re)
{
    bool java = code == BFCL_CODE_JAVA;
    buf_addz(re, java ? "put\\(\\s*\"" : "[\"']?");
    golden_add_pattern(re, m->key);
    buf_addz(re, java ? "\"\\s*,\\s*(?:" : "[\"']?\\s*:\\s*(?:");
    size_t put = 0;
    for (size_t i = 0; m->value.kind == VAL_ARRAY && i < m->value.count; i++) {
        if (!is_gap(&m->value.items[i])) {
            buf_addz(re, put++ > 0 ? "|" : "");
            add_source(code, &m->value.items[i], re);
        }
    }
    if (m->value.kind != VAL_ARRAY) {
        add_source(code, &m->value, re);
    }
    buf_addz(re, java ? ")\\s*\\)\\s*;" : ")(?=\\s*[,}])");
}

/* The entries in any order: each that is needed is looked for, and there is nothing else. */
static void add_map(enum bfcl_code code, const struct val *map, struct buf *re)
{
    bool java = code == BFCL_CODE_JAVA;
    size_t needed = 0;
    buf_addz(re, java ? "new\\s+HashMap<[^>]*>\\(\\)" : "\\{\\s*");
    buf_addz(re, java && map->count > 0 ? "\\s*\\{\\s*\\{\\s*" : "");
    for (size_t i = 0; i < map->count; i++) {
        if (!is_optional(&map->members[i])) {
            needed++;
            buf_addz(re, "(?=.*?");
            add_entry(code, &map->members[i], re);
            buf_char(re, ')');
        }
    }
    if (map->count > 0) {
        buf_addz(re, "(?:(?:");
        for (size_t i = 0; i < map->count; i++) {
            buf_addz(re, i > 0 ? "|" : "");
            add_entry(code, &map->members[i], re);
        }
        buf_fmt(re, ")\\s*%s){%zu,%zu}", java ? "" : ",?\\s*", needed, map->count);
    }
    buf_addz(re, java ? map->count > 0 ? "\\}\\s*\\}" : "" : "\\}");
}

static void add_source(enum bfcl_code code, const struct val *v, struct buf *re)
{
    switch (v->kind) {
    case VAL_NULL: buf_addz(re, "null"); break;
    case VAL_BOOL: buf_addz(re, v->boolean ? "true" : "false"); break;
    case VAL_NUMBER:
        add_number(v->text, re);
        buf_addz(re, code == BFCL_CODE_JAVA ? "[lLfFdD]?" : "n?");
        break;
    case VAL_STRING:
        buf_addz(re, "[\"']?");
        golden_add_pattern(re, v->text);
        buf_addz(re, "[\"']?");
        break;
    case VAL_ARRAY: add_list(code, v, re); break;
    case VAL_OBJECT: add_map(code, v, re); break;
    }
}

/* ---- values as matchers ---- */

/* The letters that must or may stand behind a number. */
static const char *suffix_of(enum bfcl_code code, struct str type)
{
    bool java = code == BFCL_CODE_JAVA;
    return java && str_is(type, "long")      ? "[lL]"
           : java && str_is(type, "float")   ? "[fF]"
           : java && str_is(type, "any")     ? "[lLfFdD]?"
           : !java && str_is(type, "Bigint") ? "n"
                                             : "";
}

static bool is_whole(struct str type)
{
    static const char *const types[] = {"integer", "byte", "short", "long", "Bigint"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (str_is(type, types[i])) {
            return true;
        }
    }
    return false;
}

static size_t put_text(enum bfcl_code code, struct str type, struct str text, struct buf *out)
{
    golden_put_text(out, text);
    if (code == BFCL_CODE_JAVA || !str_is(type, "String")) {
        return 1;
    }
    for (const char *quote = "\"'"; *quote != '\0'; quote++) {
        struct buf quoted = {0};
        buf_char(&quoted, *quote);
        buf_add(&quoted, text);
        buf_char(&quoted, *quote);
        buf_addz(out, ", ");
        golden_put_text(out, buf_str(&quoted));
        buf_free(&quoted);
    }
    return 3;
}

size_t bfcl_code_put_value(enum bfcl_code code, struct str type, const struct val *v,
                           struct buf *out)
{
    struct buf re = {0};
    bool plain_number = v->kind == VAL_NUMBER && is_whole(type) && suffix_of(code, type)[0] == '\0';
    if (v->kind == VAL_STRING || plain_number) {
        return put_text(code, type, v->text, out);
    }
    if (v->kind == VAL_BOOL) {
        return put_text(code, (struct str){0}, v->boolean ? STR("true") : STR("false"), out);
    }
    buf_addz(&re, "(?s)^");
    if (v->kind == VAL_NUMBER && is_whole(type)) {
        golden_add_pattern(&re, v->text);
        buf_addz(&re, suffix_of(code, type));
    } else if (v->kind == VAL_NUMBER) {
        add_number(v->text, &re);
        buf_addz(&re, suffix_of(code, type));
    } else {
        buf_addz(&re, "\\s*");
        add_source(code, v, &re);
        buf_addz(&re, ";?\\s*");
    }
    buf_char(&re, '$');
    buf_addz(out, "{regex: ");
    golden_put_text(out, buf_str(&re));
    buf_char(out, '}');
    buf_free(&re);
    return 1;
}
