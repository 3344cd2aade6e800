/* The shipped benchmark: clean, and three scripted models come to what its README says. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <stdio.h>
#include <string.h>

#define DESK SOURCE_DIR "/goldens/order-desk"
#define SET  DESK "/order-desk.yaml"

static const struct {
    const char *name;
    const char *counts;
    const char *scores;
    const char *row; /* of the README */
    int status;
} models[] = {
    {"good", "70 passed, 0 failed, 0 errors",
     "success 100.0%, tool selection 100.0%, arguments 100.0%, trajectory 100.0%, f1 100.0%",
     "| good | 70 | 100.0% | 100.0% | 100.0% | 100.0% | 100.0% |", 0},
    {"mediocre", "45 passed, 25 failed, 0 errors",
     "success 64.3%, tool selection 87.8%, arguments 86.8%, trajectory 70.1%, f1 89.3%",
     "| mediocre | 45 | 64.3% | 87.8% | 86.8% | 70.1% | 89.3% |", 1},
    {"bad", "4 passed, 66 failed, 0 errors",
     "success 5.7%, tool selection 17.3%, arguments 30.8%, trajectory 6.0%, f1 19.3%",
     "| bad | 4 | 5.7% | 17.3% | 30.8% | 6.0% | 19.3% |", 1},
};

static void three_models_come_to_what_the_readme_says(void)
{
    const char *readme = read_text(DESK "/README.md", NULL);
    const char *dir = testing_dir();
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const char *script = path_of("%s/%s.script.yaml", DESK, models[i].name);
        const struct ran *r = ASSAY("eval", SET, "--fake", "--script", script, "--out",
                                    path_of("%s/%s", dir, models[i].name));
        CHECK_STATUS(r, models[i].status);
        CHECK_OUT(r, models[i].counts);
        CHECK_OUT(r, models[i].scores);
        CU_ASSERT_PTR_NOT_NULL(strstr(readme, models[i].row));
        CU_ASSERT_PTR_NOT_NULL(
            strstr(read_text(path_of("%s/%s/manifest.json", dir, models[i].name), NULL), script));
    }
}

/* Each model's tokens of its run, times what prices.yaml says a million cost. */
static void prices_are_those_of_the_file(void)
{
    static const struct {
        const char *name;
        int status;
        const char *cost;
    } cases[] = {{"good", 0, "tokens 118965 in, 3099 out, cost 0.262722 USD"},
                 {"mediocre", 1, "tokens 118175 in, 2931 out, cost 0.0519596 USD"},
                 {"bad", 1, "tokens 89650 in, 1956 out, cost 0.0097474 USD"}};
    const char *dir = testing_dir();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = ASSAY(
            "eval", SET, "--fake", "--script", path_of("%s/%s.script.yaml", DESK, cases[i].name),
            "--prices", DESK "/prices.yaml", "--out", path_of("%s/%s", dir, cases[i].name));
        CHECK_STATUS(r, cases[i].status);
        CHECK_OUT(r, cases[i].cost);
    }
}

static void the_set_and_its_scripts_are_clean(void)
{
    const struct ran *r = ASSAY("golden", "check", SET);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "1 golden set checked: 0 errors, 0 warnings");
    r = ASSAY("fake", "check", DESK "/good.script.yaml", DESK "/mediocre.script.yaml",
              DESK "/bad.script.yaml");
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "0 errors, 0 warnings");
}

/* The table of tags counts right; a table line is "| `TAG` | N |". */
static void every_kind_of_task_is_there(void)
{
    static const char *const kinds[] = {"one",    "steps",    "parallel", "none",
                                        "danger", "recovery", "turns",    "chinese"};
    const char *readme = read_text(DESK "/README.md", NULL);
    const char *dir = testing_dir();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct ran *r = ASSAY("eval", SET, "--fake", "--filter", kinds[i], "--out",
                                    path_of("%s/%s", dir, kinds[i]));
        CHECK_STATUS(r, 0);
        size_t n = count_lines(read_text(path_of("%s/%s/results.jsonl", dir, kinds[i]), NULL));
        CU_ASSERT(n >= 5);
        const char *row = path_of("| `%s` | %zu |", kinds[i], n);
        if (strstr(readme, row) == NULL) {
            FAIL("goldens/order-desk/README.md lacks the row %s", row);
        }
    }
}

static void a_script_wants_a_fake_model(void)
{
    const struct ran *r = ASSAY("eval", SET, "--script", DESK "/good.script.yaml");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "--fake");
    r = ASSAY("eval", SET, "--fake", "--script", "no/such.yaml");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "no/such.yaml");
}

TESTS(order_desk,
      {"order_desk_three_models_come_to_what_the_readme_says",
       three_models_come_to_what_the_readme_says},
      {"order_desk_prices_are_those_of_its_file", prices_are_those_of_the_file},
      {"order_desk_the_set_and_its_scripts_are_clean", the_set_and_its_scripts_are_clean},
      {"order_desk_every_kind_of_task_is_there", every_kind_of_task_is_there},
      {"order_desk_a_script_wants_a_fake_model", a_script_wants_a_fake_model})
