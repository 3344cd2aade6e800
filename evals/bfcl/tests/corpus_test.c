/* Every verdict of the official BFCL checker in the corpus, error type included, against ours. */
#include <string.h>

#include "ci/testing/testing.h"
#include "evals/bfcl/bfcl_int.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"

enum { SHOWN_MAX = 10, FILE_MAX = 64 << 20 };

/* Verdicts compared so far. */
struct agreement {
    size_t compared;
    size_t equal;
};

static void compare(struct agreement *a, struct str id, bool valid, const char *error,
                    const struct val *want)
{
    const struct val *v = val_get(want, "valid");
    struct str type = val_text(val_get(want, "error_type"));
    bool same = valid == (val_is(v, VAL_BOOL) && v->boolean) &&
                str_eq(type, error == NULL ? (struct str){NULL, 0} : str_of(error));
    a->compared++;
    a->equal += same ? 1 : 0;
    if (!same && a->compared - a->equal <= SHOWN_MAX) {
        printf("\n  %.*s: got %s, official %.*s", STR_FMT(id), error == NULL ? "valid" : error,
               STR_FMT(type));
    }
}

static void check(const struct agreement *a, size_t at_least)
{
    printf(" %zu of %zu equal ", a->equal, a->compared);
    CU_ASSERT(a->equal == a->compared);
    CU_ASSERT(a->compared >= at_least);
}

/* The lines of a corpus file as values. */
static struct val **read_lines(struct arena *arena, const char *path, size_t *n)
{
    struct str text;
    struct err e;
    *n = 0;
    if (path == NULL || file_read(arena, path, FILE_MAX, &text, &e) != 0) {
        return NULL;
    }
    size_t lines = 1;
    for (size_t i = 0; i < text.n; i++) {
        lines += text.p[i] == '\n' ? 1 : 0;
    }
    struct val **all = arena_array(arena, lines, sizeof(struct val *));
    while (text.n > 0) {
        size_t end = str_find(text, STR("\n"));
        struct str line = str_slice(text, 0, end);
        text = end == SIZE_MAX ? (struct str){NULL, 0} : str_slice(text, end + 1, text.n);
        if (str_trim(line).n > 0 && bfcl_json(arena, path, line, &all[*n], &e) == 0) {
            ++*n;
        }
    }
    return all;
}

static const char *corpus(const char *folder, const char *part, const char *file)
{
    char path[256];
    int n = snprintf(path, sizeof path, "bfcl/%s/%s/%s.jsonl", folder, part, file);
    CU_ASSERT(n > 0 && n < (int)sizeof path);
    return testing_corpus(path);
}

/* ---- models ---- */

struct listening {
    struct agreement *agreement;
    struct val **wants;
    size_t n;
    size_t at;
};

static void on_verdict(void *ctx, const struct bfcl_verdict *v)
{
    struct listening *l = ctx;
    if (l->at < l->n) {
        const struct val *want = l->wants[l->at++];
        CU_ASSERT(str_eq(v->id, val_text(val_get(want, "id"))));
        compare(l->agreement, v->id, v->error_type == NULL, v->error_type, want);
    }
}

static void compare_model(struct agreement *a, struct str model, const struct val *about,
                          const char *category)
{
    struct arena *arena = arena_new();
    const char *name = arena_cstr(arena, model);
    const char *verdicts = corpus("verdicts", name, category);
    const char *results = corpus("results", name, category);
    const char *questions = corpus(".", "questions", category);
    const char *answers = corpus(".", "answers", category);
    struct listening l = {.agreement = a};
    const struct val *dot = val_get(about, "underscore_to_dot");
    const struct bfcl_options o = {.questions = questions,
                                   .answers = answers,
                                   .results = results,
                                   .category = bfcl_category(category),
                                   .underscore_to_dot = dot->boolean};
    struct bfcl_score score;
    struct err e;
    l.wants = read_lines(arena, verdicts, &l.n);
    CU_ASSERT(l.n > 0 && bfcl_score(&o, on_verdict, &l, &score, &e) == 0);
    CU_ASSERT(l.at == l.n && score.total == l.n);
    arena_free(arena);
}

static void models(void)
{
    static const char *const names[] = {"simple_python", "multiple", "parallel",
                                        "parallel_multiple", "irrelevance"};
    const char *path = testing_corpus("bfcl/models.json");
    if (path == NULL) {
        testing_skip("no corpus");
        return;
    }
    struct arena *arena = arena_new();
    struct agreement a = {0};
    struct str text;
    struct val *all = NULL;
    CU_ASSERT(file_read(arena, path, FILE_MAX, &text, NULL) == 0 &&
              json_parse(arena, path, text, &all, NULL) == 0);
    for (size_t i = 0; all != NULL && i < all->count; i++) {
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            compare_model(&a, all->members[i].key, &all->members[i].value, names[k]);
        }
    }
    check(&a, 12400);
    arena_free(arena);
}

/* ---- cases that carry their verdict ---- */

static void compare_calls(struct agreement *a, struct arena *arena, struct bfcl_patterns *patterns,
                          const char *category, const struct bfcl_case *k, const struct val *line)
{
    struct bfcl_work w = {arena, patterns};
    struct bfcl_calls calls;
    const struct bfcl_result r = {.id = k->id, .calls = val_get(line, "calls")};
    const struct val *dot = val_get(line, "underscore_to_dot");
    struct bfcl_checker c = {.work = &w, .underscore_to_dot = dot->boolean};
    CU_ASSERT(bfcl_read_result(&w, BFCL_PYTHON, BFCL_CALLS, &r, &calls) == BFCL_READ);
    const char *error = bfcl_check_calls(&c, category, k, &calls);
    compare(a, k->id, error == NULL, error, line);
}

static void synthetic(void)
{
    static const char *const names[] = {"simple_python",         "multiple",    "parallel",
                                        "parallel_multiple",     "live_simple", "live_parallel",
                                        "live_parallel_multiple"};
    struct agreement a = {0};
    struct bfcl_patterns *patterns = bfcl_patterns_new();
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        const char *category = names[i / 2];
        struct arena *arena = arena_new();
        struct bfcl_set *set = NULL;
        size_t n;
        char file[64];
        int length =
            snprintf(file, sizeof file, "%s.%s", i % 2 == 0 ? "gold_first" : "mutated", category);
        CU_ASSERT(length > 0 && length < (int)sizeof file);
        const char *questions = corpus(".", "questions", category);
        const char *answers = corpus(".", "answers", category);
        struct val **lines = read_lines(arena, corpus(".", "synthetic", file), &n);
        if (questions == NULL || bfcl_set_load(questions, answers, &set, NULL) != 0) {
            testing_skip("no corpus");
            i = 2 * sizeof names / sizeof names[0];
        }
        for (size_t k = 0; set != NULL && k < n; k++) {
            const struct bfcl_case *found = bfcl_set_find(set, val_text(val_get(lines[k], "id")));
            CU_ASSERT_FATAL(found != NULL);
            compare_calls(&a, arena, patterns, category, found, lines[k]);
        }
        bfcl_set_free(set);
        arena_free(arena);
    }
    bfcl_patterns_free(patterns);
    if (a.compared > 0) {
        check(&a, 5900);
    }
}

static void edges(void)
{
    struct arena *arena = arena_new();
    struct bfcl_patterns *patterns = bfcl_patterns_new();
    struct agreement a = {0};
    size_t n;
    struct val **lines = read_lines(arena, testing_corpus("bfcl/edge_cases.jsonl"), &n);
    for (size_t i = 0; i < n; i++) {
        const struct bfcl_case k = {.id = val_text(val_get(lines[i], "id")),
                                    .functions = val_get(lines[i], "function"),
                                    .truth = val_get(lines[i], "possible_answer")};
        const char *category = arena_cstr(arena, val_text(val_get(lines[i], "category")));
        compare_calls(&a, arena, patterns, category, &k, lines[i]);
    }
    if (lines == NULL) {
        testing_skip("no corpus");
    } else {
        check(&a, 150);
    }
    bfcl_patterns_free(patterns);
    arena_free(arena);
}

/* ---- decoder cases ---- */

/* The key of a dict as json.dumps writes it. */
static struct str json_key_of(struct bfcl_work *w, const struct bfcl_value *key)
{
    struct buf out = {0};
    if (key->type == BFCL_STR) {
        return key->text;
    }
    bfcl_repr(w, &out, key);
    struct str s = arena_str(w->arena, buf_str(&out));
    buf_free(&out);
    return key->type == BFCL_NONE ? STR("null") : s;
}

/* The value as JSON: tuples are lists, what JSON does not have is its text. */
static void add_json(struct bfcl_work *w, struct buf *out, const struct bfcl_value *v)
{
    struct buf repr = {0};
    bool list = v->type == BFCL_LIST || v->type == BFCL_TUPLE;
    if (list || v->type == BFCL_DICT) {
        buf_char(out, list ? '[' : '{');
        for (size_t i = 0; i < v->n; i++) {
            buf_addz(out, i > 0 ? "," : "");
            if (!list) {
                json_add_string(out, json_key_of(w, &v->pairs[i].key));
                buf_char(out, ':');
            }
            add_json(w, out, list ? &v->items[i] : &v->pairs[i].value);
        }
        buf_char(out, list ? ']' : '}');
        return;
    }
    bfcl_repr(w, &repr, v);
    if (v->type == BFCL_STR || v->type == BFCL_OTHER || str_is(buf_str(&repr), "nan")) {
        json_add_string(out, v->type == BFCL_STR ? v->text : buf_str(&repr));
    } else if (v->type == BFCL_NONE || v->type == BFCL_BOOL) {
        buf_addz(out, v->type == BFCL_NONE ? "null" : v->boolean ? "true" : "false");
    } else {
        buf_add(out, buf_str(&repr));
    }
    buf_free(&repr);
}

static void compare_decoded(struct agreement *a, struct bfcl_work *w, const struct val *line)
{
    static const char *const errors[] = {[BFCL_READ] = "",
                                         [BFCL_UNREADABLE] = "ast_decoder:decoder_failed",
                                         [BFCL_WRONG_FORMAT] =
                                             "ast_decoder:decoder_wrong_output_format"};
    const struct bfcl_result r = {.result = val_get(line, "raw")};
    bool text = str_is(val_text(val_get(line, "decoder")), "default");
    const struct val *want = val_get(line, "calls");
    struct bfcl_calls calls;
    struct buf got = {0}, wanted = {0};
    enum bfcl_reading reading =
        bfcl_read_result(w, BFCL_PYTHON, text ? BFCL_TEXT : BFCL_CALLS, &r, &calls);
    bool same = str_is(val_text(val_get(line, "stage_error_type")), errors[reading]);
    for (size_t i = 0; reading == BFCL_READ && i < calls.n; i++) {
        json_add_string(&got, calls.at[i].name.text);
        add_json(w, &got, &calls.at[i].arguments);
        const struct val *call = val_item(want, i);
        same = same && call != NULL;
        if (call != NULL) {
            json_add_string(&wanted, val_text(val_get(call, "name")));
            json_add(&wanted, val_get(call, "arguments"));
        }
    }
    same = same && str_eq(buf_str(&got), buf_str(&wanted)) &&
           (reading != BFCL_READ || calls.n == want->count);
    a->compared++;
    a->equal += same ? 1 : 0;
    if (!same) {
        printf("\n  %.*s: got %.*s %s, official %.*s", STR_FMT(val_text(val_get(line, "note"))),
               STR_FMT(got), errors[reading], STR_FMT(wanted));
    }
    buf_free(&got);
    buf_free(&wanted);
}

static void decodes(void)
{
    struct arena *arena = arena_new();
    struct bfcl_work w = {arena, bfcl_patterns_new()};
    struct agreement a = {0};
    size_t n;
    struct val **lines = read_lines(arena, testing_corpus("bfcl/edge_cases_decode.jsonl"), &n);
    for (size_t i = 0; i < n; i++) {
        compare_decoded(&a, &w, lines[i]);
    }
    if (lines == NULL) {
        testing_skip("no corpus");
    } else {
        check(&a, 90);
    }
    bfcl_patterns_free(w.patterns);
    arena_free(arena);
}

TESTS(bfcl_corpus, {"bfcl_agrees_on_ten_models_in_five_categories", models},
      {"bfcl_agrees_on_synthetic_calls", synthetic}, {"bfcl_agrees_on_edge_cases", edges},
      {"bfcl_agrees_on_what_texts_are_read_as", decodes})
