#include "evals/bfcl/bfcl.h"

#include <inttypes.h>
#include <string.h>

#include "evals/bfcl/bfcl_int.h"
#include "evals/ratio.h"

/* BFCL v4's categories of single turns. */
static const char *const categories[] = {"simple_python",
                                         "simple_java",
                                         "simple_javascript",
                                         "multiple",
                                         "parallel",
                                         "parallel_multiple",
                                         "irrelevance",
                                         "live_simple",
                                         "live_multiple",
                                         "live_parallel",
                                         "live_parallel_multiple",
                                         "live_irrelevance",
                                         "live_relevance"};
enum { N_CATEGORIES = sizeof categories / sizeof categories[0] };

const char *bfcl_category(const char *name)
{
    for (size_t i = 0; i < N_CATEGORIES; i++) {
        if (strcmp(name, categories[i]) == 0) {
            return categories[i];
        }
    }
    return NULL;
}

const char *bfcl_category_at(size_t i)
{
    return i < N_CATEGORIES ? categories[i] : NULL;
}

const char *bfcl_category_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *best = NULL;
    for (size_t i = 0; i < N_CATEGORIES; i++) {
        bool longer = best == NULL || strlen(categories[i]) > strlen(best);
        if (longer && strstr(name, categories[i]) != NULL) {
            best = categories[i];
        }
    }
    return best;
}

static bool is_irrelevance(const char *category)
{
    return strstr(category, "irrelevance") != NULL;
}

bool bfcl_category_has_answers(const char *category)
{
    return strstr(category, "relevance") == NULL;
}

static enum bfcl_language language_of(const char *category)
{
    return strstr(category, "javascript") != NULL ? BFCL_JAVASCRIPT
           : strstr(category, "java") != NULL     ? BFCL_JAVA
                                                  : BFCL_PYTHON;
}

/* One file being scored. */
struct scoring {
    const struct bfcl_options *o;
    struct bfcl_set *set;
    struct bfcl_results *results;
    struct bfcl_patterns *patterns;
    enum bfcl_output output;
    uint32_t *scored; /* by case: the line of its result, 0 = none yet */
};

/* Calls, if any line has a list. */
static int guess_output(struct scoring *s, struct err *e)
{
    struct bfcl_result r;
    int more = 0;
    s->output = s->o->output;
    if (s->output != BFCL_GUESS) {
        return 0;
    }
    s->output = BFCL_TEXT;
    while (s->output == BFCL_TEXT && (more = bfcl_results_next(s->results, &r, e)) > 0) {
        s->output = val_is(r.result, VAL_ARRAY) ? BFCL_CALLS : BFCL_TEXT;
    }
    bfcl_results_rewind(s->results);
    return more < 0 ? more : 0;
}

/* A category in which the model should call nothing, or something. */
static void judge_relevance(const struct scoring *s, const struct bfcl_case *k,
                            const struct bfcl_result *r, enum bfcl_reading reading, size_t n,
                            struct bfcl_verdict *v)
{
    bool called = reading == BFCL_READ && n > 0;
    if (!is_irrelevance(s->o->category)) {
        v->error_type = called ? NULL : "relevance_error:decoder_failed";
        v->own = v->error_type;
        return;
    }
    v->error_type = called ? "irrelevance_error:decoder_success" : NULL;
    v->own = v->error_type;
    if (reading != BFCL_READ && bfcl_means_call(k, r)) {
        v->own = "irrelevance_error:decoder_success";
        v->why = STR("a call that cannot be read is no abstention");
    }
}

static void judge_calls(const struct scoring *s, struct bfcl_work *w, const struct bfcl_case *k,
                        const struct bfcl_calls *calls, struct bfcl_verdict *v)
{
    struct bfcl_checker c = {.work = w,
                             .language = language_of(s->o->category),
                             .underscore_to_dot = s->o->underscore_to_dot};
    v->error_type = bfcl_check_calls(&c, s->o->category, k, calls);
    if (v->error_type == NULL) {
        return; /* what is mended only lets more pass */
    }
    v->unfinished = strncmp(v->error_type, BFCL_EXCEPTION, strlen(BFCL_EXCEPTION)) == 0;
    struct str why = {NULL, 0};
    c.mended = true;
    c.why = &why;
    v->own = bfcl_check_calls(&c, s->o->category, k, calls);
    if (v->own == NULL || strcmp(v->own, v->error_type) != 0) {
        v->why = why.n > 0 ? why : STR("the official checker breaks off here");
    }
}

static void judge(const struct scoring *s, const struct bfcl_case *k, const struct bfcl_result *r,
                  struct bfcl_verdict *v)
{
    struct bfcl_work w = {bfcl_results_arena(s->results), s->patterns};
    bool answers = bfcl_category_has_answers(s->o->category);
    struct bfcl_calls calls;
    enum bfcl_reading reading = bfcl_read_result(
        &w, answers ? language_of(s->o->category) : BFCL_PYTHON, s->output, r, &calls);
    *v = (struct bfcl_verdict){.id = r->id};
    if (!answers) {
        judge_relevance(s, k, r, reading, calls.n, v);
        return;
    }
    switch (reading) {
    case BFCL_READ: judge_calls(s, &w, k, &calls, v); return;
    case BFCL_UNREADABLE: v->error_type = "ast_decoder:decoder_failed"; break;
    case BFCL_WRONG_FORMAT: v->error_type = "ast_decoder:decoder_wrong_output_format"; break;
    }
    v->own = v->error_type;
}

/* A result that stands twice would count twice. */
static int find_case(struct scoring *s, const struct bfcl_result *r, const struct bfcl_case **out,
                     struct err *e)
{
    const struct bfcl_case *k = bfcl_set_find(s->set, r->id);
    if (k == NULL) {
        return err_at(e, ERR_INPUT, s->o->results, r->line, 1,
                      "there is no question \"%.*s\" in %s; do both belong to one category?",
                      STR_FMT(utf8_prefix(r->id, 200)), s->o->questions);
    }
    uint32_t *line = &s->scored[k - s->set->cases];
    if (*line != 0) {
        return err_at(e, ERR_INPUT, s->o->results, r->line, 1,
                      "the id \"%.*s\" stands in line %" PRIu32
                      " already: expected one result of each question",
                      STR_FMT(utf8_prefix(r->id, 200)), *line);
    }
    *line = r->line;
    *out = k;
    return 0;
}

static int score_results(struct scoring *s, void (*each)(void *ctx, const struct bfcl_verdict *v),
                         void *ctx, struct bfcl_score *out, struct err *e)
{
    struct bfcl_result r;
    int more = guess_output(s, e);
    if (more < 0) {
        return more;
    }
    while ((more = bfcl_results_next(s->results, &r, e)) > 0) {
        struct bfcl_verdict v;
        const struct bfcl_case *k = NULL;
        int rc = find_case(s, &r, &k, e);
        if (rc != 0) {
            return rc;
        }
        judge(s, k, &r, &v);
        out->total++;
        out->correct += v.error_type == NULL ? 1 : 0;
        out->own_correct += v.own == NULL ? 1 : 0;
        out->differ += v.why.n > 0 ? 1 : 0;
        if (each != NULL) {
            each(ctx, &v);
        }
    }
    return more;
}

int bfcl_score(const struct bfcl_options *o, void (*each)(void *ctx, const struct bfcl_verdict *v),
               void *ctx, struct bfcl_score *out, struct err *e)
{
    struct scoring s = {.o = o};
    bool answers = bfcl_category_has_answers(o->category);
    *out = (struct bfcl_score){.category = o->category};
    int rc = bfcl_set_load(o->questions, answers ? o->answers : NULL, &s.set, e);
    if (rc == 0) {
        rc = bfcl_results_open(o->results, &s.results, e);
    }
    if (rc == 0) {
        s.patterns = bfcl_patterns_new();
        s.scored = arena_array(s.set->arena, s.set->n, sizeof *s.scored);
        rc = score_results(&s, each, ctx, out, e);
    }
    bfcl_patterns_free(s.patterns);
    bfcl_results_free(s.results);
    bfcl_set_free(s.set);
    return rc;
}

/* ---- aggregates ---- */

/* The mean of categories: of their accuracies, or of their verdicts. */
enum weight { WEIGHT_EACH, WEIGHT_COUNT };

static const struct bfcl_score *score_of(const struct bfcl_score *scores, size_t n,
                                         const char *category)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(scores[i].category, category) == 0 && scores[i].total > 0) {
            return &scores[i];
        }
    }
    return NULL;
}

static struct bfcl_aggregate mean(const struct bfcl_score *scores, size_t n, const char *name,
                                  enum weight weight, const char *const *names)
{
    struct bfcl_aggregate out = {.name = name};
    struct ratio sum = {0, 1};
    int64_t parts = 0;
    int64_t correct = 0;
    for (; *names != NULL; names++) {
        const struct bfcl_score *s = score_of(scores, n, *names);
        if (s == NULL) {
            out.missing[out.n_missing++] = *names;
            continue;
        }
        sum = ratio_plus(sum, (struct ratio){(int64_t)s->correct, (int64_t)s->total});
        out.total += s->total;
        correct += (int64_t)s->correct;
        parts++;
    }
    if (parts > 0) {
        out.value = weight == WEIGHT_EACH ? ratio_over(sum, parts)
                                          : (struct ratio){correct, (int64_t)out.total};
    }
    return out;
}

/* The mean of `simple` and of further categories. */
static struct bfcl_aggregate mean_non_live(const struct bfcl_score *scores, size_t n,
                                           const struct bfcl_aggregate *simple)
{
    static const char *const others[] = {"multiple", "parallel", "parallel_multiple", NULL};
    struct bfcl_aggregate out = mean(scores, n, "non_live", WEIGHT_EACH, others);
    int64_t parts = 3 - (int64_t)out.n_missing;
    if (simple->value.den > 0) {
        struct ratio sum = simple->value;
        if (parts > 0) {
            sum = ratio_plus(sum, (struct ratio){out.value.num * parts, out.value.den});
        }
        out.value = ratio_over(sum, parts + 1);
        out.total += simple->total;
    }
    for (size_t i = 0; i < simple->n_missing; i++) {
        out.missing[out.n_missing++] = simple->missing[i];
    }
    return out;
}

void bfcl_aggregates(const struct bfcl_score *scores, size_t n,
                     struct bfcl_aggregate out[BFCL_AGGREGATES])
{
    static const char *const simple[] = {"simple_python", "simple_java", "simple_javascript", NULL};
    static const char *const live[] = {"live_simple", "live_multiple", "live_parallel",
                                       "live_parallel_multiple", NULL};
    static const char *const irrelevance[] = {"irrelevance", "live_irrelevance", NULL};
    out[0] = mean(scores, n, "simple", WEIGHT_EACH, simple);
    out[1] = mean_non_live(scores, n, &out[0]);
    out[2] = mean(scores, n, "live", WEIGHT_COUNT, live);
    out[3] = mean(scores, n, "irrelevance_detection", WEIGHT_EACH, irrelevance);
}
