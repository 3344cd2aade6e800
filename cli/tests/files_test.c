/* Every format as a file that is none of it: each one line, status 2, quickly and in little
 * memory. */
#include "ci/testing/testing.h"
#include "cli/tests/program.h"
#include "kernel/base/arena.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONG_LINE = 50 << 20, PEAK_KB_MAX = 1500 << 10 };

/* A format: how the program is made to read a file of it. */
static const struct format {
    const char *name;
    const char *words[8]; /* FILE stands for the file; OTHER for a good script */
    const char *check[3]; /* the verb that checks it; NULL: none */
} formats[] = {
    {"script", {"run", "--fake", "FILE", "Hello."}, {"fake", "check"}},
    {"tools", {"run", "--fake", "OTHER", "--tools", "FILE", "Hello."}, {NULL}},
    {"golden", {"eval", "FILE", "--fake"}, {"golden", "check"}},
    {"cassette", {"run", "--replay", "FILE", "Hello."}, {"cassette", "check"}},
    {"cassette show", {"cassette", "show", "FILE"}, {NULL}},
};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static const struct ran *read_as(const struct format *f, const char *file)
{
    static const char *other;
    const char *words[9] = {NULL};
    if (other == NULL) {
        other = write_text(testing_dir(), "good.yaml", "version: 1\nsteps:\n- reply: {text: x}\n");
    }
    for (size_t i = 0; f->words[i] != NULL; i++) {
        words[i] = strcmp(f->words[i], "FILE") == 0    ? file
                   : strcmp(f->words[i], "OTHER") == 0 ? other
                                                       : f->words[i];
    }
    return program_run(words, NULL);
}

/* One line, status 2, that begins with the file, and with its place as far as `place` says. */
static void check_refused(const char *file, const char *place, const char *part)
{
    for (size_t i = 0; i < N_FORMATS; i++) {
        const struct format *f = &formats[i];
        const struct ran *r = read_as(f, file);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CHECK_ERR(r, path_of("assay: %s:%s", file, place));
        CHECK_ERR(r, part);
        CU_ASSERT(r->peak_kb < PEAK_KB_MAX);
        if (f->check[0] != NULL) {
            r = ASSAY(f->check[0], f->check[1], file);
            CHECK_STATUS(r, 2);
            CHECK_OUT(r, path_of("%s:%s", file, place));
            CHECK_OUT(r, " error: ");
            CHECK_OUT(r, part);
            r = ASSAY(f->check[0], f->check[1], "--json", file);
            size_t n = 0;
            CU_ASSERT(r->status == 2 && json_lines(r->out, &n) && n == 1);
        }
    }
}

/* Bytes that are no file of ours. */
static void bad_bytes(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *place;
        const char *part;
    } cases[] = {
        {"", 0, "1:1:", "empty"},
        {"\n\n  \n", 5, "", "empty"},
        {"# only a comment\n", 17, "", "empty"},
        {"\x7f"
         "ELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0",
         20, "1:8:", "binary"},
        {"version: 1\nname: caf\xe9\n", 22, "2:10:", "UTF-8"},
        {"\xff\xfev\0e\0r\0s\0i\0o\0n\0:\0 \0"
         "1\0\n\0",
         24, "1:1:", "UTF-16"},
        {"\xfe\xff\0v\0e\0r\0s\0i\0o\0n\0:\0 \0"
         "1\0\n",
         24, "1:1:", "UTF-16"},
        {"version: 1\nname:\n\t- x\n", 22, "3:1:", "tab"},
        {"version: 1\n\tname: x\n", 20, "2:1:", "tab"},
        {"version: 1\nname: 'x\n", 20, "", "quote"},
        {"version: 1\nname: [1, 2\n", 23, "", ""},
        {"version: 1\nname: *nowhere\n", 26, "2:7:", "nowhere"},
        {"version: 1\na: &a [*a]\n", 22, "2:", "a"},
        {"version: 1\n---\nversion: 1\n", 26, "", "document"},
        {"just a text\n", 12, "1:1:", "map"},
        {"- a\n- b\n", 8, "1:1:", "map"},
        {"42\n", 3, "1:1:", "map"},
        {"null\n", 5, "1:1:", "map"},
        {"{\"version\": 1", 13, "", ""},
        {"!!python/object:os.system {}\n", 29, "1:", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *file = write_bytes(testing_dir(), "bad.yaml", cases[i].bytes, cases[i].n);
        check_refused(file, cases[i].place, cases[i].part);
    }
}

static void no_file(void)
{
    const char *dir = testing_dir();
    check_refused(path_of("%s/nowhere.yaml", dir), "", "no such file");
    check_refused(dir, "", "is a folder");
    check_refused(path_of("%s/a/b/c.yaml", dir), "", "no such file");
    const char *file = write_text(dir, "file", "x");
    check_refused(path_of("%s/below.yaml", file), "", "");
}

/* A file that cannot be read is one rule for every verb: a path of the user's is 2, the machine's
 * failure 4. /proc/self/mem can be opened, and not read. */
static void unreadable_files(void)
{
    const char *dir = testing_dir(), *pipe = path_of("%s/pipe", dir);
    CU_ASSERT_EQUAL_FATAL(mkfifo(pipe, 0600), 0);
    const struct ran *r = ASSAY("run", "--fake", pipe, "Hello.");
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    CHECK_ERR(r, "is a pipe that nobody writes to");
    r = ASSAY("trace", "check", pipe);
    CHECK_STATUS(r, 2);
    CHECK_OUT(r, "is a pipe that nobody writes to");
    const char *good = write_text(dir, "good.yaml", "version: 1\nsteps:\n- reply: {text: x}\n");
    const char *command =
        path_of("cat '%s' | '%s/assay' run --fake /dev/fd/0 Hello.", good, BUILD_DIR);
    const struct program_options sh = {.program = "/bin/sh"};
    r = ASSAY_WITH(&sh, "-c", command);
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "x\n");
    static const char *const verbs[][2] = {
        {"trace", "check"},    {"trace", "verify"},  {"trace", "show"}, {"golden", "check"},
        {"cassette", "check"}, {"cassette", "show"}, {"fake", "check"}};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        CHECK_STATUS(ASSAY(verbs[i][0], verbs[i][1], "/proc/self/mem"), 4);
    }
}

/* `head`, then n times `unit`, then `tail`. */
static const char *write_big(const char *head, const char *unit, size_t n, const char *tail)
{
    struct buf text = {.max = 1 << 28};
    buf_addz(&text, head);
    for (size_t i = 0; i < n; i++) {
        buf_addz(&text, unit);
    }
    buf_addz(&text, tail);
    const char *file = write_bytes(testing_dir(), "big.yaml", text.p, text.n);
    buf_free(&text);
    return file;
}

static void long_line(void)
{
    const char *quoted =
        write_big("version: 1\nname: \"", "0123456789abcdef", LONG_LINE / 16, "\"\nzzz: 1\n");
    const char *one = write_big("", "x", LONG_LINE, "");
    for (size_t i = 0; i < N_FORMATS; i++) {
        const struct ran *r = read_as(&formats[i], quoted);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CU_ASSERT(r->peak_kb < PEAK_KB_MAX && r->err_n < 2000);
        r = read_as(&formats[i], one);
        CHECK_STATUS(r, 2);
        CHECK_ONE_LINE(r);
        CU_ASSERT(r->peak_kb < PEAK_KB_MAX && r->err_n < 2000);
    }
    const struct ran *r = ASSAY("trace", "show", one);
    CHECK_STATUS(r, 2);
    CU_ASSERT(r->peak_kb < PEAK_KB_MAX && r->err_n < 2000);
}

static void deep(void)
{
    const char *brackets = write_big("version: 1\nname: ", "[", 100000, "\n");
    const char *braces = write_big("version: 1\nname: ", "{a: ", 100000, "\n");
    const char *json = write_big("", "[", 100000, "");
    const char *dashes = write_big("version: 1\nname:\n  ", "- ", 100000, "x\n");
    check_refused(brackets, "", "");
    check_refused(braces, "", "");
    check_refused(json, "", "");
    check_refused(dashes, "", "");
}

/* Nine lists of nine aliases each: 9^9 values if they were all made. */
static void laughs(void)
{
    struct buf text = {.max = 1 << 20};
    buf_addz(&text, "version: 1\na0: &a0 lol\n");
    for (int i = 1; i <= 9; i++) {
        buf_fmt(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++) {
            buf_fmt(&text, "%s*a%d", j > 0 ? ", " : "", i - 1);
        }
        buf_addz(&text, "]\n");
    }
    const char *file = write_bytes(testing_dir(), "laughs.yaml", text.p, text.n);
    buf_free(&text);
    check_refused(file, "", "alias");
}

static void bom(void)
{
    const char *file = write_text(testing_dir(), "bom.yaml",
                                  "\xef\xbb\xbfversion: 1\r\nsteps:\r\n- reply: {text: ok}\r\n");
    const struct ran *r = ASSAY("run", "--fake", file, "Hello.");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "ok\n");
}

/* ---- showing what is broken ---- */

static const char trace_head[] =
    "{\"seq\":1,\"t_ms\":0,\"type\":\"run_start\",\"schema\":1,\"run\":\"0123456789ab\",\"seed\":7,"
    "\"started_at\":\"2026-11-29T18:00:00.000Z\",\"model\":\"m\",\"provider\":\"openai\","
    "\"system\":"
    "null,\"tools\":[],\"budget\":{},\"config\":{}}\n";

/* A log that was cut off is shown as far as it goes; what is no log is refused. */
static void traces(void)
{
    const char *dir = testing_dir();
    const char *cut = write_text(dir, "cut.jsonl",
                                 path_of("%s{\"seq\":2,\"t_ms\":0,\"type\":\"user_message\","
                                         "\"content\":\"Where is my order?\"}\n"
                                         "{\"seq\":3,\"t_ms\":0,\"type\":\"step_st",
                                         trace_head));
    const struct ran *r = ASSAY("trace", "show", cut);
    CHECK_OUT(r, "Where is my order?");
    CU_ASSERT(strstr(r->out, "interrupted") != NULL || strstr(r->out, "cut") != NULL);
    CU_ASSERT(r->status == 0 || r->status == 2);
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "empty"},
        {"hello\n", ":1"},
        {"{}\n", ":1"},
        {"[]\n", ":1"},
        {"version: 1\nname: x\n", ":1"},
        {"\xff\xfe\x00\x01\n", ":1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *file = write_text(dir, "bad.jsonl", cases[i].text);
        r = ASSAY("trace", "show", file);
        CHECK_STATUS(r, 2);
        CHECK_ERR(r, file);
        CHECK_ERR(r, cases[i].part);
        CU_ASSERT_EQUAL(count_lines(r->err), 1);
    }
    r = ASSAY("trace", "show", path_of("%s/nowhere.jsonl", dir));
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
    r = ASSAY("trace", "show", dir);
    CHECK_STATUS(r, 2);
    CHECK_ONE_LINE(r);
}

/* Every event of a good log with one value of another type: shown or refused, never a crash. */
static void odd_traces(void)
{
    static const char *const odd[] = {"null", "7", "-1e308", "\"x\"", "[]", "{}", "true"};
    static const char *const keys[] = {"t_ms",      "type", "content", "calls", "usage",
                                       "arguments", "ok",   "status",  "name",  "cost_nano"};
    const char *dir = testing_dir();
    const char *words[72] = {"trace", "show"};
    size_t n = 2;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        for (size_t j = 0; j < sizeof odd / sizeof odd[0] && n + 1 < 72; j++) {
            words[n++] =
                write_text(dir, path_of("%zu-%zu.jsonl", i, j),
                           path_of("%s{\"seq\":2,\"t_ms\":0,\"type\":\"llm_reply\",\"%s\":%s}\n"
                                   "{\"seq\":3,\"t_ms\":0,\"type\":\"tool_result\",\"%s\":%s}\n"
                                   "{\"seq\":4,\"t_ms\":0,\"type\":\"run_end\",\"%s\":%s}\n",
                                   trace_head, keys[i], odd[j], keys[i], odd[j], keys[i], odd[j]));
        }
    }
    program_run(words, NULL); /* which checks what must hold of every run */
}

/* A recording that was killed while it was written shows what is whole. */
static void torn(void)
{
    const char *whole = testing_corpus("../examples/margin.cassette.yaml");
    if (whole == NULL) {
        testing_skip("the examples are not there");
        return;
    }
    size_t n = 0;
    const char *text = read_text(whole, &n);
    const char *dir = testing_dir();
    for (size_t cut = n / 20; cut < n; cut += n / 20) {
        const char *file = write_bytes(dir, "torn.yaml", text, cut);
        const struct ran *r = ASSAY("cassette", "show", "--json", file);
        CU_ASSERT(r->status == 0 || r->status == 2);
        CU_ASSERT(json_lines(r->out, NULL));
        CU_ASSERT(count_lines(r->err) <= 1);
        if (r->status == 2) {
            CHECK_ONE_LINE(r);
        }
        r = ASSAY("cassette", "check", file); /* which says it as a finding, once */
        const char *told = strstr(r->out, "was cut off");
        CU_ASSERT(told == NULL || strstr(told + 1, "was cut off") == NULL);
        CHECK_TEXT(r->err, "");
    }
}

TESTS(files, {"files_with_wrong_bytes_are_refused_with_their_place", bad_bytes},
      {"files_that_are_not_there_are_told", no_file},
      {"files_that_cannot_be_read_are_told_by_one_rule", unreadable_files},
      {"files_with_a_line_of_50_mb_end_quickly", long_line},
      {"files_nested_100000_deep_are_refused", deep},
      {"files_with_aliases_of_aliases_are_refused", laughs}, {"files_may_have_a_bom_and_crlf", bom},
      {"files_of_logs_are_shown_as_far_as_they_go", traces},
      {"files_of_logs_with_odd_values_do_no_harm", odd_traces},
      {"files_of_torn_recordings_show_what_is_whole", torn})
