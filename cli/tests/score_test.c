/* assay score, as users run it. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <sys/stat.h>

#define FUNCTION(name, parameter, type)                                                            \
    "{\"name\":\"" name "\",\"parameters\":{\"type\":\"dict\",\"properties\":{\"" parameter        \
    "\":{\"type\":\"" type "\"}},\"required\":[\"" parameter "\"]}}"

static const char questions[] = "{\"id\":\"p0\",\"question\":[],\"function\":[" FUNCTION(
    "a.f", "x",
    "integer") "]}\n"
               "{\"id\":\"p1\",\"question\":[],\"function\":[" FUNCTION(
                   "a.f", "x",
                   "integer") "]}\n"
                              "{\"id\":\"p2\",\"question\":[],\"function\":[" FUNCTION(
                                  "a.f", "x",
                                  "number") "]}\n"
                                            "{\"id\":\"p3\",\"question\":[],\"function\":"
                                            "[" FUNCTION("a.f", "x",
                                                         "integer") "]}\n"
                                                                    "{\"id\":\"p4\",\"question\":[]"
                                                                    ",\"function\":[" FUNCTION(
                                                                        "a.f", "x",
                                                                        "integer") "]}\n";
static const char answers[] =
    "{\"id\":\"p0\",\"ground_truth\":[{\"a.f\":{\"x\":[1]}}]}\n"
    "{\"id\":\"p1\",\"ground_truth\":[{\"a.f\":{\"x\":[1,2]}},{\"a.f\":{\"x\":[1]}}]}\n"
    "{\"id\":\"p2\",\"ground_truth\":[{\"a.f\":{\"x\":[1.5]}}]}\n"
    "{\"id\":\"p3\",\"ground_truth\":[{\"a.f\":{\"x\":[1]}}]}\n"
    "{\"id\":\"p4\",\"ground_truth\":[{\"a.f\":{\"x\":[1]}}]}\n";
static const char texts[] = "{\"id\":\"p0\",\"result\":\"[a.f(x=1)]\"}\n"
                            "{\"id\":\"p1\",\"result\":\"a.f(x=1), a.f(x=2)\"}\n"
                            "{\"id\":\"p2\",\"result\":\"a.f(x=1.5)\"}\n";
static const char calls[] =
    "{\"id\":\"p0\",\"result\":[{\"a_f\":\"{\\\"x\\\": 1}\"}]}\n"
    "{\"id\":\"p3\",\"result\":\"I would call a_f(x=1).\"}\n"
    "{\"id\":\"p4\",\"calls\":[{\"name\":\"a_f\",\"arguments\":{\"x\":2}}]}\n";

/* A folder with the files of this test. */
static const char *folder(void)
{
    const char *dir = testing_dir();
    write_text(dir, "questions.jsonl", questions);
    write_text(dir, "answers.jsonl", answers);
    write_text(dir, "texts.jsonl", texts);
    write_text(dir, "calls.jsonl", calls);
    return dir;
}

static void texts_as_json(void)
{
    const struct program_options o = {.dir = folder()};
    const struct ran *r =
        ASSAY_WITH(&o, "score", "bfcl", "--questions", "questions.jsonl", "--answers",
                   "answers.jsonl", "--results", "texts.jsonl", "--category", "parallel", "--json");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out,
               "{\"id\":\"p0\",\"valid\":true,\"error_type\":null}\n"
               "{\"id\":\"p1\",\"valid\":false,\"error_type\":"
               "\"parallel_function_checker_no_order:cannot_find_match\"}\n"
               "{\"id\":\"p2\",\"valid\":null,\"error_type\":\"EXCEPTION:KeyError\"}\n"
               "{\"category\":\"parallel\",\"total\":3,\"correct\":1,\"accuracy\":0.333333}\n");
}

static void calls_with_dots(void)
{
    const struct program_options o = {.dir = folder()};
    const struct ran *r = ASSAY_WITH(
        &o, "score", "bfcl", "--questions", "questions.jsonl", "--answers", "answers.jsonl",
        "--results", "calls.jsonl", "--category", "simple_python", "--underscore-to-dot", "--json");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(
        r->out,
        "{\"id\":\"p0\",\"valid\":true,\"error_type\":null}\n"
        "{\"id\":\"p3\",\"valid\":false,\"error_type\":\"ast_decoder:decoder_failed\"}\n"
        "{\"id\":\"p4\",\"valid\":false,\"error_type\":\"value_error:others\"}\n"
        "{\"category\":\"simple_python\",\"total\":3,\"correct\":1,\"accuracy\":0.333333}\n");
}

static void explains(void)
{
    const struct program_options o = {.dir = folder()};
    const struct ran *r = ASSAY_WITH(&o, "score", "bfcl", "--questions", "questions.jsonl",
                                     "--answers", "answers.jsonl", "--results", "texts.jsonl",
                                     "--category", "parallel", "--explain");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "p1: official parallel_function_checker_no_order:cannot_find_match, ours valid: "
                 "every expected call has a call of its own");
    CHECK_OUT(r, "p2: official EXCEPTION:KeyError, ours valid: the official checker breaks off on "
                 "the type \"number\"");
    CHECK_OUT(r, "1 of      3  0.333333  ours 3, 2 differ");
}

/* A call that cannot be read is one all the same. */
static void unreadable_is_no_abstention(void)
{
    const char *dir = folder();
    const struct program_options o = {.dir = dir};
    write_text(dir, "BFCL_v4_irrelevance_result.json",
               "{\"id\":\"p0\",\"result\":\"a.f(x: 1)\"}\n"
               "{\"id\":\"p1\",\"result\":\"None of the functions, not even a.f(x), helps.\"}\n");
    const struct ran *r =
        ASSAY_WITH(&o, "score", "bfcl", "--questions", "questions.jsonl", "--results",
                   "BFCL_v4_irrelevance_result.json", "--explain", "--json");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out,
               "{\"id\":\"p0\",\"valid\":true,\"error_type\":null,\"own_valid\":false,"
               "\"own_error_type\":\"irrelevance_error:decoder_success\",\"why\":\"a call that "
               "cannot be read is no abstention\"}\n"
               "{\"id\":\"p1\",\"valid\":true,\"error_type\":null}\n"
               "{\"category\":\"irrelevance\",\"total\":2,\"correct\":2,\"accuracy\":1.000000,"
               "\"own_correct\":1,\"differ\":1}\n");
    write_text(dir, "irrelevance.jsonl",
               "{\"id\":\"p0\",\"result\":[\"A text in a list.\"]}\n"
               "{\"id\":\"p1\",\"result\":[{\"a.f\":\"{\\\"x\\\": 1\"}]}\n");
    r = ASSAY_WITH(&o, "score", "bfcl", "--questions", "questions.jsonl", "--results",
                   "irrelevance.jsonl", "--explain");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "p1: official valid, ours irrelevance_error:decoder_success");
    CHECK_OUT(r, "2 of      2  1.000000  ours 1, 1 differ");
}

static void folders_and_summary(void)
{
    const char *dir = testing_dir();
    const struct program_options o = {.dir = dir};
    CU_ASSERT(mkdir(path_of("%s/q", dir), 0777) == 0 && mkdir(path_of("%s/a", dir), 0777) == 0 &&
              mkdir(path_of("%s/r", dir), 0777) == 0);
    write_text(dir, "q/parallel.jsonl", questions);
    write_text(dir, "a/parallel.jsonl", answers);
    write_text(dir, "r/parallel.jsonl", texts);
    write_text(dir, "q/BFCL_v4_irrelevance.json", questions);
    write_text(dir, "r/BFCL_v4_irrelevance_result.json", texts);
    const struct ran *r = ASSAY_WITH(&o, "score", "bfcl", "--questions", "q", "--answers", "a",
                                     "--results", "r", "--summary", "--json");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out,
               "{\"category\":\"parallel\",\"total\":3,\"correct\":1,\"accuracy\":0.333333}\n"
               "{\"category\":\"irrelevance\",\"total\":3,\"correct\":0,\"accuracy\":0.000000}\n"
               "{\"aggregate\":\"simple\",\"total\":0,\"accuracy\":null,\"missing\":"
               "[\"simple_python\",\"simple_java\",\"simple_javascript\"]}\n"
               "{\"aggregate\":\"non_live\",\"total\":3,\"accuracy\":0.333333,\"missing\":"
               "[\"multiple\",\"parallel_multiple\",\"simple_python\",\"simple_java\","
               "\"simple_javascript\"]}\n"
               "{\"aggregate\":\"live\",\"total\":0,\"accuracy\":null,\"missing\":[\"live_simple\","
               "\"live_multiple\",\"live_parallel\",\"live_parallel_multiple\"]}\n"
               "{\"aggregate\":\"irrelevance_detection\",\"total\":3,\"accuracy\":0.000000,"
               "\"missing\":[\"live_irrelevance\"]}\n");
}

static void bad_usage(void)
{
    const char *dir = folder();
    const struct program_options o = {.dir = dir};
    write_text(dir, "other.jsonl", "{\"id\":\"p9\",\"result\":\"\"}\n");
#define SCORE(...) ASSAY_WITH(&o, "score", "bfcl", "--questions", "questions.jsonl", __VA_ARGS__)
    const struct ran *r = ASSAY_WITH(&o, "score");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "score wants the folder of one run, or bfcl");
    r = ASSAY_WITH(&o, "score", "bfcl", "--results", "texts.jsonl");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "wants --questions F and --results F");
    r = SCORE("--results", "texts.jsonl", "--answers", "answers.jsonl");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "the name of \"texts.jsonl\" tells no category; give --category with one of: "
                 "simple_python, ");
    r = SCORE("--results", "texts.jsonl", "--category", "paralel");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "there is no category \"paralel\"");
    r = SCORE("--results", "texts.jsonl", "--category", "parallel");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "the category parallel has answers: give them with --answers F");
    r = SCORE("--results", "other.jsonl", "--category", "irrelevance");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "other.jsonl:1:1: there is no question \"p9\" in questions.jsonl");
    r = SCORE("--results", "none.jsonl", "--category", "irrelevance");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "none.jsonl");
    r = SCORE("--results", "questions.jsonl", "--category", "irrelevance");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "questions.jsonl:1:1: expected what the model gave as \"result\"");
    r = SCORE("--results", ".", "--answers", ".");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "has no results of a category that we know");
    r = SCORE("--results", "texts.jsonl", "--output", "words");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--output wants calls or text");
}

/* A result that stands twice would count twice. */
static void twice(void)
{
    const struct program_options o = {.dir = folder()};
    write_text(o.dir, "twice.jsonl", path_of("%s%s", texts, texts));
    const struct ran *r =
        ASSAY_WITH(&o, "score", "bfcl", "--questions", "questions.jsonl", "--answers",
                   "answers.jsonl", "--results", "twice.jsonl", "--category", "parallel");
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "twice.jsonl:4:1: the id \"p0\" stands in line 1 already: expected one result of "
                 "each question");
}

TESTS(score, {"score_refuses_a_result_that_stands_twice", twice},
      {"score_bfcl_gives_official_verdicts_of_texts", texts_as_json},
      {"score_bfcl_takes_calls_and_underscores_for_dots", calls_with_dots},
      {"score_bfcl_explains_where_the_checker_is_at_fault", explains},
      {"score_bfcl_takes_unreadable_calls_for_calls", unreadable_is_no_abstention},
      {"score_bfcl_scores_folders_and_sums_up", folders_and_summary},
      {"score_bfcl_says_what_is_wrong", bad_usage})
