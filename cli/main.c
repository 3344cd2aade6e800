#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "kernel/base/text.h"

static const struct verb *const verbs[] = {&verb_run,      &verb_eval, &verb_golden,
                                           &verb_cassette, &verb_fake, &verb_trace};
enum { N_VERBS = sizeof verbs / sizeof verbs[0] };

static int help(void)
{
    struct buf out = {0};
    buf_addz(&out, "assay: a deterministic test harness and evaluation suite for LLM agents\n\n"
                   "usage: assay VERB [options]       assay VERB --help       assay --version\n\n");
    for (size_t i = 0; i < N_VERBS; i++) {
        buf_fmt(&out, "  %-10s %s\n", verbs[i]->name, verbs[i]->summary);
    }
    buf_addz(
        &out,
        "\nexamples:\n"
        "  assay run --fake margin.script.yaml --tools calculator \"What is 42.4-38.2?\"\n"
        "  assay eval goldens/quickstart.yaml --replay cassettes/quickstart\n"
        "  assay cassette show recording.yaml\n\n"
        "exit status: 0 all well, 1 an expectation failed or a run did not complete, 2 bad usage "
        "or input,\n3 cassette miss or drift, 4 environment (endpoint, disk), 130 interrupted\n");
    bool written = put_out(buf_str(&out));
    buf_free(&out);
    return written ? EXIT_OK : EXIT_ENVIRONMENT;
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < N_VERBS; i++) {
        if (strcmp(verbs[i]->name, name) == 0) {
            return verbs[i];
        }
    }
    return NULL;
}

static int unknown_verb(const char *word)
{
    const char *names[N_VERBS];
    for (size_t i = 0; i < N_VERBS; i++) {
        names[i] = verbs[i]->name;
    }
    const char *close = text_closest(str_of(word), names, N_VERBS);
    if (close != NULL) {
        tell("there is no verb \"%s\"; did you mean \"%s\"?", word, close);
    } else {
        tell("there is no verb \"%s\"; assay --help lists them", word);
    }
    return EXIT_USAGE;
}

/* Whether --help or -h stands among the words before a "--". */
static bool wants_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write, told like any other */
    if (argc < 2) {
        help();
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        return put_out(STR("assay " ASSAY_VERSION "\n")) ? EXIT_OK : EXIT_ENVIRONMENT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        return help();
    }
    const struct verb *verb = find_verb(argv[1]);
    if (verb == NULL) {
        return unknown_verb(argv[1]);
    }
    if (wants_help(argc - 2, argv + 2)) {
        return put_out(str_of(verb->help)) ? EXIT_OK : EXIT_ENVIRONMENT;
    }
    return verb->run(argc - 2, argv + 2);
}
