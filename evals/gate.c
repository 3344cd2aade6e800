#include "evals/gate.h"
#include "evals/run_int.h"
#include "kernel/base/text.h"
#include "kernel/base/val.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define SLACK 1e-9 /* what rounding may have cost: 9/10 is at least 0.9 */

static const char *const metrics[] = {
    [GATE_SUCCESS] = "success",
    [GATE_TOOL_SELECTION] = "tool_selection",
    [GATE_PRECISION] = "precision",
    [GATE_RECALL] = "recall",
    [GATE_F1] = "f1",
    [GATE_ARGUMENTS] = "arguments",
    [GATE_TRAJECTORY] = "trajectory",
    [GATE_PASS_AT] = "pass@",
    [GATE_PASS_HAT] = "pass^",
    [GATE_COST_USD] = "cost_usd",
    [GATE_COST_USD_PER_TRIAL] = "cost_usd_per_trial",
    [GATE_COST_USD_PER_PASSED] = "cost_usd_per_passed",
    [GATE_P50_LATENCY] = "p50_latency_ms",
    [GATE_P95_LATENCY] = "p95_latency_ms",
    [GATE_STEPS] = "steps",
    [GATE_CALLS] = "calls",
    [GATE_TRIALS] = "trials",
    [GATE_FAILED] = "failed",
    [GATE_ERRORS] = "errors",
    [GATE_FLAKY] = "flaky",
    [GATE_REGRESSIONS] = "regressions",
    [GATE_SUCCESS_DROP] = "success_drop",
    [GATE_WORSE_P] = "worse_p",
};
enum { N_METRICS = sizeof metrics / sizeof metrics[0] };

/* Longer ones first. */
static const struct {
    const char *text;
    enum gate_op op;
} ops[] = {{">=", GATE_GE}, {"<=", GATE_LE}, {"==", GATE_EQ},
           {"!=", GATE_NE}, {"<", GATE_LT},  {">", GATE_GT}};
enum { N_OPS = sizeof ops / sizeof ops[0] };

bool gate_wants_baseline(const struct gate *g)
{
    return g->metric >= GATE_REGRESSIONS;
}

/* ---- reading ---- */

static int bad_gate(const char *text, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "--gate wants METRIC OP NUMBER, as in 'success>=0.9' or 'errors==0', with one "
                   "of >= <= == != < >, got \"%s\"",
                   text);
}

static int bad_metric(struct str name, struct err *e)
{
    const char *close = text_closest(name, metrics, N_METRICS);
    if (close != NULL) {
        return err_set(e, ERR_USAGE, "--gate: there is no metric \"%.*s\"; did you mean %s?",
                       STR_FMT(name), close);
    }
    struct buf list = {0};
    for (size_t i = 0; i < N_METRICS; i++) {
        bool counts = i == GATE_PASS_AT || i == GATE_PASS_HAT;
        buf_fmt(&list, "%s%s%s", i > 0 ? ", " : "", metrics[i], counts ? "K" : "");
    }
    int rc = err_set(e, ERR_USAGE, "--gate: there is no metric \"%.*s\"; there are %.*s",
                     STR_FMT(name), STR_FMT(buf_str(&list)));
    buf_free(&list);
    return rc;
}

static bool is_count(struct str s)
{
    size_t n = 0;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9') {
        n++;
    }
    return s.n > 0 && n == s.n;
}

static int bad_count(struct str name, const char *metric, struct err *e)
{
    return err_set(e, ERR_USAGE,
                   "--gate: %sK wants for K how many trials of a task, 1 to %d, as in "
                   "'%s3>=0.8', got \"%.*s\"",
                   metric, GATE_K_MAX, metric, STR_FMT(name));
}

static int read_metric(struct str name, struct gate *out, struct err *e)
{
    for (size_t i = 0; i < N_METRICS; i++) {
        bool counts = i == GATE_PASS_AT || i == GATE_PASS_HAT;
        out->metric = (enum gate_metric)i;
        if (!counts && str_is(name, metrics[i])) {
            return 0;
        }
        if (counts && str_starts(name, metrics[i])) {
            struct str count = str_slice(name, strlen(metrics[i]), name.n);
            bool good = is_count(count) && num_scaled(count, 0, &out->k) && out->k >= 1 &&
                        out->k <= GATE_K_MAX;
            return good ? 0 : bad_count(name, metrics[i], e);
        }
    }
    return bad_metric(name, e);
}

static bool is_share(const struct gate *g)
{
    return g->metric <= GATE_PASS_HAT || g->metric >= GATE_SUCCESS_DROP;
}

/* A percentage in the place of a share: 95% is 0.95. */
static int no_percent(const struct gate *g, struct str number, struct err *e)
{
    struct buf share = {0};
    if (!is_share(g)) {
        return bad_gate(g->text, e);
    }
    stats_add(&share, g->limit / 100);
    while (share.n > 0 && share.p[share.n - 1] == '0') {
        share.n--;
    }
    share.n -= share.n > 0 && share.p[share.n - 1] == '.' ? 1 : 0;
    int rc = err_set(e, ERR_USAGE, "--gate '%s': shares are from 0 to 1, for %.*s%% write %.*s",
                     g->text, STR_FMT(number), STR_FMT(buf_str(&share)));
    buf_free(&share);
    return rc;
}

/* A limit that the metric cannot reach holds always or never: 95 for 95%, mostly. */
static int check_limit(const struct gate *g, struct err *e)
{
    bool share = is_share(g);
    double least = g->metric == GATE_SUCCESS_DROP ? -1 : 0;
    if (g->limit < least || (share && g->limit > 1)) {
        return err_set(e, ERR_USAGE, "--gate '%s' holds always or never: %s%s is %s", g->text,
                       metrics[g->metric],
                       g->metric == GATE_PASS_AT || g->metric == GATE_PASS_HAT ? "K" : "",
                       least < 0 ? "from -1 to 1 (5 points are 0.05)"
                       : share   ? "from 0 to 1 (95% is 0.95)"
                                 : "never below 0");
    }
    return 0;
}

/* Digits, perhaps with a sign and decimals: at most 9 of them. */
static bool read_limit(struct str text, double *out)
{
    int64_t nano = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!((c >= '0' && c <= '9') || c == '.' || (c == '-' && i == 0))) {
            return false;
        }
    }
    if (text.n == 0 || !num_scaled(text, 9, &nano)) {
        return false;
    }
    *out = (double)nano / 1e9;
    return true;
}

int gate_parse(const char *text, struct gate *out, struct err *e)
{
    struct str whole = str_of(text);
    size_t best = SIZE_MAX;
    size_t op = 0;
    *out = (struct gate){.text = text};
    for (size_t i = 0; i < N_OPS; i++) {
        size_t at = str_find(whole, str_of(ops[i].text));
        if (at < best) {
            best = at;
            op = i;
        }
    }
    if (best == SIZE_MAX) {
        return bad_gate(text, e);
    }
    struct str name = str_trim(str_slice(whole, 0, best));
    struct str number = str_trim(str_slice(whole, best + strlen(ops[op].text), whole.n));
    out->op = ops[op].op;
    bool percent = number.n > 0 && number.p[number.n - 1] == '%';
    number = str_trim(str_slice(number, 0, number.n - (percent ? 1 : 0)));
    if (!read_limit(number, &out->limit) || name.n == 0) {
        return bad_gate(text, e);
    }
    int rc = read_metric(name, out, e);
    rc = rc == 0 && percent ? no_percent(out, number, e) : rc;
    return rc != 0 ? rc : check_limit(out, e);
}

/* ---- holding a run to it ---- */

static bool ratio_value(struct ratio r, double *out)
{
    *out = r.den == 0 ? 0 : (double)r.num / (double)r.den;
    return r.den != 0;
}

static bool count_value(int64_t n, double *out)
{
    *out = (double)n;
    return n >= 0;
}

/* What was spent in US dollars, over so many. */
static bool cost_value(const struct eval_summary *s, size_t over, double *out)
{
    const struct eval_cost *only = &s->costs.of[0];
    if (s->costs.n != 1 || over == 0 || !eval_cost_is_usd(only->currency)) {
        return false;
    }
    *out = (double)only->nano / 1e9 / (double)over;
    return true;
}

static bool group_value(const struct gate *g, const struct eval_report *r, struct arena *arena,
                        double *out)
{
    struct eval_figures f;
    eval_figures(r, arena, &f);
    if (g->metric == GATE_FLAKY) {
        return count_value((int64_t)f.flaky, out);
    }
    return eval_pass_k(f.groups, f.n_groups, g->k, g->metric == GATE_PASS_HAT, out);
}

/* False where the metric is null. */
static bool value_of(const struct gate *g, const struct eval_report *r,
                     const struct comparison_result *c, struct arena *arena, double *out)
{
    const struct eval_summary *s = &r->summary;
    size_t scored = s->passed + s->failed;
    switch (g->metric) {
    case GATE_SUCCESS: return ratio_value(s->success, out);
    case GATE_TOOL_SELECTION: return ratio_value(s->tool_selection, out);
    case GATE_PRECISION: return ratio_value(s->precision, out);
    case GATE_RECALL: return ratio_value(s->recall, out);
    case GATE_F1: return ratio_value(s->f1, out);
    case GATE_ARGUMENTS: return ratio_value(s->arguments, out);
    case GATE_TRAJECTORY: return ratio_value(s->trajectory, out);
    case GATE_PASS_AT:
    case GATE_PASS_HAT:
    case GATE_FLAKY: return group_value(g, r, arena, out);
    case GATE_COST_USD: return cost_value(s, 1, out);
    case GATE_COST_USD_PER_TRIAL: return cost_value(s, scored, out);
    case GATE_COST_USD_PER_PASSED: return cost_value(s, s->passed, out);
    case GATE_P50_LATENCY: return count_value(s->p50_latency_ms, out);
    case GATE_P95_LATENCY: return count_value(s->p95_latency_ms, out);
    case GATE_STEPS: return count_value(s->steps, out);
    case GATE_CALLS: return count_value(s->calls, out);
    case GATE_TRIALS: return count_value((int64_t)s->trials, out);
    case GATE_FAILED: return count_value((int64_t)s->failed, out);
    case GATE_ERRORS: return count_value((int64_t)s->errors, out);
    case GATE_REGRESSIONS:
        return count_value((int64_t)c->counts[TASK_REGRESSED], out) && c->both > 0;
    case GATE_SUCCESS_DROP:
        *out = c->success.known ? 0 - c->success.change : 0;
        return c->success.known;
    case GATE_WORSE_P: *out = c->p_worse; return c->both > 0;
    }
    return false;
}

static bool holds(enum gate_op op, double value, double limit)
{
    switch (op) {
    case GATE_GE: return value >= limit - SLACK;
    case GATE_LE: return value <= limit + SLACK;
    case GATE_EQ: return value >= limit - SLACK && value <= limit + SLACK;
    case GATE_NE: return value < limit - SLACK || value > limit + SLACK;
    case GATE_LT: return value < limit - SLACK;
    case GATE_GT: return value > limit + SLACK;
    }
    return false;
}

/* A count without decimals. */
static void add_value(struct buf *out, double value)
{
    int64_t whole = (int64_t)value;
    if (value >= 0 && (double)whole == value) {
        buf_int(out, whole);
    } else {
        stats_add(out, value);
    }
}

/* How many tasks it would take to be sure of a gate that holds; 0 = it is sure. */
static int64_t lacking(const struct gate *g, const struct comparison_result *c)
{
    if (g->metric == GATE_WORSE_P) {
        return c->verdict == COMPARED_UNSURE ? c->needed : 0;
    }
    if (g->metric != GATE_SUCCESS_DROP) {
        return 0;
    }
    double drop = g->limit > 0 && g->limit <= 1 ? g->limit : c->margin;
    int64_t needed = stats_needed((double)(c->worse + c->better) / (double)c->both, drop);
    bool ruled_out = holds(g->op, 0 - c->success.interval.low, g->limit);
    return ruled_out && c->both >= needed ? 0 : needed;
}

struct gate_result gate_check(const struct gate *g, const struct eval_report *r,
                              const struct comparison_result *c, struct arena *arena)
{
    assert(c != NULL || !gate_wants_baseline(g));
    struct buf text = {0};
    struct gate_result out = {.verdict = GATE_FAILS};
    double value = 0;
    bool cost = g->metric >= GATE_COST_USD && g->metric <= GATE_COST_USD_PER_PASSED;
    buf_fmt(&text, "gate %s: ", g->text);
    if (!value_of(g, r, c, arena, &value)) {
        buf_addz(&text, cost ? "fails, the run is not priced in USD (--prices FILE can name prices)"
                             : "fails, there is nothing to measure it by");
    } else if (!holds(g->op, value, g->limit)) {
        buf_addz(&text, "fails, it is ");
        add_value(&text, value);
    } else {
        int64_t needed = gate_wants_baseline(g) ? lacking(g, c) : 0;
        out.verdict = needed > 0 ? GATE_UNSURE : GATE_PASSES;
        buf_addz(&text, needed > 0 ? "" : "passes, it is ");
        if (needed > 0) {
            buf_fmt(&text,
                    "not enough evidence: %" PRId64 " tasks would be needed, %" PRId64
                    " were compared; it is ",
                    needed, c->both);
        }
        add_value(&text, value);
    }
    out.message = arena_str(arena, buf_str(&text));
    buf_free(&text);
    return out;
}
