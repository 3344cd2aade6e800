#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/mend.h"
#include "cli/options.h"
#include "cli/setup.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"
#include "kernel/drive/tools.h"

enum { PROMPT_BYTES_MAX = 16 << 20 };

static const char help_text[] =
    "assay run: one session of the agent loop, answered by a model, a script or a recording\n"
    "\n"
    "usage: assay run [options] PROMPT         PROMPT - reads standard input\n"
    "\n";

static const char help_output[] =
    "  --verbose           tell of waits for the limits of an endpoint\n"
    "  --json              print the last line of the event log instead of the answer\n";

static const char help_examples[] =
    "\n"
    "examples\n"
    "  assay run --fake goldens/quickstart/margin-drop.script.yaml --tools "
    "goldens/quickstart/tools.yaml \\\n"
    "      --trace t.jsonl \"By how much did the margin fall?\"\n"
    "  assay run --model gpt-4.1-mini --record clock.yaml --tools now \"What time is it?\"\n"
    "  assay run --replay clock.yaml --tools now \"What time is it?\"\n";

/* What the command line asked for. */
struct request {
    struct run_flags flags;
    bool json;
    const char *prompt; /* NULL = none */
    enum going how;
    const char *log; /* to go on with */
    const char *log_tools;
    int64_t at;
};

/* A run under way. */
struct running {
    const struct request *request;
    struct setup *setup;
    struct rig *rig;
    struct buf last_line; /* of the event log */
    bool streams;         /* text is shown as it comes */
    bool terminal;        /* standard output is one: a reply is shown piece by piece */
    bool shown;           /* text of a reply was shown */
    struct buf said;      /* what came of the newest reply */
    bool out_failed;
};

/* What the words are for. */
static int take_words(const struct words *words, struct request *q, struct err *e)
{
    size_t logs = q->how == GOING_NEW ? 0 : 1;
    if (q->how == GOING_NEW && words->n != 1) {
        return err_set(e, ERR_USAGE, "run wants one prompt, got %zu%s", words->n,
                       words->n > 1 ? "; put it in quotes" : "; assay run --help shows an example");
    }
    if (words->n < logs || words->n > logs + 1) {
        return err_set(e, ERR_USAGE, "%s wants an event log and perhaps a prompt, got %zu words%s",
                       going_verb(q->how), words->n,
                       words->n > 2 ? "; put the prompt in quotes" : "; --help shows an example");
    }
    q->log = logs == 0 ? NULL : words->at[0];
    q->prompt = words->n == logs ? NULL : words->at[logs];
    return 0;
}

/* Of options that a run that goes on has besides, the last is a fork's. */
enum { OWN_OPTIONS = 4 };

static int parse(int argc, char **argv, struct request *q, struct err *e)
{
    struct option options[OWN_OPTIONS + RUN_OPTIONS] = {
        {"json", OPTION_FLAG, &q->json, 0, 0},
        {"verbose", OPTION_FLAG, &q->flags.live.verbose, 0, 0},
        {"log-tools", OPTION_NAME, &q->log_tools, 0, 0},
        {"at", OPTION_INT, &q->at, 1, 1 << 30}};
    size_t own = q->how == GOING_NEW ? 2 : q->how == GOING_ON ? 3 : OWN_OPTIONS;
    size_t n = own + run_options(&q->flags, q->how, options + own);
    struct words words;
    int rc = options_parse(options, n, argc, argv, &words, e);
    return rc != 0 ? rc : take_words(&words, q, e);
}

static int read_prompt(const struct request *q, struct arena *arena, struct str *out, struct err *e)
{
    int rc = 0;
    *out = str_of(q->prompt);
    if (q->prompt != NULL && strcmp(q->prompt, "-") == 0) {
        rc = file_read(arena, "-", PROMPT_BYTES_MAX, out, e);
    }
    if (rc == 0 && q->prompt != NULL && out->n == 0) {
        rc = err_set(e, ERR_USAGE, "the prompt is empty; assay %s --help shows an example",
                     going_verb(q->how));
    }
    if (rc == 0 && utf8_invalid_at(*out) != SIZE_MAX) {
        rc = err_set(e, ERR_INPUT, "the prompt is not UTF-8");
    }
    return rc;
}

/* ---- while it runs ---- */

static void show(struct running *r, struct str text)
{
    r->shown = r->shown || text.n > 0;
    if (!r->out_failed && !put_text(text)) {
        r->out_failed = true;
    }
}

/* What was shown on a terminal cannot be taken back, so it is told; a file or pipe gets replies
 * whole, and never a part that does not count. */
static void on_discard(struct running *r)
{
    if (r->terminal && r->said.n > 0) {
        show(r, STR("\n"));
        tell("the answer broke off: it starts again");
    }
    buf_clear(&r->said);
}

static void on_line(struct running *r, struct str line)
{
    struct str type = log_line_type(line);
    if (str_is(type, "step_start")) {
        buf_clear(&r->said);
    } else if (str_is(type, "discard")) {
        on_discard(r);
    } else if (str_is(type, "llm_reply") && !r->terminal) {
        show(r, buf_str(&r->said));
    }
}

static int on_log(void *ctx, struct str lines)
{
    struct running *r = ctx;
    for (size_t end; (end = str_find(lines, STR("\n"))) != SIZE_MAX;) {
        struct str line = str_slice(lines, 0, end + 1);
        lines = str_slice(lines, end + 1, lines.n);
        if (r->streams) {
            on_line(r, line);
        }
        if (lines.n == 0) {
            buf_clear(&r->last_line);
            buf_add(&r->last_line, line);
        }
    }
    return 0;
}

static void on_delta(void *ctx, struct str text)
{
    struct running *r = ctx;
    buf_add(&r->said, text);
    if (r->terminal) {
        show(r, text);
    }
}

static void on_ask(void *ctx, struct str call_id, struct str name, struct str arguments)
{
    struct running *r = ctx;
    approver_ask(r->setup->approver, r->rig, call_id, name, arguments);
}

static void on_done(void *ctx)
{
    struct running *r = ctx;
    approver_end(r->setup->approver);
    loop_stop(r->setup->loop);
}

static void on_interrupt(void *ctx, int signal)
{
    struct running *r = ctx;
    (void)signal;
    rig_cancel(r->rig, STR("interrupted"));
}

/* ---- afterwards ---- */

static bool trace_is_output(const struct request *q)
{
    return q->flags.trace != NULL && strcmp(q->flags.trace, "-") == 0;
}

static bool print_result(struct running *r, const struct rig_outcome *o)
{
    const struct request *q = r->request;
    if (trace_is_output(q)) {
        return true; /* the log is there already, run_end too */
    }
    if (q->json) {
        return put_text(buf_str(&r->last_line));
    }
    struct str answer = o->result.answer;
    if (r->shown && !put_out(STR("\n"))) {
        return false;
    }
    bool there = answer.p == NULL || (r->shown && str_eq(answer, buf_str(&r->said)));
    return there || (put_text(answer) && put_out(STR("\n")));
}

static int report(struct running *r)
{
    struct rig_outcome o;
    if (!rig_outcome(r->rig, &o)) {
        tell("the session stopped without an end; please report this");
        return EXIT_ENVIRONMENT;
    }
    int status = exit_of_status(o.result.status);
    if (o.warning.n > 0) {
        tell("%.*s", STR_FMT(o.warning));
    }
    if (!print_result(r, &o) || r->out_failed) {
        status = exit_worse(status, EXIT_ENVIRONMENT);
    }
    if (o.log_error != NULL) {
        status = EXIT_OK; /* the run was cancelled for it: rig_free tells */
    } else if (o.result.status != RUN_COMPLETED && o.replay.misses == 0) {
        tell_run_status(&o);
    }
    status = exit_worse(status, report_replay(&o.replay, r->request->flags.cassettes.strict));
    if (rig_leftover_fails(&o)) {
        tell("%.*s", STR_FMT(o.leftover));
        status = exit_worse(status, EXIT_FAILED);
    }
    return status;
}

static int go(struct running *r)
{
    const struct request *q = r->request;
    struct rig_options *o = &r->setup->rig;
    struct err e;
    o->ctx = r;
    o->log = on_log;
    r->streams = q->flags.stream && !q->json && !trace_is_output(q);
    r->terminal = isatty(STDOUT_FILENO) == 1;
    o->delta = r->streams ? on_delta : NULL;
    o->ask = on_ask;
    o->done = on_done;
    int rc = o->trace == NULL ? 0 : log_check_replaced(o->trace, &e);
    if (rc != 0 || rig_new(r->setup->loop, o, &r->rig, &e) != 0) {
        return tell_error(&e);
    }
    loop_on_interrupt(r->setup->loop, on_interrupt, r);
    loop_run(r->setup->loop);
    int status = report(r);
    return rig_free(r->rig, &e) == 0 ? status : exit_worse(status, tell_error(&e));
}

/* Everything is open. */
static int run_opened(const struct request *q, struct setup *s)
{
    if (s->resumed != NULL) {
        s->rig.trace = s->rig.trace == NULL ? q->log : s->rig.trace;
        if (resume_only_ends(s->resumed, q->prompt != NULL, &s->rig.budget)) {
            return resume_end(s->resumed, s->rig.trace);
        }
        resume_tell(s->resumed);
    }
    struct running r = {.request = q, .setup = s};
    int status = go(&r);
    buf_free(&r.last_line);
    buf_free(&r.said);
    return status;
}

int run_session(enum going how, int argc, char **argv)
{
    struct err e;
    struct request q = {.flags = RUN_FLAGS_NONE, .how = how};
    if (parse(argc, argv, &q, &e) != 0) {
        return tell_error(&e);
    }
    const struct resume_request from = {.how = how,
                                        .log = q.log,
                                        .at = q.at,
                                        .trace = q.flags.trace,
                                        .has_prompt = q.prompt != NULL};
    struct arena *arena = arena_new();
    struct buf mend = {0};
    struct setup setup;
    int status;
    if (setup_open(&setup, &q.flags, &from, q.log_tools, &e) != 0 ||
        read_prompt(&q, arena, &setup.rig.prompt, &e) != 0) {
        status = tell_error(&e);
    } else {
        if (how == GOING_NEW) {
            mend_command(&mend, "run", argc, argv);
        }
        setup.rig.mend = buf_str(&mend);
        setup.rig.identity = str_of(q.prompt);
        status = run_opened(&q, &setup);
    }
    setup_close(&setup);
    buf_free(&mend);
    arena_free(arena);
    return status;
}

static int run(int argc, char **argv)
{
    return run_session(GOING_NEW, argc, argv);
}

const struct verb verb_run = {"run",
                              "run the agent loop once on a prompt",
                              {help_text, help_sources, help_recordings, help_runs, help_output,
                               help_endpoint, help_loop, help_examples},
                              run};
