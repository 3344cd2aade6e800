#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/gates.h"
#include "cli/options.h"
#include "kernel/base/json.h"
#include "kernel/base/val.h"
#include "reports/report.h"

size_t gate_options(struct gate_flags *f, struct option *out)
{
    const struct option options[GATE_OPTIONS] = {{"gate", OPTION_LIST, &f->gates, 0, 0},
                                                 {"unsure", OPTION_NAME, &f->unsure, 0, 0},
                                                 {"margin", OPTION_NAME, &f->margin, 0, 0}};
    memcpy(out, options, sizeof options);
    return GATE_OPTIONS;
}

int decimal_parse(const char *option, const char *text, int64_t *nano, struct err *e)
{
    if (!plain_number(str_of(text)) || !num_scaled(str_of(text), 9, nano)) {
        return err_set(e, ERR_USAGE, "--%s wants a number like 0.25, got \"%s\"", option, text);
    }
    return 0;
}

int gates_parse(const struct gate_flags *f, bool baseline, struct gates *out, struct err *e)
{
    int64_t nano = 0;
    *out = (struct gates){.margin = MARGIN_USUAL};
    for (size_t i = 0; i < f->gates.n; i++) {
        struct gate *g = &out->at[out->n++];
        int rc = gate_parse(f->gates.at[i], g, e);
        if (rc != 0) {
            return rc;
        }
        if (gate_wants_baseline(g) && !baseline) {
            return err_set(e, ERR_USAGE,
                           "--gate '%s' compares with an earlier run: name it with "
                           "--baseline RUN",
                           g->text);
        }
    }
    if (f->unsure != NULL && strcmp(f->unsure, "pass") != 0 && strcmp(f->unsure, "fail") != 0) {
        return err_set(e, ERR_USAGE, "--unsure wants pass or fail, got \"%s\"", f->unsure);
    }
    out->unsure_fails = f->unsure != NULL && strcmp(f->unsure, "fail") == 0;
    if (f->margin != NULL) {
        int rc = decimal_parse("margin", f->margin, &nano, e);
        if (rc == 0 && (nano <= 0 || nano > 1000000000)) {
            rc = err_set(e, ERR_USAGE, "--margin wants a share above 0, up to 1, got \"%s\"",
                         f->margin);
        }
        out->margin = (double)nano / 1e9;
        return rc;
    }
    return 0;
}

static const char *verdict_name(enum gate_verdict v)
{
    switch (v) {
    case GATE_PASSES: return "pass";
    case GATE_FAILS: return "fail";
    case GATE_UNSURE: return "unsure";
    }
    return "fail";
}

int gates_check(const struct gates *g, const struct eval_report *r,
                const struct comparison_result *c, struct buf *text, struct buf *json)
{
    struct arena *arena = arena_new();
    int status = EXIT_OK;
    for (size_t i = 0; i < g->n; i++) {
        struct gate_result result = gate_check(&g->at[i], r, c, arena);
        bool fails =
            result.verdict == GATE_FAILS || (result.verdict == GATE_UNSURE && g->unsure_fails);
        status = fails ? EXIT_FAILED : status;
        if (text != NULL) {
            buf_add(text, result.message);
            buf_addz(text, result.verdict != GATE_UNSURE ? "\n"
                           : fails                       ? "; this fails (--unsure fail)\n"
                                   : "; this passes (--unsure fail would not)\n");
        }
        if (json != NULL) {
            json_next(json);
            buf_char(json, '{');
            json_put_text(json, "gate", str_of(g->at[i].text));
            json_put_text(json, "verdict", str_of(verdict_name(result.verdict)));
            json_put_bool(json, "passed", !fails);
            json_put_text(json, "message", result.message);
            buf_char(json, '}');
        }
    }
    arena_free(arena);
    return status;
}
