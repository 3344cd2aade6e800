/* `assay record` and `assay replay`: a program of any language between our server and its model. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "cli/mend.h"
#include "cli/options.h"
#include "cli/replay.h"
#include "fakellm/serve.h"
#include "kernel/base/arena.h"
#include "kernel/drive/child.h"
#include "kernel/drive/files.h"

static const char record_help[] =
    "assay record: runs a program and records what it says to its model\n"
    "\n"
    "usage: assay record -o CASSETTE_OR_FOLDER/ [options] -- COMMAND...\n"
    "\n"
    "The program gets OPENAI_BASE_URL, ANTHROPIC_BASE_URL and their kin set to a proxy of ours, "
    "which\n"
    "passes everything on to the endpoint that they named before (else the provider's own), keys\n"
    "too, which are never stored. Its output and exit status pass through.\n"
    "\n"
    "  -o, --out PATH      the cassette to write; a folder (with a / at its end) gets one a "
    "session:\n"
    "                      main.yaml, or NAME.yaml for requests below URL/s/NAME\n"
    "  --mode once|new_episodes|all  a cassette that is there is replayed; replayed, and what it "
    "lacks\n"
    "                      added; recorded anew (default: an error, before the program begins)\n"
    "  --ignore, --normalise  what of requests does not count: as assay run has them\n"
    "  --upstream URL      the endpoint, for all providers\n"
    "\n";

static const char record_example[] = "\n"
                                     "example\n"
                                     "  assay record -o cassettes/tests.yaml -- pytest -q\n";

static const char replay_help[] =
    "assay replay: runs a program and answers it from recordings, without network or key\n"
    "\n"
    "usage: assay replay CASSETTE_OR_FOLDER [options] -- COMMAND...\n"
    "\n"
    "Its output and exit status pass through, but a request that is not recorded makes it 3.\n"
    "OPENAI_API_KEY and ANTHROPIC_API_KEY, which SDKs want, are made up where there are none.\n"
    "\n"
    "  --strict            recordings that were not used make it 3, too, and requests that differ\n"
    "                      from theirs (--match order, relaxed)\n"
    "  --match, --speed, --rechunk, --ignore, --normalise  how: as assay run has them\n"
    "\n"
    "example\n"
    "  assay replay cassettes/tests.yaml -- pytest -q\n";

/* A program under way. */
struct wrapped {
    struct loop *loop;
    struct child *child;
    int status;
};

static void on_note(void *ctx, struct str line)
{
    (void)ctx;
    tell("%.*s", STR_FMT(line));
}

static void on_ended(void *ctx, int status, int by_signal)
{
    struct wrapped *w = ctx;
    w->status = by_signal != 0 ? 128 + by_signal : status;
    loop_stop(w->loop);
}

/* Whether Ctrl+C comes from a terminal, which tells it to the program itself, too. */
static bool terminal_tells(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    bool tells = fd >= 0 && tcgetpgrp(fd) == getpgrp();
    if (fd >= 0) {
        close(fd);
    }
    return tells;
}

static void on_signal(void *arg, int signal)
{
    struct wrapped *w = arg;
    if (signal != SIGINT || !terminal_tells()) {
        child_signal(w->child, signal);
    }
}

/* Runs the command against the server, to its end; its exit status. Only a failure to start it is
 * an error. */
static int run_command(struct wrapped *w, const struct serve *v, bool replay, char **argv,
                       struct err *e)
{
    struct arena *arena = arena_new();
    const char *no_proxy = getenv("NO_PROXY") != NULL ? getenv("NO_PROXY") : getenv("no_proxy");
    struct child_variable variables[SERVE_VARIABLES];
    size_t n = serve_variables(v, STR(""), str_of(no_proxy), replay, arena, variables);
    struct child_options o = {
        .loop = w->loop,
        .argv = argv,
        .variables = variables,
        .n_variables = n,
        .ctx = w,
        .ended = on_ended,
    };
    /* First, so that no signal ends us and leaves the command behind; what comes before it has
     * started waits for the loop. */
    loop_on_interrupt(w->loop, on_signal, w);
    int rc = child_start(&o, &w->child, e);
    if (rc == 0) {
        loop_run(w->loop);
    }
    child_free(w->child);
    arena_free(arena);
    return rc;
}

/* What to do about a recording that lacks something, or holds too much. */
static void tell_mend(const struct serve_options *o, const struct serve_report *r, char **argv)
{
    struct buf mend = {0};
    bool misses = r->refused > 0;
    mend_record(&mend, o->path, misses ? "new_episodes" : "all", o->rules, argv);
    tell("%s: %.*s", misses ? "to record what is missing" : "to record it anew",
         STR_FMT(buf_str(&mend)));
    buf_free(&mend);
}

/* The program's own status, unless ours says more. */
static int status_of(struct serve *v, const struct serve_options *o, bool strict, int status,
                     char **argv)
{
    struct serve_report r = serve_report(v);
    bool replay = o->source == SERVE_REPLAY;
    if (replay && strict && r.text.n > 0) {
        tell("%.*s", STR_FMT(r.text));
    }
    if (r.requests == 0) {
        tell("the program asked no model: does it take its base URL from OPENAI_BASE_URL or "
             "ANTHROPIC_BASE_URL?");
    }
    if (r.drifts > 0) {
        tell("requests that differed from their recording:\n%.*s", STR_FMT(r.drift_text));
    }
    bool other = replay && strict && (r.leftover > 0 || r.drifts > 0);
    if (r.refused > 0 || other) {
        tell_mend(o, &r, argv);
    }
    bool missed = r.refused > 0 || other || (replay && strict && r.requests == 0);
    return missed ? EXIT_MISS : status;
}

static int wrap(struct serve_options *o, const struct live *live, bool strict, char **argv)
{
    struct wrapped w = {.loop = loop_new()};
    struct serve *v = NULL;
    struct err e;
    live_prepare(w.loop, &live->settings, o->source == SERVE_RECORD);
    o->loop = w.loop;
    o->address = "127.0.0.1";
    o->note = on_note;
    o->limits = SERVER_LIMITS_DEFAULT;
    o->sessions_max = 100000;
    int rc = serve_new(o, &v, &e);
    if (rc == 0) {
        rc = run_command(&w, v, o->source == SERVE_REPLAY, argv, &e);
    }
    int status = rc == 0 ? status_of(v, o, strict, w.status, argv) : tell_error(&e);
    if (serve_free(v, &e) != 0) {
        status = tell_error(&e);
    }
    loop_free(w.loop);
    return status;
}

/* Where the command begins behind "--"; argc when there is none. */
static int command_at(int argc, char **argv)
{
    int at = 0;
    while (at < argc && strcmp(argv[at], "--") != 0) {
        at++;
    }
    return at < argc ? at + 1 : argc;
}

/* What both verbs are told. */
struct flags {
    const char *out, *upstream;
    struct replay_flags cassettes;
    struct live_flags live;
    struct words words;
};

static int parse(enum serve_source source, int argc, char **argv, struct flags *f, struct err *e)
{
    struct option options[3 + REPLAY_OPTIONS + PROXY_OPTIONS];
    size_t n = replay_options(&f->cassettes, options);
    if (source == SERVE_RECORD) {
        options[n++] = (struct option){"out", OPTION_TEXT, &f->out, 0, 0};
        options[n++] = (struct option){"upstream", OPTION_TEXT, &f->upstream, 0, 0};
        options[n++] = (struct option){"mode", OPTION_TEXT, &f->cassettes.mode, 0, 0};
        proxy_options(&f->live, options + n);
        n += PROXY_OPTIONS;
    }
    int rc = options_parse(options, n, argc, argv, &f->words, e);
    if (rc == 0 && source == SERVE_RECORD && (f->words.n > 0 || f->out == NULL)) {
        rc = err_set(e, ERR_USAGE, "usage: assay record -o CASSETTE [options] -- COMMAND...");
    }
    if (rc == 0 && source == SERVE_REPLAY && f->words.n != 1) {
        rc = err_set(e, ERR_USAGE, "usage: assay replay CASSETTE [options] -- COMMAND...");
    }
    return rc;
}

/* A slip in a cassette's name shall not make a folder. */
static int out_check(const char *out, struct err *e)
{
    struct str path = str_of(out);
    bool good = str_ends(path, ".yaml") || str_ends(path, ".yml") || str_ends(path, "/");
    return good || path_is_dir(out)
               ? 0
               : err_set(e, ERR_USAGE,
                         "-o %s: a cassette's name ends with .yaml, a new folder's with /", out);
}

static int run(enum serve_source source, int argc, char **argv)
{
    struct serve_options o = {.source = source};
    struct flags f = {.live = LIVE_FLAGS_NONE};
    struct arena *arena = arena_new();
    struct live live;
    struct rules *rules = NULL;
    struct err e;
    int at = command_at(argc, argv);
    int ours = at > 0 && at <= argc && strcmp(argv[at - 1], "--") == 0 ? at - 1 : argc;
    int rc = parse(source, ours, argv, &f, &e);
    bool strict = f.cassettes.strict;
    if (rc == 0) {
        o.path = source == SERVE_RECORD ? f.out : f.words.at[0];
        rc = source == SERVE_RECORD ? out_check(f.out, &e) : 0;
    }
    if (rc == 0 && source == SERVE_RECORD) {
        o.as_clients = f.upstream == NULL;
        rc = upstreams_of("--upstream", f.upstream, o.upstream, &e);
    }
    if (rc == 0) {
        f.cassettes.strict = strict && source == SERVE_REPLAY;
        rc = serve_cassettes(&f.cassettes, &o, &rules, &e);
    }
    if (rc == 0 && at >= argc) {
        rc = err_set(&e, ERR_USAGE, "put the program behind --: assay %s … -- COMMAND…",
                     source == SERVE_RECORD ? "record" : "replay");
    }
    rc = rc != 0 ? rc : proxy_open(&f.live, arena, &o, &live, &e);
    int status = rc != 0 ? tell_error(&e) : wrap(&o, &live, strict, argv + at);
    cassette_rules_free(rules);
    arena_free(arena);
    return status;
}

static int run_record(int argc, char **argv)
{
    return run(SERVE_RECORD, argc, argv);
}

static int run_replay(int argc, char **argv)
{
    return run(SERVE_REPLAY, argc, argv);
}

const struct verb verb_record = {"record",
                                 "run a program and record its model",
                                 {record_help, help_proxy, record_example},
                                 run_record};
const struct verb verb_replay = {
    "replay", "run a program against recordings", {replay_help}, run_replay};
