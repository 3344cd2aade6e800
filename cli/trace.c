#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "evals/resume.h"
#include "goldens/golden.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"
#include "reports/report.h"

enum { TRACE_BYTES_MAX = 1 << 30 };

static const char help_text[] =
    "assay trace: event logs\n"
    "\n"
    "usage: assay trace show FILE... [--full]\n"
    "       assay trace verify FILE... [--tools FILE | --set SET]\n"
    "       assay trace check FILE... [--json]\n"
    "\n"
    "  show     print a session readably: rounds, times, tokens, calls with arguments and results; "
    "also one\n"
    "           that was cut off\n"
    "  --full   do not shorten results\n"
    "  verify   feed what a log says happened to the loop, and compare every decision byte for "
    "byte; the\n"
    "           first line that does not follow is told (exit 1)\n"
    "  --tools  the tools that the run had, where they are not built in: a tool file\n"
    "  --set    likewise: those of a golden set\n"
    "  check    look for mistakes in a log, also one that was cut off or edited, or in a request "
    "to "
    "a model\n"
    "           in JSON (or its list of messages): numbers, times, and calls without their results "
    "(exit 1)\n"
    "\n"
    "examples\n"
    "  assay run --fake goldens/quickstart/margin-drop.script.yaml --trace v.jsonl \\\n"
    "      --tools goldens/quickstart/tools.yaml \"By how much did the margin fall?\"\n"
    "  assay trace show v.jsonl\n"
    "  assay trace verify v.jsonl --tools goldens/quickstart/tools.yaml\n"
    "  assay trace check v.jsonl\n";

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
        return tell_no_file("trace", "show");
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

/* ---- verify ---- */

/* What the tools of the logs may be: a file's, or a set's. */
struct known {
    const struct toolset *tools; /* of --tools; NULL = none */
    struct golden_set *set;
    struct golden_task *task; /* the one that was loaded last for its own tools; NULL = none */
};

/* The task whose trace the file is by its name, TASK.jsonl, TASK.N.jsonl or MODEL--TASK.jsonl; the
 * first where there is none, for a set whose tasks all have the same tools. */
static size_t task_of(const struct golden_set *set, const char *path)
{
    struct str name = str_of(strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1);
    size_t best = 0, longest = 0;
    for (size_t i = 0; i < set->n_tasks; i++) {
        struct str id = golden_entry(set, i).id;
        size_t at = str_find(name, id);
        bool begins =
            at == 0 || (at != SIZE_MAX && at > 1 && name.p[at - 1] == '-' && name.p[at - 2] == '-');
        if (begins && id.n > longest && str_starts(str_slice(name, at + id.n, name.n), ".")) {
            best = i;
            longest = id.n;
        }
    }
    return best;
}

static int tools_for(struct known *k, const char *path, const struct toolset **out, struct err *e)
{
    *out = k->tools;
    if (k->set == NULL) {
        return 0;
    }
    size_t i = task_of(k->set, path);
    int rc = 0;
    *out = golden_entry(k->set, i).tools;
    if (*out == NULL) {
        golden_task_free(k->task);
        k->task = NULL;
        rc = golden_task_load(k->set, i, &k->task, e);
        *out = rc == 0 ? k->task->tools : NULL;
    }
    return rc;
}

static int verify_file(const char *path, struct known *known)
{
    struct err e;
    size_t lines = 0;
    bool ended = false;
    const struct toolset *tools = NULL;
    int rc = tools_for(known, path, &tools, &e);
    rc = rc != 0 ? rc : log_verify(path, tools, &lines, &ended, &e);
    if (rc != 0) {
        int status = tell_error(&e);
        return rc == ERR_STATE ? EXIT_FAILED : status;
    }
    struct buf out = {0};
    text_add_plain(&out, str_of(path));
    buf_fmt(&out,
            ended ? ": verified, %zu event%s\n" : ": verified, but interrupted after %zu event%s\n",
            lines, lines == 1 ? "" : "s");
    bool written = put_out(buf_str(&out));
    buf_free(&out);
    return written ? EXIT_OK : EXIT_ENVIRONMENT;
}

static int verify(int argc, char **argv)
{
    const char *file = NULL, *set_path = NULL;
    const struct option options[] = {{"tools", OPTION_TEXT, &file, 0, 0},
                                     {"set", OPTION_TEXT, &set_path, 0, 0}};
    struct words words;
    struct err e;
    struct toolset *tools = NULL;
    struct golden_set *set = NULL;
    int rc = options_parse(options, 2, argc, argv, &words, &e);
    if (rc == 0 && words.n == 0) {
        rc = err_set(&e, ERR_USAGE,
                     "trace verify wants a file: FILE...; assay trace --help shows an example");
    }
    if (rc == 0 && file != NULL && set_path != NULL) {
        rc = err_set(&e, ERR_USAGE, "give one of --tools and --set");
    }
    rc = rc == 0 && file != NULL ? tools_open(file, &tools, &e) : rc;
    rc = rc == 0 && set_path != NULL ? golden_open(set_path, &set, &e) : rc;
    int status = rc != 0 ? tell_error(&e) : EXIT_OK;
    struct known known = {tools, set, NULL};
    for (size_t i = 0; rc == 0 && i < words.n; i++) {
        status = exit_worse(status, verify_file(words.at[i], &known));
    }
    golden_task_free(known.task);
    toolset_free(tools);
    golden_free(set);
    return status;
}

static int run(int argc, char **argv)
{
    static const struct sub_verb subs[] = {
        {"show", show}, {"verify", verify}, {"check", trace_check}};
    return sub_verb_run("trace", subs, sizeof subs / sizeof subs[0], argc, argv);
}

const struct verb verb_trace = {"trace", "show, verify and check event logs", {help_text}, run};
