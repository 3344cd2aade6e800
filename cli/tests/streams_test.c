/* Started with standard streams closed, limited files, a terminal that hangs up. */
#include <signal.h>
#include <string.h>

#include "ci/testing/testing.h"
#include "cli/tests/program.h"

static const char script[] = "version: 1\nsteps:\n- reply: {text: hello}\n";

/* Runs `assay WORDS` in a shell with something done to its streams. */
static const struct ran *in_shell(const char *dir, const char *before, const char *words,
                                  const char *after)
{
    const char *line = path_of("%s exec '%s/assay' %s %s", before, BUILD_DIR, words, after);
    struct program_options o = {.program = "/bin/sh", .dir = dir};
    return program_run((const char *const[]){"-c", line, NULL}, &o);
}

static void a_closed_output_fails_and_spoils_no_file(void)
{
    const char *dir = testing_dir();
    write_text(dir, "s.yaml", script);
    const struct ran *r = in_shell(dir, "", "run --fake s.yaml --trace t.jsonl p", ">&-");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "standard output cannot be written");
    CU_ASSERT_TRUE(log_ends(read_text(path_of("%s/t.jsonl", dir), NULL), "completed"));
    write_text(dir, "g.yaml",
               "version: 1\nname: g\ntasks:\n- {id: a, prompt: p, fake: s.yaml, expect: "
               "{answer: hello}}\n");
    r = in_shell(dir, "", "eval g.yaml --fake --task a,a --out run", ">&-");
    CHECK_STATUS(r, 4);
    size_t n = 0;
    CU_ASSERT_TRUE(json_lines(read_text(path_of("%s/run/trials.jsonl", dir), NULL), &n) && n == 1);
}

static void other_closed_streams_do_no_harm(void)
{
    const char *dir = testing_dir();
    write_text(dir, "s.yaml", script);
    const struct ran *r = in_shell(dir, "", "run --fake s.yaml --trace t.jsonl p", "<&- 2>&-");
    CHECK_STATUS(r, 0);
    CHECK_TEXT(r->out, "hello\n");
    CU_ASSERT_TRUE(log_ends(read_text(path_of("%s/t.jsonl", dir), NULL), "completed"));
}

static void a_file_size_limit_is_told_and_keeps_whole_lines(void)
{
    const char *dir = testing_dir();
    write_text(dir, "s.yaml", script);
    write_text(dir, "g.yaml",
               "version: 1\nname: g\ntasks:\n- {id: a, prompt: p, fake: s.yaml, trials: "
               "100, expect: {answer: hello}}\n");
    const struct ran *r = in_shell(dir, "ulimit -f 16;", "eval g.yaml --fake --out run", "");
    CHECK_STATUS(r, 4);
    CHECK_ERR(r, "File too large");
    CU_ASSERT_TRUE(json_lines(read_text(path_of("%s/run/trials.jsonl", dir), NULL), NULL));
}

/* libuv would end the program without a word. */
static void too_few_files_are_told(void)
{
    const char *dir = testing_dir();
    for (int n = 9; n < 12; n++) {
        const struct ran *r = in_shell(dir, path_of("ulimit -n %d;", n),
                                       "run --base-url http://127.0.0.1:9 --model m p", "");
        CHECK_STATUS(r, 4);
        CHECK_ERR(r, "open");
    }
}

TESTS(streams, {"closed_output_fails_and_spoils_no_file", a_closed_output_fails_and_spoils_no_file},
      {"other_closed_streams_do_no_harm", other_closed_streams_do_no_harm},
      {"file_size_limit_keeps_whole_lines", a_file_size_limit_is_told_and_keeps_whole_lines},
      {"too_few_files_are_told", too_few_files_are_told})
