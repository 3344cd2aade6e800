#include <stdlib.h>
#include <string.h>

#include "kernel/base/json.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"
#include "kernel/drive/tools_int.h"

static const char *const tool_keys[] = {
    "name",    "description", "parameters", "tier",       "serial",   "idempotent",
    "polling", "terminal",    "timeout_ms", "max_output", "examples", "builtin",
    "command", "http",        "answers",    "root",       NULL};
static const char *const source_keys[] = {"builtin", "command", "http", "answers"};

/* A tool while it is read. */
struct draft {
    struct doc doc;
    const struct val *at;
    const char *dir;
    struct tool_spec spec;
    struct tool_def def;
};

struct toolset *toolset_new(void)
{
    struct toolset *t = mem_zero(sizeof *t);
    t->arena = arena_new();
    return t;
}

/* Frees what of a tool is not in an arena. */
static void release(struct tool_spec *spec, struct tool_def *def)
{
    schema_free(spec->validator);
    for (size_t i = 0; i < def->n_answers; i++) {
        args_match_free(def->answers[i].when);
    }
}

void toolset_free(struct toolset *t)
{
    if (t == NULL) {
        return;
    }
    for (size_t i = 0; i < t->n; i++) {
        release(&t->specs[i], &t->defs[i]);
    }
    free(t->specs);
    free(t->defs);
    arena_free(t->arena);
    free(t);
}

size_t toolset_find(const struct toolset *t, struct str name)
{
    const struct tool_spec *spec = tool_find(t->specs, t->n, name);
    return spec == NULL ? SIZE_MAX : (size_t)(spec - t->specs);
}

const struct tool_spec *toolset_specs(const struct toolset *t, size_t *n)
{
    *n = t->n;
    return t->specs;
}

uint32_t toolset_line(const struct toolset *t, struct str name)
{
    size_t i = toolset_find(t, name);
    return i == SIZE_MAX ? 0 : t->defs[i].line;
}

bool toolset_source(const struct toolset *t, struct str name, enum tool_source *out)
{
    size_t i = toolset_find(t, name);
    if (i == SIZE_MAX) {
        return false;
    }
    *out = t->defs[i].source;
    return true;
}

static void push(struct toolset *t, const struct tool_spec *spec, const struct tool_def *def)
{
    if (t->n == t->cap) {
        t->cap = t->cap == 0 ? 8 : t->cap * 2;
        t->specs = mem_grow(t->specs, t->cap * sizeof *t->specs);
        t->defs = mem_grow(t->defs, t->cap * sizeof *t->defs);
    }
    t->specs[t->n] = *spec;
    t->defs[t->n] = *def;
    t->defs[t->n].first_answer = t->n_answers;
    t->n_answers += def->n_answers;
    t->n++;
}

static const struct tool_spec spec_default = {
    .tier = TIER_READ, .timeout_ms = TOOL_TIMEOUT_MS, .max_output = TOOL_OUTPUT_CHARS};

static bool present(const struct val *v, const char *key)
{
    const struct val *found = val_get(v, key);
    return found != NULL && found->kind != VAL_NULL;
}

/* ---- one tool ---- */

bool tool_name_ok(struct str name, const char *also)
{
    return name.n <= TOOL_NAME_MAX && str_is_name(name, also);
}

static int read_name(struct draft *t, struct err *e)
{
    int rc = doc_str(t->doc, t->at, "name", DOC_REQUIRED, &t->spec.name, e);
    if (rc != 0) {
        return rc;
    }
    return tool_name_ok(t->spec.name, "_.-")
               ? 0
               : doc_fail(t->doc, val_get(t->at, "name"), e,
                          "a tool's name is 1 to %d letters, digits, \"_\", \".\" or \"-\"",
                          TOOL_NAME_MAX);
}

/* Compiles the parameters of a tool; an error of the schema is told at its place in the file. */
static int set_parameters(struct arena *arena, struct draft *t, const struct val *parameters,
                          struct err *e)
{
    const struct val *type = val_get(parameters, "type");
    if (type != NULL && !str_is(val_text(type), "object")) {
        return doc_fail(t->doc, type, e, "parameters must be a schema with `type: object`");
    }
    struct err why;
    if (schema_new(parameters, SCHEMA_2020_12, &t->spec.validator, &why) != 0) {
        uint32_t line = why.line != 0 ? why.line : parameters->line;
        uint32_t column = why.line != 0 ? why.column : parameters->column;
        return err_at(e, ERR_INPUT, t->doc.file, line, column, "parameters: %s", why.message);
    }
    struct buf text = {0};
    json_add(&text, parameters);
    t->spec.parameters = arena_str(arena, buf_str(&text));
    t->spec.schema = parameters;
    buf_free(&text);
    return 0;
}

static int declare_parameters(struct arena *arena, struct draft *t, const struct tool_param *params,
                              struct err *e)
{
    struct val *schema;
    int rc = params_schema(arena, arena_cstr(arena, t->spec.name), params, &schema, e);
    return rc == 0 ? set_parameters(arena, t, schema, e) : rc;
}

static int read_parameters(struct toolset *set, struct draft *t, struct err *e)
{
    const struct val *parameters = NULL;
    int rc = doc_map(t->doc, t->at, "parameters", DOC_OPTIONAL, &parameters, e);
    if (rc != 0) {
        return rc;
    }
    if (parameters == NULL) {
        struct val *none;
        rc = json_parse(set->arena, NULL, STR("{\"type\":\"object\",\"properties\":{}}"), &none, e);
        if (rc != 0) {
            return rc;
        }
        parameters = none;
    }
    return set_parameters(set->arena, t, parameters, e);
}

static int read_settings(struct draft *t, struct err *e)
{
    static const char *const tiers[] = {"read", "write", "danger", NULL};
    int tier = (int)t->spec.tier;
    const struct val *examples = NULL;
    int rc = doc_enum(t->doc, t->at, "tier", tiers, &tier, e);
    t->spec.tier = (enum tool_tier)tier;
    if (rc == 0) {
        rc = doc_bool(t->doc, t->at, "serial", &t->spec.serial, e);
    }
    if (rc == 0) {
        rc = doc_bool(t->doc, t->at, "idempotent", &t->spec.idempotent, e);
    }
    if (rc == 0) {
        rc = doc_bool(t->doc, t->at, "polling", &t->spec.polling, e);
    }
    if (rc == 0) {
        rc = doc_bool(t->doc, t->at, "terminal", &t->spec.terminal, e);
    }
    if (rc == 0) {
        rc = doc_int(t->doc, t->at, "timeout_ms", DOC_OPTIONAL, 1, TOOL_MS_MAX, &t->spec.timeout_ms,
                     e);
    }
    if (rc == 0) {
        rc = doc_int(t->doc, t->at, "max_output", DOC_OPTIONAL, 0, TOOL_CHARS_MAX,
                     &t->spec.max_output, e);
    }
    if (rc == 0) {
        rc = doc_list(t->doc, t->at, "examples", DOC_OPTIONAL, &examples, e);
    }
    return rc;
}

/* ---- sources ---- */

static int fill_builtin(struct arena *arena, struct draft *t, struct str name, struct err *e)
{
    const struct builtin_info *info = builtin_find(name, &t->def.builtin);
    if (info == NULL) {
        struct buf known = {0};
        builtin_names(&known);
        const struct val *at = val_get(t->at, "builtin");
        int rc = err_at(e, at == NULL ? ERR_NOT_FOUND : ERR_INPUT, t->doc.file,
                        at == NULL ? 0 : at->line, at == NULL ? 0 : at->column,
                        "there is no built-in tool called \"%.*s\"; there are %.*s", STR_FMT(name),
                        STR_FMT(buf_str(&known)));
        buf_free(&known);
        return rc;
    }
    t->def.source = info->in_root ? TOOL_FILE : TOOL_BUILTIN;
    t->spec.tier = info->tier;
    t->spec.name = str_of(info->name);
    t->spec.description = str_of(info->description);
    t->spec.terminal = info->terminal;
    return declare_parameters(arena, t, info->params, e);
}

/* The folder that a file tool sees. */
static int read_root(struct toolset *set, struct draft *t, struct err *e)
{
    if (!present(t->at, "root")) {
        return doc_fail(t->doc, t->at, e,
                        "%.*s needs the folder that it may see, relative to this file: `root: DIR`",
                        STR_FMT(t->spec.name));
    }
    struct str root = {0};
    int rc = doc_str(t->doc, t->at, "root", DOC_REQUIRED, &root, e);
    t->def.root_at = val_get(t->at, "root");
    if (rc == 0 && (root.n == 0 || memchr(root.p, '\0', root.n) != NULL)) {
        rc = doc_fail(t->doc, t->def.root_at, e, "`root` is the path of a folder, such as data");
    }
    if (rc == 0) {
        t->def.root = path_join(set->arena, t->dir, arena_cstr(set->arena, root));
    }
    return rc;
}

static int read_builtin(struct toolset *set, struct draft *t, struct err *e)
{
    static const char *const own[] = {"name", "description", "parameters"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (present(t->at, own[i])) {
            return doc_fail(t->doc, val_get(t->at, own[i]), e,
                            "a built-in tool brings its own %s; leave it out", own[i]);
        }
    }
    struct str name = {0};
    int rc = doc_str(t->doc, t->at, "builtin", DOC_REQUIRED, &name, e);
    if (rc != 0) {
        return rc;
    }
    rc = fill_builtin(set->arena, t, name, e);
    return rc == 0 && t->def.source == TOOL_FILE ? read_root(set, t, e) : rc;
}

static int read_command(struct toolset *set, struct draft *t, struct err *e)
{
    const struct val *list = NULL;
    int rc = doc_list(t->doc, t->at, "command", DOC_REQUIRED, &list, e);
    if (rc != 0) {
        return rc;
    }
    if (list->count == 0 || list->count > TOOL_ARGV_MAX) {
        return doc_fail(t->doc, list, e, "a command is a list of 1 to %d words: [program, ...]",
                        TOOL_ARGV_MAX);
    }
    t->def.argv = arena_array(set->arena, list->count + 1, sizeof *t->def.argv);
    for (size_t i = 0; i < list->count; i++) {
        const struct val *word = &list->items[i];
        if (word->kind != VAL_STRING) {
            return doc_fail(t->doc, word, e,
                            "a command's words are strings, found %s; put it in quotes",
                            val_kind_name(word->kind));
        }
        if ((i == 0 && word->text.n == 0) ||
            (word->text.n > 0 && memchr(word->text.p, '\0', word->text.n) != NULL)) {
            return doc_fail(t->doc, word, e,
                            "a command's word may hold no NUL, and its program may not be empty");
        }
        t->def.argv[i] = arena_cstr(set->arena, word->text);
    }
    t->def.source = TOOL_COMMAND;
    t->def.dir = t->dir;
    t->def.program = &list->items[0];
    return 0;
}

static int read_failure(struct doc d, const struct val *v, struct tool_output *out, struct err *e)
{
    static const char *const keys[] = {"code", "message", "retryable", "hint", NULL};
    int rc = doc_keys(d, v, "an error", keys, e);
    out->code = STR("TOOL_ERROR");
    if (rc == 0) {
        rc = doc_str(d, v, "code", DOC_OPTIONAL, &out->code, e);
    }
    if (rc == 0) {
        rc = doc_str(d, v, "message", DOC_REQUIRED, &out->message, e);
    }
    if (rc == 0) {
        rc = doc_bool(d, v, "retryable", &out->retryable, e);
    }
    if (rc == 0) {
        rc = doc_str(d, v, "hint", DOC_OPTIONAL, &out->hint, e);
    }
    if (rc == 0 && out->code.n == 0) {
        rc = doc_fail(d, val_get(v, "code"), e, "an error's code may not be empty");
    }
    return rc;
}

/* A string stands as it is, anything else as compact JSON. */
static struct str result_text(struct arena *arena, const struct val *v)
{
    if (v->kind == VAL_STRING) {
        return v->text;
    }
    struct buf text = {0};
    json_add(&text, v);
    struct str kept = arena_str(arena, buf_str(&text));
    buf_free(&text);
    return kept;
}

static int read_answer(struct toolset *set, struct doc d, const struct val *v, struct canned *c,
                       struct err *e)
{
    static const char *const keys[] = {"when", "result", "error", "delay_ms", "times", NULL};
    const struct val *when = NULL;
    int rc = doc_keys(d, v, "an answer", keys, e);
    if (rc == 0) {
        rc = doc_int(d, v, "delay_ms", DOC_OPTIONAL, 0, TOOL_MS_MAX, &c->delay_ms, e);
    }
    if (rc == 0) {
        rc = doc_int(d, v, "times", DOC_OPTIONAL, 1, TOOL_CHARS_MAX, &c->times, e);
    }
    if (rc == 0) {
        rc = doc_map(d, v, "when", DOC_OPTIONAL, &when, e);
    }
    if (rc != 0) {
        return rc;
    }
    const struct val *result = val_get(v, "result");
    const struct val *error = val_get(v, "error");
    if ((result == NULL) == (error == NULL)) {
        return doc_fail(d, v, e, "an answer has either `result` or `error`");
    }
    c->output.ok = result != NULL;
    if (result != NULL) {
        c->output.content = result_text(set->arena, result);
    } else {
        rc = read_failure(d, error, &c->output, e);
    }
    c->when_at = when;
    c->at = v;
    return rc == 0 && when != NULL ? args_match_new(d, when, &c->when, e) : rc;
}

static int read_answers(struct toolset *set, struct draft *t, struct err *e)
{
    const struct val *list = NULL;
    int rc = doc_list(t->doc, t->at, "answers", DOC_REQUIRED, &list, e);
    if (rc != 0) {
        return rc;
    }
    if (list->count == 0 || list->count > TOOL_ANSWERS_MAX) {
        return doc_fail(t->doc, list, e, "`answers` is a list of 1 to %d answers",
                        TOOL_ANSWERS_MAX);
    }
    t->def.source = TOOL_CANNED;
    t->def.answers = arena_array(set->arena, list->count, sizeof *t->def.answers);
    for (size_t i = 0; i < list->count && rc == 0; i++) {
        t->def.n_answers = i + 1;
        rc = read_answer(set, t->doc, &list->items[i], &t->def.answers[i], e);
    }
    return rc;
}

/* The one key of the tool that names a source, NULL when there is none. */
static int find_source(const struct draft *t, const char **out, struct err *e)
{
    *out = NULL;
    for (size_t i = 0; i < sizeof source_keys / sizeof source_keys[0]; i++) {
        const char *key = source_keys[i];
        if (present(t->at, key) && *out != NULL) {
            return doc_fail(t->doc, val_get(t->at, key), e,
                            "a tool has one source, this one has both `%s` and `%s`", *out, key);
        }
        *out = present(t->at, key) ? key : *out;
    }
    return 0;
}

static int read_source(struct toolset *set, struct draft *t, const char *source, struct err *e)
{
    if (source == NULL) {
        t->def.source = TOOL_BUILTIN;
        t->def.builtin = BUILTIN_TASK_DONE;
        return t->spec.terminal
                   ? 0
                   : doc_fail(t->doc, t->at, e,
                              "the tool %.*s has no source; give it one of `builtin`, `command`, "
                              "`http`, `answers`, or `terminal: true`",
                              STR_FMT(t->spec.name));
    }
    if (strcmp(source, "command") == 0) {
        return read_command(set, t, e);
    }
    if (strcmp(source, "answers") == 0) {
        return read_answers(set, t, e);
    }
    const struct val *http = NULL;
    int rc = doc_map(t->doc, t->at, "http", DOC_REQUIRED, &http, e);
    t->def.source = TOOL_HTTP;
    return rc == 0 ? http_tool_read(t->doc, http, set->arena, &t->def.http, e) : rc;
}

static int check_new(struct toolset *set, const struct draft *t, struct err *e)
{
    size_t other = toolset_find(set, t->spec.name);
    if (other == SIZE_MAX) {
        return 0;
    }
    const struct tool_def *def = &set->defs[other];
    const struct val *at = val_get(t->at, "name");
    at = at == NULL ? t->at : at;
    uint32_t line = at == NULL ? 0 : at->line, column = at == NULL ? 0 : at->column;
    if (def->file == NULL) {
        return err_at(e, ERR_INPUT, t->doc.file, line, column,
                      "there is already a tool called %.*s, %s", STR_FMT(t->spec.name),
                      def->source == TOOL_FUNCTION ? "a function" : "a built-in one");
    }
    return err_at(e, ERR_INPUT, t->doc.file, line, column,
                  "there is already a tool called %.*s (%s, line %u)", STR_FMT(t->spec.name),
                  def->file, (unsigned)def->line);
}

static int check_root(const struct draft *t, struct err *e)
{
    return !present(t->at, "root") || t->def.root != NULL
               ? 0
               : doc_fail(t->doc, val_get(t->at, "root"), e,
                          "`root` is for the built-in tools read_file, write_file and list_files");
}

static int read_tool(struct toolset *set, struct draft *t, struct err *e)
{
    const char *source;
    enum builtin which;
    if (val_is(t->at, VAL_STRING) && builtin_find(t->at->text, &which) != NULL) {
        return doc_fail(t->doc, t->at, e, "expected a map for a tool; write {builtin: %.*s}",
                        STR_FMT(t->at->text));
    }
    int rc = doc_keys(t->doc, t->at, "a tool", tool_keys, e);
    if (rc == 0) {
        rc = find_source(t, &source, e);
    }
    if (rc != 0) {
        return rc;
    }
    if (source != NULL && strcmp(source, "builtin") == 0) {
        rc = read_builtin(set, t, e);
        rc = rc == 0 ? check_root(t, e) : rc;
        return rc == 0 ? read_settings(t, e) : rc;
    }
    rc = check_root(t, e);
    if (rc != 0) {
        return rc;
    }
    rc = read_name(t, e);
    if (rc == 0) {
        rc = doc_str(t->doc, t->at, "description", DOC_OPTIONAL, &t->spec.description, e);
    }
    if (rc == 0) {
        rc = read_parameters(set, t, e);
    }
    if (rc == 0) {
        rc = read_settings(t, e);
    }
    return rc == 0 ? read_source(set, t, source, e) : rc;
}

/* ---- sets ---- */

static int add(struct toolset *set, struct draft *t, int rc, struct err *e)
{
    if (rc == 0) {
        rc = check_new(set, t, e);
    }
    if (rc != 0) {
        release(&t->spec, &t->def);
        return rc;
    }
    push(set, &t->spec, &t->def);
    return 0;
}

int toolset_add_list(struct toolset *t, struct doc d, const struct val *list, const char *dir,
                     struct err *e)
{
    if (!val_is(list, VAL_ARRAY)) {
        return doc_fail(d, list, e, "expected a list of tools, found %s",
                        list == NULL ? "nothing" : val_kind_name(list->kind));
    }
    if (list->count > TOOLS_MAX - t->n) {
        return err_at(e, ERR_LIMIT, d.file, list->line, list->column, "more than %d tools",
                      TOOLS_MAX);
    }
    const char *kept_dir = arena_cstr(t->arena, str_of(dir));
    for (size_t i = 0; i < list->count; i++) {
        struct draft draft = {
            .doc = d, .at = &list->items[i], .dir = kept_dir, .spec = spec_default};
        draft.def.file = d.file;
        draft.def.line = draft.at->line;
        int rc = add(t, &draft, read_tool(t, &draft, e), e);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

int toolset_add_file(struct toolset *t, const char *path, struct err *e)
{
    static const char *const keys[] = {"version", "tools", NULL};
    struct doc d = {t->arena, arena_cstr(t->arena, str_of(path))};
    struct str text;
    struct val *root;
    const struct val *list = NULL;
    int rc = file_read(t->arena, path, TOOL_FILE_BYTES_MAX, &text, e);
    if (rc == 0) {
        rc = yaml_parse(t->arena, d.file, text, YAML_CORE, &root, e);
    }
    if (rc == 0) {
        rc = doc_keys(d, root, "a tool file", keys, e);
    }
    if (rc == 0) {
        rc = doc_version(d, root, e);
    }
    if (rc == 0) {
        rc = doc_list(d, root, "tools", DOC_REQUIRED, &list, e);
    }
    return rc == 0 ? toolset_add_list(t, d, list, path_dir(t->arena, path), e) : rc;
}

static int check_room(const struct toolset *t, struct err *e)
{
    return t->n < TOOLS_MAX ? 0 : err_set(e, ERR_LIMIT, "more than %d tools", TOOLS_MAX);
}

int toolset_add_made(struct toolset *t, const struct tool_spec *spec, const struct tool_def *def,
                     const struct tool_param *params, struct err *e)
{
    struct draft draft = {.doc = {t->arena, NULL}, .spec = *spec, .def = *def};
    int rc = check_room(t, e);
    if (rc == 0) {
        rc = declare_parameters(t->arena, &draft, params, e);
    }
    return add(t, &draft, rc, e);
}

int toolset_add_builtin(struct toolset *t, struct str name, struct err *e)
{
    int full = check_room(t, e);
    if (full != 0) {
        return full;
    }
    struct draft draft = {.doc = {t->arena, NULL}, .spec = spec_default};
    int rc = fill_builtin(t->arena, &draft, name, e);
    if (rc == 0 && draft.def.source == TOOL_FILE) {
        rc = err_set(e, ERR_INPUT,
                     "%.*s needs a folder, which a tool file gives: `{builtin: %.*s, root: DIR}`",
                     STR_FMT(name), STR_FMT(name));
    }
    return add(t, &draft, rc, e);
}
