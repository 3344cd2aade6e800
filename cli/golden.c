#include <string.h>

#include "cli/cli.h"
#include "goldens/golden.h"

static const char help_text[] =
    "assay golden: golden sets\n"
    "\n"
    "usage: assay golden check FILE... [--json]\n"
    "\n"
    "  check    load each set with its tools and scripts, and report every mistake and doubt with\n"
    "           file:line:column; warnings also of the tool files\n"
    "  --json   a line a finding: file, line, column, severity, code, message\n"
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

static void check_file(const char *path, struct findings *findings)
{
    struct checking c = {path, findings};
    struct golden_set *set = golden_load_all(path, on_mistake, &c);
    golden_check(set, findings_add, findings);
    golden_free(set);
}

static int check(int argc, char **argv)
{
    return check_files(argc, argv, "golden", "golden set", check_file);
}

static int run(int argc, char **argv)
{
    static const struct sub_verb subs[] = {{"check", check}};
    return sub_verb_run("golden", subs, 1, argc, argv);
}

const struct verb verb_golden = {"golden", "check golden sets", {help_text}, run};
