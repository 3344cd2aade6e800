#include "fakellm/fake_int.h"
#include "kernel/base/text.h"
#include "kernel/base/yaml.h"
#include "kernel/drive/files.h"

enum { SCRIPT_BYTES_MAX = 16 << 20, TIMES_MAX = 1000000, SHOWN_CHARS = 40 };

/* `repeat` of a step: a number, or forever; `times` of a rule: a number. */
static int load_times(struct doc d, const struct val *v, bool rule, int64_t *out, struct err *e)
{
    *out = rule ? FAKE_FOREVER : 1;
    const struct val *repeat = val_get(v, "repeat");
    if (!rule && val_is(repeat, VAL_STRING)) {
        *out = FAKE_FOREVER;
        return str_is(repeat->text, "forever")
                   ? 0
                   : doc_fail(d, repeat, e, "expected a number or forever, found \"%.*s\"",
                              STR_FMT(text_preview(d.arena, repeat->text, SHOWN_CHARS)));
    }
    return doc_int(d, v, rule ? "times" : "repeat", DOC_OPTIONAL, 1, TIMES_MAX, out, e);
}

/* `reply`, or `replies` of which one is chosen. */
static int load_replies(struct doc d, const struct val *v, struct fake_step *out, struct err *e)
{
    const struct val *reply = val_get(v, "reply");
    const struct val *replies = NULL;
    int rc = doc_list(d, v, "replies", DOC_OPTIONAL, &replies, e);
    if (rc == 0 && replies != NULL && reply != NULL) {
        rc = doc_fail(d, reply, e, "expected one of reply and replies, found both");
    }
    if (rc == 0 && replies != NULL && replies->count == 0) {
        rc = doc_fail(d, replies, e, "expected at least one reply, found an empty list");
    }
    if (rc != 0) {
        return rc;
    }
    const struct val *items = replies != NULL ? replies->items : reply;
    size_t n = replies != NULL ? replies->count : reply != NULL ? 1 : 0;
    out->replies = arena_array(d.arena, n, sizeof *out->replies);
    for (size_t i = 0; i < n && rc == 0; i++) {
        out->n_replies = i + 1;
        rc = fake_reply_load(d, &items[i], &out->replies[i], e);
    }
    return rc;
}

static int load_step(struct doc d, const struct val *v, bool rule, struct fake_step *out,
                     struct err *e)
{
    static const char *const step_keys[] = {"expect", "reply", "replies", "fault", "repeat", NULL};
    static const char *const rule_keys[] = {"when", "reply", "replies", "fault", "times", NULL};
    out->line = v->line;
    int rc = doc_keys(d, v, rule ? "a rule" : "a step", rule ? rule_keys : step_keys, e);
    if (rc != 0) {
        return rc;
    }
    const struct val *fault = val_get(v, "fault");
    if (val_get(v, "reply") == NULL && val_get(v, "replies") == NULL && fault == NULL) {
        return doc_fail(d, v, e, "expected a reply or a fault in %s", rule ? "a rule" : "a step");
    }
    out->has_fault = fault != NULL;
    rc = fake_when_load(d, val_get(v, rule ? "when" : "expect"), &out->when, e);
    rc = rc != 0 ? rc : load_times(d, v, rule, &out->times, e);
    rc = rc != 0 ? rc : load_replies(d, v, out, e);
    rc = rc != 0 || fault == NULL ? rc : fake_fault_load(d, fault, &out->fault, e);
    if (rc == 0 && out->n_replies > 0 && fault != NULL && out->fault.kind == FAULT_STATUS) {
        return doc_fail(d, fault, e, "a status fault has no reply; write them as two steps");
    }
    return rc;
}

/* What stands behind an answer that never ends would never be played. */
static int check_reached(struct doc d, const struct val *list, const struct fake_script *s,
                         struct err *e)
{
    for (size_t i = 0; i + 1 < s->n; i++) {
        const struct fake_step *step = &s->steps[i];
        if (step->times == FAKE_FOREVER && (!s->rules || fake_when_is_any(&step->when))) {
            return doc_fail(d, &list->items[i + 1], e,
                            "this %s is never reached: the one at line %u %s; take one of them out",
                            s->rules ? "rule" : "step", step->line,
                            s->rules ? "has no `when` and fits every request" : "repeats forever");
        }
    }
    return 0;
}

static int load_script(struct doc d, const struct val *root, struct fake_script *s, struct err *e)
{
    static const char *const keys[] = {"version", "model",          "seed",    "steps",
                                       "rules",   "check_requests", "api_key", NULL};
    int64_t seed = 0;
    bool checks = true;
    const struct val *steps = NULL;
    const struct val *rules = NULL;
    s->model = STR("fake-1");
    s->file = d.file;
    int rc = doc_keys(d, root, "a fake script", keys, e);
    rc = rc != 0 ? rc : doc_version(d, root, e);
    rc = rc != 0 ? rc : doc_str(d, root, "model", DOC_OPTIONAL, &s->model, e);
    if (rc == 0 && s->model.n == 0) {
        return doc_fail(d, val_get(root, "model"), e, "the model's name is empty");
    }
    rc = rc != 0 ? rc : doc_int(d, root, "seed", DOC_OPTIONAL, 0, INT64_C(1) << 53, &seed, e);
    rc = rc != 0 ? rc : doc_bool(d, root, "check_requests", &checks, e);
    rc = rc != 0 ? rc : doc_str(d, root, "api_key", DOC_OPTIONAL, &s->api_key, e);
    s->lenient = !checks;
    rc = rc != 0 ? rc : doc_list(d, root, "steps", DOC_OPTIONAL, &steps, e);
    rc = rc != 0 ? rc : doc_list(d, root, "rules", DOC_OPTIONAL, &rules, e);
    if (rc == 0 && (steps == NULL) == (rules == NULL)) {
        return doc_fail(d, root, e, "expected exactly one of steps and rules in a fake script");
    }
    s->seed = (uint64_t)seed;
    const struct val *list = steps != NULL ? steps : rules;
    if (rc == 0 && list->count == 0) {
        return doc_fail(d, list, e, "expected at least one step or rule, found an empty list");
    }
    s->rules = rules != NULL;
    for (size_t i = 0; rc == 0 && i < list->count; i++) {
        if (i == 0) {
            s->steps = arena_array(d.arena, list->count, sizeof *s->steps);
        }
        s->n = i + 1;
        rc = load_step(d, &list->items[i], s->rules, &s->steps[i], e);
        for (size_t k = 0; k < s->steps[i].n_replies; k++) {
            s->thinks = s->thinks || s->steps[i].replies[k].reasoning.n > 0;
        }
    }
    return rc != 0 ? rc : check_reached(d, list, s, e);
}

int fake_load_doc(struct doc d, const struct val *root, struct fake_script **out, struct err *e)
{
    struct fake_script *s = arena_alloc(d.arena, sizeof *s);
    int rc = load_script(d, root, s, e);
    if (rc != 0) {
        fake_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

int fake_load(const char *path, struct fake_script **out, struct err *e)
{
    struct arena *arena = arena_new();
    struct doc d = {arena, arena_cstr(arena, str_of(path))};
    struct str text;
    struct val *root;
    int rc = file_read(arena, path, SCRIPT_BYTES_MAX, &text, e);
    rc = rc != 0 ? rc : yaml_parse(arena, d.file, text, YAML_CORE, &root, e);
    rc = rc != 0 ? rc : fake_load_doc(d, root, out, e);
    if (rc != 0) {
        arena_free(arena);
        return rc;
    }
    (*out)->own = arena;
    return 0;
}

void fake_free(struct fake_script *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->n; i++) {
        fake_when_free(&s->steps[i].when);
    }
    s->n = 0;
    arena_free(s->own);
}

struct str fake_model(const struct fake_script *s)
{
    return s->model;
}

struct str fake_api_key(const struct fake_script *s)
{
    return s->api_key;
}

const char *fake_path(const struct fake_script *s)
{
    return s->file;
}

bool fake_has_rules(const struct fake_script *s)
{
    return s->rules;
}

uint64_t fake_seed(const struct fake_script *s)
{
    return s->seed;
}
