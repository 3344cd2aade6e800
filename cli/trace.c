#include <unistd.h>

#include "cli/cli.h"
#include "kernel/drive/files.h"
#include "reports/report.h"

enum { TRACE_BYTES_MAX = 1 << 30 };

static const char help_text[] = "assay trace: event logs\n"
                                "\n"
                                "usage: assay trace show FILE... [--full]\n"
                                "\n"
                                "  show     print a session readably: rounds, times, tokens, calls "
                                "with arguments and results; also one\n"
                                "           that was cut off\n"
                                "  --full   do not shorten results\n"
                                "\n"
                                "example\n"
                                "  assay trace show runs/today/traces/margin-drop.jsonl\n";

/* heading: printed before it; may be empty. */
static int show_file(const char *path, bool full, struct str heading)
{
    struct arena *arena = arena_new();
    struct str log;
    struct err e;
    struct buf out = {0};
    buf_add(&out, heading);
    int rc = file_read(arena, path, TRACE_BYTES_MAX, &log, &e);
    if (rc == 0) {
        rc = report_trace(&out, path, log, full, want_color(STDOUT_FILENO), &e);
    }
    int status = put_out(buf_str(&out)) ? EXIT_OK : EXIT_ENVIRONMENT;
    if (rc != 0) {
        status = tell_error(&e);
    }
    buf_free(&out);
    arena_free(arena);
    return status;
}

static int show(int argc, char **argv)
{
    bool full = false;
    const struct option options[] = {{"full", OPTION_FLAG, &full, 0, 0}};
    struct words words;
    struct err e;
    if (options_parse(options, 1, argc, argv, &words, &e) != 0) {
        return tell_error(&e);
    }
    if (words.n == 0) {
        tell("trace show wants a file: FILE...; assay trace --help shows an example");
        return EXIT_USAGE;
    }
    int status = EXIT_OK;
    for (size_t i = 0; i < words.n; i++) {
        struct buf heading = {0};
        if (words.n > 1) {
            buf_fmt(&heading, "%s==> %s <==\n", i > 0 ? "\n" : "", words.at[i]);
        }
        status = exit_worse(status, show_file(words.at[i], full, buf_str(&heading)));
        buf_free(&heading);
    }
    return status;
}

static int run(int argc, char **argv)
{
    static const struct sub_verb subs[] = {{"show", show}};
    return sub_verb_run("trace", subs, 1, argc, argv);
}

const struct verb verb_trace = {"trace", "show event logs", help_text, run};
