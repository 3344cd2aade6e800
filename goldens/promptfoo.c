/* promptfoo's configuration as a golden set: each prompt with each test is a task. What has no
 * counterpart is named and left out (promptfoo.dev/docs/configuration: guide, test-cases,
 * expected-outputs). */
#include "goldens/golden_int.h"
#include "goldens/make.h"
#include "goldens/promptfoo_int.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PROVIDERS_MAX = 1000, SHOWN_CHARS = 60 };

void promptfoo_leave(const struct promptfoo *m, const struct val *at, const char *fmt, ...)
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

struct str promptfoo_shown(const struct promptfoo *m, struct str s)
{
    return text_preview(m->arena, s, SHOWN_CHARS);
}

void promptfoo_leave_others(const struct promptfoo *m, const struct val *map,
                            const char *const *known, const char *what)
{
    for (size_t i = 0; val_is(map, VAL_OBJECT) && i < map->count; i++) {
        const struct member *key = &map->members[i];
        size_t k = 0;
        while (known[k] != NULL && !str_is(key->key, known[k])) {
            k++;
        }
        if (known[k] == NULL) {
            struct val at = {.line = key->line, .column = key->column};
            promptfoo_leave(m, &at, "\"%.*s\" of %s has no counterpart",
                            STR_FMT(promptfoo_shown(m, key->key)), what);
        }
    }
}

/* ---- tasks ---- */

static void put_turns(const struct str *turns, size_t n, struct buf *out)
{
    buf_addz(out, n == 1 ? "  prompt: " : "  turns:\n");
    for (size_t i = 0; i < n; i++) {
        buf_addz(out, n == 1 ? "" : "  - user: ");
        golden_put_text(out, turns[i]);
        buf_char(out, '\n');
    }
}

/* number, prompt: from 1; the task's id is made of them and of the test's description. */
static int put_task(struct promptfoo *m, const struct val *test, size_t number, size_t prompt,
                    struct err *e)
{
    const struct prompt *p = &m->prompts[prompt - 1];
    struct str description = val_text(val_get(test, "description"));
    struct str word = golden_word(m->arena, description, "test");
    struct str *turns = arena_array(m->arena, p->n_turns, sizeof *turns);
    struct str system;
    if (!promptfoo_fill_in(m, test, p, &system, turns)) {
        return 0;
    }
    struct buf task = {0};
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
    promptfoo_expect(m, test, &task);
    int rc = golden_made_add(m->out, buf_str(&task), test->line, test->column, e);
    buf_free(&task);
    return rc;
}

/* The test with each prompt. */
static int put_test(struct promptfoo *m, const struct val *test, size_t number, struct err *e)
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

static int put_tasks(struct promptfoo *m, const struct val *root, struct err *e)
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
    promptfoo_leave_others(m, m->usual, known, "defaultTest");
    buf_addz(&m->out->text, "tasks:\n");
    for (size_t i = 0; rc == 0 && i < tests->count; i++) {
        const struct val *test = &tests->items[i];
        if (test->kind != VAL_OBJECT) {
            promptfoo_leave(m, test, "a test that is no map");
            continue;
        }
        promptfoo_leave_others(m, test, known, "a test");
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

static void put_models(const struct promptfoo *m, const struct val *root)
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
            promptfoo_leave(m, v, "the provider \"%.*s\"",
                            STR_FMT(promptfoo_shown(m, val_text(id))));
            continue;
        }
        promptfoo_leave_others(m, v, known, "a provider");
        if (!one && is_repeated(list, i, name, provider)) {
            promptfoo_leave(m, v, "the provider \"%.*s\" stands here already",
                            STR_FMT(promptfoo_shown(m, val_text(id))));
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
    struct promptfoo m = {.arena = arena_new(), .out = out, .left = left, .ctx = ctx};
    const char *path = out->from;
    struct str text;
    struct val *root;
    m.doc = (struct doc){m.arena, path};
    m.dir = path_dir(m.arena, path);
    int rc = file_read(m.arena, path, PROMPTFOO_FILE_BYTES_MAX, &text, e);
    rc = rc != 0 ? rc : yaml_parse(m.arena, path, text, YAML_CORE, &root, e);
    if (rc == 0 && root->kind != VAL_OBJECT) {
        rc = doc_fail(m.doc, root, e, "expected a map with prompts and tests, found %s",
                      val_kind_name(root->kind));
    }
    if (rc == 0) {
        promptfoo_leave_others(&m, root, known, "the configuration");
        m.usual = val_get(root, "defaultTest");
        buf_fmt(&out->text, "version: 1\nname: %.*s\n",
                STR_FMT(golden_word(m.arena, name, "promptfoo")));
        rc = promptfoo_prompts(&m, root, e);
    }
    if (rc == 0) {
        put_models(&m, root);
        rc = put_tasks(&m, root, e);
    }
    arena_free(m.arena);
    return rc;
}
