#include "cli/cli.h"
#include "cli/setup.h"

static const char resume_help[] =
    "assay resume: go on with a run that was cut off, or that ended\n"
    "\n"
    "usage: assay resume LOG [options] [PROMPT]\n"
    "\n"
    "The event log LOG (what run's --trace wrote) is fed to the loop again, and the run goes on\n"
    "where it stands; what happens is added to LOG. A last line that a crash cut off is removed;\n"
    "damage before it is an error, and nothing is written. Calls that have their result are not\n"
    "made again. A call that was under way is made again where its tool only reads or is\n"
    "idempotent, else the model is told that nobody knows what it did. A run that completed wants\n"
    "a PROMPT. LOG.snap, which stands beside a long log, makes this quick; it may be deleted.\n"
    "\n"
    "options: those of assay run, but for --system and --seed. Model, tools, budget and price are\n"
    "the log's where no option names others\n"
    "  --tools FILE        the tools. Needed where the log names one that is not built in; tools\n"
    "                      that the log does not offer are offered from now on\n"
    "  --log-tools FILE    the tools that the log names, where --tools offers others instead\n"
    "  --fake SCRIPT       goes on behind the requests that the log holds\n"
    "  --replay CASSETTE   likewise\n"
    "  --record CASSETTE   the rest of the run in a recording of its own, which --replay plays\n"
    "                      behind the same log, or a longer one\n"
    "  --trace FILE        copy the log to FILE, and go on there\n"
    "\n"
    "example, of a log that is cut off\n"
    "  assay run --fake goldens/quickstart/margin-drop.script.yaml \\\n"
    "      --tools goldens/quickstart/tools.yaml --trace whole.jsonl \\\n"
    "      \"By how much did the margin fall?\" && head -n 5 whole.jsonl > cut.jsonl\n"
    "  assay resume cut.jsonl --fake goldens/quickstart/margin-drop.script.yaml \\\n"
    "      --tools goldens/quickstart/tools.yaml\n";

static const char fork_help[] =
    "assay fork: go on from a part of an event log, in a log of its own\n"
    "\n"
    "usage: assay fork LOG --at N --trace NEW [options] [PROMPT]\n"
    "\n"
    "  --at N              the first N lines of LOG are the beginning of NEW, byte for byte\n"
    "  --trace NEW         the new log; LOG itself stays as it is\n"
    "\n"
    "other options: those of assay resume\n"
    "\n"
    "example\n"
    "  assay run --fake goldens/quickstart/margin-drop.script.yaml --trace f.jsonl \\\n"
    "      --tools goldens/quickstart/tools.yaml \"By how much did the margin fall?\"\n"
    "  assay fork f.jsonl --at 4 --trace g.jsonl \\\n"
    "      --fake goldens/quickstart/margin-drop.script.yaml --tools "
    "goldens/quickstart/tools.yaml\n";

const char *going_verb(enum going how)
{
    switch (how) {
    case GOING_NEW: return "run";
    case GOING_ON: return "resume";
    case GOING_FORKED: return "fork";
    }
    return "run";
}

static int check_fork(const struct resume_request *q, struct err *e)
{
    if (q->at == 0) {
        return err_set(e, ERR_USAGE,
                       "fork wants --at N, the number of lines to keep: the seq of the last event");
    }
    if (q->trace == NULL) {
        return err_set(e, ERR_USAGE, "fork wants --trace NEW, the log to write");
    }
    if (path_same(q->trace, q->log)) {
        return err_set(e, ERR_USAGE, "--trace: %s is the log to fork from; name another file",
                       q->trace);
    }
    return 0;
}

/* The model has said its last words, and only a user can go on. */
static bool waits_for_user(const struct resumed *r)
{
    struct run_result result;
    return kernel_result(r->kernel, &result) &&
           (result.status == RUN_COMPLETED || result.status == RUN_REFUSED ||
            result.status == RUN_TRUNCATED);
}

static int check_prompt(const struct resumed *r, struct err *e)
{
    struct run_result result;
    if (kernel_stage(r->kernel) == STAGE_WAITING) {
        return err_set(e, ERR_USAGE,
                       "%s: nothing to resume: the log holds no user message; give a prompt",
                       r->path);
    }
    if (waits_for_user(r) && r->missing.n == 0 && kernel_result(r->kernel, &result)) {
        return err_set(e, ERR_USAGE,
                       "%s: nothing to resume: it ended with the model's last words (%s); give a "
                       "prompt to go on",
                       r->path, run_status_name(result.status));
    }
    return 0;
}

int resume_open(const struct resume_request *q, const struct toolset *tools, struct resumed **out,
                struct err *e)
{
    size_t lines = q->how == GOING_FORKED ? (size_t)q->at : SIZE_MAX;
    int rc = q->how == GOING_FORKED ? check_fork(q, e) : 0;
    rc = rc != 0 ? rc : resumed_open(q->log, lines, tools, out, e);
    return rc != 0 || q->has_prompt ? rc : check_prompt(*out, e);
}

static bool is_more(const struct budget *a, const struct budget *b)
{
    return a->steps > b->steps || a->tokens > b->tokens || a->seconds > b->seconds ||
           a->cost_nano > b->cost_nano || a->calls > b->calls;
}

bool resume_only_ends(const struct resumed *r, bool has_prompt, const struct budget *budget)
{
    return !has_prompt && r->missing.n > 0 && kernel_stage(r->kernel) == STAGE_ENDED &&
           (waits_for_user(r) || !is_more(budget, &r->config.budget));
}

void resume_tell(const struct resumed *r)
{
    if (r->torn) {
        tell("%s: its last line is cut off and is left out", r->path);
    }
}

int resume_end(const struct resumed *r, const char *trace)
{
    struct err e;
    struct appender *a = NULL;
    struct run_result result;
    resume_tell(r);
    int rc = resumed_trace(r, trace, &a, &e);
    rc = rc != 0 ? rc : appender_close(a, &e);
    if (rc != 0 || !kernel_result(r->kernel, &result)) {
        return tell_error(&e);
    }
    tell("%s: the run had ended, and its log is now whole", trace);
    bool written = result.answer.p == NULL || (put_text(result.answer) && put_out(STR("\n")));
    return exit_worse(exit_of_status(result.status), written ? EXIT_OK : EXIT_ENVIRONMENT);
}

static int run_resume(int argc, char **argv)
{
    return run_session(GOING_ON, argc, argv);
}

static int run_fork(int argc, char **argv)
{
    return run_session(GOING_FORKED, argc, argv);
}

const struct verb verb_resume = {
    "resume", "go on with a run from its event log", {resume_help}, run_resume};
const struct verb verb_fork = {"fork", "go on from a part of an event log", {fork_help}, run_fork};
