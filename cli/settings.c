#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/settings.h"

const char help_loop[] =
    "\n"
    "the loop\n"
    "  --repeat block|cache|allow  a call that was made before: an error (default), its earlier\n"
    "                      result (of tools that only read), or carried out\n"
    "  --max-consecutive N  the same call N times in a row ends the run (default 3)\n"
    "  --no-progress N     N results in a row with nothing new end the run (default 0: never)\n"
    "  --tool-retries N    of a tool that fails and may be tried again (default 1)\n"
    "  --attempts N        of a call of the model (default 3)\n"
    "  --context-tokens N  a history above this is made smaller (default 24000; 0: never)\n"
    "  --compaction drop|summarise  how: the oldest turns are dropped (default), or the model\n"
    "                      summarises them\n"
    "  --fenced-calls      a call that the model writes as JSON in a fenced block counts\n"
    "  --close-names       a tool's name with a slip in it is taken for the one it must mean\n"
    "  --approve TIER=POLICY,...  tiers read, write, danger; policies allow, ask, deny; a "
    "policy\n"
    "                      alone is for all. Default: read and write allow, danger ask\n";

void settings_options(struct settings *s, struct option *out)
{
    const struct option options[SETTINGS_OPTIONS] = {
        {"repeat", OPTION_TEXT, &s->repeat, 0, 0},
        {"compaction", OPTION_TEXT, &s->compaction, 0, 0},
        {"approve", OPTION_TEXT, &s->approve, 0, 0},
        {"fenced-calls", OPTION_FLAG, &s->fenced_calls, 0, 0},
        {"close-names", OPTION_FLAG, &s->close_names, 0, 0},
        {"max-consecutive", OPTION_INT, &s->max_consecutive, 2, 1000000},
        {"no-progress", OPTION_INT, &s->no_progress, 0, 1000000},
        {"tool-retries", OPTION_INT, &s->tool_retries, 0, 100},
        {"attempts", OPTION_INT, &s->attempts, 1, 100},
        {"context-tokens", OPTION_INT, &s->context_tokens, 0, 1 << 30}};
    memcpy(out, options, sizeof options);
}

/* Which of the names a flag's word is; the words are few, so a message lists them. */
static int one_of(const char *flag, struct str word, const char *const *names, int n, int *out,
                  struct err *e)
{
    struct buf list = {0};
    for (int i = 0; i < n; i++) {
        if (str_is(word, names[i])) {
            *out = i;
            buf_free(&list);
            return 0;
        }
        buf_fmt(&list, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", names[i]);
    }
    int rc = err_set(e, ERR_USAGE, "%s wants %.*s, got \"%.*s\"", flag, STR_FMT(buf_str(&list)),
                     STR_FMT(word));
    buf_free(&list);
    return rc;
}

/* ---- approval ---- */

static const char *const tier_words[] = {"read", "write", "danger"};
static const char *const policy_words[] = {"allow", "ask", "deny"};
enum { TIERS = 3, POLICIES = 3 };

/* TIER=POLICY */
static int parse_tier(struct str item, enum tier_policy *tiers, bool *given, struct err *e)
{
    size_t eq = str_find(item, STR("="));
    int tier = 0, policy = 0;
    if (eq == SIZE_MAX) {
        return err_set(e, ERR_USAGE,
                       "--approve wants allow, ask or deny for all tools, or TIER=POLICY,... such "
                       "as write=ask,danger=deny; got \"%.*s\"",
                       STR_FMT(item));
    }
    int rc = one_of("--approve: a tier", str_slice(item, 0, eq), tier_words, TIERS, &tier, e);
    if (rc == 0 && given[tier]) {
        rc = err_set(e, ERR_USAGE, "--approve: %s is given twice", tier_words[tier]);
    }
    if (rc == 0) {
        rc = one_of("--approve: a policy", str_slice(item, eq + 1, item.n), policy_words, POLICIES,
                    &policy, e);
    }
    if (rc == 0) {
        tiers[tier] = (enum tier_policy)policy;
        given[tier] = true;
    }
    return rc;
}

static int parse_approve(const char *text, enum tier_policy *tiers, bool *given, struct err *e)
{
    struct str rest = str_of(text);
    for (int i = 0; i < POLICIES; i++) {
        if (str_is(rest, policy_words[i])) {
            for (int tier = 0; tier < TIERS; tier++) {
                tiers[tier] = (enum tier_policy)i;
                given[tier] = true;
            }
            return 0;
        }
    }
    int rc = 0;
    while (rc == 0 && rest.p != NULL) {
        rc = parse_tier(str_cut(&rest, ','), tiers, given, e);
    }
    return rc;
}

static bool has_danger(const struct toolset *tools)
{
    size_t n = 0;
    const struct tool_spec *specs = tools == NULL ? NULL : toolset_specs(tools, &n);
    for (size_t i = 0; i < n; i++) {
        if (specs[i].tier == TIER_DANGER) {
            return true;
        }
    }
    return false;
}

/* ---- all together ---- */

static int apply_words(const struct settings *s, struct kernel_config *config, struct err *e)
{
    static const char *const repeats[] = {"block", "cache", "allow"};
    static const char *const ways[] = {"drop", "summarise"};
    int repeat = (int)config->repeat, way = (int)config->compaction, rc = 0;
    if (s->repeat != NULL) {
        rc = one_of("--repeat", str_of(s->repeat), repeats, 3, &repeat, e);
    }
    if (rc == 0 && s->compaction != NULL) {
        rc = one_of("--compaction", str_of(s->compaction), ways, 2, &way, e);
    }
    config->repeat = (enum repeat_policy)repeat;
    config->compaction = (enum compaction)way;
    return rc;
}

int settings_apply(const struct settings *s, const struct toolset *tools,
                   struct kernel_config *config, struct err *e)
{
    const struct {
        int64_t given;
        int64_t *out;
    } numbers[] = {{s->max_consecutive, &config->max_consecutive},
                   {s->no_progress, &config->no_progress},
                   {s->tool_retries, &config->tool_retries},
                   {s->attempts, &config->model_attempts},
                   {s->context_tokens, &config->context_tokens}};
    bool given[TIERS] = {false};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].given >= 0) {
            *numbers[i].out = numbers[i].given;
        }
    }
    config->fenced_calls = config->fenced_calls || s->fenced_calls;
    config->close_names = config->close_names || s->close_names;
    int rc = apply_words(s, config, e);
    if (rc == 0 && s->approve != NULL) {
        rc = parse_approve(s->approve, config->tiers, given, e);
    }
    if (!given[TIER_DANGER] && has_danger(tools)) {
        config->tiers[TIER_DANGER] = TIER_POLICY_ASK;
    }
    return rc;
}
