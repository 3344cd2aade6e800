#include "goldens/bfcl.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/base/hash.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"

enum { FILE_BYTES_MAX = 1 << 30, LINE_BYTES_MAX = 64 << 20 };

/* Cases by the hash of their ids: index + 1, 0 = free. */
struct bfcl_id_index {
    size_t mask;
    size_t slots[];
};

/* The lines of a file, one at a time. */
struct lines {
    const char *file;
    struct str text;
    size_t at;
    uint32_t line; /* of the one given last, from 1 */
};

static bool next_line(struct lines *l, struct str *out)
{
    while (l->at < l->text.n) {
        const char *from = l->text.p + l->at;
        const char *end = memchr(from, '\n', l->text.n - l->at);
        size_t n = end == NULL ? l->text.n - l->at : (size_t)(end - from);
        l->at += n + (end == NULL ? 0 : 1);
        l->line++;
        *out = (struct str){from, n};
        if (str_trim(*out).n > 0) {
            return true;
        }
    }
    return false;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Puts numbers in the place of NaN and Infinity outside of strings. */
static struct str without_nan(struct arena *arena, struct str text)
{
    struct buf out = {0};
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        struct str rest = str_slice(text, i, text.n);
        bool starts = !quoted && (i == 0 || !is_word(text.p[i - 1]));
        if (starts && str_starts(rest, "NaN")) {
            buf_addz(&out, BFCL_NAN);
            i += 2;
        } else if (starts && str_starts(rest, "Infinity")) {
            buf_addz(&out, "1e9999");
            i += 7;
        } else {
            if (quoted && c == '\\' && i + 1 < text.n) {
                buf_char(&out, c);
                c = text.p[++i];
            } else if (c == '"') {
                quoted = !quoted;
            }
            buf_char(&out, c);
        }
    }
    struct str kept = arena_str(arena, buf_str(&out));
    buf_free(&out);
    return kept;
}

int bfcl_json(struct arena *arena, const char *file, struct str text, struct val **out,
              struct err *e)
{
    int rc = json_parse(arena, file, text, out, e);
    bool odd = rc == ERR_INPUT && (str_find(text, STR("NaN")) != SIZE_MAX ||
                                   str_find(text, STR("Infinity")) != SIZE_MAX);
    if (odd && json_parse(arena, file, without_nan(arena, text), out, NULL) == 0) {
        return 0;
    }
    return rc;
}

static int fail(const struct lines *l, const struct val *v, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static int fail(const struct lines *l, const struct val *v, struct err *e, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int rc = err_vat(e, ERR_INPUT, l->file, l->line, v == NULL ? 1 : v->column, fmt, args);
    va_end(args);
    return rc;
}

/* One line as a map with an id. */
static int read_line(const struct lines *l, struct arena *arena, struct str text, struct val **out,
                     struct str *id, struct err *e)
{
    if (text.n > LINE_BYTES_MAX) {
        return err_at(e, ERR_LIMIT, l->file, l->line, 1, "the line has more than %d bytes",
                      LINE_BYTES_MAX);
    }
    int rc = bfcl_json(arena, l->file, text, out, e);
    if (rc != 0) {
        if (e != NULL) {
            e->line = l->line;
        }
        return rc;
    }
    const struct val *v = val_get(*out, "id");
    if (!val_is(*out, VAL_OBJECT)) {
        return fail(l, *out, e, "expected a map with an \"id\", a line each; found %s",
                    val_kind_name((*out)->kind));
    }
    if (!val_is(v, VAL_STRING) || v->text.n == 0) {
        return fail(l, v == NULL ? *out : v, e,
                    "expected \"id\" to be a text that is not empty, "
                    "found %s",
                    v == NULL ? "none" : val_kind_name(v->kind));
    }
    *id = v->text;
    return 0;
}

/* ---- questions ---- */

static int read_functions(const struct lines *l, const struct val *functions, struct err *e)
{
    for (size_t i = 0; i < functions->count; i++) {
        const struct val *f = &functions->items[i];
        if (!val_is(f, VAL_OBJECT) || !val_is(val_get(f, "name"), VAL_STRING)) {
            return fail(l, f, e, "expected a function as a map with a \"name\", found %s",
                        val_is(f, VAL_OBJECT) ? "none" : val_kind_name(f->kind));
        }
    }
    return 0;
}

static int read_question(const struct lines *l, const struct val *v, struct bfcl_case *k,
                         struct err *e)
{
    k->line = l->line;
    k->question = val_get(v, "question");
    k->functions = val_get(v, "function");
    if (k->functions == NULL && val_get(v, "involved_classes") != NULL) {
        return fail(l, v, e,
                    "this question goes on for several turns with services that the leaderboard "
                    "simulates by programs of its own; what passes is the state they end in, which "
                    "cannot be told from calls: these categories are neither scored nor imported");
    }
    if (!val_is(k->functions, VAL_ARRAY)) {
        return fail(l, k->functions == NULL ? v : k->functions, e,
                    "expected \"function\" to be a list of functions, found %s; is this a file of "
                    "questions?",
                    k->functions == NULL ? "none" : val_kind_name(k->functions->kind));
    }
    return read_functions(l, k->functions, e);
}

static size_t *slot_of(const struct bfcl_set *s, struct str id)
{
    size_t at = (size_t)hash64(0, id) & s->index->mask;
    while (s->index->slots[at] != 0 && !str_eq(s->cases[s->index->slots[at] - 1].id, id)) {
        at = (at + 1) & s->index->mask;
    }
    return &s->index->slots[at];
}

const struct bfcl_case *bfcl_set_find(const struct bfcl_set *s, struct str id)
{
    size_t found = *slot_of(s, id);
    return found == 0 ? NULL : &s->cases[found - 1];
}

static size_t count_lines(struct str text)
{
    struct lines l = {.text = text};
    struct str line;
    size_t n = 0;
    while (next_line(&l, &line)) {
        n++;
    }
    return n;
}

static int load_questions(struct bfcl_set *s, struct err *e)
{
    struct lines l = {.file = s->questions};
    int rc = file_read(s->arena, s->questions, FILE_BYTES_MAX, &l.text, e);
    if (rc != 0) {
        return rc;
    }
    size_t n = count_lines(l.text);
    size_t mask = 15;
    while (mask < 2 * n) {
        mask = 2 * mask + 1;
    }
    s->cases = arena_array(s->arena, n, sizeof *s->cases);
    s->index = arena_alloc(s->arena, sizeof *s->index + (mask + 1) * sizeof s->index->slots[0]);
    s->index->mask = mask;
    for (struct str line; next_line(&l, &line);) {
        struct bfcl_case *k = &s->cases[s->n];
        struct val *v;
        rc = read_line(&l, s->arena, line, &v, &k->id, e);
        rc = rc != 0 ? rc : read_question(&l, v, k, e);
        if (rc != 0) {
            return rc;
        }
        size_t *slot = slot_of(s, k->id);
        if (*slot != 0) {
            return fail(&l, val_get(v, "id"), e, "the id \"%.*s\" stands in line %u already",
                        STR_FMT(k->id), s->cases[*slot - 1].line);
        }
        *slot = ++s->n;
    }
    return 0;
}

/* ---- answers ---- */

/* {function: {parameter: [accepted, …]}} */
static int read_expected(const struct lines *l, const struct val *call, struct err *e)
{
    if (!val_is(call, VAL_OBJECT) || call->count != 1 ||
        !val_is(&call->members[0].value, VAL_OBJECT)) {
        return fail(l, call, e,
                    "expected a call as {function: {parameter: [accepted values]}}, found %s",
                    val_is(call, VAL_OBJECT) ? "another map" : val_kind_name(call->kind));
    }
    const struct val *parameters = &call->members[0].value;
    for (size_t i = 0; i < parameters->count; i++) {
        const struct member *m = &parameters->members[i];
        if (!val_is(&m->value, VAL_ARRAY)) {
            return fail(l, &m->value, e,
                        "expected the accepted values of \"%.*s\" as a list, found %s",
                        STR_FMT(m->key), val_kind_name(m->value.kind));
        }
    }
    return 0;
}

static int read_answer(const struct lines *l, struct bfcl_set *s, const struct val *v,
                       struct str id, struct err *e)
{
    const struct val *truth = val_get(v, "ground_truth");
    size_t found = *slot_of(s, id);
    if (found == 0) {
        return fail(l, val_get(v, "id"), e, "there is no question \"%.*s\" in %s", STR_FMT(id),
                    s->questions);
    }
    struct bfcl_case *k = &s->cases[found - 1];
    if (k->truth != NULL) {
        return fail(l, val_get(v, "id"), e, "the id \"%.*s\" stands in line %u already",
                    STR_FMT(id), k->truth_line);
    }
    if (!val_is(truth, VAL_ARRAY)) {
        return fail(l, truth == NULL ? v : truth, e,
                    "expected \"ground_truth\" to be a list of calls, found %s; is this a file of "
                    "answers?",
                    truth == NULL ? "none" : val_kind_name(truth->kind));
    }
    k->truth = truth;
    k->truth_line = l->line;
    for (size_t i = 0; i < truth->count; i++) {
        int rc = read_expected(l, &truth->items[i], e);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int load_answers(struct bfcl_set *s, struct err *e)
{
    struct lines l = {.file = s->answers};
    int rc = file_read(s->arena, s->answers, FILE_BYTES_MAX, &l.text, e);
    for (struct str line; rc == 0 && next_line(&l, &line);) {
        struct val *v;
        struct str id;
        rc = read_line(&l, s->arena, line, &v, &id, e);
        rc = rc != 0 ? rc : read_answer(&l, s, v, id, e);
    }
    for (size_t i = 0; rc == 0 && i < s->n; i++) {
        if (s->cases[i].truth == NULL) {
            rc = err_at(e, ERR_INPUT, s->questions, s->cases[i].line, 1,
                        "the question \"%.*s\" has no answer in %s", STR_FMT(s->cases[i].id),
                        s->answers);
        }
    }
    return rc;
}

int bfcl_set_load(const char *questions, const char *answers, struct bfcl_set **out, struct err *e)
{
    struct bfcl_set *s = mem_zero(sizeof *s);
    s->arena = arena_new();
    s->questions = arena_cstr(s->arena, str_of(questions));
    s->answers = answers == NULL ? NULL : arena_cstr(s->arena, str_of(answers));
    int rc = load_questions(s, e);
    if (rc == 0 && answers != NULL) {
        rc = load_answers(s, e);
    }
    if (rc != 0) {
        bfcl_set_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void bfcl_set_free(struct bfcl_set *s)
{
    if (s != NULL) {
        arena_free(s->arena);
        free(s);
    }
}

/* ---- results ---- */

struct bfcl_results {
    struct arena *arena;
    struct arena *line_arena;
    struct lines lines;
};

int bfcl_results_open(const char *path, struct bfcl_results **out, struct err *e)
{
    struct bfcl_results *r = mem_zero(sizeof *r);
    r->arena = arena_new();
    r->line_arena = arena_new();
    r->lines.file = arena_cstr(r->arena, str_of(path));
    int rc = file_read(r->arena, path, FILE_BYTES_MAX, &r->lines.text, e);
    if (rc != 0) {
        bfcl_results_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void bfcl_results_free(struct bfcl_results *r)
{
    if (r != NULL) {
        arena_free(r->line_arena);
        arena_free(r->arena);
        free(r);
    }
}

void bfcl_results_rewind(struct bfcl_results *r)
{
    r->lines.at = 0;
    r->lines.line = 0;
}

struct arena *bfcl_results_arena(const struct bfcl_results *r)
{
    return r->line_arena;
}

int bfcl_results_next(struct bfcl_results *r, struct bfcl_result *out, struct err *e)
{
    struct str text;
    struct val *v;
    arena_clear(r->line_arena);
    if (!next_line(&r->lines, &text)) {
        return 0;
    }
    *out = (struct bfcl_result){.line = r->lines.line};
    int rc = read_line(&r->lines, r->line_arena, text, &v, &out->id, e);
    if (rc != 0) {
        return rc;
    }
    out->result = val_get(v, "result");
    out->calls = out->result == NULL ? val_get(v, "calls") : NULL;
    if (out->result == NULL && out->calls == NULL) {
        return fail(&r->lines, v, e,
                    "expected what the model gave as \"result\" (BFCL's own) or \"calls\"; is this "
                    "a file of results?");
    }
    return 1;
}
