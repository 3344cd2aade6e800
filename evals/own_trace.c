/* Whether a log is the one that a trial of a run has written: a run directory is copied and joined
 * by hand, and a verdict on the wrong trace would be taken for this trial's. */
#include "evals/own_trace_int.h"

#include <inttypes.h>

#include "evals/resume.h"
#include "kernel/base/hash.h"
#include "kernel/core/model.h"
#include "kernel/drive/files.h"

enum {
    RUN_ID_DIGITS = 12,
    START_BYTES = 120 /* of a run_start, in which its run and seed stand */
};

/* ---- the log for itself ---- */

bool trace_ended(const char *path, struct arena *scratch)
{
    struct str log = {0};
    if (file_read(scratch, path, TRACE_BYTES_MAX, &log, NULL) != 0 || !str_ends(log, "\n")) {
        return false;
    }
    size_t last = log.n - 1;
    while (last > 0 && log.p[last - 1] != '\n') {
        last--;
    }
    return str_is(log_line_type(str_slice(log, last, log.n)), "run_end");
}

int trace_whole(const char *path, struct str log, size_t end_at, uint32_t line,
                const struct val *run_end, struct err *e)
{
    char sum[HASH_HEX];
    hash_hex(hash64(0, str_slice(log, 0, end_at)), sum);
    if (!str_is(log_line_type(log), "run_start")) {
        return err_at(e, ERR_INPUT, path, 1, 0,
                      "the log does not begin with its run_start: expected the trace that the run "
                      "wrote");
    }
    if (!str_is(val_text(val_get(run_end, "sum")), sum)) {
        return err_at(e, ERR_INPUT, path, line, 0,
                      "the lines before have the sum %s, and this one says another: they were "
                      "changed; expected the trace that the run wrote (assay trace check tells "
                      "more)",
                      sum);
    }
    return 0;
}

/* ---- whose it is ---- */

/* What stands behind a key of the log's first line, up to `end`. */
static struct str start_value(struct str log, const char *key, const char *end)
{
    struct str head = str_slice(log, 0, START_BYTES);
    size_t at = str_find(head, str_of(key));
    struct str rest = at == SIZE_MAX ? STR("") : str_slice(log, at + str_of(key).n, log.n);
    return str_slice(rest, 0, str_find(rest, str_of(end)));
}

static bool is_named_by(struct str run, uint64_t seed, struct str name)
{
    char hex[HASH_HEX];
    return str_is(run, hash_hex(hash64(seed, name), hex) + HASH_HEX - 1 - RUN_ID_DIGITS);
}

/* Where models are scripts, the run is named by seed, task and trial (rig.c), and by the model
 * where there are several. */
static bool is_run_of(struct str log, const struct eval_trial *t, struct arena *scratch)
{
    struct str run = start_value(log, "\"run\":\"", "\"");
    struct val number = {.kind = VAL_NUMBER, .text = start_value(log, "\"seed\":", ",")};
    int64_t seed = 0;
    if (number.text.n == 0 || !val_int(&number, &seed)) {
        return false;
    }
    struct str name = arena_printf(scratch, "%.*s#%" PRId64, STR_FMT(t->task), t->trial);
    return is_named_by(run, (uint64_t)seed, name) ||
           is_named_by(run, (uint64_t)seed,
                       arena_printf(scratch, "%.*s@%.*s", STR_FMT(name), STR_FMT(t->model)));
}

static int not_own(const char *path, const struct eval_trial *t, struct str why, struct err *e)
{
    return err_at(e, ERR_INPUT, path, 0, 0,
                  "is not the trace of trial %" PRId64
                  " of %.*s: %.*s; expected the trace that the "
                  "run wrote: put it back, or run the set again",
                  t->trial, STR_FMT(t->task), STR_FMT(why));
}

int trace_own(const char *path, struct str log, const struct eval_trial *t, bool fake,
              const struct run_result *is, struct arena *scratch, struct err *e)
{
    const struct run_result *was = &t->result;
    const struct {
        const char *what;
        int64_t was, is;
    } counts[] = {{"steps", was->steps, is->steps},
                  {"input tokens", was->usage.input, is->usage.input},
                  {"cached tokens", was->usage.cached, is->usage.cached},
                  {"tokens written to a cache", was->usage.cache_write, is->usage.cache_write},
                  {"output tokens", was->usage.output, is->usage.output},
                  {"reasoning tokens", was->usage.reasoning, is->usage.reasoning},
                  {"billionths of cost", was->cost_nano, is->cost_nano},
                  {"milliseconds", (int64_t)was->ended_ms, (int64_t)is->ended_ms}};
    if (fake && !is_run_of(log, t, scratch)) {
        return not_own(path, t, STR("its run has another name"), e);
    }
    if (was->status != is->status) {
        return not_own(path, t,
                       arena_printf(scratch, "it ended as %s, the results say %s",
                                    run_status_name(is->status), run_status_name(was->status)),
                       e);
    }
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i].was != counts[i].is) {
            return not_own(path, t,
                           arena_printf(scratch, "it has %" PRId64 " %s, the results say %" PRId64,
                                        counts[i].is, counts[i].what, counts[i].was),
                           e);
        }
    }
    bool same =
        (was->answer.p == NULL) == (is->answer.p == NULL) && str_eq(was->answer, is->answer);
    return same ? 0 : not_own(path, t, STR("it has another answer than the results"), e);
}
