#include <string.h>

#include "cli/check.h"
#include "cli/cli.h"
#include "cli/golden_make.h"
#include "goldens/golden.h"

static const char help_text[] =
    "assay golden: golden sets\n"
    "\n"
    "usage: assay golden check FILE|FOLDER... [--json]\n"
    "       assay golden promote TRACE -o SET.yaml [--cassette FILE] [--tools FILE] [--id NAME]\n"
    "       assay golden import promptfoo FILE -o SET.yaml\n"
    "       assay golden import bfcl QUESTIONS [--answers FILE] -o SET.yaml\n"
    "\n"
    "  check    load each set with its tools and scripts, and report every mistake and doubt with\n"
    "           file:line:column and a code: what can never hold, what takes anything, tasks that\n"
    "           stand there twice, tools that no task expects; warnings also of the tool files. A\n"
    "           folder stands for the sets below it: *.golden.yaml, and each *.yaml with the keys\n"
    "           version and tasks\n"
    "  promote  add a session that went well to a set, as a task that expects its calls and its\n"
    "           answer; a set that is not there is made\n"
    "  import   make a set of a promptfoo configuration, or of questions and answers of the\n"
    "           Berkeley Function Calling Leaderboard; what has no counterpart is named on stderr\n"
    "           with its place\n"
    "\n"
    "  --json           a line a finding: file, line, column, severity, code, message\n"
    "  -o SET.yaml      the set that is written. import and promote never overwrite\n"
    "  --cassette FILE  the session's recording: it is put into cassettes/ beside the set\n"
    "  --tools FILE     the tool file that the session ran with, unless its tools are built in\n"
    "  --answers FILE   the questions' answers; without them no question wants a call\n"
    "  --id NAME        of the task (default: the log's file name)\n"
    "\n"
    "exit status: 0 fine (warnings allowed), 2 errors\n"
    "\n"
    "example\n"
    "  assay golden check goldens/quickstart.yaml\n";

struct checking {
    const char *path;
    struct findings *findings;
};

static void on_mistake(void *ctx, const struct err *e)
{
    const struct checking *c = ctx;
    findings_add_err(c->findings, c->path, e);
}

static void on_doubt(void *ctx, const struct finding *f)
{
    const struct checking *c = ctx;
    findings_add(c->findings, f);
}

static void check_file(const char *path, struct findings *findings)
{
    struct checking c = {path, findings};
    golden_check(path, on_mistake, on_doubt, &c);
}

static int check(int argc, char **argv)
{
    return check_files(argc, argv, "golden", &kind_set, check_file);
}

static int run(int argc, char **argv)
{
    static const struct sub_verb subs[] = {
        {"check", check}, {"promote", golden_verb_promote}, {"import", golden_verb_import}};
    return sub_verb_run("golden", subs, sizeof subs / sizeof subs[0], argc, argv);
}

const struct verb verb_golden = {"golden", "check golden sets, and make them", {help_text}, run};
