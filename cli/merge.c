#include "cli/cli.h"
#include "cli/options.h"
#include "evals/runs.h"

static const char help_text[] =
    "assay merge: join the shards of a run\n"
    "\n"
    "usage: assay merge RUN... --out RUN\n"
    "\n"
    "  RUN...      what assay eval --shard 1/N to N/N made, in any order\n"
    "  --out RUN   a new folder: manifest, results and traces are those of the whole run, byte "
    "for\n"
    "              byte\n"
    "\n"
    "exit status: 0 joined, 2 a shard is missing, unfinished or of another run, 4 disk\n"
    "\n"
    "example\n"
    "  assay eval goldens/quickstart.yaml --fake --shard 1/2 --out runs/s1\n"
    "  assay eval goldens/quickstart.yaml --fake --shard 2/2 --out runs/s2\n"
    "  assay merge runs/s1 runs/s2 --out runs/whole\n";

static int run(int argc, char **argv)
{
    const char *out = NULL;
    const struct option options[] = {{"out", OPTION_NAME, &out, 0, 0}};
    struct words words;
    struct err e;
    int rc = options_parse(options, 1, argc, argv, &words, &e);
    if (rc == 0 && (words.n == 0 || out == NULL)) {
        rc = err_set(&e, ERR_USAGE,
                     "merge wants the shards' folders and --out RUN; assay merge "
                     "--help shows an example");
    }
    rc = rc != 0 ? rc : run_merge(words.at, words.n, out, &e);
    if (rc != 0) {
        return tell_error(&e);
    }
    tell("joined %zu shard%s into %s", words.n, words.n == 1 ? "" : "s", out);
    return EXIT_OK;
}

const struct verb verb_merge = {"merge", "join the shards of a run", {help_text}, run};
