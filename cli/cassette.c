#include "cassettes/cassette.h"
#include "cli/cli.h"

static const char help_text[] =
    "assay cassette: recordings, ours or vcrpy's\n"
    "\n"
    "usage: assay cassette show FILE... [--json]\n"
    "       assay cassette check FILE... [--json]\n"
    "\n"
    "  show     print every interaction: request, offered tools, calls, results, text, usage; what "
    "is no\n"
    "           model session as plain HTTP. --json: a line an interaction\n"
    "  check    report what would hinder a replay. --json: a line a finding\n"
    "\n"
    "examples\n"
    "  assay cassette show cassettes/quickstart/margin-drop.yaml\n"
    "  assay cassette check cassettes/quickstart/*.yaml\n";

static void check_file(const char *path, struct findings *findings)
{
    struct cassette *c;
    struct err e;
    if (cassette_load(path, &c, NULL, &e) != 0) { /* what was cut off is a finding below */
        findings_add_err(findings, path, &e);
        return;
    }
    cassette_check(c, findings_add, findings);
    cassette_free(c);
}

static int show_file(const char *path, bool json)
{
    struct cassette *c;
    struct buf warning = {0}, out = {0};
    struct err e;
    int status = EXIT_OK;
    if (cassette_load(path, &c, &warning, &e) != 0) {
        status = tell_error(&e);
    } else {
        if (warning.n > 0) {
            tell("%.*s", STR_FMT(buf_str(&warning)));
        }
        cassette_show(c, json, &out);
        status = put_out(buf_str(&out)) ? EXIT_OK : EXIT_ENVIRONMENT;
        cassette_free(c);
    }
    buf_free(&out);
    buf_free(&warning);
    return status;
}

static int show(int argc, char **argv)
{
    bool json = false;
    const struct option options[] = {{"json", OPTION_FLAG, &json, 0, 0}};
    struct words words;
    struct err e;
    if (options_parse(options, 1, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n == 0) {
        tell("cassette show wants a file: FILE...; assay cassette --help shows an example");
        return EXIT_USAGE;
    }
    int status = EXIT_OK;
    for (size_t i = 0; i < words.n; i++) {
        status = exit_worse(status, show_file(words.at[i], json));
    }
    return status;
}

static int check(int argc, char **argv)
{
    return check_files(argc, argv, "cassette", "cassette", check_file);
}

static int run(int argc, char **argv)
{
    static const struct sub_verb subs[] = {{"show", show}, {"check", check}};
    return sub_verb_run("cassette", subs, 2, argc, argv);
}

const struct verb verb_cassette = {"cassette", "show and check recordings", help_text, run};
