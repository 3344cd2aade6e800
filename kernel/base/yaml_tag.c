/* What a scalar is by its tag or, without one, by its look; which tags lists and maps may have. */
#include <string.h>

#include "kernel/base/base64.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml_int.h"

enum { SHOWN_CHARS = 40 };

/* The name of one of YAML's own tags, without what stands before it in all of them; NULL = another
 * tag. */
static const char *standard_name(const char *tag)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    return strncmp(tag, prefix, sizeof prefix - 1) == 0 ? tag + sizeof prefix - 1 : NULL;
}

int yaml_bad_tag(struct doc d, const struct val *v, const char *tag, struct err *e)
{
    const char *standard = standard_name(tag);
    struct str name = str_of(standard != NULL ? standard : tag);
    return doc_fail(d, v, e,
                    "the tag %s%.*s is not known here; expected !!str, !!int, !!float, !!bool, "
                    "!!null, !!binary, !!map or !!seq, or no tag at all",
                    standard != NULL ? "!!" : "",
                    STR_FMT(text_preview(d.arena, name, SHOWN_CHARS)));
}

static int bad_value(struct doc d, const struct val *v, struct str text, const char *tag,
                     const char *expected, struct err *e)
{
    struct str shown = text_preview(d.arena, text, SHOWN_CHARS);
    return doc_fail(d, v, e, "%s expected after %s, got \"%.*s\"", expected, tag, STR_FMT(shown));
}

static void set_string(struct doc d, struct str text, struct val *v)
{
    v->kind = VAL_STRING;
    v->text = arena_str(d.arena, text);
}

static int set_binary(struct doc d, struct str text, struct val *v, struct err *e)
{
    struct buf bytes = {.n = 0};
    bool good = base64_decode(text, &bytes);
    if (good) {
        set_string(d, buf_str(&bytes), v);
        v->binary = true;
    }
    buf_free(&bytes);
    return good ? 0 : bad_value(d, v, text, "!!binary", "base64 text", e);
}

/* What `text` was resolved to; number: as of yaml_resolve. */
static int set_resolved(struct doc d, enum yaml_plain plain, struct str text, struct str number,
                        struct val *v, struct err *e)
{
    switch (plain) {
    case PLAIN_STRING: set_string(d, text, v); break;
    case PLAIN_NULL: v->kind = VAL_NULL; break;
    case PLAIN_TRUE:
    case PLAIN_FALSE:
        v->kind = VAL_BOOL;
        v->boolean = plain == PLAIN_TRUE;
        break;
    case PLAIN_INT:
    case PLAIN_FLOAT:
        v->kind = VAL_NUMBER;
        v->text = arena_str(d.arena, number);
        break;
    case PLAIN_NOT_FINITE:
        return doc_fail(d, v, e,
                        "%.*s is no number that JSON can hold; write a finite number, or put it in "
                        "quotes to make it text",
                        STR_FMT(text));
    case PLAIN_TOO_LONG:
        return err_at(e, ERR_LIMIT, d.file, v->line, v->column,
                      "a number of %zu characters that is not decimal; expected at most %d; put "
                      "it in quotes to make it text",
                      text.n, YAML_RADIX_CHARS_MAX);
    }
    return 0;
}

/* A scalar with an explicit tag. */
static int set_tagged(struct doc d, const char *tag, enum yaml_plain plain, struct str text,
                      struct str number, struct val *v, struct err *e)
{
    static const char *const as_text[] = {"str",   "python/unicode", "python/str", "timestamp",
                                          "value", "merge",          NULL};
    const char *name = standard_name(tag);
    if (name == NULL) {
        return yaml_bad_tag(d, v, tag, e);
    }
    if (str_index(str_of(name), as_text) >= 0) {
        set_string(d, text, v);
        return 0;
    }
    if (strcmp(name, "binary") == 0 || strcmp(name, "python/bytes") == 0) {
        return set_binary(d, text, v, e);
    }
    bool is_int = strcmp(name, "int") == 0;
    if (is_int || strcmp(name, "float") == 0) {
        bool fits = plain == PLAIN_INT || plain == PLAIN_TOO_LONG ||
                    (!is_int && (plain == PLAIN_FLOAT || plain == PLAIN_NOT_FINITE));
        return fits ? set_resolved(d, plain, text, number, v, e)
                    : bad_value(d, v, text, is_int ? "!!int" : "!!float",
                                is_int ? "a whole number" : "a number", e);
    }
    if (strcmp(name, "bool") == 0) {
        bool fits = plain == PLAIN_TRUE || plain == PLAIN_FALSE;
        return fits ? set_resolved(d, plain, text, number, v, e)
                    : bad_value(d, v, text, "!!bool", "true or false", e);
    }
    if (strcmp(name, "null") == 0) {
        return plain == PLAIN_NULL ? set_resolved(d, plain, text, number, v, e)
                                   : bad_value(d, v, text, "!!null", "null", e);
    }
    return yaml_bad_tag(d, v, tag, e);
}

int yaml_set_untagged(struct doc d, enum yaml_rules rules, struct str text, bool plain,
                      struct val *v, struct err *e)
{
    if (!plain) {
        set_string(d, text, v);
        return 0;
    }
    struct buf number = {.n = 0};
    enum yaml_plain meant = yaml_resolve(rules, text, &number);
    int rc = set_resolved(d, meant, text, buf_str(&number), v, e);
    buf_free(&number);
    return rc;
}

int yaml_set_scalar(struct doc d, enum yaml_rules rules, const struct yaml_part *part,
                    struct val *v, struct err *e)
{
    const char *tag = part->tag;
    bool resolves = part->plain;
    if (tag != NULL && strcmp(tag, "!") == 0) {
        tag = NULL; /* YAML 1.2: it is text; PyYAML: it is as if plain */
        resolves = rules == YAML_PYYAML;
    }
    if (tag == NULL) {
        return yaml_set_untagged(d, rules, part->text, resolves, v, e);
    }
    struct buf number = {.n = 0};
    enum yaml_plain plain = yaml_resolve(rules, part->text, &number);
    int rc = set_tagged(d, tag, plain, part->text, buf_str(&number), v, e);
    buf_free(&number);
    return rc;
}

/* PyYAML's tags of Python's own types: the list or map behind one is taken as it stands, and
 * nothing is ever run. */
static bool is_python(enum yaml_rules rules, const char *tag)
{
    const char *name = standard_name(tag);
    return rules == YAML_PYYAML && name != NULL && str_starts(str_of(name), "python/");
}

bool yaml_tag_opens(enum yaml_rules rules, enum val_kind kind, const char *tag)
{
    const char *name = standard_name(tag);
    return strcmp(tag, "!") == 0 || is_python(rules, tag) ||
           (name != NULL && strcmp(name, kind == VAL_OBJECT ? "map" : "seq") == 0);
}
