/* promptfoo's prompts, and the templates that they and the asserts are. */
#include "goldens/golden_int.h"
#include "goldens/promptfoo_int.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"

enum { PROMPTS_MAX = 1000 };

/* ---- templates ---- */

/* The value of a variable: the test's, else the default test's. */
static const struct val *variable(const struct promptfoo *m, const struct val *test,
                                  struct str name)
{
    const struct val *v = val_find(val_get(test, "vars"), name);
    return v != NULL ? v : val_find(val_get(m->usual, "vars"), name);
}

static bool add_variable(const struct promptfoo *m, const struct val *test, struct str name,
                         const struct val *at, struct buf *out)
{
    const struct val *v = variable(m, test, name);
    if (v == NULL) {
        promptfoo_leave(m, at, "{{%.*s}} is no plain variable of the test",
                        STR_FMT(promptfoo_shown(m, name)));
    } else if (v->kind == VAL_ARRAY || (v->kind == VAL_STRING && str_starts(v->text, "file://"))) {
        promptfoo_leave(m, v, "the values of \"%.*s\" are %s: write a test for each",
                        STR_FMT(promptfoo_shown(m, name)),
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

bool promptfoo_render(struct promptfoo *m, const struct val *test, struct str text,
                      const struct val *at, struct str *out)
{
    struct buf made = {0};
    bool good = true;
    if (str_find(text, STR("{%")) != SIZE_MAX) {
        promptfoo_leave(m, at,
                        "the template has statements ({%% ... %%}), which are not carried out");
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

bool promptfoo_fill_in(struct promptfoo *m, const struct val *test, const struct prompt *p,
                       struct str *system, struct str *turns)
{
    *system = p->system;
    bool good = p->system.p == NULL || promptfoo_render(m, test, p->system, p->at, system);
    for (size_t i = 0; good && i < p->n_turns; i++) {
        good = promptfoo_render(m, test, p->turns[i], p->at, &turns[i]) && turns[i].n > 0;
    }
    if (!good) {
        promptfoo_leave(m, test, "the test cannot be filled into the prompt at line %u",
                        p->at->line);
    }
    return good;
}

/* ---- prompts ---- */

/* A conversation: a system message first, then what the user says. */
static bool read_chat(const struct promptfoo *m, const struct val *list, const struct val *at,
                      struct prompt *out)
{
    out->turns = arena_array(m->arena, list->count, sizeof *out->turns);
    for (size_t i = 0; i < list->count; i++) {
        struct str role = val_text(val_get(&list->items[i], "role"));
        const struct val *content = val_get(&list->items[i], "content");
        bool system = (str_is(role, "system") || str_is(role, "developer")) && i == 0;
        if (!val_is(content, VAL_STRING) || (!system && !str_is(role, "user"))) {
            promptfoo_leave(
                m, at,
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
        promptfoo_leave(m, at, "a conversation in which the user says nothing");
    }
    return out->n_turns > 0;
}

static bool read_prompt(struct promptfoo *m, struct str text, const struct val *at,
                        struct prompt *out)
{
    struct val *chat = NULL;
    *out = (struct prompt){.at = at};
    if (str_starts(str_trim(text), "[") &&
        json_parse(m->arena, NULL, str_trim(text), &chat, NULL) == 0 && chat->kind == VAL_ARRAY) {
        return read_chat(m, chat, at, out);
    }
    if (str_trim(text).n == 0) {
        promptfoo_leave(m, at, "an empty prompt");
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
static bool prompt_text(const struct promptfoo *m, const struct val *v, struct str *out)
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
        promptfoo_leave(m, v, "a prompt in a file that is no .txt, .md or .json: %.*s",
                        STR_FMT(promptfoo_shown(m, path)));
        return false;
    }
    if (file_read(m->arena, file, PROMPTFOO_FILE_BYTES_MAX, out, NULL) != 0) {
        promptfoo_leave(m, v, "a prompt in a file that cannot be read: %.*s",
                        STR_FMT(promptfoo_shown(m, path)));
        return false;
    }
    return true;
}

static bool add_read(struct promptfoo *m, struct str text, const struct val *at)
{
    if (m->n_prompts == PROMPTS_MAX) {
        promptfoo_leave(m, at, "more than %d prompts", (int)PROMPTS_MAX);
        return false;
    }
    m->n_prompts += read_prompt(m, text, at, &m->prompts[m->n_prompts]) ? 1 : 0;
    return true;
}

/* A file of texts holds several prompts where lines of three dashes part them. */
static void add_texts(struct promptfoo *m, struct str text, const struct val *at)
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

static void add_prompt(struct promptfoo *m, const struct val *v)
{
    static const char *const known[] = {"raw", "label", "id", NULL};
    const struct val *raw = v->kind == VAL_OBJECT ? val_get(v, "raw") : v;
    const struct val *id = val_get(v, "id");
    struct str text;
    if (v->kind == VAL_OBJECT) {
        promptfoo_leave_others(m, v, known, "a prompt");
        raw = raw == NULL ? id : raw;
    }
    if (val_is(raw, VAL_ARRAY)) {
        struct prompt p = {.at = v};
        if (m->n_prompts < PROMPTS_MAX && read_chat(m, raw, v, &p)) {
            m->prompts[m->n_prompts++] = p;
        }
    } else if (!val_is(raw, VAL_STRING)) {
        promptfoo_leave(m, v, "a prompt that is no text");
    } else if (prompt_text(m, raw, &text)) {
        if (text.p != raw->text.p && str_ends(raw->text, ".txt")) {
            add_texts(m, text, v);
        } else {
            (void)add_read(m, text, v);
        }
    }
}

int promptfoo_prompts(struct promptfoo *m, const struct val *root, struct err *e)
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
