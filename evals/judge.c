#include "evals/calls_int.h"
#include "kernel/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { CHECKS_MAX = 16, NAMES_MAX = 10, REASON_CHARS = 400 };

struct judging {
    const struct golden_expect *expect;
    const struct eval_run *run;
    struct arena *arena;
    struct eval_verdict *out;
};

const char *eval_outcome_name(enum eval_outcome o)
{
    switch (o) {
    case EVAL_PASS: return "pass";
    case EVAL_FAIL: return "fail";
    case EVAL_ERROR: return "error";
    case EVAL_NONE: return "none";
    }
    return "none";
}

bool eval_is_scored(enum eval_outcome o)
{
    return o == EVAL_PASS || o == EVAL_FAIL;
}

static void check(struct judging *j, const char *name, bool passed, struct str message)
{
    assert(j->out->n_checks < CHECKS_MAX);
    j->out->checks[j->out->n_checks++] =
        (struct eval_check){str_of(name), passed, passed ? (struct str){NULL, 0} : message};
}

static void check_status(struct judging *j)
{
    const struct run_result *r = &j->run->result;
    if (r->status == j->expect->status) {
        check(j, "status", true, STR(""));
        return;
    }
    struct str reason = r->status == RUN_COMPLETED
                            ? STR("") /* says no more than the status */
                            : text_preview(j->arena, r->reason, REASON_CHARS);
    check(j, "status", false,
          arena_printf(j->arena, "expected %s, got %s%s%.*s", run_status_name(j->expect->status),
                       run_status_name(r->status), reason.n > 0 ? ": " : "", STR_FMT(reason)));
}

static bool is_forbidden(const struct golden_expect *x, struct str name)
{
    for (size_t i = 0; i < x->n_forbid; i++) {
        if (str_eq(x->forbid[i], name)) {
            return true;
        }
    }
    return false;
}

static void check_forbid(struct judging *j)
{
    struct buf text = {0};
    size_t found = 0;
    for (size_t i = 0; j->expect->n_forbid > 0 && i < j->run->n_calls; i++) {
        struct str name = j->run->calls[i].name;
        if (is_forbidden(j->expect, name) && found++ < NAMES_MAX) {
            buf_fmt(&text, "%scall %zu of %zu: %.*s is forbidden", found > 1 ? "\n" : "", i + 1,
                    j->run->n_calls, STR_FMT(text_preview(j->arena, name, 80)));
        }
    }
    if (found > NAMES_MAX) {
        buf_fmt(&text, "\nand %zu more", found - NAMES_MAX);
    }
    if (j->expect->n_forbid > 0) {
        check(j, "forbid", found == 0, arena_str(j->arena, buf_str(&text)));
    }
    buf_free(&text);
}

static void check_no_calls(struct judging *j)
{
    if (!j->expect->no_calls) {
        return;
    }
    struct buf text = {0};
    buf_fmt(&text, "expected no calls, got %zu: ", j->run->n_calls);
    for (size_t i = 0; i < j->run->n_calls && i < NAMES_MAX; i++) {
        struct str name = text_preview(j->arena, j->run->calls[i].name, 80);
        buf_fmt(&text, "%s%.*s", i > 0 ? ", " : "", STR_FMT(name));
    }
    buf_addz(&text, j->run->n_calls > NAMES_MAX ? ", …" : "");
    check(j, "no_calls", j->run->n_calls == 0, arena_str(j->arena, buf_str(&text)));
    buf_free(&text);
}

static void check_answer(struct judging *j)
{
    if (j->expect->answer == NULL) {
        return;
    }
    struct buf why = {0};
    enum golden_held held =
        golden_answer_judge(j->expect->answer, j->run->result.answer, &j->run->verdicts, &why);
    check(j, "answer", held == GOLDEN_HOLDS, arena_str(j->arena, buf_str(&why)));
    buf_free(&why);
}

/* A limit on a count; max -1 = none, got -1 = unknown, which cannot pass. */
static void check_limit(struct judging *j, const char *name, int64_t max, int64_t got)
{
    if (max < 0) {
        return;
    }
    check(j, name, got >= 0 && got <= max,
          got < 0 ? arena_printf(
                        j->arena,
                        "expected at most %" PRId64 ", but the provider gave no token counts", max)
                  : arena_printf(j->arena, "expected at most %" PRId64 ", got %" PRId64, max, got));
}

static void check_cost(struct judging *j)
{
    int64_t max = j->expect->max_cost_nano;
    int64_t got = j->run->result.cost_nano;
    const struct usage *usage = &j->run->result.usage;
    struct str currency = j->run->result.currency;
    bool dollars = currency.n == 0 || str_is(currency, "USD");
    if (max < 0) {
        return;
    }
    struct buf text = {0};
    if (got < 0 && (usage->input < 0 || usage->output < 0)) {
        buf_addz(&text, "cost unknown: the provider gave no token counts");
    } else if (got < 0) {
        struct str model = text_preview(j->arena, j->run->model, 80);
        buf_fmt(&text, "cost unknown: no price for model %.*s; --prices FILE can name one",
                STR_FMT(model));
    } else {
        buf_addz(&text, "expected at most ");
        money_add(&text, max, STR("USD"));
        buf_addz(&text, ", got ");
        money_add(&text, got, dollars ? STR("USD") : currency);
        buf_addz(&text, dollars ? "" : ", which is not compared");
    }
    check(j, "cost", dollars && got >= 0 && got <= max, arena_str(j->arena, buf_str(&text)));
    buf_free(&text);
}

static void check_seconds(struct judging *j)
{
    int64_t max = j->expect->max_ms;
    uint64_t got = j->run->result.ended_ms;
    if (max < 0) {
        return;
    }
    check(j, "seconds", got <= (uint64_t)max,
          arena_printf(j->arena,
                       "expected at most %" PRId64 ".%03" PRId64 " s, took %" PRIu64 ".%03" PRIu64
                       " s",
                       max / 1000, max % 1000, got / 1000, got % 1000));
}

static void check_limits(struct judging *j)
{
    const struct run_result *r = &j->run->result;
    int64_t tokens =
        r->usage.input < 0 || r->usage.output < 0 ? -1 : r->usage.input + r->usage.output;
    check_limit(j, "steps", j->expect->max_steps, r->steps);
    check_limit(j, "calls_limit", j->expect->max_calls, (int64_t)j->run->n_calls);
    check_limit(j, "tokens", j->expect->max_tokens, tokens);
    check_cost(j);
    check_seconds(j);
}

enum eval_outcome eval_outcome_of_status(enum run_status s)
{
    switch (s) {
    case RUN_COMPLETED: return EVAL_PASS;
    case RUN_MODEL_ERROR:
    case RUN_CASSETTE_MISS: return EVAL_ERROR;
    case RUN_CANCELLED: return EVAL_NONE;
    case RUN_MAX_STEPS:
    case RUN_TOKEN_BUDGET:
    case RUN_TIME_BUDGET:
    case RUN_COST_BUDGET:
    case RUN_CALL_BUDGET:
    case RUN_REPEATED_CALLS:
    case RUN_NO_PROGRESS:
    case RUN_TRUNCATED:
    case RUN_REFUSED:
    case RUN_SCRIPT_MISMATCH:
    case RUN_PROGRAM_FAILED: return EVAL_FAIL;
    }
    return EVAL_ERROR;
}

void eval_judge(const struct golden_task *task, const struct eval_run *run, struct arena *arena,
                struct eval_verdict *out)
{
    *out = (struct eval_verdict){.outcome = eval_outcome_of_status(run->result.status),
                                 .scores = {.trajectory = -1}};
    if (out->outcome == EVAL_ERROR || out->outcome == EVAL_NONE) {
        return;
    }
    out->checks = arena_array(arena, CHECKS_MAX, sizeof *out->checks);
    struct judging j = {&task->expect, run, arena, out};
    struct calls_verdict calls;
    calls_judge(task, run, arena, &calls);
    out->scores = calls.scores;
    check_status(&j);
    if (task->expect.has_calls) {
        check(&j, "calls", calls.scores.trajectory == 1, calls.message);
    }
    check_forbid(&j);
    check_no_calls(&j);
    check_answer(&j);
    check_limits(&j);
    bool success = true;
    for (size_t i = 0; i < out->n_checks; i++) {
        success = success && out->checks[i].passed;
    }
    out->scores.success = success;
    out->outcome = success ? EVAL_PASS : EVAL_FAIL;
}

void eval_fail_also(struct eval_verdict *v, const struct eval_check *check, struct arena *arena)
{
    struct eval_check *checks = arena_array(arena, v->n_checks + 1, sizeof *checks);
    if (v->n_checks > 0) {
        memcpy(checks, v->checks, v->n_checks * sizeof *checks);
    }
    checks[v->n_checks++] = *check;
    v->checks = checks;
    v->outcome = EVAL_FAIL;
    v->scores.success = false;
}
