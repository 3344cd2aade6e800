#include "fakellm/fake.h"
#include "cli/check.h"
#include "cli/cli.h"

static const char help_text[] =
    "assay fake: scripts of fake models\n"
    "\n"
    "usage: assay fake check FILE|FOLDER... [--json]\n"
    "\n"
    "  check    load each script and report what is wrong with file:line:column. A folder stands "
    "for\n"
    "           the scripts below it: *.script.yaml, and each *.yaml with the keys version and "
    "steps\n"
    "  --json   a line a finding: file, line, column, severity, code, message\n"
    "\n"
    "example\n"
    "  assay fake check goldens/quickstart/margin-drop.script.yaml\n";

static void check_file(const char *path, struct findings *findings)
{
    struct fake_script *script;
    struct err e;
    if (fake_load(path, &script, &e) != 0) {
        findings_add_err(findings, path, &e);
        return;
    }
    fake_free(script);
}

static int check(int argc, char **argv)
{
    return check_files(argc, argv, "fake", &kind_script, check_file);
}

static int run(int argc, char **argv)
{
    static const struct sub_verb subs[] = {{"check", check}};
    return sub_verb_run("fake", subs, 1, argc, argv);
}

const struct verb verb_fake = {"fake", "check scripts of fake models", {help_text}, run};
