/* promptfoo's configuration as a golden set: each prompt with each test is a task. What has no
 * counterpart is named and left out (promptfoo.dev/docs/configuration: guide, test-cases,
 * expected-outputs). */
#include "goldens/golden_int.h"
#include "goldens/make.h"
#include "kernel/base/dec.h"
#include "kernel/base/json.h"
#include "kernel/base/regex.h"
#include "kernel/base/schema.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 64 << 20,
    PROMPTS_MAX = 1000,
    PROVIDERS_MAX = 1000,
    ID_BYTES_MAX = 100,
    SHOWN_CHARS = 60
};

/* A prompt: what system and user say, with {{variables}}. */
struct prompt {
    const struct val *at;
    struct str system; /* p NULL = none */
    struct str *turns;
    size_t n_turns;
};

struct import {
    struct arena *arena;
    struct doc doc;
    const char *dir;
    struct golden_made *out;
    void (*left)(void *ctx, const struct finding *f);
    void *ctx;
    struct prompt *prompts;
    size_t n_prompts;
    const struct val *usual; /* defaultTest; NULL = none */
    size_t filled_in;        /* bytes that templates came to */
    const struct val *full;  /* the template with which they are more than a set holds; NULL */
};

/* Names something that is not taken over. */
static void leave(const struct import *m, const struct val *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void leave(const struct import *m, const struct val *at, const char *fmt, ...)
{
    struct buf text = {0};
    va_list args;
    char line[512];
    if (m->full != NULL) {
        return; /* that is what there is to tell */
    }
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    buf_addz(&text, line);
    struct finding f = {m->doc.file,     at->line,         at->column,
                        FINDING_WARNING, "not_taken_over", buf_str(&text)};
    m->left(m->ctx, &f);
    buf_free(&text);
}

static struct str shown(const struct import *m, struct str s)
{
    return text_preview(m->arena, s, SHOWN_CHARS);
}

/* Names each key that is not among the known ones. */
static void leave_others(const struct import *m, const struct val *map, const char *const *known,
                         const char *what)
{
    for (size_t i = 0; val_is(map, VAL_OBJECT) && i < map->count; i++) {
        const struct member *key = &map->members[i];
        size_t k = 0;
        while (known[k] != NULL && !str_is(key->key, known[k])) {
            k++;
        }
        if (known[k] == NULL) {
            struct val at = {.line = key->line, .column = key->column};
            leave(m, &at, "\"%.*s\" of %s has no counterpart", STR_FMT(shown(m, key->key)), what);
        }
    }
}

/* ---- templates ---- */

/* The value of a variable: the test's, else the default test's. */
static const struct val *variable(const struct import *m, const struct val *test, struct str name)
{
    const struct val *v = val_find(val_get(test, "vars"), name);
    return v != NULL ? v : val_find(val_get(m->usual, "vars"), name);
}

static bool add_variable(const struct import *m, const struct val *test, struct str name,
                         const struct val *at, struct buf *out)
{
    const struct val *v = variable(m, test, name);
    if (v == NULL) {
        leave(m, at, "{{%.*s}} is no plain variable of the test", STR_FMT(shown(m, name)));
    } else if (v->kind == VAL_ARRAY || (v->kind == VAL_STRING && str_starts(v->text, "file://"))) {
        leave(m, v, "the values of \"%.*s\" are %s: write a test for each", STR_FMT(shown(m, name)),
              v->kind == VAL_ARRAY ? "a list" : "in a file");
    } else if (v->kind == VAL_STRING) {
        buf_add(out, v->text);
        return true;
    } else {
        json_add(out, v);
        return true;
    }
    return false;
}

/* Fills in {{name}}; false, told, where the template wants more than that. */
static bool render(struct import *m, const struct val *test, struct str text, const struct val *at,
                   struct str *out)
{
    struct buf made = {0};
    bool good = true;
    if (str_find(text, STR("{%")) != SIZE_MAX) {
        leave(m, at, "the template has statements ({%% ... %%}), which are not carried out");
        return false;
    }
    for (size_t open; good && (open = str_find(text, STR("{{"))) != SIZE_MAX;) {
        struct str rest = str_slice(text, open + 2, text.n);
        size_t close = str_find(rest, STR("}}"));
        buf_add(&made, str_slice(text, 0, open));
        good = close != SIZE_MAX &&
               add_variable(m, test, str_trim(str_slice(rest, 0, close)), at, &made);
        text = good ? str_slice(rest, close + 2, rest.n) : rest;
        if (made.n > GOLDEN_SET_BYTES_MAX - m->filled_in) {
            m->full = at;
            good = false;
        }
    }
    buf_add(&made, text);
    m->filled_in +=
        made.n < GOLDEN_SET_BYTES_MAX - m->filled_in ? made.n : GOLDEN_SET_BYTES_MAX - m->filled_in;
    *out = arena_str(m->arena, good ? buf_str(&made) : STR(""));
    buf_free(&made);
    return good;
}

/* ---- prompts ---- */

/* A conversation: a system message first, then what the user says. */
static bool read_chat(const struct import *m, const struct val *list, const struct val *at,
                      struct prompt *out)
{
    out->turns = arena_array(m->arena, list->count, sizeof *out->turns);
    for (size_t i = 0; i < list->count; i++) {
        struct str role = val_text(val_get(&list->items[i], "role"));
        const struct val *content = val_get(&list->items[i], "content");
        bool system = (str_is(role, "system") || str_is(role, "developer")) && i == 0;
        if (!val_is(content, VAL_STRING) || (!system && !str_is(role, "user"))) {
            leave(m, at,
                  "a conversation that holds more than a system message and texts of the user");
            return false;
        }
        if (system) {
            out->system = content->text;
        } else {
            out->turns[out->n_turns++] = content->text;
        }
    }
    if (out->n_turns == 0) {
        leave(m, at, "a conversation in which the user says nothing");
    }
    return out->n_turns > 0;
}

static bool read_prompt(struct import *m, struct str text, const struct val *at, struct prompt *out)
{
    struct val *chat = NULL;
    *out = (struct prompt){.at = at};
    if (str_starts(str_trim(text), "[") &&
        json_parse(m->arena, NULL, str_trim(text), &chat, NULL) == 0 && chat->kind == VAL_ARRAY) {
        return read_chat(m, chat, at, out);
    }
    if (str_trim(text).n == 0) {
        leave(m, at, "an empty prompt");
        return false;
    }
    out->turns = arena_array(m->arena, 1, sizeof *out->turns);
    out->turns[out->n_turns++] = text;
    return true;
}

static bool ends_like_text(struct str path)
{
    static const char *const ends[] = {".txt", ".json", ".md"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (str_ends(path, ends[i])) {
            return true;
        }
    }
    return false;
}

/* A prompt's text: itself, or that of the file it names. */
static bool prompt_text(const struct import *m, const struct val *v, struct str *out)
{
    struct str s = val_text(v);
    bool named = str_starts(s, "file://");
    struct str path = named ? str_slice(s, sizeof "file://" - 1, s.n) : s;
    const char *file = path_join(m->arena, m->dir, arena_cstr(m->arena, path));
    *out = s;
    if (!named && (!ends_like_text(s) || !path_is_file(file))) {
        return true;
    }
    if (!ends_like_text(path)) {
        leave(m, v, "a prompt in a file that is no .txt, .md or .json: %.*s",
              STR_FMT(shown(m, path)));
        return false;
    }
    if (file_read(m->arena, file, FILE_BYTES_MAX, out, NULL) != 0) {
        leave(m, v, "a prompt in a file that cannot be read: %.*s", STR_FMT(shown(m, path)));
        return false;
    }
    return true;
}

static bool add_read(struct import *m, struct str text, const struct val *at)
{
    if (m->n_prompts == PROMPTS_MAX) {
        leave(m, at, "more than %d prompts", (int)PROMPTS_MAX);
        return false;
    }
    m->n_prompts += read_prompt(m, text, at, &m->prompts[m->n_prompts]) ? 1 : 0;
    return true;
}

/* A file of texts holds several prompts where lines of three dashes part them. */
static void add_texts(struct import *m, struct str text, const struct val *at)
{
    for (bool more = true; more;) {
        size_t end = 0, next = 0;
        for (more = false; !more && end < text.n; end = more ? end : next) {
            size_t line = str_find(str_slice(text, end, text.n), STR("\n"));
            next = line == SIZE_MAX ? text.n : end + line + 1;
            more = str_is(str_trim(str_slice(text, end, next)), "---");
        }
        struct str one = str_slice(text, 0, end);
        text = str_slice(text, next, text.n);
        if (str_trim(one).n > 0 && !add_read(m, one, at)) {
            return;
        }
    }
}

static void add_prompt(struct import *m, const struct val *v)
{
    static const char *const known[] = {"raw", "label", "id", NULL};
    const struct val *raw = v->kind == VAL_OBJECT ? val_get(v, "raw") : v;
    const struct val *id = val_get(v, "id");
    struct str text;
    if (v->kind == VAL_OBJECT) {
        leave_others(m, v, known, "a prompt");
        raw = raw == NULL ? id : raw;
    }
    if (val_is(raw, VAL_ARRAY)) {
        struct prompt p = {.at = v};
        if (m->n_prompts < PROMPTS_MAX && read_chat(m, raw, v, &p)) {
            m->prompts[m->n_prompts++] = p;
        }
    } else if (!val_is(raw, VAL_STRING)) {
        leave(m, v, "a prompt that is no text");
    } else if (prompt_text(m, raw, &text)) {
        if (text.p != raw->text.p && str_ends(raw->text, ".txt")) {
            add_texts(m, text, v);
        } else {
            (void)add_read(m, text, v);
        }
    }
}

static int load_prompts(struct import *m, const struct val *root, struct err *e)
{
    const struct val *list = val_get(root, "prompts");
    bool one = val_is(list, VAL_STRING) || val_is(list, VAL_OBJECT);
    size_t n = one ? 1 : val_is(list, VAL_ARRAY) ? list->count : 0;
    if (n == 0 || n > PROMPTS_MAX) {
        return doc_fail(m->doc, list == NULL ? root : list, e,
                        "expected \"prompts\": a text or a list of 1 to %d of them",
                        (int)PROMPTS_MAX);
    }
    m->prompts = arena_array(m->arena, PROMPTS_MAX, sizeof *m->prompts);
    for (size_t i = 0; i < n; i++) {
        add_prompt(m, one ? list : &list->items[i]);
    }
    return m->n_prompts > 0 ? 0
                            : doc_fail(m->doc, list, e, "none of these prompts can be taken over");
}

/* ---- asserts ---- */

/* What the asserts of a test come to. */
struct checks {
    struct buf answer; /* items of an `all`, a line each */
    size_t n;
    struct str cost; /* number text; n 0 = none */
    int64_t max_ms;  /* -1 = none */
};

static void add_pattern(struct buf *out, const char *before, struct str text)
{
    struct buf pattern = {0};
    buf_addz(&pattern, before);
    golden_add_pattern(&pattern, text);
    golden_put_text(out, buf_str(&pattern));
    buf_free(&pattern);
}

/* One text that must be there. */
static void put_contains(struct buf *out, struct str text, bool any_case)
{
    buf_addz(out, any_case ? "{regex: " : "{contains: ");
    if (any_case) {
        add_pattern(out, "(?i)", text);
    } else {
        golden_put_text(out, text);
    }
    buf_char(out, '}');
}

/* The texts of a value, each rendered: a list, or one text with commas. */
static bool texts_of(struct import *m, const struct val *test, const struct val *value,
                     struct str **out, size_t *n)
{
    bool list = val_is(value, VAL_ARRAY);
    struct str rest = val_text(value);
    size_t cap = list ? value->count : 1;
    for (size_t i = 0; i < rest.n; i++) {
        cap += rest.p[i] == ',';
    }
    *out = arena_array(m->arena, cap, sizeof **out);
    *n = 0;
    for (size_t i = 0; list && i < value->count; i++) {
        const struct val *item = &value->items[i];
        struct str text = item->text;
        if ((item->kind != VAL_STRING && item->kind != VAL_NUMBER) ||
            !render(m, test, text, item, &(*out)[(*n)++])) {
            return false;
        }
    }
    for (bool more = !list; more;) {
        size_t comma = str_find(rest, STR(","));
        more = comma != SIZE_MAX;
        if (!render(m, test, str_trim(str_slice(rest, 0, comma)), value, &(*out)[(*n)++])) {
            return false;
        }
        rest = more ? str_slice(rest, comma + 1, rest.n) : rest;
    }
    return *n > 0;
}

static bool put_several(struct import *m, const struct val *test, const struct val *value, bool all,
                        bool any_case, struct buf *out)
{
    struct str *texts = NULL;
    size_t n = 0;
    if (!texts_of(m, test, value, &texts, &n)) {
        return false;
    }
    buf_addz(out, all ? "{all: [" : "{any: [");
    for (size_t i = 0; i < n; i++) {
        buf_addz(out, i > 0 ? ", " : "");
        put_contains(out, texts[i], any_case);
    }
    buf_addz(out, "]}");
    return true;
}

static bool put_schema(const struct val *value, struct buf *out)
{
    if (value == NULL) {
        buf_addz(out, "{schema: true}");
        return true;
    }
    struct schema *made = NULL;
    if (value->kind != VAL_OBJECT || schema_new(value, SCHEMA_2020_12, &made, NULL) != 0) {
        return false;
    }
    schema_free(made);
    buf_addz(out, "{schema: ");
    golden_put_value(out, value);
    buf_char(out, '}');
    return true;
}

/* Types of asserts that an answer check can stand for. */
enum form { EQUALS, CONTAINS, ALL, ANY, REGEX, STARTS, RUBRIC, IS_JSON };

static const struct {
    const char *type;
    enum form form;
    bool any_case;
} forms[] = {
    {"equals", EQUALS, false},    {"contains", CONTAINS, false},     {"icontains", CONTAINS, true},
    {"contains-all", ALL, false}, {"contains-any", ANY, false},      {"icontains-all", ALL, true},
    {"icontains-any", ANY, true}, {"regex", REGEX, false},           {"starts-with", STARTS, false},
    {"is-json", IS_JSON, false},  {"contains-json", IS_JSON, false}, {"llm-rubric", RUBRIC, false},
};

enum { FORMS = sizeof forms / sizeof forms[0] };

/* A check of one text that is rendered. */
static void put_text_check(enum form form, bool any_case, struct str text, struct buf *out)
{
    if (form == CONTAINS) {
        put_contains(out, text, any_case);
    } else if (form == STARTS) {
        buf_addz(out, "{regex: ");
        add_pattern(out, "^", text);
        buf_char(out, '}');
    } else {
        buf_addz(out, form == EQUALS ? "{equals: " : form == RUBRIC ? "{rubric: " : "{regex: ");
        golden_put_text(out, text);
        buf_char(out, '}');
    }
}

/* JavaScript's regular expressions are not all ours. */
static bool is_pattern(struct str text)
{
    struct regex *made = NULL;
    bool good = regex_new(text, &made, NULL) == 0;
    regex_free(made);
    return good;
}

static bool put_check(struct import *m, const struct val *test, const struct val *assert_at,
                      size_t form, struct buf *out)
{
    const struct val *value = val_get(assert_at, "value");
    struct str text;
    bool any_case = forms[form].any_case;
    switch (forms[form].form) {
    case ALL:
    case ANY: return put_several(m, test, value, forms[form].form == ALL, any_case, out);
    case IS_JSON: return put_schema(value, out);
    case EQUALS:
    case CONTAINS:
    case REGEX:
    case STARTS:
    case RUBRIC: break;
    }
    if ((!val_is(value, VAL_STRING) && !val_is(value, VAL_NUMBER)) ||
        str_starts(value->text, "file://") || !render(m, test, value->text, value, &text) ||
        (forms[form].form == REGEX && !is_pattern(text))) {
        return false;
    }
    put_text_check(forms[form].form, any_case, text, out);
    return true;
}

static void add_limit(const struct import *m, const struct val *v, struct str type,
                      struct checks *out)
{
    const struct val *threshold = val_get(v, "threshold");
    int64_t ms;
    if (!val_is(threshold, VAL_NUMBER) || num_compare(threshold->text, STR("0")) < 0) {
        leave(m, v, "%.*s without a threshold", STR_FMT(type));
    } else if (str_is(type, "cost")) {
        out->cost = threshold->text;
    } else if (num_scaled(threshold->text, 0, &ms) && ms <= INT64_C(86400000)) {
        out->max_ms = ms;
    } else {
        leave(m, v, "a latency of more than a day");
    }
}

/* Whether an assert is about something else than the answer as it came. */
static bool is_transformed(const struct import *m, const struct val *test, const struct val *v)
{
    static const char *const keys[] = {"transform", "postprocess"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (val_get(v, keys[i]) != NULL || val_get(val_get(test, "options"), keys[i]) != NULL ||
            val_get(val_get(m->usual, "options"), keys[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void add_assert(struct import *m, const struct val *test, const struct val *v,
                       struct checks *out)
{
    static const char *const known[] = {"type", "value", "threshold", "metric", NULL};
    struct str type = val_text(val_get(v, "type"));
    bool negated = str_starts(type, "not-");
    struct str plain = negated ? str_slice(type, 4, type.n) : type;
    size_t form = 0;
    struct buf check = {0};
    if (!negated && (str_is(type, "cost") || str_is(type, "latency"))) {
        add_limit(m, v, type, out);
        return;
    }
    while (form < FORMS && !str_is(plain, forms[form].type)) {
        form++;
    }
    if (is_transformed(m, test, v)) {
        leave(m, v, "the assert \"%.*s\" looks at a transformed answer", STR_FMT(shown(m, type)));
        return;
    }
    leave_others(m, v, known, "an assert");
    if (form == FORMS || !put_check(m, test, v, form, &check)) {
        leave(m, v, "the assert \"%.*s\"%s", STR_FMT(shown(m, type)),
              form == FORMS ? " has no counterpart" : ": its value cannot be taken over");
    } else {
        buf_addz(&out->answer, negated ? "      - {not: " : "      - ");
        buf_add(&out->answer, buf_str(&check));
        buf_addz(&out->answer, negated ? "}\n" : "\n");
        out->n++;
    }
    buf_free(&check);
}

static void add_asserts(struct import *m, const struct val *test, const struct val *from,
                        struct checks *out)
{
    const struct val *list = val_get(from, "assert");
    if (list != NULL && list->kind != VAL_ARRAY) {
        leave(m, list, "expected a list of asserts");
    }
    for (size_t i = 0; val_is(list, VAL_ARRAY) && i < list->count; i++) {
        add_assert(m, test, &list->items[i], out);
    }
}

/* ---- tasks ---- */

static void put_expect(const struct checks *c, struct buf *out)
{
    if (c->n == 0 && c->cost.n == 0 && c->max_ms < 0) {
        return;
    }
    buf_addz(out, "  expect:\n");
    if (c->n > 0) {
        buf_addz(out, "    answer:\n      all:\n");
        buf_add(out, buf_str(&c->answer));
    }
    if (c->cost.n > 0 || c->max_ms >= 0) {
        buf_addz(out, "    limits: {");
        if (c->cost.n > 0) {
            buf_fmt(out, "cost_usd: %.*s%s", STR_FMT(c->cost), c->max_ms >= 0 ? ", " : "");
        }
        if (c->max_ms >= 0) {
            buf_fmt(out, "seconds: %" PRId64 ".%03" PRId64, c->max_ms / 1000, c->max_ms % 1000);
        }
        buf_addz(out, "}\n");
    }
}

static void put_turns(const struct str *turns, size_t n, struct buf *out)
{
    buf_addz(out, n == 1 ? "  prompt: " : "  turns:\n");
    for (size_t i = 0; i < n; i++) {
        buf_addz(out, n == 1 ? "" : "  - user: ");
        golden_put_text(out, turns[i]);
        buf_char(out, '\n');
    }
}

/* What a test says in a prompt; false, told, where it cannot be filled in. */
static bool fill_in(struct import *m, const struct val *test, const struct prompt *p,
                    struct str *system, struct str *turns)
{
    *system = p->system;
    bool good = p->system.p == NULL || render(m, test, p->system, p->at, system);
    for (size_t i = 0; good && i < p->n_turns; i++) {
        good = render(m, test, p->turns[i], p->at, &turns[i]) && turns[i].n > 0;
    }
    if (!good) {
        leave(m, test, "the test cannot be filled into the prompt at line %u", p->at->line);
    }
    return good;
}

/* number, prompt: from 1; the task's id is made of them and of the test's description. */
static int put_task(struct import *m, const struct val *test, size_t number, size_t prompt,
                    struct err *e)
{
    const struct prompt *p = &m->prompts[prompt - 1];
    struct str description = val_text(val_get(test, "description"));
    struct str word = golden_word(m->arena, description, "test");
    struct str *turns = arena_array(m->arena, p->n_turns, sizeof *turns);
    struct str system;
    if (!fill_in(m, test, p, &system, turns)) {
        return 0;
    }
    struct checks checks = {.max_ms = -1};
    struct buf task = {0};
    add_asserts(m, test, m->usual, &checks);
    add_asserts(m, test, test, &checks);
    buf_fmt(&task, "- id: %.*s-%zu", STR_FMT(word), number);
    if (m->n_prompts > 1) {
        buf_fmt(&task, "-p%zu", prompt);
    }
    buf_char(&task, '\n');
    put_turns(turns, p->n_turns, &task);
    if (system.p != NULL) {
        buf_addz(&task, "  system: ");
        golden_put_text(&task, system);
        buf_char(&task, '\n');
    }
    put_expect(&checks, &task);
    buf_free(&checks.answer);
    int rc = golden_made_add(m->out, buf_str(&task), test->line, test->column, e);
    buf_free(&task);
    return rc;
}

/* The test with each prompt. */
static int put_test(struct import *m, const struct val *test, size_t number, struct err *e)
{
    int rc = 0;
    for (size_t p = 1; rc == 0 && p <= m->n_prompts; p++) {
        rc = put_task(m, test, number, p, e);
        if (m->full != NULL) {
            rc = err_at(e, ERR_LIMIT, m->doc.file, m->full->line, m->full->column,
                        "with its variables filled in, and what was filled in before it, this is "
                        "more than the %d MiB that a set may have; import it in parts",
                        GOLDEN_SET_BYTES_MAX >> 20);
        }
    }
    return rc;
}

static int put_tasks(struct import *m, const struct val *root, struct err *e)
{
    static const char *const known[] = {"description", "vars", "assert", NULL};
    struct val no_test = {.kind = VAL_OBJECT, .line = 1, .column = 1};
    const struct val no_tests = {
        .kind = VAL_ARRAY, .line = 1, .column = 1, .items = &no_test, .count = 1};
    const struct val *tests = val_get(root, "tests");
    int rc = 0;
    tests = tests == NULL ? &no_tests : tests; /* each prompt is asked once, as it stands */
    if (!val_is(tests, VAL_ARRAY) || tests->count == 0) {
        return doc_fail(m->doc, tests, e,
                        "expected \"tests\": a list; tests in another file (YAML, CSV, a program) "
                        "must be written here first");
    }
    if (tests->count > GOLDEN_TASKS_MAX / m->n_prompts) {
        return err_at(e, ERR_LIMIT, m->doc.file, tests->line, tests->column,
                      "%zu tests with %zu prompt%s are more than the %d tasks that a set may hold; "
                      "import them in parts",
                      tests->count, m->n_prompts, m->n_prompts == 1 ? "" : "s",
                      (int)GOLDEN_TASKS_MAX);
    }
    leave_others(m, m->usual, known, "defaultTest");
    buf_addz(&m->out->text, "tasks:\n");
    for (size_t i = 0; rc == 0 && i < tests->count; i++) {
        const struct val *test = &tests->items[i];
        if (test->kind != VAL_OBJECT) {
            leave(m, test, "a test that is no map");
            continue;
        }
        leave_others(m, test, known, "a test");
        rc = put_test(m, test, i + 1, e);
    }
    if (rc == 0 && m->out->tasks == 0) {
        rc = doc_fail(m->doc, tests, e, "none of these tests can be taken over");
    }
    return rc;
}

/* ---- models ---- */

/* "openai:chat:NAME", "openai:responses:NAME", "anthropic:messages:NAME", "openai:NAME". */
static bool model_of(struct str id, struct str *name, const char **provider)
{
    static const struct {
        const char *prefix;
        const char *provider;
    } known[] = {{"openai:chat:", "openai"},
                 {"openai:responses:", "responses"},
                 {"anthropic:messages:", "anthropic"},
                 {"openai:", "openai"}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (str_starts(id, known[i].prefix)) {
            *name = str_slice(id, strlen(known[i].prefix), id.n);
            *provider = known[i].provider;
            return name->n > 0 && str_find(*name, STR(":")) == SIZE_MAX;
        }
    }
    return false;
}

static const struct val *provider_id(const struct val *v)
{
    return v->kind == VAL_OBJECT ? val_get(v, "id") : v;
}

/* Whether an earlier item of the list is the same model: they may differ in settings only. */
static bool is_repeated(const struct val *list, size_t i, struct str name, const char *provider)
{
    struct str before;
    const char *by;
    for (size_t j = 0; j < i; j++) {
        if (model_of(val_text(provider_id(&list->items[j])), &before, &by) &&
            str_eq(before, name) && strcmp(by, provider) == 0) {
            return true;
        }
    }
    return false;
}

static void put_models(const struct import *m, const struct val *root)
{
    static const char *const known[] = {"id", "label", NULL};
    const struct val *list = val_get(root, "providers");
    bool one = val_is(list, VAL_STRING);
    size_t n = one ? 1 : val_is(list, VAL_ARRAY) ? list->count : 0;
    size_t put = 0;
    for (size_t i = 0; i < n && i < PROVIDERS_MAX; i++) {
        const struct val *v = one ? list : &list->items[i];
        const struct val *id = provider_id(v);
        struct str name;
        const char *provider;
        if (!model_of(val_text(id), &name, &provider)) {
            leave(m, v, "the provider \"%.*s\"", STR_FMT(shown(m, val_text(id))));
            continue;
        }
        leave_others(m, v, known, "a provider");
        if (!one && is_repeated(list, i, name, provider)) {
            leave(m, v, "the provider \"%.*s\" stands here already",
                  STR_FMT(shown(m, val_text(id))));
            continue;
        }
        buf_addz(&m->out->text, put++ == 0 ? "models:\n- {model: " : "- {model: ");
        golden_put_text(&m->out->text, name);
        buf_fmt(&m->out->text, ", provider: %s}\n", provider);
    }
}

int golden_import_promptfoo(struct golden_made *out, struct str name,
                            void (*left)(void *ctx, const struct finding *f), void *ctx,
                            struct err *e)
{
    static const char *const known[] = {"description", "prompts",     "providers",
                                        "tests",       "defaultTest", NULL};
    struct import m = {.arena = arena_new(), .out = out, .left = left, .ctx = ctx};
    const char *path = out->from;
    struct str text;
    struct val *root;
    m.doc = (struct doc){m.arena, path};
    m.dir = path_dir(m.arena, path);
    int rc = file_read(m.arena, path, FILE_BYTES_MAX, &text, e);
    rc = rc != 0 ? rc : yaml_parse(m.arena, path, text, YAML_CORE, &root, e);
    if (rc == 0 && root->kind != VAL_OBJECT) {
        rc = doc_fail(m.doc, root, e, "expected a map with prompts and tests, found %s",
                      val_kind_name(root->kind));
    }
    if (rc == 0) {
        leave_others(&m, root, known, "the configuration");
        m.usual = val_get(root, "defaultTest");
        buf_fmt(&out->text, "version: 1\nname: %.*s\n",
                STR_FMT(golden_word(m.arena, name, "promptfoo")));
        rc = load_prompts(&m, root, e);
    }
    if (rc == 0) {
        put_models(&m, root);
        rc = put_tasks(&m, root, e);
    }
    arena_free(m.arena);
    return rc;
}
