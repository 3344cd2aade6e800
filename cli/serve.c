#include "fakellm/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "cli/options.h"
#include "cli/replay.h"
#include "kernel/base/arena.h"
#include "kernel/drive/files.h"
#include "kernel/drive/sched.h"

static const char help_text[] =
    "assay serve: a model server for programs in any language\n"
    "\n"
    "usage: assay serve --script SCRIPT_OR_FOLDER [options]           answers from scripts\n"
    "       assay serve --replay CASSETTE_OR_FOLDER [options]         answers from recordings\n"
    "       assay serve --record FOLDER --upstream URL [options]      passes on, and records\n"
    "\n"
    "The first line of standard output is the base URL; the server is ready then. It speaks Chat\n"
    "Completions, Responses and Messages, streamed and not: point OPENAI_BASE_URL at URL/v1 and\n"
    "ANTHROPIC_BASE_URL at URL. URL/s/NAME/v1 and the header x-assay-session: NAME are a session "
    "of\n"
    "its own, with its own position; in a folder its file is NAME.script.yaml or NAME.yaml. It "
    "ends\n"
    "with SIGTERM or Ctrl+C, after the answers under way, 10 s at most. Recording, it passes all "
    "of\n"
    "HTTP on; who reads slowly makes the endpoint wait, who goes stops it.\n"
    "\n"
    "  --port N            default: any that is free\n"
    "  --address A         default 127.0.0.1; beyond this machine only with --token-file\n"
    "  --token-file FILE   requests must bring the token in it: as x-assay-token, or as API key\n"
    "  --speed real|none   of a script: its waits are waited (default), or take no time\n"
    "  --strict            exit status 1 when a script, 3 when a recording was asked too much, or\n"
    "                      something of it was never asked for, or asked for otherwise\n"
    "  --mode, --match, --speed, --rechunk, --ignore, --normalise  of cassettes: as assay run has "
    "them\n"
    "\n"
    "to look in\n"
    "  GET  URL/_assay/sessions   GET URL/_assay/journal[?session=NAME]\n"
    "  GET  URL/_assay/leftover   POST URL/_assay/reset[?session=NAME]\n"
    "\n";

static const char help_example[] =
    "\n"
    "example\n"
    "  assay serve --script goldens/quickstart/margin-drop.script.yaml --port 8080\n";

enum { TOKEN_BYTES_MAX = 4096, GRACE_MS = 10000 };

struct flags {
    const char *script, *replay, *record, *upstream, *address, *token_file;
    int64_t port;
    struct replay_flags cassettes;
    struct live_flags live;
};

static int parse(int argc, char **argv, struct flags *f, struct err *e)
{
    const struct option own[] = {
        {"script", OPTION_TEXT, &f->script, 0, 0},
        {"replay", OPTION_TEXT, &f->replay, 0, 0},
        {"record", OPTION_TEXT, &f->record, 0, 0},
        {"upstream", OPTION_TEXT, &f->upstream, 0, 0},
        {"address", OPTION_TEXT, &f->address, 0, 0},
        {"token-file", OPTION_TEXT, &f->token_file, 0, 0},
        {"mode", OPTION_TEXT, &f->cassettes.mode, 0, 0},
        {"port", OPTION_INT, &f->port, 0, 65535},
    };
    enum { OWN = sizeof own / sizeof own[0] };
    struct option options[OWN + REPLAY_OPTIONS + PROXY_OPTIONS];
    memcpy(options, own, sizeof own);
    size_t n = OWN + replay_options(&f->cassettes, options + OWN);
    proxy_options(&f->live, options + n);
    n += PROXY_OPTIONS;
    struct words words = {0};
    int rc = options_parse(options, n, argc, argv, &words, e);
    if (rc == 0 && words.n > 0) {
        rc = err_set(e, ERR_USAGE, "\"%s\" is one word too many; see assay serve --help",
                     words.at[0]);
    }
    return rc;
}

/* The source and what goes with it. */
static int source_of(const struct flags *f, struct serve_options *o, struct err *e)
{
    int given = (f->script != NULL) + (f->replay != NULL) + (f->record != NULL);
    if (given != 1) {
        return err_set(e, ERR_USAGE, "give one of --script, --replay, --record");
    }
    o->source = f->script != NULL ? SERVE_SCRIPT : f->replay != NULL ? SERVE_REPLAY : SERVE_RECORD;
    o->path = f->script != NULL ? f->script : f->replay != NULL ? f->replay : f->record;
    for (enum wire_format w = WIRE_CHAT; w <= WIRE_MESSAGES; w++) {
        o->upstream[w] = str_of(f->upstream);
    }
    if ((o->source == SERVE_RECORD) != (f->upstream != NULL)) {
        return err_set(e, ERR_USAGE, "--record goes with --upstream URL: the endpoint to record");
    }
    o->real_time = true;
    return o->source == SERVE_RECORD ? base_url_check("--upstream", str_of(f->upstream), e) : 0;
}

int serve_cassettes(const struct replay_flags *f, struct serve_options *o, struct rules **rules,
                    struct err *e)
{
    static const enum eval_source sources[] = {
        [SERVE_SCRIPT] = EVAL_FAKE, [SERVE_REPLAY] = EVAL_REPLAY, [SERVE_RECORD] = EVAL_RECORD};
    struct eval_cassettes how;
    int rc = replay_parse(f, sources[o->source], &how, rules, e);
    if (rc == 0 && how.max_age_ms > 0) {
        rc = err_set(e, ERR_USAGE,
                     "--max-age is of run and eval: try assay cassette check --max-age");
    }
    o->mode = how.mode;
    o->match = how.match;
    o->rules = how.rules;
    o->rechunk = how.rechunk;
    o->speed = how.speed;
    return rc;
}

/* What the callbacks of a server that runs know. */
struct running {
    struct loop *loop;
    struct serve *serve;
    struct sched *clock;
    int signals;
};

static void on_note(void *ctx, struct str line)
{
    (void)ctx;
    tell("%.*s", STR_FMT(line));
}

static void on_stopped(void *arg)
{
    struct running *r = arg;
    loop_stop(r->loop);
}

static void on_grace_over(void *arg)
{
    struct running *r = arg;
    tell("answers that were still under way were cut");
    loop_stop(r->loop);
}

/* The first signal lets answers end, for a while; the second does not wait for them. */
static void on_signal(void *arg, int signal)
{
    (void)signal;
    struct running *r = arg;
    if (r->signals++ == 0) {
        sched_touch(r->clock);
        (void)sched_post(r->clock, GRACE_MS, 0, on_grace_over, r);
        serve_stop(r->serve, on_stopped, r);
    } else {
        loop_stop(r->loop);
    }
}

/* Says what was left over or refused; the exit status. */
static int report(struct serve *v, enum serve_source source, bool strict)
{
    struct serve_report r = serve_report(v);
    if (r.text.n > 0) {
        tell("%.*s", STR_FMT(r.text));
    }
    if (r.drifts > 0) {
        tell("requests that differed from their recording:\n%.*s", STR_FMT(r.drift_text));
    }
    if (!strict || (r.leftover == 0 && r.refused == 0 && r.drifts == 0)) {
        return EXIT_OK;
    }
    return source == SERVE_SCRIPT ? EXIT_FAILED : EXIT_MISS;
}

static int serve(const struct serve_options *o, bool strict)
{
    struct running r = {.loop = o->loop};
    struct err e;
    if (serve_new(o, &r.serve, &e) != 0) {
        return tell_error(&e);
    }
    r.clock = sched_real(o->loop);
    loop_on_interrupt(r.loop, on_signal, &r);
    struct buf line = {0};
    buf_add(&line, serve_url(r.serve));
    buf_char(&line, '\n');
    bool said = put_out(buf_str(&line));
    buf_free(&line);
    if (said) {
        loop_run(r.loop);
    }
    int status = said ? report(r.serve, o->source, strict) : EXIT_ENVIRONMENT;
    sched_free(r.clock);
    if (serve_free(r.serve, &e) != 0) {
        status = tell_error(&e);
    }
    return status;
}

static int run(int argc, char **argv)
{
    struct flags f = {.live = LIVE_FLAGS_NONE};
    struct err e;
    struct arena *arena = arena_new();
    struct rules *rules = NULL;
    struct live live;
    struct serve_options o = {
        .limits = SERVER_LIMITS_DEFAULT, .sessions_max = 100000, .note = on_note};
    int rc = parse(argc, argv, &f, &e);
    if (rc == 0) {
        bool named = f.address != NULL && strcmp(f.address, "localhost") != 0;
        o.address = named ? f.address : "127.0.0.1";
        o.port = (uint16_t)f.port;
        rc = source_of(&f, &o, &e);
    }
    bool strict = f.cassettes.strict;
    if (rc == 0 && o.source == SERVE_SCRIPT) { /* the other flags are of cassettes */
        rc = speed_parse(f.cassettes.speed, &o.real_time, &e);
        f.cassettes.speed = NULL;
    }
    if (rc == 0) {
        f.cassettes.strict = false; /* here it is about how the server ends */
        rc = serve_cassettes(&f.cassettes, &o, &rules, &e);
    }
    if (rc == 0) {
        rc = proxy_open(&f.live, arena, &o, &live, &e);
    }
    if (rc == 0 && f.token_file != NULL) {
        rc = file_read(arena, f.token_file, TOKEN_BYTES_MAX, &o.token, &e);
        o.token = str_trim(o.token);
    }
    if (rc == 0 && f.token_file != NULL && o.token.n == 0) {
        rc = err_set(&e, ERR_INPUT, "%s: holds no token", f.token_file);
    }
    int status = EXIT_OK;
    if (rc != 0) {
        status = tell_error(&e);
    } else {
        o.loop = loop_new();
        live_prepare(o.loop, &live.settings, o.source == SERVE_RECORD);
        status = serve(&o, strict);
        loop_free(o.loop);
    }
    cassette_rules_free(rules);
    arena_free(arena);
    return status;
}

const struct verb verb_serve = {"serve",
                                "a model server: scripts, recordings, or a recording proxy",
                                {help_text, help_proxy, help_example},
                                run};
