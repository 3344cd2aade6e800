#include <stdlib.h>
#include <string.h>

#include "cli/approve.h"
#include "cli/cli.h"
#include "cli/live.h"
#include "cli/options.h"
#include "cli/replay.h"
#include "cli/settings.h"
#include "cli/setup.h"

const char help_sources[] =
    "where the answers come from (default: a live endpoint)\n"
    "  --fake SCRIPT       a scripted model, in virtual time\n"
    "  --replay CASSETTE   a recording: no network, no clock\n"
    "  --record CASSETTE   a live endpoint, recorded\n"
    "  --model NAME        the model (else MODEL, or what the script or recording names)\n"
    "  --provider P        the wire format: openai (Chat Completions, the default), responses, "
    "anthropic\n"
    "  --base-url URL      the endpoint (else OPENAI_BASE_URL, or api.openai.com; for anthropic\n"
    "                      ANTHROPIC_BASE_URL, or api.anthropic.com)\n"
    "  --stream            ask for a stream and show text as it comes: in a file or pipe reply "
    "by\n"
    "                      reply, so that none that broke off is in it\n"
    "  --temperature X     sent only if given; 0 is best for tool work\n"
    "  --max-tokens N      likewise\n"
    "  --seed N            of ids and jitter\n"
    "\n"
    "replay and record\n";

const char help_runs[] =
    "\n"
    "the run\n"
    "  --tools FILE        a tool file, or built-in names: calculator,search_docs,now (the "
    "default);\n"
    "                      \"\" offers none\n"
    "  --system TEXT       the system message\n"
    "  --budget K=V,...    steps, tokens, seconds, cost_usd, calls, calls_per_reply\n"
    "  --prices FILE       what models cost, instead of the table that comes with the program\n"
    "  --decisions FILE    answers to what --approve has asked; else the terminal is\n"
    "  --trace FILE        write the event log; - is standard output\n";

/* The first options are for new runs alone. */
enum { NEW_ONLY = 2 };

size_t run_options(struct run_flags *f, enum going how, struct option *out)
{
    const struct option options[RUN_OPTIONS - REPLAY_OPTIONS - SETTINGS_OPTIONS - LIVE_OPTIONS] = {
        {"system", OPTION_TEXT, &f->system, 0, 0},
        {"seed", OPTION_INT, &f->seed, 1, INT64_C(1) << 53},
        {"record", OPTION_NAME, &f->record, 0, 0},
        {"mode", OPTION_TEXT, &f->cassettes.mode, 0, 0},
        {"model", OPTION_NAME, &f->model, 0, 0},
        {"provider", OPTION_TEXT, &f->provider, 0, 0},
        {"base-url", OPTION_NAME, &f->base_url, 0, 0},
        {"tools", OPTION_TEXT, &f->tools, 0, 0},
        {"budget", OPTION_TEXT, &f->budget, 0, 0},
        {"fake", OPTION_NAME, &f->fake, 0, 0},
        {"replay", OPTION_NAME, &f->replay, 0, 0},
        {"trace", OPTION_NAME, &f->trace, 0, 0},
        {"prices", OPTION_NAME, &f->prices, 0, 0},
        {"decisions", OPTION_NAME, &f->decisions, 0, 0},
        {"temperature", OPTION_TEXT, &f->temperature, 0, 0},
        {"stream", OPTION_FLAG, &f->stream, 0, 0},
        {"max-tokens", OPTION_INT, &f->max_tokens, 1, 1 << 30}};
    size_t first = how == GOING_NEW ? 0 : NEW_ONLY;
    size_t n = RUN_OPTIONS - REPLAY_OPTIONS - SETTINGS_OPTIONS - LIVE_OPTIONS - first;
    memcpy(out, options + first, n * sizeof *out);
    n += replay_options(&f->cassettes, out + n);
    settings_options(&f->settings, out + n);
    live_options(&f->live, out + n + SETTINGS_OPTIONS);
    return n + SETTINGS_OPTIONS + LIVE_OPTIONS;
}

static int choose_source(const struct run_flags *f, struct rig_options *o, struct err *e)
{
    if ((f->fake != NULL) + (f->replay != NULL) + (f->record != NULL) > 1) {
        return err_set(e, ERR_USAGE, "give one of --fake, --replay and --record");
    }
    o->source = f->fake != NULL     ? EVAL_FAKE
                : f->replay != NULL ? EVAL_REPLAY
                : f->record != NULL ? EVAL_RECORD
                                    : EVAL_LIVE;
    if (f->record != NULL && f->trace != NULL && strcmp(f->record, f->trace) == 0) {
        return err_set(e, ERR_USAGE, "--record and --trace name the same file");
    }
    o->path = f->fake != NULL ? f->fake : f->replay != NULL ? f->replay : f->record;
    return 0;
}

/* Of the provider that a flag or the log names. */
static enum wire_format setup_format(const struct setup *s, const struct run_flags *f)
{
    return provider_format(f->provider != NULL || s->resumed == NULL
                               ? f->provider
                               : arena_cstr(s->arena, s->settings.provider));
}

static int check_flags(struct setup *s, const struct run_flags *f, struct err *e)
{
    struct rig_options *o = &s->rig;
    int rc = choose_source(f, o, e);
    if (rc == 0) {
        rc = replay_parse(&f->cassettes, o->source, &o->how, &s->rules, e);
    }
    if (rc == 0) {
        rc = provider_check(f->provider, e);
    }
    if (rc == 0) {
        rc = text_check("--system", f->system, e);
    }
    bool live = eval_is_live(o->source);
    if (rc == 0) {
        rc = live_open(&f->live, setup_format(s, f), f->base_url, live, s->arena, &s->live, e);
    }
    if (rc == 0) {
        o->base_url = s->live.base_url;
        o->api_key = s->live.api_key;
        o->live = &s->live.settings;
        live_prepare(s->loop, o->live, live);
    }
    if (rc == 0) {
        rc = temperature_check(f->temperature, e);
    }
    return rc == 0 && f->budget != NULL ? budget_parse(f->budget, &o->budget, e) : rc;
}

static int open_tools(struct setup *s, const struct run_flags *f, const struct resume_request *from,
                      const char *log_tools, struct err *e)
{
    int rc = 0;
    if (from->how == GOING_NEW || f->tools != NULL) {
        rc = tools_open(f->tools, &s->tools, e);
    }
    if (rc == 0 && log_tools != NULL) {
        rc = tools_open(log_tools, &s->log_tools, e);
    }
    return rc;
}

/* The run to go on with; its settings are the log's, but for what flags say. */
static int open_log(struct setup *s, const struct resume_request *from, struct err *e)
{
    const struct toolset *tools = s->log_tools != NULL ? s->log_tools : s->tools;
    int rc = resume_open(from, tools, &s->resumed, e);
    if (rc == 0) {
        s->settings = s->resumed->config;
        s->rig.resume = s->resumed;
        s->rig.budget = s->resumed->config.budget;
    }
    return rc;
}

int setup_open(struct setup *s, const struct run_flags *f, const struct resume_request *from,
               const char *log_tools, struct err *e)
{
    bool is_new = from->how == GOING_NEW;
    bool asks_environment = is_new && f->fake == NULL && f->replay == NULL && f->model == NULL;
    const char *model = asks_environment ? getenv("MODEL") : f->model;
    *s = (struct setup){
        .settings = kernel_config_default(), .arena = arena_new(), .loop = loop_new()};
    s->rig = (struct rig_options){.system = str_of(f->system),
                                  .budget = BUDGET_DEFAULT,
                                  .settings = &s->settings,
                                  .model = str_of(model),
                                  .provider = str_of(f->provider),
                                  .stream = f->stream,
                                  .temperature = str_of(f->temperature),
                                  .max_tokens = f->max_tokens,
                                  .seed = (uint64_t)f->seed,
                                  .trace = f->trace,
                                  .snapshots = true};
    int rc = open_tools(s, f, from, log_tools, e);
    rc = rc != 0 || is_new ? rc : open_log(s, from, e);
    rc = rc != 0 ? rc : text_check(asks_environment ? "MODEL" : "--model", model, e);
    rc = rc != 0 ? rc : check_flags(s, f, e);
    rc = rc != 0 ? rc : prices_open(f->prices, &s->prices, e);
    rc = rc != 0 ? rc : settings_apply(&f->settings, is_new ? s->tools : NULL, &s->settings, e);
    s->rig.tools = s->tools;
    s->rig.prices = s->prices;
    rc = rc != 0 ? rc : approver_new(s->loop, f->decisions, &s->approver, e);
    if (rc == 0 && is_new) {
        approver_check(s->approver, s->tools, s->settings.tiers);
    }
    return rc;
}

void setup_close(struct setup *s)
{
    approver_free(s->approver);
    loop_free(s->loop);
    toolset_free(s->tools);
    toolset_free(s->log_tools);
    prices_free(s->prices);
    resumed_free(s->resumed);
    arena_free(s->arena);
    cassette_rules_free(s->rules);
}

int report_replay(const struct player_report *p, bool strict)
{
    struct buf text = {0};
    bool error = player_report_text(p, strict, &text);
    if (text.n > 0) {
        tell("%.*s", STR_FMT(buf_str(&text)));
    }
    buf_free(&text);
    return error ? EXIT_MISS : EXIT_OK;
}

void tell_run_status(const struct rig_outcome *o)
{
    const char *script = o->result.status == RUN_SCRIPT_MISMATCH ? o->script : NULL;
    tell("%s: %s%s%.*s%s%.*s%s", run_status_name(o->result.status), script == NULL ? "" : script,
         script == NULL ? "" : ": ", STR_FMT(o->result.reason), o->note.n > 0 ? " (" : "",
         STR_FMT(o->note), o->note.n > 0 ? ")" : "");
}
