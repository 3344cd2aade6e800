#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "kernel/base/text.h"

static const struct verb *const verbs[] = {
    &verb_init,   &verb_run,      &verb_chat,    &verb_resume, &verb_fork,   &verb_eval,
    &verb_golden, &verb_cassette, &verb_fake,    &verb_serve,  &verb_record, &verb_replay,
    &verb_trace,  &verb_score,    &verb_compare, &verb_report, &verb_merge};
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
        "  assay run --fake goldens/quickstart/margin-drop.script.yaml --tools "
        "goldens/quickstart/tools.yaml \\\n"
        "      \"By how much did the margin fall?\"\n"
        "  assay eval goldens/quickstart.yaml --replay cassettes/quickstart\n"
        "  assay cassette show cassettes/quickstart/margin-drop.yaml\n\n"
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

/* A first word that means nothing; what: "verb" or "option". */
static int unknown(const char *what, const char *word, const char *const *names, size_t n)
{
    const char *close = text_closest(str_of(word), names, n);
    if (close != NULL) {
        tell("there is no %s \"%s\"; did you mean \"%s\"?", what, word, close);
    } else {
        tell("there is no %s \"%s\"; assay --help lists them", what, word);
    }
    return EXIT_USAGE;
}

/* Words that stand behind a verb, not in its place; NULL = none of them. */
static const char *verbs_of(const char *word)
{
    static const struct {
        const char *word, *verbs;
    } parts[] = {
        {"check", "assay golden check, fake check, cassette check or trace check"},
        {"lint", "assay golden check"},
        {"promote", "assay golden promote"},
        {"import", "assay golden import or cassette import"},
        {"show", "assay cassette show or trace show"},
        {"diff", "assay cassette diff or compare"},
        {"redact", "assay cassette redact"},
        {"prune", "assay cassette prune"},
        {"repair", "assay cassette repair"},
        {"verify", "assay trace verify"},
        {"test", "assay eval"},
        {"bfcl", "assay score bfcl"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(parts[i].word, word) == 0) {
            return parts[i].verbs;
        }
    }
    return NULL;
}

static int unknown_word(const char *word)
{
    static const char *const options[] = {"--help", "--version", "-h"};
    const char *names[N_VERBS + 2] = {"help", "version"};
    for (size_t i = 0; i < N_VERBS; i++) {
        names[i + 2] = verbs[i]->name;
    }
    if (word[0] == '-') {
        return unknown("option", word, options, sizeof options / sizeof options[0]);
    }
    if (verbs_of(word) != NULL) {
        tell("there is no verb \"%s\"; did you mean %s?", word, verbs_of(word));
        return EXIT_USAGE;
    }
    return unknown("verb", word, names, N_VERBS + 2);
}

static int help_of(const struct verb *verb)
{
    bool put = true;
    for (size_t i = 0; verb->help[i] != NULL && put; i++) {
        put = put_out(str_of(verb->help[i]));
    }
    return put ? EXIT_OK : EXIT_ENVIRONMENT;
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

/* A program may be started with its standard streams closed. A file opened later must not take
 * their numbers: reading finds nothing, messages go nowhere, and results fail to be written, as
 * they should. */
static void hold_standard_streams(void)
{
    static const struct {
        const char *path;
        int mode;
    } holders[] = {{"/dev/null", O_RDONLY}, {"/dev/full", O_WRONLY}, {"/dev/null", O_WRONLY}};
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open(holders[fd].path, holders[fd].mode) < 0) {
            exit(EXIT_ENVIRONMENT);
        }
    }
}

/* Nothing can be tidied up without memory. What was written is on disk, and tools die with us. */
static void no_memory(void)
{
    static const char text[] = "assay: out of memory; what was written before is whole, and a run "
                               "goes on with: assay resume TRACE\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written; /* there is nobody else to tell */
    _exit(EXIT_ENVIRONMENT);
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    mem_on_exhausted(no_memory);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write, told like any other, */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file's size limit */
    if (argc < 2) {
        help();
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        return put_out(STR("assay " ASSAY_VERSION "\n")) ? EXIT_OK : EXIT_ENVIRONMENT;
    }
    bool asks = strcmp(argv[1], "help") == 0;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || (asks && argc == 2)) {
        return help();
    }
    const char *word = asks ? argv[2] : argv[1];
    const struct verb *verb = find_verb(word);
    if (verb == NULL) {
        return unknown_word(word);
    }
    return asks || wants_help(argc - 2, argv + 2) ? help_of(verb) : verb->run(argc - 2, argv + 2);
}
