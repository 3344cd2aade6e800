#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "kernel/base/text.h"
#include "kernel/drive/files.h"
#include "kernel/drive/tools.h"

enum { PROMPT_BYTES_MAX = 16 << 20 };

static const char help_text[] =
    "assay run: one session of the agent loop, answered by a model, a script or a recording\n"
    "\n"
    "usage: assay run [options] PROMPT         PROMPT - reads standard input\n"
    "\n"
    "where the answers come from (default: a live endpoint)\n"
    "  --fake SCRIPT       a scripted model, in virtual time\n"
    "  --replay CASSETTE   a recording: no network, no clock\n"
    "  --record CASSETTE   a live endpoint, recorded\n"
    "  --model NAME        the model (else MODEL, or what the script or recording names)\n"
    "  --base-url URL      the endpoint (else OPENAI_BASE_URL, or api.openai.com); the key comes "
    "from\n"
    "                      OPENAI_API_KEY\n"
    "  --provider openai   the wire format\n"
    "  --stream            ask for a stream and show text as it comes\n"
    "  --temperature X     sent only if given; 0 is best for tool work\n"
    "  --max-tokens N      likewise\n"
    "  --seed N            of ids and jitter\n"
    "\n"
    "replay and record\n"
    "  --match body|order  how requests find their recording: the same meaning (default), or the "
    "k-th\n"
    "                      request to a path gets the k-th answer, differences listed as drift\n"
    "  --strict            unused recordings and drift are failures (exit 3)\n"
    "  --mode once|all     recording: refuse an existing file (default), or replace it\n"
    "\n"
    "the run\n"
    "  --tools FILE        a tool file, or built-in names: calculator,search_docs,now (the "
    "default);\n"
    "                      \"\" offers none\n"
    "  --system TEXT       the system message\n"
    "  --budget K=V,...    steps, tokens, seconds, cost_usd, calls, calls_per_reply\n"
    "  --prices FILE       what models cost, instead of the table that comes with the program\n"
    "  --trace FILE        write the event log; - is standard output\n"
    "  --json              print the last line of the event log instead of the answer\n"
    "\n"
    "examples\n"
    "  assay run --fake goldens/quickstart/margin-drop.script.yaml --tools "
    "goldens/quickstart/tools.yaml \\\n"
    "      --trace t.jsonl \"By how much did the margin fall?\"\n"
    "  assay run --model gpt-4.1-mini --record clock.yaml --tools now \"What time is it?\"\n"
    "  assay run --replay clock.yaml --tools now \"What time is it?\"\n";

/* What the command line asked for. */
struct request {
    const char *model, *provider, *base_url, *tools, *system, *budget, *fake, *replay, *record,
        *mode, *match, *trace, *temperature, *prices;
    bool strict, json, stream;
    int64_t max_tokens, seed;
    const char *prompt; /* NULL = none */
    enum going how;
    const char *log; /* to go on with */
    const char *log_tools;
    int64_t at;
};

/* A run under way. */
struct running {
    const struct request *request;
    struct loop *loop;
    struct rig *rig;
    struct buf last_line; /* of the event log */
    bool shown;           /* text was shown as it came */
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

/* The first are for new runs only, the last for those that go on, the very last for a fork. */
enum { NEW_ONLY = 4, GOING_ON_ONLY = 2 };

static int parse(int argc, char **argv, struct request *q, struct err *e)
{
    const struct option options[] = {{"system", OPTION_TEXT, &q->system, 0, 0},
                                     {"record", OPTION_TEXT, &q->record, 0, 0},
                                     {"mode", OPTION_TEXT, &q->mode, 0, 0},
                                     {"seed", OPTION_INT, &q->seed, 1, INT64_C(1) << 53},
                                     {"model", OPTION_TEXT, &q->model, 0, 0},
                                     {"provider", OPTION_TEXT, &q->provider, 0, 0},
                                     {"base-url", OPTION_TEXT, &q->base_url, 0, 0},
                                     {"tools", OPTION_TEXT, &q->tools, 0, 0},
                                     {"budget", OPTION_TEXT, &q->budget, 0, 0},
                                     {"fake", OPTION_TEXT, &q->fake, 0, 0},
                                     {"replay", OPTION_TEXT, &q->replay, 0, 0},
                                     {"match", OPTION_TEXT, &q->match, 0, 0},
                                     {"trace", OPTION_TEXT, &q->trace, 0, 0},
                                     {"prices", OPTION_TEXT, &q->prices, 0, 0},
                                     {"temperature", OPTION_TEXT, &q->temperature, 0, 0},
                                     {"strict", OPTION_FLAG, &q->strict, 0, 0},
                                     {"json", OPTION_FLAG, &q->json, 0, 0},
                                     {"stream", OPTION_FLAG, &q->stream, 0, 0},
                                     {"max-tokens", OPTION_INT, &q->max_tokens, 1, 1 << 30},
                                     {"log-tools", OPTION_TEXT, &q->log_tools, 0, 0},
                                     {"at", OPTION_INT, &q->at, 1, 1 << 30}};
    size_t n = sizeof options / sizeof options[0];
    size_t first = q->how == GOING_NEW ? 0 : NEW_ONLY;
    size_t left_out = q->how == GOING_NEW ? GOING_ON_ONLY : q->how == GOING_ON ? 1 : 0;
    struct words words;
    int rc = options_parse(options + first, n - first - left_out, argc, argv, &words, e);
    return rc != 0 ? rc : take_words(&words, q, e);
}

static int choose_source(const struct request *q, struct rig_options *o, struct err *e)
{
    if ((q->fake != NULL) + (q->replay != NULL) + (q->record != NULL) > 1) {
        return err_set(e, ERR_USAGE, "give one of --fake, --replay and --record");
    }
    o->source = q->fake != NULL     ? EVAL_FAKE
                : q->replay != NULL ? EVAL_REPLAY
                : q->record != NULL ? EVAL_RECORD
                                    : EVAL_LIVE;
    o->path = q->fake != NULL ? q->fake : q->replay != NULL ? q->replay : q->record;
    return mode_parse(q->mode, o->source, &o->overwrite, e);
}

static int fill_options(const struct request *q, struct arena *arena, struct rig_options *o,
                        struct err *e)
{
    int rc = choose_source(q, o, e);
    if (rc == 0) {
        rc = match_parse(q->match, q->strict, o->source, &o->match, e);
    }
    if (rc == 0) {
        rc = provider_check(q->provider, e);
    }
    if (rc == 0 && (o->source == EVAL_LIVE || o->source == EVAL_RECORD)) {
        rc = base_url_check(o->base_url, e);
    }
    if (rc == 0) {
        rc = temperature_check(q->temperature, e);
    }
    if (rc == 0 && q->budget != NULL) {
        rc = budget_parse(q->budget, &o->budget, e);
    }
    if (rc == 0 && q->prompt != NULL && strcmp(q->prompt, "-") == 0) {
        rc = file_read(arena, "-", PROMPT_BYTES_MAX, &o->prompt, e);
    }
    if (rc == 0 && q->prompt != NULL && o->prompt.n == 0) {
        rc = err_set(e, ERR_USAGE, "the prompt is empty; assay %s --help shows an example",
                     going_verb(q->how));
    }
    if (rc == 0 && utf8_invalid_at(o->prompt) != SIZE_MAX) {
        rc = err_set(e, ERR_INPUT, "the prompt is not UTF-8");
    }
    return rc;
}

/* ---- while it runs ---- */

static int on_log(void *ctx, struct str lines)
{
    struct running *r = ctx;
    struct str last = {lines.p, lines.n - 1};
    for (size_t i = last.n; i > 0; i--) {
        if (last.p[i - 1] == '\n') {
            last = str_slice(last, i, last.n);
            break;
        }
    }
    buf_clear(&r->last_line);
    buf_add(&r->last_line, last);
    buf_char(&r->last_line, '\n');
    return 0;
}

static void on_delta(void *ctx, struct str text)
{
    struct running *r = ctx;
    r->shown = true;
    if (!r->out_failed && !put_text(text)) {
        r->out_failed = true;
    }
}

static void on_done(void *ctx)
{
    struct running *r = ctx;
    loop_stop(r->loop);
}

static void on_interrupt(void *ctx, int signal)
{
    struct running *r = ctx;
    (void)signal;
    rig_cancel(r->rig, STR("interrupted"));
}

/* ---- afterwards ---- */

static int report_replay(const struct request *q, const struct player_report *p)
{
    struct buf text = {0};
    bool error = replay_text(p, q->strict, &text);
    if (text.n > 0) {
        tell("%.*s", STR_FMT(buf_str(&text)));
    }
    buf_free(&text);
    return error ? EXIT_MISS : EXIT_OK;
}

static bool trace_is_output(const struct request *q)
{
    return q->trace != NULL && strcmp(q->trace, "-") == 0;
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
    if (r->shown) {
        return put_out(STR("\n"));
    }
    return o->result.answer.p == NULL || (put_text(o->result.answer) && put_out(STR("\n")));
}

/* Why a run did not complete, where nothing else says it. */
static void tell_status(const struct rig_outcome *o)
{
    const char *script = o->result.status == RUN_SCRIPT_MISMATCH ? o->script : NULL;
    tell("%s: %s%s%.*s%s%.*s%s", run_status_name(o->result.status), script == NULL ? "" : script,
         script == NULL ? "" : ": ", STR_FMT(o->result.reason), o->note.n > 0 ? " (" : "",
         STR_FMT(o->note), o->note.n > 0 ? ")" : "");
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
        tell_status(&o);
    }
    status = exit_worse(status, report_replay(r->request, &o.replay));
    if (rig_leftover_fails(&o)) {
        tell("%.*s", STR_FMT(o.leftover));
        status = exit_worse(status, EXIT_FAILED);
    }
    return status;
}

static int go(struct running *r, struct rig_options *o)
{
    const struct request *q = r->request;
    struct err e;
    o->trace = q->trace;
    o->ctx = r;
    o->log = on_log;
    o->delta = q->stream && !q->json && !trace_is_output(q) ? on_delta : NULL;
    o->done = on_done;
    int rc = q->trace == NULL ? 0 : appender_check(q->trace, &e);
    if (rc != 0 || rig_new(r->loop, o, &r->rig, &e) != 0) {
        return tell_error(&e);
    }
    loop_on_interrupt(r->loop, on_interrupt, r);
    loop_run(r->loop);
    int status = report(r);
    return rig_free(r->rig, &e) == 0 ? status : exit_worse(status, tell_error(&e));
}

/* What a session is made of, while it runs. */
struct parts {
    struct arena *arena;
    struct toolset *tools;
    struct toolset *log_tools;
    struct prices *prices;
    struct resumed *resumed;
    struct buf mend;
};

/* Everything that the command line names. */
static int open_parts(const struct request *q, struct parts *p, struct rig_options *o,
                      struct err *e)
{
    const struct resume_request from = {.how = q->how,
                                        .log = q->log,
                                        .at = q->at,
                                        .trace = q->trace,
                                        .has_prompt = q->prompt != NULL};
    int rc = 0;
    if (q->how == GOING_NEW || q->tools != NULL) {
        rc = tools_open(q->tools, &p->tools, e);
    }
    if (rc == 0 && q->log_tools != NULL) {
        rc = tools_open(q->log_tools, &p->log_tools, e);
    }
    if (rc == 0 && q->how != GOING_NEW) {
        rc = resume_open(&from, p->log_tools != NULL ? p->log_tools : p->tools, &p->resumed, e);
    }
    if (rc == 0 && q->how != GOING_NEW) {
        o->resume = p->resumed;
        o->budget = p->resumed->config.budget;
    }
    rc = rc != 0 ? rc : fill_options(q, p->arena, o, e);
    rc = rc != 0 ? rc : prices_open(q->prices, &p->prices, e);
    o->tools = p->tools;
    o->prices = p->prices;
    return rc;
}

static void close_parts(struct parts *p)
{
    toolset_free(p->tools);
    toolset_free(p->log_tools);
    prices_free(p->prices);
    resumed_free(p->resumed);
    buf_free(&p->mend);
    arena_free(p->arena);
}

static int run_session_of(struct request *q, struct parts *p, struct rig_options *o)
{
    struct err e;
    if (open_parts(q, p, o, &e) != 0) {
        return tell_error(&e);
    }
    if (p->resumed != NULL) {
        q->trace = q->trace == NULL ? q->log : q->trace;
        if (resume_only_ends(p->resumed, q->prompt != NULL)) {
            return resume_end(p->resumed, q->trace);
        }
        resume_tell(p->resumed);
    }
    struct running r = {.request = q, .loop = loop_new()};
    int status = go(&r, o);
    buf_free(&r.last_line);
    loop_free(r.loop);
    return status;
}

int run_session(enum going how, int argc, char **argv)
{
    struct err e;
    struct request q = {.max_tokens = -1, .how = how};
    if (parse(argc, argv, &q, &e) != 0) {
        return tell_error(&e);
    }
    bool asks_environment =
        how == GOING_NEW && q.fake == NULL && q.replay == NULL && q.model == NULL;
    const char *model = asks_environment ? getenv("MODEL") : q.model;
    const char *base_url = q.base_url != NULL ? q.base_url : getenv("OPENAI_BASE_URL");
    struct parts parts = {.arena = arena_new()};
    if (how == GOING_NEW) {
        mend_command(&parts.mend, "run", argc, argv);
    }
    struct rig_options o = {.prompt = str_of(q.prompt),
                            .identity = str_of(q.prompt),
                            .system = str_of(q.system),
                            .budget = BUDGET_DEFAULT,
                            .model = str_of(model),
                            .base_url = str_of(base_url),
                            .api_key = str_of(getenv("OPENAI_API_KEY")),
                            .stream = q.stream,
                            .temperature = str_of(q.temperature),
                            .max_tokens = q.max_tokens,
                            .seed = (uint64_t)q.seed,
                            .mend = buf_str(&parts.mend)};
    int status = run_session_of(&q, &parts, &o);
    close_parts(&parts);
    return status;
}

static int run(int argc, char **argv)
{
    return run_session(GOING_NEW, argc, argv);
}

const struct verb verb_run = {"run", "run the agent loop once on a prompt", help_text, run};
