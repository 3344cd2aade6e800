#include "cli/tests/forty.h"
#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 40, TEXT_MAX = 16384 };

static const char tools[] =
    "version: 1\ntools:\n- name: get_price\n  description: Tell the price of an article.\n"
    "  parameters: {type: object, properties: {sku: {type: string}}, required: [sku]}\n"
    "  answers: [{result: {price: 3}}]\n";

static const char script[] = "version: 1\nmodel: gpt-4.1-mini\nsteps:\n"
                             "- reply: {calls: [{id: c1, name: get_price, arguments: {sku: %s}}],"
                             " usage: {input: 1000, output: 100}}\n"
                             "- reply: {text: It is 3., usage: {input: 1000, output: 100}}\n";

static bool is_wrong(const int *wrong, int task)
{
    while (*wrong != 0 && *wrong != task) {
        wrong++;
    }
    return *wrong == task;
}

const char *forty_tasks(const int *wrong)
{
    const char *dir = path_of("%s", testing_dir());
    char *text = malloc(TEXT_MAX);
    int n = snprintf(text, TEXT_MAX,
                     "version: 1\nname: forty\ndefaults: {tools: tools.yaml}\n"
                     "tasks:\n");
    write_text(dir, "tools.yaml", tools);
    write_text(dir, "right.yaml", path_of(script, "A-1"));
    write_text(dir, "wrong.yaml", path_of(script, "A1"));
    for (int i = 1; i <= TASKS; i++) {
        n += snprintf(text + n, (size_t)(TEXT_MAX - n),
                      "- id: t%d\n  tags: [%s]\n  prompt: What does A-1 cost?\n"
                      "  fake: %s.yaml\n"
                      "  expect: {calls: {list: [{get_price: {sku: A-1}}]}}\n",
                      i, i % 2 == 1 ? "odd" : "even", is_wrong(wrong, i) ? "wrong" : "right");
    }
    const char *path = write_text(dir, "set.yaml", text);
    free(text);
    return path;
}

const char *forty_run(const int *wrong, int status)
{
    const char *set = forty_tasks(wrong);
    const char *out = path_of("%s.run", set);
    CHECK_STATUS(ASSAY("eval", set, "--fake", "--out", out), status);
    return out;
}
