/* Why trials did not pass, counted in the words of their lines. */
#include "evals/run_int.h"

#include <stdlib.h>
#include <string.h>

/* Each word, and the word that it tells more of. */
static const struct {
    const char *name;
    enum eval_why of;
} words[WHY_RUN] = {
    [WHY_CALLS] = {"calls", WHY_ALL},
    [WHY_FORBID] = {"forbid", WHY_ALL},
    [WHY_NO_CALLS] = {"no_calls", WHY_ALL},
    [WHY_ANSWER] = {"answer", WHY_ALL},
    [WHY_STATUS] = {"status", WHY_ALL},
    [WHY_STEPS] = {"steps", WHY_ALL},
    [WHY_CALLS_LIMIT] = {"calls_limit", WHY_ALL},
    [WHY_TOKENS] = {"tokens", WHY_ALL},
    [WHY_COST] = {"cost", WHY_ALL},
    [WHY_SECONDS] = {"seconds", WHY_ALL},
    [WHY_SCRIPT] = {"script", WHY_ALL},
    [WHY_OTHER] = {"other", WHY_ALL},
    [WHY_RUBRIC] = {"rubric", WHY_ANSWER},
    [WHY_JUDGE] = {"judge", WHY_ALL},
    [WHY_ERROR] = {"error", WHY_ALL},
    [WHY_WRONG_TOOL] = {"wrong tool", WHY_CALLS},
    [WHY_MISSING_CALL] = {"missing call", WHY_CALLS},
    [WHY_EXTRA_CALL] = {"extra call", WHY_CALLS},
    [WHY_WRONG_ARGUMENT] = {"wrong argument", WHY_CALLS},
    [WHY_ORDER] = {"order", WHY_CALLS},
};

static uint16_t bit(enum eval_why why)
{
    return (uint16_t)(1U << why);
}

static enum eval_why why_of_check(struct str name)
{
    int why = WHY_CALLS;
    while (why < WHY_OTHER && !str_is(name, words[why].name)) {
        why++;
    }
    return (enum eval_why)why;
}

uint16_t eval_why_bits(const struct eval_trial *t)
{
    uint16_t bits = 0;
    for (size_t i = 0; i < t->verdict.n_checks; i++) {
        const struct eval_check *c = &t->verdict.checks[i];
        enum eval_why why = why_of_check(c->name);
        bool rubric = why == WHY_ANSWER && str_starts(c->message, "rubric \"");
        bits |= c->passed ? 0 : (uint16_t)(bit(why) | (rubric ? bit(WHY_RUBRIC) : 0));
    }
    bool no_verdict = t->judged.asked > (int64_t)t->judged.n_verdicts;
    return (uint16_t)(bits | (no_verdict ? bit(WHY_JUDGE) : 0));
}

static bool is_less(struct ratio r)
{
    return r.num < r.den;
}

/* The scores tell what is wrong with the calls. */
static void count_calls(size_t *n, const struct eval_row *t)
{
    const struct eval_scores *s = t->scores;
    bool extra = is_less(s->precision) && t->calls > 0;
    bool missing = is_less(s->recall) && t->expected_calls > 0;
    bool arguments = is_less(s->arguments);
    bool scored = s->recall.den > 0;
    n[WHY_WRONG_TOOL] += extra && missing;
    n[WHY_EXTRA_CALL] += extra && !missing;
    n[WHY_MISSING_CALL] += missing && !extra;
    n[WHY_WRONG_ARGUMENT] += arguments;
    n[WHY_ORDER] += scored && !extra && !missing && !arguments;
}

static void count_failure(size_t *n, const struct eval_row *t)
{
    bool known = false;
    for (int why = WHY_CALLS; why <= WHY_OTHER; why++) {
        bool failed = (t->why & bit((enum eval_why)why)) != 0;
        bool ended = why == WHY_STATUS && t->status != RUN_COMPLETED;
        n[ended ? WHY_RUN + t->status : why] += failed;
        known = known || failed;
    }
    n[WHY_OTHER] += !known;
    if ((t->why & bit(WHY_CALLS)) != 0) {
        count_calls(n, t);
    }
    n[WHY_RUBRIC] += (t->why & bit(WHY_RUBRIC)) != 0;
}

static void count_error(size_t *n, const struct eval_row *t)
{
    if (eval_outcome_of_status((enum run_status)t->status) == EVAL_ERROR) {
        n[WHY_RUN + t->status]++;
    } else {
        n[(t->why & bit(WHY_JUDGE)) != 0 ? WHY_JUDGE : WHY_ERROR]++;
    }
}

void eval_why_count(struct eval_summary *s, const struct eval_row *t)
{
    switch ((enum eval_outcome)t->outcome) {
    case EVAL_FAIL: count_failure(s->why, t); break;
    case EVAL_ERROR: count_error(s->why, t); break;
    case EVAL_PASS:
    case EVAL_NONE: break;
    }
}

static int by_trials(const void *a, const void *b)
{
    const struct eval_cause *x = a, *y = b;
    int order = (x->trials < y->trials) - (x->trials > y->trials);
    return order != 0 ? order : strcmp(x->name, y->name);
}

size_t eval_causes(const struct eval_summary *s, enum eval_why of, struct eval_cause *out)
{
    size_t n = 0;
    for (int i = 0; i < WHYS; i++) {
        bool status = i >= WHY_RUN;
        if (s->why[i] > 0 && (status ? WHY_ALL : words[i].of) == of) {
            out[n++] = (struct eval_cause){(enum eval_why)i,
                                           status ? run_status_name((enum run_status)(i - WHY_RUN))
                                                  : words[i].name,
                                           s->why[i]};
        }
    }
    qsort(out, n, sizeof *out, by_trials);
    return n;
}
