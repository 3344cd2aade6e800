#include "goldens/bfcl.h"

#include <stdio.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "kernel/drive/files.h"

/* A file of these bytes in a folder of the test's own. */
static const char *file_with(struct arena *arena, const char *dir, const char *name,
                             const char *text)
{
    const char *path = path_join(arena, dir, name);
    CU_ASSERT(file_replace(path, str_of(text), NULL) == 0);
    return path;
}

#define QUESTION(id) "{\"id\":\"" id "\",\"question\":[],\"function\":[{\"name\":\"f\"}]}\n"
#define ANSWER(id)   "{\"id\":\"" id "\",\"ground_truth\":[{\"f\":{\"p\":[1]}}]}\n"

static void loads(void)
{
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    struct bfcl_set *set = NULL;
    struct err e;
    const char *questions =
        file_with(arena, dir, "q.jsonl", QUESTION("a") "\r\n\n" QUESTION("b") QUESTION("c"));
    const char *answers = file_with(arena, dir, "a.jsonl", ANSWER("c") ANSWER("a") ANSWER("b"));
    CU_ASSERT_FATAL(bfcl_set_load(questions, answers, &set, &e) == 0);
    CU_ASSERT(set->n == 3);
    const struct bfcl_case *k = bfcl_set_find(set, STR("b"));
    CU_ASSERT_FATAL(k != NULL);
    CU_ASSERT(k->line == 4 && k->truth_line == 3 && k->functions->count == 1);
    CU_ASSERT(bfcl_set_find(set, STR("d")) == NULL);
    bfcl_set_free(set);
    CU_ASSERT(bfcl_set_load(questions, NULL, &set, &e) == 0);
    CU_ASSERT(set->cases[0].truth == NULL);
    bfcl_set_free(set);
    arena_free(arena);
}

/* What is wrong, with its place. */
static void refuses(void)
{
    static const struct {
        const char *questions;
        const char *answers;
        const char *message; /* behind the folder */
    } cases[] = {
        {QUESTION("a") "{\"id\":\"b\"\n", ANSWER("a"), "q.jsonl:2:10: expected ',' or '}'"},
        {QUESTION("a") "[]\n", ANSWER("a"), "q.jsonl:2:1: expected a map with an \"id\""},
        {QUESTION("a") QUESTION("a"), ANSWER("a"), "q.jsonl:2:7: the id \"a\" stands in line 1"},
        {"{\"question\":[]}\n", ANSWER("a"), "q.jsonl:1:1: expected \"id\" to be a text"},
        {"{\"id\":7}\n", ANSWER("a"), "q.jsonl:1:7: expected \"id\" to be a text"},
        {ANSWER("a"), ANSWER("a"), "q.jsonl:1:1: expected \"function\" to be a list"},
        {"{\"id\":\"a\",\"function\":[{}]}\n", ANSWER("a"), "q.jsonl:1:23: expected a function as"},
        {QUESTION("a"), QUESTION("a"), "a.jsonl:1:1: expected \"ground_truth\" to be a list"},
        {QUESTION("a"), ANSWER("b"), "a.jsonl:1:7: there is no question \"b\" in"},
        {QUESTION("a") QUESTION("b"), ANSWER("a"), "q.jsonl:2:1: the question \"b\" has no answer"},
        {QUESTION("a"), ANSWER("a") ANSWER("a"), "a.jsonl:2:7: the id \"a\" stands in line 1"},
        {QUESTION("a"), "{\"id\":\"a\",\"ground_truth\":[{\"f\":{\"p\":1}}]}\n",
         "a.jsonl:1:37: expected the accepted values of \"p\" as a list, found a number"},
        {QUESTION("a"), "{\"id\":\"a\",\"ground_truth\":[{}]}\n",
         "a.jsonl:1:27: expected a call as {function: {parameter: [accepted values]}}"},
    };
    struct arena *arena = arena_new();
    const char *dir = testing_dir();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bfcl_set *set = NULL;
        struct err e = {0};
        char text[2048];
        const char *questions = file_with(arena, dir, "q.jsonl", cases[i].questions);
        const char *answers = file_with(arena, dir, "a.jsonl", cases[i].answers);
        CU_ASSERT(bfcl_set_load(questions, answers, &set, &e) == ERR_INPUT);
        const char *shown = err_text(&e, text, sizeof text) + strlen(dir) + 1;
        if (strncmp(shown, cases[i].message, strlen(cases[i].message)) != 0) {
            CHECK_TEXT(shown, cases[i].message);
        }
        bfcl_set_free(set);
    }
    arena_free(arena);
}

static void reads_results(void)
{
    struct arena *arena = arena_new();
    struct bfcl_results *r = NULL;
    struct bfcl_result one;
    struct err e;
    const char *path = file_with(arena, testing_dir(), "r.jsonl",
                                 "{\"id\":\"a\",\"result\":\"f(x=1)\"}\n"
                                 "{\"id\":\"a\",\"calls\":[{\"name\":\"f\"}]}\n"
                                 "{\"id\":\"b\",\"result\":[{\"f\":{\"p\":-Infinity}}, NaN]}\n"
                                 "{\"id\":\"c\"}");
    CU_ASSERT_FATAL(bfcl_results_open(path, &r, &e) == 0);
    for (int turn = 0; turn < 2; turn++) {
        CU_ASSERT(bfcl_results_next(r, &one, &e) == 1 && val_is(one.result, VAL_STRING));
        CU_ASSERT(bfcl_results_next(r, &one, &e) == 1 && one.result == NULL && one.line == 2);
        CU_ASSERT(bfcl_results_next(r, &one, &e) == 1);
        CU_ASSERT(str_is(val_item(one.result, 1)->text, BFCL_NAN));
        CU_ASSERT(bfcl_results_next(r, &one, &e) == ERR_INPUT && e.line == 4);
        bfcl_results_rewind(r);
    }
    bfcl_results_free(r);
    arena_free(arena);
}

TESTS(bfcl_files, {"bfcl_loads_questions_with_their_answers", loads},
      {"bfcl_says_where_a_file_is_wrong", refuses},
      {"bfcl_reads_results_line_by_line", reads_results})
