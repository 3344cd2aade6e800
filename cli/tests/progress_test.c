/* The line that shows how far an evaluation is, on terminals of several kinds. */
#include "ci/testing/testing.h"
#include "cli/tests/model_server.h"
#include "cli/tests/program.h"

#include <stdio.h>
#include <string.h>

#define CLEAR "\r\033[K"

enum { SEEN_BYTES = 4096 };

/* Three tasks of 100 tokens in and 100 out, at a dollar for a thousand of either. */
static const char *fakes(const char *dir)
{
    write_text(dir, "s.yaml",
               "version: 1\nmodel: m\nrules:\n"
               "- reply: {text: hi, usage: {input: 100, output: 100}}\n");
    write_text(dir, "prices.yaml",
               "version: 1\ncurrency: USD\nas_of: 2026-11-29\nsource: here\n"
               "models: [{match: m, input: 1000, output: 1000}]\n");
    return write_text(dir, "set.yaml",
                      "version: 1\nname: three\ndefaults: {fake: s.yaml}\ntasks:\n"
                      "- {id: a, prompt: p}\n- {id: b, prompt: q}\n- {id: c, prompt: r}\n");
}

/* The first line comes with the first trial, whatever the time; the last thing takes it away. */
static void fits_the_terminal(void)
{
    static const struct {
        unsigned short columns;
        const char *first; /* NULL: nothing is drawn */
    } cases[] = {
        {200, CLEAR "[======              ] 1/3, 0.20 USD"},
        {54, CLEAR "[======              ] 1/3, 0.20 USD"},
        {53, CLEAR "1/3, 0.20 USD"},
        {14, CLEAR "1/3, 0.20 USD"},
        {13, CLEAR "1/3" CLEAR},
        {4, CLEAR "1/3" CLEAR},
        {3, NULL},
        {0, CLEAR "[======              ] 1/3, 0.20 USD"}, /* it does not say */
    };
    const char *dir = testing_dir(), *set = fakes(dir);
    for (size_t i = 0; program_has_terminal() && i < sizeof cases / sizeof cases[0]; i++) {
        char seen[SEEN_BYTES];
        const struct ran *r = program_tells_terminal(
            (const char *const[]){"eval", set, "--fake", "--prices", path_of("%s/prices.yaml", dir),
                                  "--out", path_of("%s/%zu", dir, i), NULL},
            NULL, cases[i].columns, seen, sizeof seen);
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, "3 passed, 0 failed, 0 errors");
        const char *want = cases[i].first;
        size_t n = strlen(seen), end = strlen(CLEAR);
        bool good = want == NULL ? n == 0
                                 : strncmp(seen, want, strlen(want)) == 0 && n >= end &&
                                       strcmp(seen + n - end, CLEAR) == 0;
        if (!good) {
            FAIL("%u columns: expected %s, saw %s", (unsigned)cases[i].columns,
                 want == NULL ? "nothing" : want, seen);
        }
    }
}

static void none_on_a_dumb_terminal(void)
{
    const char *dir = testing_dir(), *set = fakes(dir);
    char seen[SEEN_BYTES];
    if (!program_has_terminal()) {
        return;
    }
    const struct ran *r = program_tells_terminal(
        (const char *const[]){"eval", set, "--fake", "--out", path_of("%s/run", dir), NULL},
        (const char *const[]){"TERM=dumb", NULL}, 80, seen, sizeof seen);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(seen, "");
}

/* The second task meets a limit, of which --verbose tells, when the line stands. */
static void messages_take_its_place(void)
{
    const char *dir = testing_dir();
    char seen[SEEN_BYTES];
    if (!program_has_terminal()) {
        return;
    }
    struct server s;
    SERVE(&s, "--script",
          write_text(dir, "s.script.yaml",
                     "version: 1\nrules:\n"
                     "- {when: {last_user: {equals: q}}, fault: {status: 429, retry_after_s: 0},"
                     " times: 1}\n"
                     "- reply: {text: hi}\n"));
    const struct ran *r = program_tells_terminal(
        (const char *const[]){"eval", fakes(dir), "--model", "m", "--jobs", "1", "--verbose",
                              "--out", path_of("%s/run", dir), NULL},
        s.more, 80, seen, sizeof seen);
    CHECK_STATUS(r, 0);
    const char *drawn = strstr(seen, "] 1/3"), *told = strstr(seen, "assay: HTTP 429");
    if (drawn == NULL || told == NULL || told < drawn ||
        strncmp(told - strlen(CLEAR), CLEAR, strlen(CLEAR)) != 0) {
        FAIL("expected a message in the place of the line, saw %s", seen);
    }
    CHECK_STATUS(server_end(&s), 0);
}

TESTS(progress, {"fits_the_terminal", fits_the_terminal},
      {"is_not_drawn_on_a_dumb_terminal", none_on_a_dumb_terminal},
      {"gives_way_to_messages", messages_take_its_place})
