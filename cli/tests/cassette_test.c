/* The words of `assay cassette` that compare and rewrite files, as a user meets them. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOREIGN                                                                                    \
    "interactions:\n- request:\n    body: '{\"model\":\"m\",\"messages\":[],\"key\":\"gsk"         \
    "_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789\",\"user\":\"ann\"}'\n    headers:\n      "             \
    "authorization: [Bearer me]\n      accept: ['*/*']\n    method: POST\n    uri: "               \
    "https://h/v1/chat/completions\n  response:\n    body: {string: '{}'}\n    headers: "          \
    "{set-cookie: [a=b], x-request-id: [r7]}\n    status: {code: 200, message: OK}\nversion: 1\n"

static const char *in_new_dir(const char *name, const char *text)
{
    return write_text(testing_dir(), name, text);
}

static void secrets_are_found_then_taken_out(void)
{
    const char *path = in_new_dir("foreign.yaml", FOREIGN);
    const struct ran *r = ASSAY("cassette", "check", "--secrets", path);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, ":3:");
    CHECK_OUT(r, "interaction 1: a Groq API key (gsk_…) in the request's body");
    CHECK_OUT(r, "interaction 1: authorization in the request's headers");
    CHECK_OUT(r, "interaction 1: set-cookie in the response's headers");
    CHECK_OUT(r, "3 errors");
    CU_ASSERT_PTR_NULL(strstr(r->out, "AbCdEf"));
    r = ASSAY("cassette", "redact", "--in-place", "--header", "x-request-id", "--path", "user",
              path);
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "5 secrets hidden");
    const char *text = read_text(path, NULL);
    CU_ASSERT_PTR_NULL(strstr(text, "AbCdEf"));
    CU_ASSERT_PTR_NULL(strstr(text, "Bearer"));
    CU_ASSERT_PTR_NULL(strstr(text, "ann"));
    CU_ASSERT_PTR_NULL(strstr(text, "r7"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "REDACTED-00000001"));
    CHECK_STATUS(ASSAY("cassette", "check", "--secrets", path), 0);
    CHECK_STATUS(ASSAY("cassette", "check", "--secrets", "none.yaml"), 2);
}

static void redact_writes_where_it_is_told(void)
{
    const char *path = in_new_dir("foreign.yaml", FOREIGN);
    const char *out = path_of("%s/out.yaml", testing_dir());
    const struct ran *r = ASSAY("cassette", "redact", path);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "version: 1\ninteractions:\n- request:\n");
    CHECK_STATUS(ASSAY("cassette", "redact", path, "-o", out), 0);
    CU_ASSERT_STRING_EQUAL(read_text(out, NULL), r->out);
    CU_ASSERT_STRING_EQUAL(read_text(path, NULL), FOREIGN);
    r = ASSAY("cassette", "redact", path, "--path", "user,usr,user.name");
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "foreign.yaml: warning: nothing stands at the path usr, so it hid nothing\n");
    CHECK_ERR(r, "nothing stands at the path user.name,");
    CU_ASSERT_PTR_NULL(strstr(r->err, "the path user,"));
    r = ASSAY("cassette", "redact", path, "-o", out);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "is there already");
}

static void diff_compares(void)
{
    const char *path = in_new_dir("foreign.yaml", FOREIGN);
    const char *out = path_of("%s/out.yaml", testing_dir());
    CHECK_STATUS(ASSAY("cassette", "import", path, "-o", out), 0);
    const struct ran *r = ASSAY("cassette", "diff", path, out);
    CHECK_STATUS(r, 0);
    CU_ASSERT(r->out_n == 0 && r->err_n == 0);
    r = ASSAY("cassette", "diff", "cassettes/quickstart/clock.yaml", out);
    CHECK_STATUS(r, 2); /* not from here: the folder is another */
    r = ASSAY("cassette", "diff", "--json",
              path_of("%s/cassettes/quickstart/clock.yaml", SOURCE_DIR), out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "{\"change\":\"changed request\",\"a\":1,\"b\":1,");
    CHECK_OUT(r, "{\"change\":\"removed\",\"a\":2,\"b\":null,");
    CHECK_STATUS(ASSAY("cassette", "diff", path), 2);
}

static void prune_tells_first_and_then_cuts(void)
{
    const char *path = in_new_dir("foreign.yaml", FOREIGN);
    const struct ran *r = ASSAY("cassette", "prune", "-n", "--model", "m", path);
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, ":2: interaction 1 goes (of that model): POST https://h/v1/chat/completions");
    CHECK_ERR(r, "1 of 1 interactions would be dropped");
    CU_ASSERT_STRING_EQUAL(read_text(path, NULL), FOREIGN);
    CHECK_STATUS(ASSAY("cassette", "prune", "--model", "m", path), 0);
    CU_ASSERT_STRING_EQUAL(read_text(path, NULL), "interactions:\nversion: 1\n");
    r = ASSAY("cassette", "prune", path);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--duplicates");
}

static void repair_mends_what_check_names(void)
{
    const char *head = "version: 1\nassay: {format: 1, encoder: 1, run: ab, seed: 7, started_at: "
                       "\"2026-11-29T18:00:00.000Z\"}\ninteractions:\n";
    const char *path = in_new_dir("torn.yaml", path_of("%s- request:\n    method: P", head));
    const struct ran *r = ASSAY("cassette", "check", path);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, ":4:1: warning: the recording was cut off in interaction 1");
    CHECK_OUT(r, path_of("to drop it: assay cassette repair %s", path));
    CHECK_STATUS(ASSAY("cassette", "redact", "--in-place", path), 2);
    r = ASSAY("cassette", "repair", path);
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "0 whole interactions stay");
    CU_ASSERT_STRING_EQUAL(read_text(path, NULL), head);
    CU_ASSERT_STRING_EQUAL(read_text(path_of("%s.torn", path), NULL), "- request:\n    method: P");
    CHECK_STATUS(ASSAY("cassette", "repair", "none.yaml"), 2);
}

static void check_tells_what_is_old(void)
{
    const char *path = path_of("%s/cassettes/quickstart/clock.yaml", SOURCE_DIR);
    const struct ran *r = ASSAY("cassette", "check", "--max-age", "1m", path);
    CHECK_STATUS(r, 0);
    CHECK_OUT(r, "clock.yaml:1:1: warning: was recorded ");
    CHECK_OUT(r, " ago, and --max-age allows 1 minute [too_old]");
    r = ASSAY("cassette", "check", "--max-age", "119m", path);
    CHECK_OUT(r, "allows 119 minutes [too_old]");
    r = ASSAY("cassette", "check", "--max-age", "2h", path);
    CHECK_OUT(r, "allows 2 hours [too_old]");
    CHECK_STATUS(ASSAY("cassette", "check", path), 0);
    r = ASSAY("cassette", "check", "--max-age", "soon", path);
    CHECK_STATUS(r, 2);
    CHECK_ERR(r, "--max-age wants");
}

static void bad_words(void)
{
    static const struct {
        const char *words[8];
        const char *part;
    } cases[] = {
        {{"cassette", "redact"}, "wants a file"},
        {{"cassette", "redact", "a", "b"}, "--in-place only"},
        {{"cassette", "redact", "a", "-o", "b", "--in-place"}, "not both"},
        {{"cassette", "redact", "a", "--header", "x,,y"}, "--header wants"},
        {{"cassette", "import", "a"}, "-o OUT.yaml"},
        {{"cassette", "import"}, "wants a file"},
        {{"cassette", "prune", "a", "b", "--drop", "1"}, "of one file"},
        {{"cassette", "repair"}, "wants a file"},
        {{"cassette", "repair", "-"}, "standard input"},
        {{"cassette", "diff", "a"}, "two files"},
        {{"cassette", "redcat", "a"}, "did you mean \"redact\"?"},
        {{"cassette", "show", "-o", "a"}, "unknown option -o"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ran *r = program_run(cases[i].words, NULL);
        CHECK_STATUS(r, 2);
        CHECK_ERR(r, cases[i].part);
    }
}

static void a_folder_stands_for_those_below_it(void)
{
    const char *dir = testing_dir();
    CU_ASSERT_EQUAL(mkdir(path_of("%s/c", dir), 0777), 0);
    CU_ASSERT_EQUAL(mkdir(path_of("%s/c/more", dir), 0777), 0);
    const struct program_options o = {.dir = dir};
    const struct ran *r = ASSAY_WITH(&o, "cassette", "check", "c");
    CHECK_STATUS(r, 2);
    CHECK_OUT(r, "c: error: is a folder that holds no cassette (*.yaml, *.yml or *.json)");
    write_text(dir, "c/b.yaml", FOREIGN);
    write_text(dir, "c/more/a.yml", FOREIGN);
    write_text(dir, "c/notes.txt", "no cassette");
    write_text(dir, "c/desk.tools.yaml", "version: 1\ntools: []\n");
    r = ASSAY_WITH(&o, "cassette", "check", "--secrets", "c");
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, "2 cassettes checked: 6 errors");
    const char *first = strstr(r->out, "c/b.yaml:");
    CU_ASSERT(first == r->out && strstr(first, "\nc/more/a.yml:") != NULL);
    r = ASSAY_WITH(&o, "cassette", "prune", "-n", "--model", "m", "c");
    CHECK_STATUS(r, 0);
    CHECK_ERR(r, "c/more/a.yml: 1 of 1 interactions would be dropped");
    CHECK_STATUS(ASSAY_WITH(&o, "cassette", "prune", "--drop", "1", "c"), 2);
    CHECK_STATUS(ASSAY_WITH(&o, "cassette", "redact", "c"), 2);
    CHECK_STATUS(ASSAY_WITH(&o, "cassette", "redact", "--in-place", "c"), 0);
    CHECK_STATUS(ASSAY_WITH(&o, "cassette", "check", "--secrets", "c"), 0);
    write_text(dir, "c/broken.yaml", "\tx");
    CHECK_STATUS(ASSAY_WITH(&o, "cassette", "check", "--secrets", "c"), 2);
}

TESTS(cassette, {"cassette_folder_stands_for_those_below_it", a_folder_stands_for_those_below_it},
      {"cassette_secrets_are_found_then_taken_out", secrets_are_found_then_taken_out},
      {"cassette_redact_writes_where_it_is_told", redact_writes_where_it_is_told},
      {"cassette_diff_compares", diff_compares},
      {"cassette_prune_tells_first_and_then_cuts", prune_tells_first_and_then_cuts},
      {"cassette_repair_mends_what_check_names", repair_mends_what_check_names},
      {"cassette_check_tells_what_is_old", check_tells_what_is_old},
      {"cassette_words_that_mean_nothing_are_refused", bad_words})
