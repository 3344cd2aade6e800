#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "evals/bfcl/bfcl.h"
#include "kernel/base/json.h"
#include "kernel/drive/files.h"

static const char help_text[] =
    "assay score: score what is there already\n"
    "\n"
    "usage: assay score RUN [--set SET]... [--allow-errors N] [--json]\n"
    "       assay score bfcl --questions F [--answers F] --results F [options]\n"
    "\n"
    "  RUN      every trial of a run is judged again from its trace, without running anything, "
    "and\n"
    "           its results.jsonl is written anew: after a change of what the golden set expects\n"
    "  --set SET            judge by this golden set instead of that which the run names\n"
    "  --allow-errors N  --json  as for assay eval, likewise the exit status\n"
    "\n"
    "  bfcl     results of the Berkeley Function Calling Leaderboard (v4, single turns): the\n"
    "           verdicts of its official checker, error types included\n"
    "  --questions F        the category's questions, as published: JSON lines\n"
    "  --answers F          its answers; irrelevance and relevance have none\n"
    "  --results F          {\"id\",\"result\"} a line: calls as [{name: \"arguments\"}], or a "
    "text\n"
    "                       that holds calls; or {\"id\",\"calls\":[{\"name\",\"arguments\"}]}\n"
    "                       The three may be folders: every category that has results is scored\n"
    "  --category CAT       else from the name of the results' file\n"
    "  --underscore-to-dot  the model was sent names with their dots as underscores\n"
    "  --output calls|text  what the results hold (default: calls if any line has a list)\n"
    "  --explain            the cases where the official checker is at fault, and why: our own\n"
    "                       scorer pairs parallel calls as well as can be, takes unreadable calls\n"
    "                       for calls, and does not break off on odd answers and documents\n"
    "  --summary            no verdicts, but the leaderboard's aggregates\n"
    "  --json               a line a case: id, valid, error_type; then a line a category\n"
    "\n"
    "Results are read, never run. Where the official checker breaks off with an exception, valid\n"
    "is null and error_type is EXCEPTION: and its name.\n"
    "\n"
    "exit status of bfcl: 0 scored, 2 bad usage or input\n"
    "\n"
    "examples\n"
    "  assay score runs/today --set goldens/quickstart.yaml\n"
    "  assay score bfcl --questions simple_python.jsonl --answers answers/simple_python.jsonl \\\n"
    "      --results results/simple_python.jsonl --explain\n";

enum { ERROR_TYPES_MAX = 64 };

/* How often each error type came. */
struct tally {
    const char *name;
    size_t n;
};

struct scoring {
    const char *questions, *answers, *results, *category, *output;
    bool underscore_to_dot, json, explain, summary;
    enum bfcl_output holds;
    struct bfcl_score scores[BFCL_SCORES_MAX];
    size_t n_scores;
    struct tally tally[ERROR_TYPES_MAX]; /* of the category at hand */
    size_t n_tally;
    struct buf out;
    bool failed; /* standard output is gone */
};

enum { OUT_BYTES = 64 * 1024 };

static void flush(struct scoring *s)
{
    if (!s->failed && s->out.n > 0) {
        s->failed = !put_out(buf_str(&s->out));
    }
    buf_clear(&s->out);
}

static void put_word(struct buf *out, const char *key, const char *word)
{
    json_put_text_or_null(out, key, word == NULL ? (struct str){NULL, 0} : str_of(word));
}

static void verdict_json(struct scoring *s, const struct bfcl_verdict *v)
{
    buf_char(&s->out, '{');
    json_put_text(&s->out, "id", v->id);
    if (v->unfinished) {
        json_key(&s->out, "valid");
        buf_addz(&s->out, "null");
    } else {
        json_put_bool(&s->out, "valid", v->error_type == NULL);
    }
    put_word(&s->out, "error_type", v->error_type);
    if (s->explain && v->why.n > 0) {
        json_put_bool(&s->out, "own_valid", v->own == NULL);
        put_word(&s->out, "own_error_type", v->own);
        json_put_text(&s->out, "why", v->why);
    }
    buf_addz(&s->out, "}\n");
}

static void count(struct scoring *s, const char *error_type)
{
    size_t i = 0;
    while (i < s->n_tally && strcmp(s->tally[i].name, error_type) != 0) {
        i++;
    }
    if (i == s->n_tally && i < ERROR_TYPES_MAX) {
        s->tally[s->n_tally++] = (struct tally){error_type, 0};
    }
    if (i < ERROR_TYPES_MAX) {
        s->tally[i].n++;
    }
}

static void on_verdict(void *ctx, const struct bfcl_verdict *v)
{
    struct scoring *s = ctx;
    if (v->error_type != NULL) {
        count(s, v->error_type);
    }
    if (s->json && !s->summary) {
        verdict_json(s, v);
    } else if (s->explain && !s->json && v->why.n > 0) {
        buf_addz(&s->out, "  ");
        buf_add(&s->out, v->id);
        buf_fmt(&s->out,
                ": official %s, ours %s: ", v->error_type == NULL ? "valid" : v->error_type,
                v->own == NULL ? "valid" : v->own);
        buf_add(&s->out, v->why);
        buf_char(&s->out, '\n');
    }
    if (s->out.n > OUT_BYTES) {
        flush(s);
    }
}

static struct ratio accuracy_of(size_t correct, size_t total)
{
    return (struct ratio){(int64_t)correct, (int64_t)total};
}

static void score_json(struct scoring *s, const struct bfcl_score *c)
{
    buf_char(&s->out, '{');
    put_word(&s->out, "category", c->category);
    json_put_int(&s->out, "total", (int64_t)c->total);
    json_put_int(&s->out, "correct", (int64_t)c->correct);
    json_key(&s->out, "accuracy");
    ratio_add(&s->out, accuracy_of(c->correct, c->total));
    if (s->explain) {
        json_put_int(&s->out, "own_correct", (int64_t)c->own_correct);
        json_put_int(&s->out, "differ", (int64_t)c->differ);
    }
    buf_addz(&s->out, "}\n");
}

static void score_text(struct scoring *s, const struct bfcl_score *c)
{
    buf_fmt(&s->out, "%-24s %6zu of %6zu  ", c->category, c->correct, c->total);
    ratio_add(&s->out, accuracy_of(c->correct, c->total));
    if (s->explain) {
        buf_fmt(&s->out, "  ours %zu, %zu differ", c->own_correct, c->differ);
    }
    buf_char(&s->out, '\n');
    for (size_t i = 0; !s->summary && i < s->n_tally; i++) {
        buf_fmt(&s->out, "  %6zu  %s\n", s->tally[i].n, s->tally[i].name);
    }
}

static void aggregates(struct scoring *s)
{
    struct bfcl_aggregate all[BFCL_AGGREGATES];
    bfcl_aggregates(s->scores, s->n_scores, all);
    for (size_t i = 0; i < BFCL_AGGREGATES; i++) {
        const struct bfcl_aggregate *a = &all[i];
        if (s->json) {
            buf_char(&s->out, '{');
            put_word(&s->out, "aggregate", a->name);
            json_put_int(&s->out, "total", (int64_t)a->total);
            json_key(&s->out, "accuracy");
            ratio_add(&s->out, a->value);
            json_key(&s->out, "missing");
            buf_char(&s->out, '[');
        } else {
            buf_fmt(&s->out, "%-24s %*s %6zu  ", a->name, 9, "", a->total);
            ratio_add(&s->out, a->value);
            buf_addz(&s->out, a->n_missing > 0 ? "  without " : "");
        }
        for (size_t k = 0; k < a->n_missing; k++) {
            const char *quote = s->json ? "\"" : "";
            buf_fmt(&s->out, "%s%s%s%s", k > 0 ? s->json ? "," : ", " : "", quote, a->missing[k],
                    quote);
        }
        buf_addz(&s->out, s->json ? "]}\n" : "\n");
    }
}

/* Scores one category's files. */
static int score_file(struct scoring *s, const char *category, const char *questions,
                      const char *answers, const char *results, struct err *e)
{
    const struct bfcl_options o = {questions, answers, results, category, s->underscore_to_dot,
                                   s->holds};
    struct bfcl_score *score = &s->scores[s->n_scores];
    s->n_tally = 0;
    int rc = bfcl_score(&o, on_verdict, s, score, e);
    if (rc != 0) {
        return rc;
    }
    if (s->json) {
        score_json(s, score);
    } else {
        score_text(s, score);
    }
    s->n_scores++;
    return 0;
}

/* The file of a category in a folder: CAT.jsonl, or one of BFCL's own names. NULL = none; a path
 * that is no folder is the file itself. */
static const char *file_of(struct arena *arena, const char *path, const char *category)
{
    static const char *const names[][2] = {
        {"", ".jsonl"}, {"", ".json"}, {"BFCL_v4_", "_result.json"}, {"BFCL_v4_", ".json"}};
    if (path == NULL || !path_is_dir(path)) {
        return path;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct str file =
            arena_printf(arena, "%s/%s%s%s", path, names[i][0], category, names[i][1]);
        if (path_exists(file.p)) {
            return file.p;
        }
    }
    return NULL;
}

/* Scores a category's results with its questions and answers. */
static int score_category(struct scoring *s, struct arena *arena, const char *category,
                          const char *results, struct err *e)
{
    const char *questions = file_of(arena, s->questions, category);
    const char *answers = file_of(arena, s->answers, category);
    if (s->answers == NULL && bfcl_category_has_answers(category)) {
        return err_set(e, ERR_USAGE, "the category %s has answers: give them with --answers F",
                       category);
    }
    bool wants_answers = bfcl_category_has_answers(category);
    if (questions == NULL || (answers == NULL && wants_answers)) {
        return err_set(e, ERR_INPUT, "%s has results, but no %s in %s", category,
                       questions == NULL ? "questions" : "answers",
                       questions == NULL ? s->questions : s->answers);
    }
    return score_file(s, category, questions, answers, results, e);
}

static int score_folder(struct scoring *s, struct arena *arena, struct err *e)
{
    for (size_t i = 0; bfcl_category_at(i) != NULL; i++) {
        const char *category = bfcl_category_at(i);
        const char *results = file_of(arena, s->results, category);
        if (results == NULL || (s->category != NULL && strcmp(category, s->category) != 0)) {
            continue;
        }
        int rc = score_category(s, arena, category, results, e);
        if (rc != 0) {
            return rc;
        }
    }
    if (s->n_scores == 0) {
        return err_set(e, ERR_INPUT,
                       "%s has no results of a category that we know; they are named like "
                       "simple_python.jsonl or BFCL_v4_simple_python_result.json",
                       s->results);
    }
    return 0;
}

/* Checks the words of the command line. */
static int check_options(struct scoring *s, struct err *e)
{
    if (s->questions == NULL || s->results == NULL) {
        return err_set(e, ERR_USAGE,
                       "score bfcl wants --questions F and --results F; assay score "
                       "--help shows an example");
    }
    if (s->output != NULL && strcmp(s->output, "calls") != 0 && strcmp(s->output, "text") != 0) {
        return err_set(e, ERR_USAGE, "--output wants calls or text, got \"%s\"", s->output);
    }
    s->holds = s->output == NULL ? BFCL_GUESS : s->output[0] == 'c' ? BFCL_CALLS : BFCL_TEXT;
    const char *category = s->category == NULL ? NULL : bfcl_category(s->category);
    if (s->category == NULL && !path_is_dir(s->results)) {
        category = bfcl_category_of_path(s->results);
    }
    if (category == NULL && (s->category != NULL || !path_is_dir(s->results))) {
        struct buf names = {0};
        for (size_t i = 0; bfcl_category_at(i) != NULL; i++) {
            buf_fmt(&names, "%s%s", i > 0 ? ", " : "", bfcl_category_at(i));
        }
        int rc =
            err_set(e, ERR_USAGE, "%s \"%s\" %s; give --category with one of: %.*s",
                    s->category != NULL ? "there is no category" : "the name of",
                    s->category != NULL ? s->category : s->results,
                    s->category != NULL ? "here" : "tells no category", STR_FMT(buf_str(&names)));
        buf_free(&names);
        return rc;
    }
    s->category = category;
    return 0;
}

static int bfcl(int argc, char **argv)
{
    struct scoring s = {0};
    const struct option options[] = {{"questions", OPTION_TEXT, &s.questions, 0, 0},
                                     {"answers", OPTION_TEXT, &s.answers, 0, 0},
                                     {"results", OPTION_TEXT, &s.results, 0, 0},
                                     {"category", OPTION_TEXT, &s.category, 0, 0},
                                     {"output", OPTION_TEXT, &s.output, 0, 0},
                                     {"underscore-to-dot", OPTION_FLAG, &s.underscore_to_dot, 0, 0},
                                     {"json", OPTION_FLAG, &s.json, 0, 0},
                                     {"explain", OPTION_FLAG, &s.explain, 0, 0},
                                     {"summary", OPTION_FLAG, &s.summary, 0, 0}};
    struct words words;
    struct err e;
    int rc = options_parse(options, sizeof options / sizeof options[0], argc, argv, &words, &e);
    if (rc == 0 && words.n > 0) {
        rc = err_set(&e, ERR_USAGE,
                     "score bfcl takes options only, got \"%s\"; the results are "
                     "named with --results",
                     words.at[0]);
    }
    rc = rc != 0 ? rc : check_options(&s, &e);
    struct arena *arena = arena_new();
    if (rc == 0) {
        rc = path_is_dir(s.results) ? score_folder(&s, arena, &e)
                                    : score_category(&s, arena, s.category, s.results, &e);
    }
    if (rc == 0 && s.summary) {
        aggregates(&s);
    }
    flush(&s);
    buf_free(&s.out);
    arena_free(arena);
    if (rc != 0) {
        return tell_error(&e);
    }
    return s.failed ? EXIT_ENVIRONMENT : EXIT_OK;
}

static int run(int argc, char **argv)
{
    static const struct sub_verb subs[] = {{"bfcl", bfcl}};
    bool is_bfcl = false;
    for (int i = 0; i < argc && !is_bfcl; i++) {
        is_bfcl = strcmp(argv[i], "bfcl") == 0;
        if (argv[i][0] != '-') {
            break;
        }
    }
    return is_bfcl ? sub_verb_run("score", subs, 1, argc, argv) : score_run(argc, argv);
}

const struct verb verb_score = {
    "score", "score a run again, or results of a benchmark", {help_text}, run};
