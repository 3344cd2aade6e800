#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/base/text.h"
#include "kernel/drive/child.h"
#include "kernel/drive/files.h"
#include "kernel/drive/tools_int.h"

/* ---- programs ---- */

/* Why the program of command tool i cannot be started; n 0 = it can. */
static struct str missing_program(const struct toolset *t, size_t i, struct arena *arena)
{
    const struct tool_def *def = &t->defs[i];
    if (program_found(arena, def->argv[0], def->dir)) {
        return (struct str){0};
    }
    const char *program = def->argv[0];
    struct str name = t->specs[i].name;
    if (strchr(program, '/') == NULL) {
        return arena_printf(
            arena,
            "the program \"%s\" of the tool \"%.*s\" is not in PATH; install it, or "
            "name a file of the tool file's folder as ./%s",
            program, STR_FMT(name), program);
    }
    bool exists = path_exists(path_join(arena, def->dir, program));
    return arena_printf(
        arena, "the program \"%s\" of the tool \"%.*s\" %s, seen from the folder %s", program,
        STR_FMT(name), exists ? "cannot be executed (chmod +x)" : "is not there", def->dir);
}

/* Why a call of tool i could not be carried out here, with the place in *at and the finding's code;
 * n 0 = no reason is known. */
static struct str missing(const struct toolset *t, size_t i, struct arena *arena,
                          const struct val **at, const char **code)
{
    const struct tool_def *def = &t->defs[i];
    struct str why = {0};
    switch (def->source) {
    case TOOL_COMMAND:
        *at = def->program;
        *code = "missing_program";
        why = missing_program(t, i, arena);
        break;
    case TOOL_HTTP:
        *code = "missing_variable";
        why = http_tool_missing(&def->http, arena, at);
        break;
    case TOOL_FILE:
        *at = def->root_at;
        *code = "missing_folder";
        why = path_is_dir(def->root)
                  ? why
                  : arena_printf(arena, "there is no folder %s, which the tool \"%.*s\" works in",
                                 def->root, STR_FMT(t->specs[i].name));
        break;
    case TOOL_BUILTIN:
    case TOOL_CANNED:
    case TOOL_FUNCTION: break;
    }
    return why;
}

int toolset_programs(const struct toolset *t, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->n; i++) {
        struct arena *scratch = arena_new();
        const struct val *at = NULL;
        const char *code = NULL;
        struct str why = missing(t, i, scratch, &at, &code);
        if (why.n > 0) {
            rc = err_at(e, ERR_IO, t->defs[i].file, at->line, at->column, "%.*s", STR_FMT(why));
        }
        arena_free(scratch);
    }
    return rc;
}

/* ---- doubts ---- */

struct checking {
    const struct toolset *set;
    size_t tool;
    struct arena *arena;
    void (*found)(void *ctx, const struct finding *f);
    void *ctx;
};

static void tell(const struct checking *c, uint32_t line, uint32_t column, const char *code,
                 struct str message)
{
    struct finding f = {c->set->defs[c->tool].file, line, column, FINDING_WARNING, code, message};
    c->found(c->ctx, &f);
}

static void check_parameter(const struct checking *c, struct str name, uint32_t line,
                            uint32_t column, const char *code, const char *where)
{
    const struct tool_spec *spec = &c->set->specs[c->tool];
    const struct val *properties = val_get(spec->schema, "properties");
    if (!schema_lists_members(spec->schema) || val_find(properties, name) != NULL) {
        return;
    }
    struct str shown = text_preview(c->arena, name, TOOL_NAME_MAX);
    struct buf text = {0};
    buf_fmt(&text, "%s names \"%.*s\", a parameter that the tool \"%.*s\" does not have", where,
            STR_FMT(shown), STR_FMT(spec->name));
    doc_add_closest(&text, properties, name);
    tell(c, line, column, code, buf_str(&text));
    buf_free(&text);
}

static void check_required(const struct checking *c)
{
    const struct val *required = val_get(c->set->specs[c->tool].schema, "required");
    for (size_t i = 0; val_is(required, VAL_ARRAY) && i < required->count; i++) {
        const struct val *name = &required->items[i];
        check_parameter(c, val_text(name), name->line, name->column, "undeclared_required",
                        "`required`");
    }
}

/* OpenAI answers 400 to a schema of an object that says nothing of its members. */
static void check_properties(const struct checking *c)
{
    const struct tool_spec *spec = &c->set->specs[c->tool];
    const struct val *schema = spec->schema;
    if (str_is(val_text(val_get(schema, "type")), "object") &&
        val_get(schema, "properties") == NULL && val_get(schema, "additionalProperties") == NULL) {
        tell(c, schema->line, schema->column, "no_properties",
             arena_printf(c->arena,
                          "OpenAI refuses the parameters of the tool \"%.*s\": object schema "
                          "missing properties; write properties: {}",
                          STR_FMT(spec->name)));
    }
}

/* Parameters that stand where a schema is expected: `{order_id: {type: string}}`. */
static void check_shape(const struct checking *c)
{
    const struct tool_spec *spec = &c->set->specs[c->tool];
    const struct val *schema = spec->schema;
    const struct val *type = val_get(schema, "type");
    bool composed = val_get(schema, "$ref") != NULL || val_get(schema, "allOf") != NULL ||
                    val_get(schema, "anyOf") != NULL || val_get(schema, "oneOf") != NULL;
    if (!val_is(schema, VAL_OBJECT) || composed || str_is(val_text(type), "object")) {
        return;
    }
    bool bare = val_get(schema, "properties") == NULL && schema->count > 0 &&
                val_is(&schema->members[0].value, VAL_OBJECT);
    struct str first = bare ? schema->members[0].key : STR("NAME");
    tell(c, schema->line, schema->column, "no_object",
         arena_printf(c->arena,
                      "the parameters of the tool \"%.*s\" are no schema of `type: object`, and "
                      "models are told nothing of them; write {type: object, properties: {%.*s: "
                      "...}, required: [...]}",
                      STR_FMT(spec->name), STR_FMT(text_preview(c->arena, first, TOOL_NAME_MAX))));
}

/* A plain value in a `when` that the tool's schema never lets through. */
static void check_when(const struct checking *c, const struct member *m)
{
    const struct val *property =
        val_find(val_get(c->set->specs[c->tool].schema, "properties"), m->key);
    struct schema *schema;
    bool plain = m->value.kind != VAL_OBJECT && m->value.kind != VAL_ARRAY;
    if (property == NULL || !plain || schema_new(property, SCHEMA_2020_12, &schema, NULL) != 0) {
        return;
    }
    struct buf why = {0};
    if (!schema_valid(schema, &m->value, &why)) {
        tell(c, m->value.line, m->value.column, "unreachable_answer",
             arena_printf(c->arena,
                          "this answer is never given: the tool \"%.*s\" does not take this "
                          "\"%.*s\": %.*s",
                          STR_FMT(c->set->specs[c->tool].name),
                          STR_FMT(text_preview(c->arena, m->key, TOOL_NAME_MAX)),
                          STR_FMT(buf_str(&why))));
    }
    buf_free(&why);
    schema_free(schema);
}

static void check_answers(const struct checking *c)
{
    const struct tool_def *def = &c->set->defs[c->tool];
    bool ended = false;
    for (size_t i = 0; i < def->n_answers; i++) {
        const struct canned *answer = &def->answers[i];
        const struct val *when = answer->when_at;
        for (size_t j = 0; when != NULL && j < when->count; j++) {
            check_parameter(c, when->members[j].key, when->members[j].line, when->members[j].column,
                            "unknown_when_parameter", "the `when` of an answer");
            check_when(c, &when->members[j]);
        }
        if (ended) {
            tell(c, answer->at->line, answer->at->column, "unreachable_answer",
                 STR("this answer is never given: one before it fits every call; put that one "
                     "last, or give it `when` or `times`"));
            return;
        }
        ended = (when == NULL || when->count == 0) && answer->times == 0;
    }
}

static void check_missing(const struct checking *c)
{
    const struct val *at = NULL;
    const char *code = NULL;
    struct str why = missing(c->set, c->tool, c->arena, &at, &code);
    if (why.n > 0) {
        tell(c, at->line, at->column, code, why);
    }
}

void toolset_check(const struct toolset *t, void (*found)(void *ctx, const struct finding *f),
                   void *ctx)
{
    for (size_t i = 0; i < t->n; i++) {
        struct checking c = {t, i, arena_new(), found, ctx};
        check_required(&c);
        check_shape(&c);
        check_properties(&c);
        check_answers(&c);
        check_missing(&c);
        arena_free(c.arena);
    }
}
