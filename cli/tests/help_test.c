#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <string.h>

static const char *const verbs[] = {"init",  "run",     "chat",     "resume", "fork",
                                    "eval",  "golden",  "cassette", "fake",   "trace",
                                    "score", "compare", "report",   "merge"};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

static void version(void)
{
    const struct ran *r = ASSAY("--version");
    CHECK_STATUS(r, 0);
    CU_ASSERT(strncmp(r->out, "assay ", 6) == 0 && count_lines(r->out) == 1 && r->err_n == 0);
}

static void help(void)
{
    const char *const words[] = {"--help", "-h", "help"};
    for (size_t i = 0; i < 3; i++) {
        const struct ran *r = ASSAY(words[i]);
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, "example");
        for (size_t v = 0; v < N_VERBS; v++) {
            CHECK_OUT(r, path_of("\n  %s ", verbs[v]));
        }
    }
}

static void every_verb(void)
{
    for (size_t v = 0; v < N_VERBS; v++) {
        const struct ran *r = ASSAY(verbs[v], "--help");
        CHECK_STATUS(r, 0);
        CHECK_OUT(r, "\nexample");
        CHECK_OUT(r, path_of("usage: assay %s ", verbs[v]));
        CHECK_OUT(r, path_of("\n  assay %s ", verbs[v])); /* the example's command */
        CU_ASSERT(r->err_n == 0);
        r = ASSAY(verbs[v], "-h");
        CHECK_STATUS(r, 0);
    }
}

static void nothing(void)
{
    const struct ran *r = program_run((const char *const[]){NULL}, NULL);
    CHECK_STATUS(r, 2);
    CU_ASSERT(strstr(r->out, "usage:") != NULL || strstr(r->err, "usage:") != NULL);
}

/* Words that mean nothing: one line, status 2, and the closest that means something. */
static void bad_usage(void)
{
    static const struct {
        const char *words[8];
        const char *part;
    } cases[] = {
        {{"evall"}, "did you mean \"eval\"?"},
        {{"runn", "x"}, "did you mean \"run\"?"},
        {{"xyzzy"}, "assay --help"},
        {{""}, "verb"},
        {{"run"}, "prompt"},
        {{"run", "--fake", "s.yaml"}, "prompt"},
        {{"run", "a", "b"}, "quotes"},
        {{"run", "--fak", "s.yaml", "x"}, "did you mean --fake?"},
        {{"run", "--zzzz", "x"}, "--zzzz"},
        {{"run", "-x", "hello"}, "-x"},
        {{"run", "x", "--fake"}, "--fake wants a value"},
        {{"run", "x", "--base-url", ""}, "--base-url wants a value, got an empty one"},
        {{"run", "x", "--trace="}, "--trace wants a value, got an empty one"},
        {{"eval", "a.yaml", "--model", ""}, "--model wants a value, got an empty one"},
        {{"run", "x", "--record", "a", "--trace", "a"}, "name the same file"},
        {{"run", "x", "--json=1"}, "--json takes no value"},
        {{"run", "x", "--json", "--json"}, "--json is given twice"},
        {{"run", "x", "--fake", "a", "--replay", "b"}, "one of"},
        {{"run", "x", "--fake", "a", "--record", "b"}, "one of"},
        {{"run", "x", "--max-tokens", "many"}, "--max-tokens wants a whole number"},
        {{"run", "x", "--max-tokens", "0"}, "--max-tokens wants a whole number"},
        {{"run", "x", "--seed", "99999999999999999999"}, "--seed wants a whole number"},
        {{"run", "x", "--temperature", "warm"}, "--temperature wants a number"},
        {{"run", "x", "--temperature", "-1"}, "--temperature wants a number"},
        {{"run", "x", "--temperature", "1.2.3"}, "--temperature wants a number"},
        {{"run", "x", "--temperature", "."}, "--temperature wants a number"},
        {{"run", "x", "--temperature", "01"}, "--temperature wants a number"},
        {{"run", "x", "--temperature", "2.1"}, "--temperature wants a number"},
        {{"run", "x", "--match", "closest"}, "--match"},
        {{"run", "x", "--mode", "once", "--fake", "a"}, "--record"},
        {{"run", "x", "--mode", "sometimes", "--record", "a"}, "--mode"},
        {{"run", "x", "--provider", "acme"}, "--provider acme: no such wire format"},
        {{"run", "x", "--provider", "antropic"}, "expected openai, responses or anthropic"},
        {{"eval"}, "golden set"},
        {{"eval", "a.yaml", "--fake", "--replay", "b"}, "one of"},
        {{"eval", "a.yaml", "--jobs", "0"}, "--jobs wants a whole number from 1"},
        {{"eval", "a.yaml", "--jobs", "-1"}, "--jobs wants a whole number from 1"},
        {{"eval", "a.yaml", "--trials", "x"}, "--trials wants a whole number"},
        {{"eval", "a.yaml", "--job", "3"}, "did you mean --jobs?"},
        {{"golden"}, "check"},
        {{"golden", "chek", "a.yaml"}, "check"},
        {{"golden", "check"}, "FILE"},
        {{"cassette", "show"}, "show wants"},
        {{"cassette", "shwo", "a"}, "show"},
        {{"cassette"}, "show"},
        {{"fake"}, "check"},
        {{"trace"}, "show"},
        {{"trace", "show"}, "FILE"},
        {{"trace", "show", "--ful", "a"}, "did you mean --full?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = program_run(cases[i].words, NULL);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
}

/* The same of the verbs around finished runs. */
static void bad_usage_of_runs(void)
{
    static const struct {
        const char *words[8];
        const char *part;
    } cases[] = {
        {{"compare", "a"}, "BASE HEAD"},
        {{"compare", "a", "b", "--gate", "success"}, "METRIC OP NUMBER"},
        {{"compare", "a", "b", "--gate", "sucess>=1"}, "did you mean success?"},
        {{"compare", "a", "b", "--gate", "success>=nan"}, "METRIC OP NUMBER"},
        {{"compare", "a", "b", "--gate", "pass^0>=1"}, "how many trials"},
        {{"compare", "a", "b", "--gate", "luck>=1"}, "there are success, "},
        {{"compare", "a", "b", "--unsure", "maybe"}, "pass or fail"},
        {{"compare", "a", "b", "--margin", "0"}, "--margin"},
        {{"compare", "a", "b"}, "a: no such folder"},
        {{"merge", "a"}, "--out RUN"},
        {{"merge", "a", "--out", "b"}, "a: no such folder"},
        {{"report"}, "folders of runs"},
        {{"report", "a", "--format", "pdf"}, "junit"},
        {{"report", "a", "--format", "csv,json"}, "-o DIR"},
        {{"report", "a", "--plots"}, "-o DIR"},
        {{"score"}, "assay score RUN"},
        {{"score", "a"}, "a: no such folder"},
        {{"eval", "s.yaml", "--fake", "--shard", "0/3"}, "--shard wants I/N"},
        {{"eval", "s.yaml", "--fake", "--shard", "4/3"}, "--shard wants I/N"},
        {{"eval", "s.yaml", "--fake", "--shard", "1"}, "--shard wants I/N"},
        {{"eval", "s.yaml", "--fake", "--max-cost", "0"}, "--max-cost"},
        {{"eval", "s.yaml", "--fake", "--max-cost", "NaN"}, "--max-cost"},
        {{"eval", "s.yaml", "--fake", "--gate", "worse_p>=0.05"}, "--baseline RUN"},
        {{"eval", "s.yaml", "--fake", "--baseline", "nowhere"}, "nowhere: no such folder"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = program_run(cases[i].words, NULL);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, cases[i].part);
    }
}

/* The next option in a help text, at an entry's begin ("  --name", "--a  --b", "-o, --name"); n 0 =
 * none. */
static size_t next_option(const char **at, char name[64])
{
    for (const char *p = strstr(*at, "--"); p != NULL; p = strstr(p + 2, "--")) {
        size_t n = strspn(p + 2, "abcdefghijklmnopqrstuvwxyz-");
        if (n > 0 && n < 60 && p - *at >= 2 && p[-1] == ' ' && (p[-2] == ' ' || p[-2] == ',')) {
            memcpy(name, p, n + 2);
            name[n + 2] = '\0';
            *at = p + n + 2;
            return n;
        }
    }
    return 0;
}

/* Behind each option stands one that no verb has, so that nothing is begun. */
static void known_options(void)
{
    static const char *const whole[] = {"init",  "run",    "chat",   "resume",  "fork",   "eval",
                                        "serve", "record", "replay", "compare", "report", "merge"};
    char help_text[16384], name[64];
    size_t n = 0;
    for (size_t v = 0; v < sizeof whole / sizeof whole[0]; v++) {
        const struct ran *r = ASSAY(whole[v], "--help");
        CU_ASSERT_FATAL(r->out_n < sizeof help_text);
        memcpy(help_text, r->out, r->out_n + 1);
        for (const char *at = help_text; next_option(&at, name) > 0; n++) {
            const char *word = path_of("%s=1", name);
            r = ASSAY(whole[v], word, "--no-such-option");
            CHECK_STATUS(r, 2);
            CU_ASSERT(strstr(r->err, path_of("unknown option %s;", name)) == NULL);
        }
    }
    CU_ASSERT(n > 100);
}

static void closed_output(void)
{
    struct program_options o = {.out = "/dev/full"};
    const struct ran *r = ASSAY_WITH(&o, "--help");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "standard output cannot be written");
    CU_ASSERT(count_lines(r->err) == 1);
}

TESTS(help, {"version_is_one_line", version}, {"help_lists_every_verb", help},
      {"every_verb_has_help_with_an_example", every_verb},
      {"no_words_are_bad_usage_with_help", nothing},
      {"bad_usage_is_one_line_with_what_to_try", bad_usage},
      {"bad_usage_of_runs_is_one_line_too", bad_usage_of_runs},
      {"every_option_that_help_shows_is_known", known_options},
      {"output_that_cannot_be_written_is_told", closed_output})
