/* What is the same for several trials is told once, with one command. */
#include "ci/testing/testing.h"
#include "cli/tests/model_server.h"
#include "cli/tests/program.h"

#include <string.h>
#include <unistd.h>

static const char *three_tasks(const char *dir, const char *system, const char *more)
{
    return write_text(dir, "set.yaml",
                      path_of("version: 1\nname: three\ndefaults: {system: %s}\ntasks:\n"
                              "- {id: a, tags: [x], prompt: p%s, expect: {answer: Fine.}}\n"
                              "- {id: b, tags: [x], prompt: q, expect: {answer: Fine.}}\n"
                              "- {id: c, prompt: r, expect: {answer: Fine.}}\n",
                              system, more));
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text++) {
        n++;
    }
    return n;
}

/* The three tasks recorded from a server that tells tasks apart by the path. */
static const char *recorded(const char *dir, const char *set, const char **url)
{
    struct server s;
    const char *tapes = path_of("%s/tapes", dir);
    SERVE(&s, "--script",
          write_text(testing_dir(), "s.yaml", "version: 1\nrules:\n- reply: {text: Fine.}\n"));
    const struct program_options o = {.more = s.more};
    *url = path_of("%s/s/{task}/v1", s.url);
    CHECK_STATUS(ASSAY_WITH(&o, "eval", set, "--record", tapes, "--model", "m", "--stream",
                            "--base-url", *url, "--out", path_of("%s/live", dir)),
                 0);
    CHECK_STATUS(server_end(&s), 0);
    return tapes;
}

/* Another system message: every task misses by the same difference. */
static void missed(void)
{
    const char *dir = testing_dir(), *url;
    const char *set = three_tasks(dir, "Be nice.", "");
    const char *tapes = recorded(dir, set, &url);
    (void)three_tasks(dir, "Be kind.", "");
    const struct ran *r = ASSAY("eval", set, "--replay", tapes, "--out", path_of("%s/1", dir));
    CHECK_STATUS(r, 3);
    CU_ASSERT_EQUAL(count_of(r->out, "recorded \"Be nice.\", sent \"Be kind.\""), 1);
    CU_ASSERT_EQUAL(count_of(r->out, "anew: "), 1);
    CHECK_OUT(r, "\n  the same for 2 more: b, c\n");
    CHECK_OUT(r, path_of("\nto record all tasks anew: assay eval --mode all --model m --stream "
                         "--base-url '%s' %s --record %s\n",
                         url, set, tapes));
    r = ASSAY("report", path_of("%s/1", dir), "--format", "markdown");
    CU_ASSERT_EQUAL(count_of(r->out, "recorded \"Be nice.\""), 1);
    CHECK_OUT(r, "\nthe same for 2 more: b, c\n");
    CHECK_OUT(r, " --task a,b,c ");
    r = ASSAY("report", path_of("%s/1", dir), "--format", "junit");
    CU_ASSERT_EQUAL(count_of(r->out, "to record it anew: assay eval --mode all --model m "), 3);
    r = ASSAY("eval", set, "--replay", tapes, "--filter", "x", "--out", path_of("%s/2", dir));
    CHECK_OUT(r,
              "\nto record what is missing: assay eval --mode all --model m --stream --base-url ");
    CHECK_OUT(r, path_of(" --task a,b %s --record %s\n", set, tapes));
}

/* One task alone keeps its command, where it is told. */
static void one_missed(void)
{
    const char *dir = testing_dir(), *url;
    const char *set = three_tasks(dir, "Be nice.", "");
    const char *tapes = recorded(dir, set, &url);
    (void)three_tasks(dir, "Be nice.", "q");
    const struct ran *r = ASSAY("eval", set, "--replay", tapes, "--out", path_of("%s/1", dir));
    CHECK_STATUS(r, 3);
    CHECK_OUT(r, path_of("\n    to record it anew: assay eval --mode all --model m --stream "
                         "--base-url '%s' --task a %s --record %s\n",
                         url, set, tapes));
    CU_ASSERT(strstr(r->out, "the same for") == NULL);
    unlink(path_of("%s/b.yaml", tapes));
    unlink(path_of("%s/c.yaml", tapes));
    r = ASSAY("eval", set, "--replay", tapes, "--out", path_of("%s/2", dir));
    CHECK_OUT(r, "b.yaml is not there, so trial 1 of b cannot be replayed\n"
                 "  the same for 1 more: c\n");
    CHECK_OUT(r, path_of("\nto record what is missing: assay eval --mode all --task b,c %s", set));
}

/* Trials of one task that fail alike, and one that fails otherwise. */
static void trials(void)
{
    const char *dir = testing_dir();
    const char *text = "version: 1\nsteps:\n- reply: {text: Fine.}\n";
    write_text(dir, "s.yaml", text);
    const char *set =
        write_text(dir, "set.yaml",
                   "version: 1\nname: t\ndefaults: {fake: s.yaml}\ntasks:\n"
                   "- {id: a, trials: 3, prompt: p, expect: {answer: {contains: Good}}}\n"
                   "- {id: b, prompt: p, expect: {answer: {contains: Good}}}\n");
    const char *out = path_of("%s/out", dir);
    const struct ran *r = ASSAY("eval", set, "--fake", "--out", out);
    CHECK_STATUS(r, 1);
    CHECK_OUT(r, path_of("\nfail a (trials 1, 2 and 3) (%s:5)\n  answer\n", set));
    CHECK_OUT(r, path_of("\nfail b #1 (%s:6)\n", set));
    CU_ASSERT_EQUAL(count_of(r->out, "text containing \"Good\""), 2);
    r = ASSAY("report", out, "--format", "markdown");
    CHECK_OUT(r, "**a (trials 1, 2 and 3)**");
    CHECK_OUT(r, "**b trial 1**");
    r = ASSAY("report", out, "--format", "junit");
    CU_ASSERT_EQUAL(count_of(r->out, "<failure "), 4);
}

TESTS(alike, {"alike_misses_are_told_once_with_one_command", missed},
      {"alike_a_single_miss_keeps_its_command", one_missed}, {"alike_trials_are_told_once", trials})
